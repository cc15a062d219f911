// The end of a compilation; see WriteModel.h.

#include "driver/WriteModel.h"
#include "codegen/link/LinkShared.h"
#include "codegen/link/WriteObject.h"
#include "driver/Diagnose.h"
#include "driver/PrepareWeights.h"
#include "runtime/File.h"

#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/TimeProfiler.h"

using namespace nncc;
using namespace nncc::driver;

std::string driver::weightsPathFor(const std::string &output) {
  llvm::SmallString<128> path(output);
  llvm::sys::path::replace_extension(path, "weights");
  return std::string(path);
}

Result<void> driver::writeSharedObject(const CompiledModel &model, const ModelFiles &files) {
  llvm::TimeTraceScope trace("link");
  std::string_view weights = model.weights;
  auto archives = codegen::findRuntimeArchives(files.self, model.cuda.has_value());
  if (!archives)
    return archives.error();
  bool isExternal = files.weightsMode == WeightsMode::External ||
                    (files.weightsMode == WeightsMode::Auto && weights.size() > kMaxEmbeddedBytes);

  codegen::DescriptorContents contents;
  for (const VariantCode &variant : model.variants)
    contents.variants.push_back(describeVariant(variant));
  if (model.cuda)
    contents.cuda = describeCuda(*model.cuda);
  std::optional<rt::AtomicFile> weightsFile;
  if (isExternal) {
    std::string path = weightsPathFor(files.output);
    contents.weightsFile = llvm::sys::path::filename(path).str();
    auto created = rt::AtomicFile::create(path);
    if (!created)
      return created.error();
    weightsFile.emplace(std::move(*created));
    if (auto written = weightsFile->write(weights); !written)
      return written.error();
  } else {
    contents.weights = weights;
  }

  auto target = findTarget("native");
  if (!target)
    return target.error();
  auto descriptor = codegen::writeDescriptorObject(contents, *target);
  if (!descriptor)
    return asInternalError(descriptor.takeError());

  codegen::LinkOptions link;
  for (const VariantCode &variant : model.variants)
    link.objects.push_back(
        {"kernels-" + variant.cpuLevel, {variant.object.data(), variant.object.size()}});
  link.objects.push_back({"descriptor", {descriptor->data(), descriptor->size()}});
  link.archives = std::move(*archives);
  link.output = files.output;
  if (auto linked = codegen::linkShared(link); !linked)
    return linked.error();
  if (weightsFile)
    if (auto committed = weightsFile->commit(); !committed) {
      llvm::sys::fs::remove(files.output);
      return committed.error();
    }
  return {};
}
