// The loop; see TrainLoop.h. A step's batch is a function of its position and every random number one of the seed and the step, so a
// training that was cut off, or that is repeated to look for something, does the same as one that ran through.

#include "tools/nncc-train/TrainLoop.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <filesystem>

using namespace nncc;
using namespace nncc::tools;

namespace {

constexpr const char *kEpochMeans = "epoch_means";

/// Steps before the one with the bad loss whose kernels are looked at too: the update before it may have made the parameters
/// infinite.
constexpr int64_t kSuspectSteps = 2;

bool areFinite(std::span<const double> values) {
  return std::all_of(values.begin(), values.end(), [](double value) { return std::isfinite(value); });
}

} // namespace

/// What has to be the same when a training goes on, by the names of the options.
std::map<std::string, std::string> TrainLoop::settings() const {
  std::map<std::string, std::string> result = {{"batch", std::to_string(batchSize)},
                                               {"samples", std::to_string(training->sampleCount())},
                                               {"shuffle", options.shuffle ? "yes" : "no"},
                                               {"drop-last", options.dropLast ? "yes" : "no"},
                                               {"normalize", options.normalization},
                                               {"augment", options.augmentation},
                                               {"train", options.loading.trainStatements}};
  return result;
}

Result<void> TrainLoop::open() {
  auto opened = TrainedModel::open(options.model, options.loading);
  if (!opened)
    return opened.error();
  model.emplace(std::move(*opened));
  const nncc_model_info &info = model->info();
  for (size_t i = 0; i < info.train_output_count; ++i)
    names.emplace_back(info.train_outputs[i].name);
  ofEpoch = ofEntry = MeanResults(names.size());

  std::string wanted = options.bestMetric.empty() ? "accuracy" : options.bestMetric;
  auto found = std::find(names.begin(), names.end(), wanted);
  if (found == names.end() && !options.bestMetric.empty())
    return userError(fmt::format("--best {}: the train section has no metric '{}'", wanted, wanted));
  bestResult = found == names.end() ? 0 : static_cast<size_t>(found - names.begin());
  isHigherBetter = found != names.end() && found->find("accuracy") != std::string::npos;

  seed = options.seed.value_or(static_cast<uint64_t>(info.train_seed));
  epochs = options.epochs.value_or(info.train_epochs);
  auto size = chooseBatchSize(info, options.batch);
  if (!size)
    return size.error();
  batchSize = *size;
  auto batches = Batches::open(options.data, true, info, options, batchSize, seed);
  if (!batches)
    return batches.error();
  training.emplace(std::move(*batches));
  if (!options.validation.empty()) {
    auto held = Batches::open(options.validation, false, info, options, batchSize, seed);
    if (!held)
      return held.error();
    validation.emplace(std::move(*held));
  }
  auto loader = training->load({}, 1);
  if (!loader)
    return loader.error();
  batchesPerEpoch = (*loader)->batchesPerEpoch();
  return {};
}

Result<void> TrainLoop::resume() {
  data::CheckpointFiles files(options.checkpoint);
  std::error_code code;
  if (!options.resume) {
    if (!options.checkpoint.empty() && !options.overwrite && std::filesystem::exists(files.last, code))
      return userError(fmt::format("'{}' is there already: go on from it with --resume, begin anew with --overwrite, or name another "
                                   "file with --checkpoint",
                                   files.last));
    return {};
  }
  bool hasOne = std::filesystem::exists(files.last, code) || std::filesystem::exists(files.previous, code);
  if (options.resumeFrom.empty() && !hasOne)
    return {};
  auto checkpoint = options.resumeFrom.empty() ? data::openLastCheckpoint(files.last) : data::Checkpoint::open(options.resumeFrom);
  if (!checkpoint)
    return checkpoint.error();
  const data::TrainingState &state = checkpoint->state();
  std::string differences;
  for (const auto &[name, value] : settings())
    if (auto was = state.more.find(name); was != state.more.end() && was->second != value)
      differences += fmt::format("\n  {}: '{}' then, '{}' now", name, was->second, value);
  if (options.seed && *options.seed != state.seed)
    differences += fmt::format("\n  seed: {} then, {} now", state.seed, *options.seed);
  if (!differences.empty())
    return userError(fmt::format("'{}' is of a training with other settings:{}", checkpoint->path(), differences));
  if (auto restored = model->restore(*checkpoint); !restored)
    return restored;
  position = state.position;
  steps = state.step;
  best = state.best;
  if (seed != state.seed) {
    seed = state.seed;
    auto batches = Batches::open(options.data, true, model->info(), options, batchSize, seed);
    if (!batches)
      return batches.error();
    training.emplace(std::move(*batches));
  }
  if (auto means = state.more.find(kEpochMeans); means != state.more.end())
    ofEpoch = MeanResults::parse(means->second, names.size()).value_or(ofEpoch);
  return {};
}

Result<void> TrainLoop::setStates() {
  for (auto [name, value] : {std::pair("train.epochs", static_cast<double>(epochs)),
                             {"train.steps_per_epoch", static_cast<double>(batchesPerEpoch)},
                             {"train.seed", static_cast<double>(seed)}})
    if (auto set = model->setNumber(name, value); !set)
      return set;
  return options.learningRate ? model->setNumber("train.lr", *options.learningRate) : Result<void>();
}

