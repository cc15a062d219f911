// Checked mode: looks at every memory access of a launch and ends the launch at the first that is out of
// bounds, misaligned, reads what no one wrote, or is not ordered with another thread's access.
//
// Order. Accesses of one thread are ordered. A barrier orders everything before it in its block with
// everything after it: it begins a new phase. bar.warp.sync orders the lanes that take part: each lane
// knows up to which tick of each other lane it has seen the other's accesses. Blocks of one launch are not
// ordered, except through a location that one block writes atomically after a fence and the other reads
// atomically. A named barrier of part of a block and an acquire are taken to order the whole block; so a
// race can be missed there, but none is reported falsely.
#pragma once

#include "tools/cuda-emulator/exec/DeviceMemory.h"
#include "tools/cuda-emulator/exec/Launch.h"

#include <set>
#include <unordered_map>
#include <vector>

namespace nncc::cuemu {

class BlockScheduler;

class Checker {
public:
  explicit Checker(DeviceMemory &memory) : memory(memory) {}

  void beginLaunch(Launch &launch);
  void beginBlock(BlockScheduler &scheduler, uint64_t block);
  void exitThread(ThreadContext &thread);
  void barrierCompleted();
  void warpSynced(uint32_t warp, uint32_t lanes);
  void fence(ThreadContext &thread);

  /// Fails the launch (and does not return) if the access is at fault.
  void access(ThreadContext &thread, const void *address, uint32_t sizeBytes, uint32_t flags, uint32_t site);
  bool isSpace(ThreadContext &thread, const void *address, uint32_t space);
  void enterFrame(ThreadContext &thread, const void *address, uint64_t sizeBytes);
  void leaveFrame(ThreadContext &thread, const void *address);

  void copyAsync(ThreadContext &thread, void *shared, const void *global, uint32_t sizeBytes, uint32_t sourceBytes,
                 uint32_t site);
  void copyCommit(ThreadContext &thread);
  void copyWait(ThreadContext &thread, uint32_t pendingGroups);

private:
  struct Copy {
    uint8_t *to;
    const uint8_t *from;
    uint32_t sizeBytes, sourceBytes, site;
  };
  struct Frame {
    const uint8_t *begin;
    uint64_t sizeBytes;
    std::vector<bool> initialised;
  };
  /// What is known of one thread of the block that runs.
  struct ThreadRecord {
    uint16_t seen[32] = {};   ///< by lane: its accesses before this tick come before this thread's next
    bool hasSyncRead = false; ///< an atomic or volatile read since the last fence
    std::vector<Copy> openCopies;
    std::vector<std::vector<Copy>> committedCopies;
    std::vector<Frame> frames;
  };
  /// A range of memory with its records.
  struct Region {
    ShadowMemory *shadow;
    uint64_t offsetBytes;
    std::string_view name;
    bool isShared;
  };

  Region locate(ThreadContext &thread, uint64_t address, uint32_t sizeBytes, uint32_t flags, uint32_t site);
  Region locateShared(ThreadContext &thread, uint64_t address, uint32_t sizeBytes, uint32_t flags, uint32_t site);
  void accessFrame(ThreadContext &thread, uint64_t address, uint32_t sizeBytes, uint32_t flags, uint32_t site);
  void checkWord(ThreadContext &thread, const Region &region, uint64_t word, uint8_t bytes, uint32_t flags, uint32_t site);
  bool isOrdered(const ThreadContext &thread, const Region &region, uint32_t phase, uint16_t other, uint16_t tick);
  bool readsOrdered(const ThreadContext &thread, const Region &region, const AccessRecord &record);
  void noteRead(const ThreadContext &thread, AccessRecord &record, uint8_t bytes, bool isStrong, uint32_t site);
  void noteSync(ThreadContext &thread, uint64_t address, uint32_t flags);
  uint32_t blockOfPhase(uint32_t phase) const;
  [[noreturn]] void race(ThreadContext &thread, const char *what, const Region &region, uint64_t word, uint32_t site,
                         uint32_t otherPhase, uint16_t otherThread, uint32_t otherSite);
  [[noreturn]] void outOfBounds(ThreadContext &thread, uint64_t address, uint32_t sizeBytes, uint32_t flags,
                                uint32_t site, const std::string &where);

  DeviceMemory &memory;
  Launch *launch = nullptr;
  BlockScheduler *scheduler = nullptr;
  ShadowMemory sharedShadow;
  std::vector<ThreadRecord> threads;
  std::vector<uint16_t> warpTicks;
  uint32_t phase = 0;       ///< grows over the life of the checker
  uint32_t launchPhase = 0; ///< first phase of the launch
  uint32_t blockPhase = 0;  ///< first phase of the block
  uint64_t block = 0;
  std::vector<std::pair<uint32_t, uint64_t>> blockPhases; ///< first phase and number of each block so far
  bool hasFenced = false;
  std::set<uint64_t> acquiredBlocks;
  std::unordered_map<uint64_t, std::set<uint64_t>> releasedBlocks; ///< by address of the synchronising word
};

} // namespace nncc::cuemu
