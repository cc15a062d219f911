// Linking a model.so in process; see LinkShared.h.

#include "codegen/link/LinkShared.h"
#include "codegen/link/SystemLibraries.h"
#include "runtime/File.h"

#include "lld/Common/Driver.h"
#include "llvm/ADT/SmallString.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/FileUtilities.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/Signals.h"
#include "llvm/Support/raw_ostream.h"

#include <cstring>
#include <mutex>

#include <sys/mman.h>
#include <unistd.h>

LLD_HAS_DRIVER(elf)

using namespace nncc;

namespace {

/// A file without a name in any folder: lld reads its inputs by path, and /proc gives this one a
/// path for as long as the process holds it, so that no crash leaves objects behind.
class MemoryFile {
public:
  static Result<MemoryFile> create(const std::string &name, std::string_view bytes) {
    MemoryFile file;
    file.descriptor = memfd_create(name.c_str(), MFD_CLOEXEC);
    if (file.descriptor < 0)
      return environmentError(std::string("cannot create a file in memory for the linker: ") +
                              std::strerror(errno));
    llvm::raw_fd_ostream stream(file.descriptor, /*shouldClose=*/false);
    stream.write(bytes.data(), bytes.size());
    stream.flush();
    if (stream.has_error()) {
      std::string reason = stream.error().message();
      stream.clear_error();
      return environmentError("cannot write " + std::to_string(bytes.size()) +
                              " bytes into memory for the linker: " + reason);
    }
    return file;
  }

  MemoryFile(MemoryFile &&other) noexcept : descriptor(std::exchange(other.descriptor, -1)) {}
  MemoryFile &operator=(MemoryFile &&) = delete;
  ~MemoryFile() {
    if (descriptor >= 0)
      ::close(descriptor);
  }

  std::string path() const { return "/proc/self/fd/" + std::to_string(descriptor); }

private:
  MemoryFile() = default;
  int descriptor = -1;
};

/// lld keeps its state in globals.
std::mutex &linkerMutex() {
  static std::mutex mutex;
  return mutex;
}

Result<void> runLinker(std::span<const std::string> arguments) {
  std::vector<const char *> argv;
  for (const std::string &argument : arguments)
    argv.push_back(argument.c_str());
  std::string out, log;
  llvm::raw_string_ostream outStream(out), logStream(log);
  std::scoped_lock lock(linkerMutex());
  static bool canRun = true;
  if (!canRun)
    return internalError("the linker crashed earlier in this process and cannot run again");
  lld::Result result = lld::lldMain(argv, outStream, logStream, {{lld::Gnu, &lld::elf::link}});
  canRun = result.canRunAgain;
  if (result.retCode == 0)
    return {};
  return environmentError("linking the model failed:\n" + llvm::StringRef(log).trim().str());
}

} // namespace

Result<void> codegen::linkShared(const LinkOptions &options) {
  auto libraries = findSystemLibraries();
  if (!libraries)
    return libraries.error();

  std::vector<MemoryFile> files;
  auto addFile = [&](const std::string &name, std::string_view bytes) -> Result<std::string> {
    auto file = MemoryFile::create(name, bytes);
    if (!file)
      return file.error();
    files.push_back(std::move(*file));
    return files.back().path();
  };

  std::string versions = "{ global: " + std::string(kModelEntrySymbol) + "; local: *; };\n";
  auto versionScript = addFile("exports", versions);
  if (!versionScript)
    return versionScript.error();

  auto output = rt::resolveOutput(options.output);
  if (!output)
    return output.error();
  auto cannotWrite = [&](const std::string &reason) {
    return userError("cannot write '" + options.output + "': " + reason);
  };
  if (output->isStream)
    return cannotWrite("a shared object needs a regular file, found a device, pipe or socket");
  int descriptor = -1;
  llvm::SmallString<128> temporary;
  if (std::error_code code =
          llvm::sys::fs::createUniqueFile(output->path + ".%%%%%%.tmp", descriptor, temporary))
    return cannotWrite(code.message());
  ::close(descriptor);
  llvm::FileRemover removeOnFailure(temporary);
  llvm::sys::RemoveFileOnSignal(temporary);

  std::vector<std::string> arguments = {
      "ld.lld",
      "-shared",
      "-o",
      std::string(temporary),
      "-soname=" + llvm::sys::path::filename(options.output).str(),
      "--version-script=" + *versionScript,
      "--undefined=" + std::string(kModelEntrySymbol),
      "--gc-sections",
      "--hash-style=gnu",
      "--build-id",
      "--eh-frame-hdr",
      "-Bsymbolic",
      "-znow",
      "-zrelro",
      "-znoexecstack",
#ifdef NNCC_ALLOW_UNDEFINED
      "-zundefs",
#else
      "-zdefs",
#endif
  };
  for (const LinkObject &object : options.objects) {
    auto path = addFile(object.name, object.bytes);
    if (!path)
      return path.error();
    arguments.push_back(*path);
  }
  arguments.insert(arguments.end(), options.archives.begin(), options.archives.end());
  arguments.push_back("--as-needed");
  arguments.insert(arguments.end(), libraries->begin(), libraries->end());

  if (auto linked = runLinker(arguments); !linked) {
    // Of all its files lld names the output only when it cannot write it (no space, mostly).
    size_t named = linked.error().message.find(temporary.c_str());
    if (named == std::string::npos)
      return linked.error();
    return cannotWrite(
        llvm::StringRef(linked.error().message).drop_front(named + temporary.size()).ltrim(": ").str());
  }
  if (std::error_code code = llvm::sys::fs::rename(temporary, output->path))
    return cannotWrite(code.message());
  removeOnFailure.releaseFile();
  llvm::sys::DontRemoveFileOnSignal(temporary);
  return {};
}

Result<std::vector<std::string>> codegen::findRuntimeArchives(const std::string &self,
                                                              bool withCuda) {
  // In the order in which they refer to each other.
  std::vector<llvm::StringRef> names = {"libnncc_model_entry.a", "libnncc_rt.a"};
  if (withCuda)
    names.insert(names.begin() + 1, "libnncc_rt_cuda.a");
  constexpr llvm::StringRef kFolders[] = {"../lib", "../lib64", ".",
#if defined(__aarch64__)
                                          "../lib/aarch64-linux-gnu"
#else
                                          "../lib/x86_64-linux-gnu"
#endif
  };
  std::string looked;
  for (llvm::StringRef folder : kFolders) {
    llvm::SmallString<128> path(llvm::sys::path::parent_path(self));
    llvm::sys::path::append(path, folder);
    llvm::sys::path::remove_dots(path, /*remove_dot_dot=*/true);
    std::vector<std::string> archives;
    for (llvm::StringRef name : names)
      if (std::string archive = (path + "/" + name).str(); llvm::sys::fs::exists(archive))
        archives.push_back(archive);
    if (archives.size() == names.size())
      return archives;
    looked += "\n  " + std::string(path);
  }
  return environmentError("cannot find nncc's runtime (" + llvm::join(names, ", ") +
                          "), which every model.so carries; looked in" + looked + "\nReinstall nncc, or build the whole of it");
}
