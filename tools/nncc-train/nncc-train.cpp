// nncc-train: trains a model on a data set. Links the runtime and the readers of data alone; a model's text is compiled by
// libnncc_jit.so, which is loaded when it is needed.

#include "runtime/DeviceName.h"
#include "runtime/data/OpenData.h"
#include "tools/nncc-train/TrainLoop.h"
#include "tools/support/ExitStatus.h"
#include "tools/support/Guarded.h"
#include "tools/support/Units.h"

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <unistd.h>

using namespace nncc;
using namespace nncc::tools;

namespace {

std::atomic<bool> isInterrupted = false;

/// The first signal asks for an end after the current step; a second one ends at once.
void interrupt(int signal) {
  isInterrupted = true;
  std::signal(signal, SIG_DFL);
}

/// As a shell has it for a program that SIGINT ended.
constexpr int kInterrupted = 130;

std::string checkDevice(const std::string &text) { return rt::parseDeviceName(text) ? "" : rt::unknownDevice(text).message; }

std::string checkField(const std::string &text) {
  size_t equals = text.find('=');
  return equals == 0 || equals == std::string::npos || equals + 1 == text.size() ? "expected INPUT=FIELD, found " + text : "";
}

std::string checkRate(const std::string &text) {
  char *end = nullptr;
  double rate = std::strtod(text.c_str(), &end);
  return rate >= 0 && std::isfinite(rate) && end != text.c_str() && !*end ? "" : "expected a number >= 0, found " + text;
}

std::string checkBytes(const std::string &text) {
  return parseBytes(text) ? "" : "expected a number of bytes, or of K, M or G, as in 512M, found " + text;
}

struct RawOptions {
  TrainOptions train;
  std::vector<std::string> fields;
  std::string resume, color = "auto", memoryBudget;
  bool inOrder = false;
};

void addDataOptions(CLI::App &app, RawOptions &raw) {
  TrainOptions &options = raw.train;
  app.add_option("--data", options.data, "The data set to train on")->type_name("DATA")->required();
  app.add_option("--val", options.validation, "A data set to validate on after each epoch")->type_name("DATA");
  app.add_option("--field", raw.fields, "The field of the data for an input or target whose name differs")
      ->type_name("INPUT=FIELD")
      ->allow_extra_args(false)
      ->check(checkField);
  app.add_option("--normalize", options.normalization, "Normalisation of the image: mean=0.1307,std=0.3081; divisor=1");
  app.add_option("--augment", options.augmentation, "Random changes of images of the training: crop=32+4,flip,shift=2");
  app.add_option("--batch", options.batch, "Samples a step; by default what the train section says")->check(CLI::PositiveNumber);
  app.add_flag("--in-order", raw.inOrder, "Take the samples in the order of the data set instead of a shuffled one");
  app.add_flag("--drop-last", options.dropLast, "Leave out the last samples of an epoch that do not fill a batch");
  app.add_option("--data-threads", options.dataThreads, "Threads that read ahead; 0: read between the steps")
      ->capture_default_str()
      ->check(CLI::Range(0, 256));
}

void addTrainingOptions(CLI::App &app, RawOptions &raw) {
  TrainOptions &options = raw.train;
  app.add_option("--train", options.loading.trainStatements,
                 "How a model's text is trained, or what changes in its train section: 'loss = mse(y, t); optimizer = sgd(lr = 0.1)'; @FILE "
                 "reads it from a file")
      ->type_name("TEXT|@FILE");
  app.add_option("--epochs", options.epochs, "Passes over the data; by default what the train section says")->check(CLI::PositiveNumber);
  app.add_option("--memory-budget", raw.memoryBudget,
                 "Let intermediates of a step take at most so many bytes, 512M (or K or G): values are computed again rather than kept")
      ->type_name("BYTES")
      ->check(checkBytes);
  app.add_option("--max-steps", options.maxSteps, "End after this many steps of the whole training")->check(CLI::PositiveNumber);
  app.add_option("--lr", options.learningRate, "Learning rate, before its schedule, instead of the train section's")->check(checkRate);
  app.add_option("--seed", options.seed,
                 "Seed of order, augmentation and dropout, and of the parameters of a model's text without weights");
  app.add_option("--weights", options.loading.weights, "A safetensors file with the parameters to begin with");
  app.add_option("--device", options.loading.device, "Where to train: cpu, cuda or cuda:N")->check(checkDevice);
  app.add_option("--threads", options.loading.threads, "Threads; 0: one per core")->check(CLI::Range(0, 1024));
  app.add_option("--tune", options.tune,
                 "Instead of training, measure on a CUDA device which kernels of a step other tiles, cuBLASLt or cuDNN do faster for "
                 "the first batch, and add that to this file")
      ->type_name("FILE.json");
  app.add_option("--tuning", options.loading.tuning, "A file that --tune made: what it found is used")->type_name("FILE.json");
  app.add_flag("--require-tuning", options.loading.tuningRequired,
               "Fail where the tuning file does not fit the device, its libraries, the model or the dims");
}

void addOutputOptions(CLI::App &app, RawOptions &raw) {
  TrainOptions &options = raw.train;
  app.add_option("--checkpoint", options.checkpoint,
                 "Keep checkpoints: NAME.safetensors, with the one before it as NAME.previous.safetensors and the best as "
                 "NAME.best.safetensors")
      ->type_name("NAME.safetensors");
  app.add_option("--resume", raw.resume, "Go on from the last checkpoint, if there is one, or from this one")
      ->type_name("[FILE]")
      ->expected(0, 1);
  app.add_flag("--overwrite", options.overwrite, "Begin anew where there is a checkpoint");
  app.add_option("--save-every", options.saveEvery, "Steps between checkpoints within an epoch; each epoch ends with one")
      ->check(CLI::PositiveNumber);
  app.add_option("--best", options.bestMetric, "What chooses the best checkpoint: 'loss' or a metric; by default the metric 'accuracy'")
      ->type_name("NAME");
  app.add_option("--export", options.exportPath, "Write the trained parameters, under PyTorch's names, as a safetensors file");
  app.add_option("--log-every", options.logEvery, "Steps between entries of the curves, which are means; 0: one per epoch")
      ->capture_default_str()
      ->check(CLI::NonNegativeNumber);
  app.add_option("--tensorboard", options.eventFolder, "Write the curves as an event file into this folder")->type_name("FOLDER");
  app.add_option("--csv", options.csv, "Write the curves as a table")->type_name("FILE.csv");
  app.add_flag("--confusion", options.confusion, "Show at the end which classes of the validation set are taken for which");
  app.add_option("--color", raw.color, "Colour of messages")->check(CLI::IsMember({"auto", "always", "never"}));
  app.add_flag("-q", options.quiet, "Print errors only");
}

/// What the parser leaves for us; throws as it does.
void complete(const CLI::App &app, RawOptions &raw) {
  TrainOptions &options = raw.train;
  for (const std::string &field : raw.fields)
    options.fieldOf[field.substr(0, field.find('='))] = field.substr(field.find('=') + 1);
  options.shuffle = !raw.inOrder;
  options.resume = app.count("--resume") > 0;
  options.resumeFrom = raw.resume;
  options.loading.seed = options.seed.value_or(0);
  if (!options.loading.trainStatements.empty() && options.model.ends_with(".so"))
    throw CLI::ValidationError("--train", "is decided when a model is compiled: nncc MODEL.nn --train='...'");
  if (!raw.memoryBudget.empty()) {
    options.loading.memoryBudgetBytes = *parseBytes(raw.memoryBudget);
    options.loading.batch = options.batch.value_or(0);
    if (options.model.ends_with(".so"))
      throw CLI::ValidationError("--memory-budget", "is decided when a model is compiled: nncc --train --memory-budget=" + raw.memoryBudget);
  }
  options.loading.compilesTiles = !options.tune.empty() || !options.loading.tuning.empty();
  if (options.resume && options.checkpoint.empty())
    throw CLI::RequiresError("--resume", "--checkpoint");
  if (options.resume && options.overwrite)
    throw CLI::ExcludesError("--resume", "--overwrite");
  if (options.saveEvery && options.checkpoint.empty())
    throw CLI::RequiresError("--save-every", "--checkpoint");
  if (options.confusion && options.validation.empty())
    throw CLI::RequiresError("--confusion", "--val");
}

Result<TrainEnd> runGuarded(TrainOptions options) {
  options.loading.log = [isQuiet = options.quiet](const std::string &text) {
    if (!isQuiet && text.starts_with("warning: "))
      fmt::print(stderr, "{}\n", text);
  };
  return guarded([&] { return TrainLoop(std::move(options), isInterrupted).run(); });
}

} // namespace