Result<TrainEnd> TrainLoop::run() {
  if (auto opened = open(); !opened)
    return opened.error();
  if (auto resumed = resume(); !resumed)
    return resumed.error();
  if (auto set = setStates(); !set)
    return set.error();
  auto opened = Journal::open(options, names, steps ? std::optional(steps) : std::nullopt);
  if (!opened)
    return opened.error();
  journal.emplace(std::move(*opened));

  const nncc_model_info &info = model->info();
  std::string held = validation ? fmt::format(", validation on {}", validation->sampleCount()) : "";
  journal->say(fmt::format("{}: {} samples of {}{}, batches of {}, {} epoch{} of {} steps, on {}", info.name, training->sampleCount(),
                           training->source().origin(), held, batchSize, epochs, epochs == 1 ? "" : "s", batchesPerEpoch, info.target));
  if (!options.tune.empty())
    return tune();
  if (steps)
    journal->say(fmt::format("going on with step {} (epoch {}, batch {})", steps + 1, position.epoch + 1, position.batch + 1));
  if (auto noted = noteSafe(); !noted)
    return noted.error();
  if (auto begun = skippedUpdates.begin(*model); !begun)
    return begun.error();

  auto ended = runEpochs();
  if (!ended)
    return ended;
  if (!options.exportPath.empty() && *ended == TrainEnd::Done)
    if (auto written = exportParameters(); !written)
      return written.error();
  return ended;
}

/// With the batch that a training would begin with.
Result<TrainEnd> TrainLoop::tune() {
  auto loader = training->load(position, epochs);
  if (!loader)
    return loader.error();
  auto batch = (*loader)->next();
  if (!batch)
    return batch.error();
  if (!*batch)
    return userError("--tune: the training is at its end, there is no batch to measure with");
  if (auto tuned = model->instance().tuneTraining(describe(**batch), options.tune); !tuned)
    return tuned.error();
  journal->say(fmt::format("tuned; {} has the choices for batches of {} (--tuning={})", options.tune,
                           (*batch)->sampleCount(), options.tune));
  return TrainEnd::Done;
}

Result<TrainEnd> TrainLoop::runEpochs() {
  auto loader = training->load(position, epochs);
  if (!loader)
    return loader.error();
  journal->progress().begin(epochs, batchesPerEpoch, position.epoch, position.batch);
  epochStarted = Clock::now();
  bool isSaved = true;
  while (!options.maxSteps || steps < *options.maxSteps) {
    auto batch = (*loader)->next();
    if (!batch)
      return batch.error();
    if (!*batch)
      break;
    auto results = step(**batch);
    if (!results)
      return results.error();
    auto isHarmless = skippedUpdates.note(*model);
    if (!isHarmless)
      return isHarmless.error();
    if (std::string problem = problemOf(*results, *isHarmless); !problem.empty())
      return findNonFinite(problem);
    int64_t samples = (*batch)->sampleCount();
    bool isLast = (*batch)->isLastOfEpoch();
    position = (*batch)->nextPosition();
    batch->reset(); // its memory is for the loader's next one
    ++steps;
    isSaved = false;
    if (auto logged = log(*results, samples); !logged)
      return logged.error();
    if (isLast) {
      if (auto done = endEpoch(); !done)
        return done.error();
      isSaved = true;
    } else if (isInterrupted || (options.saveEvery && steps % *options.saveEvery == 0)) {
      if (auto saved = save(false); !saved)
        return saved.error();
      isSaved = true;
    }
    if (isInterrupted) {
      journal->say(options.checkpoint.empty()
                       ? fmt::format("interrupted after step {}; nothing was saved, since no --checkpoint was given", steps)
                       : fmt::format("interrupted after step {}; saved in '{}', --resume goes on from there", steps, options.checkpoint));
      return TrainEnd::Interrupted;
    }
  }
  if (!isSaved)
    if (auto saved = save(false); !saved)
      return saved.error();
  return TrainEnd::Done;
}

Result<std::vector<double>> TrainLoop::step(const data::Batch &batch) {
  std::vector<DLTensor> tensors = describe(batch);
  return model->instance().trainStep(tensors);
}

Result<void> TrainLoop::log(std::span<const double> results, int64_t samples) {
  if (areFinite(results)) {
    ofEpoch.add(results, samples);
    ofEntry.add(results, samples);
  }
  epochSamples += samples;
  int64_t epoch = (steps - 1) / batchesPerEpoch, done = (steps - 1) % batchesPerEpoch + 1;
  journal->progress().update(epoch, done, samples, ofEntry.means()[0]);
  if (options.logEvery == 0 || steps % options.logEvery != 0)
    return {};
  std::vector<double> means = ofEntry.means();
  ofEntry.clear();
  journal->say(fmt::format("epoch {}  step {}  {}", epoch + 1, steps, journal->describe(means)));
  return journal->addTraining(steps, means);
}

