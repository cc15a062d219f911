// A Python process at the other end of two pipes; see TorchSteps.h.

#include "tools/nncc-bench/TorchSteps.h"

#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>
#include <vector>

using namespace nncc;
using namespace nncc::tools;

extern char **environ;

TorchSteps::Process::~Process() {
  // The end of its input ends it.
  if (to)
    std::fclose(to);
  if (from)
    std::fclose(from);
  if (id > 0)
    waitpid(id, nullptr, 0);
}

Result<TorchSteps> TorchSteps::start(const std::string &python, const std::string &model, int batch, int threads) {
  int toChild[2], fromChild[2];
  if (pipe(toChild) != 0 || pipe(fromChild) != 0)
    return environmentError("cannot make a pipe to " + python);
  std::vector<std::string> arguments = {python, NNCC_TORCH_STEPS, model, std::to_string(batch), std::to_string(threads)};
  std::vector<char *> argv;
  for (std::string &argument : arguments)
    argv.push_back(argument.data());
  argv.push_back(nullptr);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, toChild[0], 0);
  posix_spawn_file_actions_adddup2(&actions, fromChild[1], 1);
  for (int end : {toChild[0], toChild[1], fromChild[0], fromChild[1]})
    posix_spawn_file_actions_addclose(&actions, end);
  TorchSteps steps;
  steps.process = std::make_unique<Process>();
  int failed = posix_spawnp(&steps.process->id, argv[0], &actions, nullptr, argv.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  close(toChild[0]);
  close(fromChild[1]);
  steps.process->to = fdopen(toChild[1], "w");
  steps.process->from = fdopen(fromChild[0], "r");
  if (failed) {
    steps.process->id = 0;
    return environmentError("--torch: cannot start " + python);
  }
  Result<std::string> version = steps.readLine();
  if (!version)
    return environmentError("--torch: " + python + " could not build " + model + " in PyTorch; its message stands above");
  steps.torchVersion = *version;
  return std::move(steps);
}

Result<std::string> TorchSteps::readLine() {
  char line[256];
  if (!std::fgets(line, sizeof line, process->from))
    return environmentError("--torch: the Python process ended; its message stands above");
  std::string text = line;
  while (!text.empty() && text.back() == '\n')
    text.pop_back();
  return text;
}

Result<double> TorchSteps::stepNs() {
  if (std::fputs("step\n", process->to) < 0 || std::fflush(process->to) != 0)
    return environmentError("--torch: the Python process ended; its message stands above");
  Result<std::string> answer = readLine();
  if (!answer)
    return answer.error();
  return std::stod(*answer);
}
