// The files of one compilation, parsed, with every name declared at top level resolved to its
// declaration. Takes the main file's text, and what was said of training elsewhere; leaves one
// FileScope per file, those of imported files first.
#pragma once

#include "frontend/nn/Ast.h"
#include "frontend/nn/Diagnostic.h"

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace nncc::frontend {

struct FileScope;

/// A declaration and the file whose names its body sees.
template <typename T> struct Declared {
  const T *node = nullptr;
  const FileScope *scope = nullptr;
};

struct FileScope {
  File file;
  std::map<std::string, Declared<BlockDecl>> blocks;
  std::map<std::string, Declared<ConstDecl>> consts;
  std::map<std::string, Declared<DimDecl>> dims;
  std::vector<const ModelDecl *> models; // of this file alone
  const TrainDecl *train = nullptr;
  SourceRange trainRange;
};

class Program {
public:
  /// Parses `main` and all that it imports. False after an error.
  bool load(const SourceFile &main, SourceManager &sources, Diagnostics &diagnostics);

  /// Parses statements of a train section that stand in a text of their own. Without a main file
  /// their names are those of the language alone. False after an error.
  bool addTraining(const SourceFile &statements, Diagnostics &diagnostics);

  const FileScope &mainScope() const { return *scopes.back(); }
  /// What addTraining parsed, or null.
  const TrainDecl *addedTraining() const { return added ? &*added : nullptr; }
  /// Where training is described: the main file's section, else all of the text of its own.
  SourceRange trainRange() const;
  /// The text that locations of this path point into, or null.
  const SourceFile *findSource(std::string_view path) const;
  /// Every file's scope, imported ones first.
  const std::vector<std::unique_ptr<FileScope>> &allScopes() const { return scopes; }

private:
  struct Loader;
  std::vector<std::unique_ptr<FileScope>> scopes;
  std::optional<TrainDecl> added;
  const SourceFile *addedSource = nullptr;
};

} // namespace nncc::frontend