int main(int argc, char **argv) {
  CLI::App app("Trains a model on a data set.", "nncc-train");
  app.set_version_flag("--version", "nncc-train " NNCC_VERSION);
  app.footer("DATA is PATH, FORMAT:PATH[,PATH...] or either with ?OPTION=VALUE&...:\n" + data::describeFormats());
  RawOptions raw;
  app.add_option("MODEL", raw.train.model, "A model's text (.nn) with a train section or --train, or a model compiled with nncc --train (.so)")
      ->required();
  addDataOptions(app, raw);
  addTrainingOptions(app, raw);
  addOutputOptions(app, raw);
  try {
    app.parse(argc, argv);
    complete(app, raw);
  } catch (const CLI::ParseError &error) {
    return app.exit(error) == 0 ? kDone : kUsage;
  }
  std::signal(SIGXFSZ, SIG_IGN); // a write beyond the limit on file sizes then fails with EFBIG
  std::signal(SIGINT, interrupt);
  std::signal(SIGTERM, interrupt);
  bool isColored = raw.color == "always" || (raw.color == "auto" && isatty(STDERR_FILENO) && !std::getenv("NO_COLOR"));
  Result<TrainEnd> ended = runGuarded(std::move(raw.train));
  if (ended)
    return *ended == TrainEnd::Done ? kDone : kInterrupted;
  printError(ended.error().message, isColored);
  return exitStatusOf(ended.error().kind);
}
