// See Checker.h.
#include "tools/cuda-emulator/exec/Checker.h"

#include "tools/cuda-emulator/exec/BlockScheduler.h"

#include <algorithm>
#include <bit>
#include <cstring>

namespace nncc::cuemu {
namespace {

const char *accessName(uint32_t flags) {
  return flags & AccessAtomic && flags & AccessWrite ? "atomic operation" : flags & AccessWrite ? "write" : "read";
}

} // namespace

void Checker::beginLaunch(Launch &started) {
  launch = &started;
  launchPhase = phase + 1;
  blockPhases.clear();
  releasedBlocks.clear();
}

void Checker::beginBlock(BlockScheduler &running, uint64_t number) {
  scheduler = &running;
  block = number;
  blockPhase = ++phase;
  blockPhases.emplace_back(blockPhase, number);
  hasFenced = false;
  acquiredBlocks.clear();
  threads.assign(launch->threadsPerBlock(), ThreadRecord());
  warpTicks.assign((threads.size() + 31) / 32, 1);
  // Shared memory has no contents at the start of a block.
  sharedShadow = ShadowMemory(scheduler->sharedBytes());
}

void Checker::exitThread(ThreadContext &thread) { threads[thread.thread].frames.clear(); }

void Checker::barrierCompleted() { phase++; }

// Every lane that takes part sees what any of them saw or did.
void Checker::warpSynced(uint32_t warp, uint32_t lanes) {
  uint16_t tick = ++warpTicks[warp];
  if (tick == 0xffff) {
    // Ticks have run out: a new phase says the same for a little more than the lanes concerned.
    warpTicks[warp] = 1;
    phase++;
    return;
  }
  uint16_t joined[32] = {};
  for (uint32_t rest = lanes; rest != 0; rest &= rest - 1) {
    auto lane = static_cast<uint32_t>(std::countr_zero(rest));
    const ThreadRecord &record = threads[warp * 32 + lane];
    for (int i = 0; i < 32; i++)
      joined[i] = std::max(joined[i], record.seen[i]);
    joined[lane] = tick;
  }
  for (uint32_t rest = lanes; rest != 0; rest &= rest - 1) {
    auto lane = static_cast<uint32_t>(std::countr_zero(rest));
    std::copy(joined, joined + 32, threads[warp * 32 + lane].seen);
  }
}

// A fence after an atomic read acquires what the read location's writers released.
void Checker::fence(ThreadContext &thread) {
  hasFenced = true;
  ThreadRecord &record = threads[thread.thread];
  if (record.hasSyncRead)
    phase++;
  record.hasSyncRead = false;
}

void Checker::noteSync(ThreadContext &thread, uint64_t address, uint32_t flags) {
  if (flags & AccessWrite && (hasFenced || flags & AccessRelease)) {
    std::set<uint64_t> &released = releasedBlocks[address];
    released.insert(acquiredBlocks.begin(), acquiredBlocks.end());
    released.insert(block);
  }
  if (!(flags & AccessWrite) || flags & AccessAtomic) {
    threads[thread.thread].hasSyncRead = true;
    if (auto entry = releasedBlocks.find(address); entry != releasedBlocks.end())
      acquiredBlocks.insert(entry->second.begin(), entry->second.end());
    if (flags & AccessAcquire)
      phase++;
  }
}

uint32_t Checker::blockOfPhase(uint32_t wanted) const {
  auto next = std::upper_bound(blockPhases.begin(), blockPhases.end(), std::pair(wanted, ~uint64_t{0}));
  return static_cast<uint32_t>(std::prev(next)->second);
}

bool Checker::isOrdered(const ThreadContext &thread, const Region &region, uint32_t otherPhase, uint16_t other,
                        uint16_t tick) {
  if (otherPhase < launchPhase)
    return true; // an earlier launch, or no access at all
  if (otherPhase < blockPhase)
    return acquiredBlocks.count(blockOfPhase(otherPhase)) > 0;
  if (otherPhase < phase || other == thread.thread)
    return true;
  return other / 32 == thread.warp && tick < threads[thread.thread].seen[other % 32];
}

bool Checker::readsOrdered(const ThreadContext &thread, const Region &region, const AccessRecord &record) {
  if (record.readPhase < launchPhase)
    return true;
  if (record.flags & RecordManyBlocks)
    return !acquiredBlocks.empty();
  if (record.readPhase < blockPhase)
    return acquiredBlocks.count(blockOfPhase(record.readPhase)) > 0;
  if (record.readPhase < phase)
    return true;
  if (record.flags & RecordManyWarps)
    return false;
  for (uint32_t rest = record.readLanes; rest != 0; rest &= rest - 1) {
    auto reader = static_cast<uint16_t>(record.readThread / 32 * 32 + std::countr_zero(rest));
    if (!isOrdered(thread, region, record.readPhase, reader, record.readTick))
      return false;
  }
  return true;
}

void Checker::noteRead(const ThreadContext &thread, AccessRecord &record, uint8_t bytes, bool isStrong, uint32_t site) {
  bool isSameBlock = record.readPhase >= blockPhase;
  bool isSameLaunch = record.readPhase >= launchPhase;
  bool isSamePhase = record.readPhase == phase;
  uint8_t kept = record.flags & ~(RecordManyWarps | RecordManyBlocks | RecordStrongRead);
  if (isSameLaunch && (!isSameBlock || record.flags & RecordManyBlocks))
    kept |= RecordManyBlocks;
  if (isSamePhase && (record.flags & RecordManyWarps || record.readThread / 32 != thread.warp))
    kept |= RecordManyWarps;
  if (isStrong && (!isSamePhase || record.flags & RecordStrongRead))
    kept |= RecordStrongRead;
  record.flags = kept;
  record.readLanes = (isSamePhase && record.readThread / 32 == thread.warp ? record.readLanes : 0) | 1u << thread.lane;
  record.readBytes = static_cast<uint8_t>(isSamePhase ? record.readBytes | bytes : bytes);
  record.readPhase = phase;
  record.readThread = static_cast<uint16_t>(thread.thread);
  record.readTick = warpTicks[thread.warp];
  record.readSite = site;
}

void Checker::checkWord(ThreadContext &thread, const Region &region, uint64_t word, uint8_t bytes, uint32_t flags,
                        uint32_t site) {
  AccessRecord &record = region.shadow->record(word);
  uint8_t &initialised = region.shadow->initialised(word);
  bool isWrite = flags & AccessWrite, isRead = !isWrite || flags & AccessAtomic;
  bool isStrong = flags & (AccessAtomic | AccessVolatile);
  if (record.flags & RecordCopyPending)
    scheduler->fail(thread, cuda::CUDA_ERROR_LAUNCH_FAILED, site,
                    std::string("missing wait: ") + accessName(flags) + " of " + std::string(region.name) +
                        " at byte " + std::to_string(word * 4) + ", which a cp.async at " +
                        describeSite(*launch->module, record.writeSite) + " has not delivered");
  if (record.writeBytes & bytes && !(isStrong && record.flags & RecordStrongWrite) &&
      !isOrdered(thread, region, record.writePhase, record.writeThread, record.writeTick))
    race(thread, isWrite ? "write after write" : "read after write", region, word, site, record.writePhase,
         record.writeThread, record.writeSite);
  if (isWrite && record.readBytes & bytes && !(isStrong && record.flags & RecordStrongRead) &&
      !readsOrdered(thread, region, record))
    race(thread, "write after read", region, word, site, record.readPhase, record.readThread, record.readSite);
  if (isRead && (initialised & bytes) != bytes)
    scheduler->fail(thread, cuda::CUDA_ERROR_LAUNCH_FAILED, site,
                    std::string("uninitialised ") + accessName(flags) + " of " + std::string(region.name) +
                        " at byte " + std::to_string(word * 4 + static_cast<uint64_t>(std::countr_zero(bytes))) +
                        (region.isShared ? " (no thread of the block has written it yet; is a barrier missing?)" : ""));
  if (!isWrite) {
    noteRead(thread, record, bytes, isStrong, site);
    return;
  }
  bool isSameAccess = record.writePhase == phase && record.writeThread == thread.thread;
  record.writeBytes = static_cast<uint8_t>(isSameAccess ? record.writeBytes | bytes : bytes);
  record.writePhase = phase;
  record.writeThread = static_cast<uint16_t>(thread.thread);
  record.writeTick = warpTicks[thread.warp];
  record.writeSite = site;
  record.flags = static_cast<uint8_t>((record.flags & ~RecordStrongWrite) | (isStrong ? RecordStrongWrite : 0));
  initialised |= bytes;
}

void Checker::access(ThreadContext &thread, const void *pointer, uint32_t sizeBytes, uint32_t flags, uint32_t site) {
  auto address = reinterpret_cast<uint64_t>(pointer);
  // Frames on the fiber's stack.
  if (flags & AccessLocal || (!(flags & (AccessShared | AccessGlobal)) && scheduler->isOnStack(pointer))) {
    accessFrame(thread, address, sizeBytes, flags, site);
    return;
  }
  Region region = locate(thread, address, sizeBytes, flags, site);
  if ((address & (std::min(std::bit_floor(sizeBytes), 16u) - 1)) != 0)
    scheduler->fail(thread, cuda::CUDA_ERROR_MISALIGNED_ADDRESS, site,
                    "misaligned " + std::to_string(sizeBytes) + "-byte " + accessName(flags) + " at byte " +
                        std::to_string(region.offsetBytes) + " of " + std::string(region.name));
  for (uint64_t at = region.offsetBytes, end = at + sizeBytes; at < end;) {
    uint64_t begin = at % 4, stop = std::min<uint64_t>(4, begin + end - at);
    checkWord(thread, region, at / 4, static_cast<uint8_t>((1u << stop) - (1u << begin)), flags, site);
    at += stop - begin;
  }
  if (flags & (AccessAtomic | AccessVolatile))
    noteSync(thread, address, flags);
}

Checker::Region Checker::locate(ThreadContext &thread, uint64_t address, uint32_t sizeBytes, uint32_t flags,
                                uint32_t site) {
  auto sharedBase = reinterpret_cast<uint64_t>(scheduler->sharedBase());
  if (flags & AccessShared || (!(flags & AccessGlobal) && address - sharedBase < scheduler->sharedBytes()))
    return locateShared(thread, address, sizeBytes, flags, site);
  Allocation *allocation = memory.find(address);
  if (!allocation || sizeBytes > allocation->sizeBytes - (address - allocation->base)) {
    const Allocation *near = allocation ? allocation : memory.nearest(address);
    std::string where = "the address is in no allocation";
    if (near) {
      bool isBefore = address < near->base;
      uint64_t distance = isBefore ? near->base - address : address - near->base;
      where = near->name + " has " + std::to_string(near->sizeBytes) + " bytes; the access is " +
              std::to_string(distance) + " bytes " + (isBefore ? "before" : "after") + " its start";
    }
    outOfBounds(thread, address, sizeBytes, flags, site, where);
  }
  return {&allocation->shadow, address - allocation->base, allocation->name, false};
}

Checker::Region Checker::locateShared(ThreadContext &thread, uint64_t address, uint32_t sizeBytes, uint32_t flags,
                                      uint32_t site) {
  uint64_t offset = address - reinterpret_cast<uint64_t>(scheduler->sharedBase());
  const Kernel &kernel = *launch->kernel;
  auto window = static_cast<uint64_t>(kernel.sharedWindowBytes);
  if (offset >= window && offset - window + sizeBytes <= launch->dynamicSharedBytes)
    return {&sharedShadow, offset, "shared memory (dynamic)", true};
  const SharedVariable *nearest = nullptr;
  for (const SharedVariable &variable : kernel.shared) {
    auto begin = static_cast<uint64_t>(variable.offsetBytes);
    if (offset >= begin && offset + sizeBytes <= begin + static_cast<uint64_t>(variable.sizeBytes))
      return {&sharedShadow, offset, variable.name, true};
    if (begin <= offset && (!nearest || nearest->offsetBytes < variable.offsetBytes))
      nearest = &variable;
  }
  std::string where;
  if (offset >= window || !nearest)
    where = "dynamic shared memory has " + std::to_string(launch->dynamicSharedBytes) + " bytes; the access is at byte " +
            std::to_string(static_cast<int64_t>(offset - window));
  else
    where = "shared variable " + nearest->name + " has " + std::to_string(nearest->sizeBytes) +
            " bytes; the access is at byte " + std::to_string(offset - static_cast<uint64_t>(nearest->offsetBytes));
  outOfBounds(thread, address, sizeBytes, flags, site, where);
}

void Checker::outOfBounds(ThreadContext &thread, uint64_t, uint32_t sizeBytes, uint32_t flags, uint32_t site,
                          const std::string &where) {
  scheduler->fail(thread, cuda::CUDA_ERROR_ILLEGAL_ADDRESS, site,
                  "out of bounds: " + std::to_string(sizeBytes) + "-byte " + accessName(flags) + "; " + where);
}

void Checker::race(ThreadContext &thread, const char *what, const Region &region, uint64_t word, uint32_t site,
                   uint32_t otherPhase, uint16_t otherThread, uint32_t otherSite) {
  bool isOtherBlock = otherPhase < blockPhase;
  std::string other = "thread " + std::to_string(otherThread);
  if (isOtherBlock)
    other += " of block " + std::to_string(blockOfPhase(otherPhase)) + " (linear numbers)";
  scheduler->fail(thread, cuda::CUDA_ERROR_LAUNCH_FAILED, site,
                  std::string("race (") + what + (isOtherBlock ? ", between blocks" : "") + ") on " +
                      std::string(region.name) + " at byte " + std::to_string(word * 4) + " with " + other + ", at " +
                      describeSite(*launch->module, otherSite));
}

bool Checker::isSpace(ThreadContext &, const void *address, uint32_t space) {
  auto offset = reinterpret_cast<uint64_t>(address) - reinterpret_cast<uint64_t>(scheduler->sharedBase());
  bool isShared = offset < scheduler->sharedBytes();
  bool isLocal = scheduler->isOnStack(address);
  return space & AccessShared ? isShared : space & AccessLocal ? isLocal : !isShared && !isLocal;
}

// --- Local memory.

void Checker::enterFrame(ThreadContext &thread, const void *address, uint64_t sizeBytes) {
  threads[thread.thread].frames.push_back(
      {static_cast<const uint8_t *>(address), sizeBytes, std::vector<bool>(sizeBytes)});
}

void Checker::leaveFrame(ThreadContext &thread, const void *address) {
  std::vector<Frame> &frames = threads[thread.thread].frames;
  for (size_t i = frames.size(); i-- > 0;)
    if (frames[i].begin == address) {
      frames.erase(frames.begin() + static_cast<std::ptrdiff_t>(i));
      return;
    }
}

void Checker::accessFrame(ThreadContext &thread, uint64_t address, uint32_t sizeBytes, uint32_t flags, uint32_t site) {
  for (Frame &frame : threads[thread.thread].frames) {
    uint64_t offset = address - reinterpret_cast<uint64_t>(frame.begin);
    if (offset >= frame.sizeBytes || offset + sizeBytes > frame.sizeBytes)
      continue;
    if ((offset & (std::min(std::bit_floor(sizeBytes), 16u) - 1)) != 0)
      scheduler->fail(thread, cuda::CUDA_ERROR_MISALIGNED_ADDRESS, site,
                      "misaligned " + std::to_string(sizeBytes) + "-byte " + accessName(flags) + " of local memory");
    for (uint32_t i = 0; i < sizeBytes; i++) {
      if (!(flags & AccessWrite) && !frame.initialised[offset + i])
        scheduler->fail(thread, cuda::CUDA_ERROR_LAUNCH_FAILED, site,
                        "uninitialised read of local memory at byte " + std::to_string(offset + i));
      frame.initialised[offset + i] = true;
    }
    return;
  }
  outOfBounds(thread, address, sizeBytes, flags, site, "the address is in no local variable of the thread");
}

// --- cp.async.

// The data arrive when the issuing thread waits; until then no one may touch the destination.
void Checker::copyAsync(ThreadContext &thread, void *shared, const void *global, uint32_t sizeBytes,
                        uint32_t sourceBytes, uint32_t site) {
  access(thread, shared, sizeBytes, AccessWrite | AccessShared, site);
  if (sourceBytes > 0)
    access(thread, global, sourceBytes, AccessGlobal, site);
  auto address = reinterpret_cast<uint64_t>(shared);
  if ((address | reinterpret_cast<uint64_t>(global)) % sizeBytes != 0)
    scheduler->fail(thread, cuda::CUDA_ERROR_MISALIGNED_ADDRESS, site,
                    "misaligned " + std::to_string(sizeBytes) + "-byte cp.async");
  uint64_t offset = address - reinterpret_cast<uint64_t>(scheduler->sharedBase());
  for (uint32_t i = 0; i < sizeBytes; i += 4)
    sharedShadow.record((offset + i) / 4).flags |= RecordCopyPending;
  threads[thread.thread].openCopies.push_back(
      {static_cast<uint8_t *>(shared), static_cast<const uint8_t *>(global), sizeBytes, sourceBytes, site});
}

void Checker::copyCommit(ThreadContext &thread) {
  ThreadRecord &record = threads[thread.thread];
  record.committedCopies.push_back(std::move(record.openCopies));
  record.openCopies.clear();
}

void Checker::copyWait(ThreadContext &thread, uint32_t pendingGroups) {
  ThreadRecord &record = threads[thread.thread];
  while (record.committedCopies.size() > pendingGroups) {
    std::vector<Copy> group = std::move(record.committedCopies.front());
    record.committedCopies.erase(record.committedCopies.begin());
    for (const Copy &copy : group) {
      std::memcpy(copy.to, copy.from, copy.sourceBytes);
      std::memset(copy.to + copy.sourceBytes, 0, copy.sizeBytes - copy.sourceBytes);
      auto offset = static_cast<uint64_t>(copy.to - scheduler->sharedBase());
      for (uint32_t i = 0; i < copy.sizeBytes; i += 4) {
        AccessRecord &word = sharedShadow.record((offset + i) / 4);
        word.flags &= static_cast<uint8_t>(~RecordCopyPending);
        // Written now, as far as other threads are concerned.
        word.writePhase = phase;
        word.writeThread = static_cast<uint16_t>(thread.thread);
        word.writeTick = warpTicks[thread.warp];
        word.writeSite = copy.site;
      }
    }
  }
}

} // namespace nncc::cuemu
