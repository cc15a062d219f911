// Imports and top-level names.
#include "frontend/nn/Program.h"

#include "frontend/nn/OpTable.h"
#include "frontend/nn/Parser.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

namespace nncc::frontend {

struct Program::Loader {
  Program &program;
  SourceManager &sources;
  Diagnostics &diagnostics;
  std::map<std::string, FileScope *> loaded; // by canonical path
  std::vector<std::string> open;             // files whose imports are being read

  bool fail(SourceRange at, std::string message) {
    diagnostics.error(at, std::move(message));
    return false;
  }

  static std::string canonical(const std::string &path) {
    std::error_code error;
    std::filesystem::path result = std::filesystem::weakly_canonical(path, error);
    return error ? path : result.string();
  }

  /// Declares a name in one of a scope's tables; every name has one meaning in a file.
  template <typename T>
  bool declare(FileScope &scope, std::map<std::string, Declared<T>> FileScope::*table,
               const Identifier &name, Declared<T> declared, SourceRange at) {
    if (const Identifier *other = find(scope, name.name)) {
      if (other->range.file == name.range.file && other->range.begin == name.range.begin)
        return true; // imported twice, by two ways
      diagnostics.error(at, fmt::format("'{}' is declared twice", name.name))
          .note(other->range, "the other declaration");
      return false;
    }
    (scope.*table)[name.name] = declared;
    return true;
  }

  static const Identifier *find(const FileScope &scope, const std::string &name) {
    if (auto it = scope.blocks.find(name); it != scope.blocks.end())
      return &it->second.node->name;
    if (auto it = scope.consts.find(name); it != scope.consts.end())
      return &it->second.node->name;
    if (auto it = scope.dims.find(name); it != scope.dims.end())
      return &it->second.node->name;
    return nullptr;
  }

  FileScope *loadFile(const SourceFile &source) {
    std::optional<File> file = parse(source, diagnostics);
    if (!file)
      return nullptr;
    auto scope = std::make_unique<FileScope>();
    scope->file = std::move(*file);
    open.push_back(canonical(source.path()));
    for (const Declaration &declaration : scope->file.declarations)
      if (!std::visit([&](const auto &node) { return add(*scope, node, declaration.range); },
                      declaration.node))
        return nullptr;
    loaded[open.back()] = scope.get();
    open.pop_back();
    program.scopes.push_back(std::move(scope));
    return program.scopes.back().get();
  }

  bool add(FileScope &scope, const Import &import, SourceRange) {
    std::filesystem::path path = import.path;
    if (path.is_relative())
      path = std::filesystem::path(import.pathRange.file->path()).parent_path() / path;
    std::string key = canonical(path.string());
    if (std::find(open.begin(), open.end(), key) != open.end())
      return fail(import.pathRange,
                  fmt::format("'{}' imports itself, directly or by others", import.path));
    FileScope *imported = nullptr;
    if (auto it = loaded.find(key); it != loaded.end()) {
      imported = it->second;
    } else {
      const SourceFile *source = sources.load(path.string(), diagnostics, import.pathRange);
      imported = source ? loadFile(*source) : nullptr;
    }
    if (!imported)
      return false;
    for (auto &[name, block] : imported->blocks)
      if (!declare(scope, &FileScope::blocks, block.node->name, block, import.pathRange))
        return false;
    for (auto &[name, constant] : imported->consts)
      if (!declare(scope, &FileScope::consts, constant.node->name, constant, import.pathRange))
        return false;
    for (auto &[name, dim] : imported->dims)
      if (!declare(scope, &FileScope::dims, dim.node->name, dim, import.pathRange))
        return false;
    return true;
  }

  bool add(FileScope &scope, const BlockDecl &block, SourceRange) {
    if (findOp(block.name.name))
      return fail(block.name.range,
                  fmt::format("'{}' is an operation of the language; choose another name",
                              block.name.name));
    for (auto entry = block.parameters.entries.begin(); entry != block.parameters.entries.end();
         ++entry)
      for (auto other = block.parameters.entries.begin(); other != entry; ++other)
        if (other->value.name.name == entry->value.name.name)
          return fail(entry->value.name.range,
                      fmt::format("block '{}' has two parameters named '{}'", block.name.name,
                                  entry->value.name.name));
    return declare(scope, &FileScope::blocks, block.name, {&block, &scope}, block.name.range);
  }
  bool add(FileScope &scope, const ConstDecl &constant, SourceRange) {
    return declare(scope, &FileScope::consts, constant.name, {&constant, &scope},
                   constant.name.range);
  }
  bool add(FileScope &scope, const DimDecl &dim, SourceRange) {
    return declare(scope, &FileScope::dims, dim.name, {&dim, &scope}, dim.name.range);
  }
  bool add(FileScope &scope, const ModelDecl &model, SourceRange) {
    for (const ModelDecl *other : scope.models)
      if (other->name.name == model.name.name)
        return fail(model.name.range, fmt::format("'{}' is declared twice", model.name.name));
    scope.models.push_back(&model);
    return true;
  }
  bool add(FileScope &scope, const TrainDecl &train, SourceRange range) {
    if (scope.train) {
      diagnostics.error(range, "a file has one train section")
          .note(scope.trainRange, "the other one");
      return false;
    }
    scope.train = &train;
    scope.trainRange = range;
    return true;
  }
};

bool Program::load(const SourceFile &main, SourceManager &sources, Diagnostics &diagnostics) {
  Loader loader{*this, sources, diagnostics, {}, {}};
  return loader.loadFile(main) != nullptr;
}

bool Program::addTraining(const SourceFile &statements, Diagnostics &diagnostics) {
  addedSource = &statements;
  added = parseTrain(statements, diagnostics);
  if (scopes.empty()) {
    scopes.push_back(std::make_unique<FileScope>());
    scopes.back()->file.source = &statements;
  }
  return added.has_value();
}

SourceRange Program::trainRange() const {
  if (mainScope().train)
    return mainScope().trainRange;
  return {addedSource, 0, static_cast<uint32_t>(addedSource->text().size())};
}

const SourceFile *Program::findSource(std::string_view path) const {
  for (const auto &scope : scopes)
    if (scope->file.source->path() == path)
      return scope->file.source;
  return addedSource && addedSource->path() == path ? addedSource : nullptr;
}

} // namespace nncc::frontend
