// Saves checkpoints in a loop until it is killed: checkpoint_saver PATH FIRST_STEP. Writes the
// number of each step to its output as 8 bytes when its checkpoint is saved.
#include "CheckpointSaver.h"

#include <cstdio>
#include <cstdlib>
#include <unistd.h>

int main(int argc, char **argv) {
  if (argc != 3)
    return 2;
  for (int64_t step = std::atoll(argv[2]);; ++step) {
    SavedTensors tensors(step);
    nncc::Result<void> saved =
        nncc::data::saveCheckpoint(argv[1], tensors.sources(), stateAt(step), step % 3 == 0);
    if (!saved) {
      std::fprintf(stderr, "%s\n", saved.error().message.c_str());
      return 1;
    }
    if (::write(STDOUT_FILENO, &step, sizeof step) != sizeof step)
      return 1;
  }
}