Result<bool> TrainLoop::noteBest(std::span<const double> results) {
  double value = results[bestResult];
  bool isBest = !best || (isHigherBetter ? value > *best : value < *best);
  if (isBest)
    best = value;
  return isBest;
}

Result<void> TrainLoop::endEpoch() {
  double seconds = std::chrono::duration<double>(Clock::now() - epochStarted).count();
  std::vector<double> means = ofEpoch.means();
  std::string line = fmt::format("epoch {}/{}  {}", position.epoch, epochs, journal->describe(means));
  if (std::string skipped = skippedUpdates.takeSummary(); !skipped.empty())
    line += "  " + skipped;
  if (options.logEvery == 0) {
    if (auto added = journal->addTraining(steps, means); !added)
      return added;
    ofEntry.clear();
  }
  ofEpoch.clear();
  std::string confusion;
  if (validation) {
    bool isLastEpoch = position.epoch >= epochs;
    auto validated = validate(*model, *validation, options.confusion && isLastEpoch);
    if (!validated)
      return validated.error();
    means = validated->results;
    line += "  validation " + journal->describe(means);
    if (auto added = journal->addValidation(steps, means); !added)
      return added;
    if (!validated->confusion.empty())
      confusion = renderConfusion(validated->confusion, validation->source().classNames());
  }
  journal->say(line + fmt::format("  {:.1f} s, {:.0f} samples/s", seconds, static_cast<double>(epochSamples) / std::max(seconds, 1e-9)));
  if (!confusion.empty())
    journal->say(confusion);
  auto isBest = noteBest(means);
  if (!isBest)
    return isBest.error();
  if (auto saved = save(*isBest); !saved)
    return saved;
  epochStarted = Clock::now();
  epochSamples = 0;
  return {};
}

/// What is in the model now is known to be good.
Result<void> TrainLoop::noteSafe() {
  auto taken = model->snapshot();
  if (!taken)
    return taken.error();
  safe = std::move(*taken);
  safePosition = position;
  safeSteps = steps;
  return {};
}

Result<void> TrainLoop::save(bool isBest) {
  if (auto noted = noteSafe(); !noted)
    return noted.error();
  if (options.checkpoint.empty())
    return {};
  data::TrainingState state;
  state.model = model->info().name;
  state.identity = model->identity();
  state.position = position;
  state.step = steps;
  state.seed = seed;
  state.best = best;
  state.more = settings();
  state.more[kEpochMeans] = ofEpoch.toText();
  return data::saveCheckpoint(options.checkpoint, safe.sources(safe.tensors.size()), state, isBest);
}

Result<void> TrainLoop::exportParameters() {
  auto taken = model->snapshot();
  if (!taken)
    return taken.error();
  return rt::writeSafetensors(options.exportPath, taken->sources(taken->parameterCount), {{"nncc.model", model->info().name}},
                              rt::SafetensorsAlignment::Start);
}

std::string TrainLoop::problemOf(std::span<const double> results, bool isHarmless) const {
  bool areTooMany = skippedUpdates.inARow() >= SkippedUpdates::kMost;
  auto found = std::find_if(results.begin(), results.end(), [](double value) { return !std::isfinite(value); });
  if (!areTooMany && (isHarmless || found == results.end()))
    return "";
  std::string where = fmt::format("step {} (epoch {}, batch {})", steps + 1, position.epoch + 1, position.batch + 1);
  if (areTooMany)
    return fmt::format("{}: {} updates in a row were skipped, since a gradient was no finite number", where, skippedUpdates.inARow());
  return fmt::format("{}: '{}' is {}", where, names[static_cast<size_t>(found - results.begin())], std::isnan(*found) ? "NaN" : "infinite");
}

Error TrainLoop::findNonFinite(const std::string &problem) {
  int64_t bad = steps + 1;
  journal->say(fmt::format("{}; repeating {} steps to find where that began", problem, bad - safeSteps));
  auto loader = training->load(safePosition, epochs);
  auto restored = model->restore(safe);
  if (!loader || !restored)
    return loader ? restored.error() : loader.error();
  std::string cause = "no single kernel was found to begin with it";
  for (int64_t at = safeSteps + 1; at <= bad; ++at) {
    auto batch = (*loader)->next();
    if (!batch || !*batch)
      break;
    if (at > bad - kSuspectSteps)
      if (auto set = model->instance().setFiniteCheck(true); !set)
        return set.error();
    if (auto repeated = step(**batch); !repeated) {
      cause = fmt::format("in step {}: {}", at, repeated.error().message);
      break;
    }
  }
  std::string kept = options.checkpoint.empty() || safeSteps == 0
                         ? ""
                         : fmt::format("\nThe checkpoint of step {} is whole: '{}'", safeSteps, options.checkpoint);
  const char *remedy = skippedUpdates.inARow() >= SkippedUpdates::kMost
                           ? "A smaller loss_scale, precision = bf16, or data without such values may help."
                           : "A lower learning rate, clip = global_norm(1.0), or data without such values may help.";
  return userError(fmt::format("{}\n{}\n{}{}", problem, cause, remedy, kept));
}
