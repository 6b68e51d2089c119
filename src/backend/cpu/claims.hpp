// Who does which part of a step, and when a launch is over.
#pragma once

#include <atomic>

#include "backend/cpu/memory.hpp"
#include "base/core.hpp"

namespace soma::cpu {

// Hands out the chunks of a step's launches to whoever of the team has arrived.
class Claims {
 public:
  static constexpr u32 none = ~u32{0};

  Claims(i64 launches, i32 members);

  // Between steps, by one thread: all chunks are to be had again.
  void begin();
  void set_chunks(i64 launch, u32 chunks) { chunks_[static_cast<size_t>(launch)] = chunks; }

  // Where a member stands within one launch.
  struct Cursor {
    i32 member = 0;
    bool alone = false;    // did all of the last launch: the others aren't there
    i32 shares_tried = 0;
    u32 claimed = 0;       // chunks of this launch …
    u32 reported = 0;      // … and how many of them are known to be done
  };
  static Cursor start(i32 member) { return {.member = member}; }
  // The next chunk to do, or none if all are taken; with none, the cursor is ready for the next
  // launch. To claim another is to say that the last one is done.
  u32 claim(i64 launch, Cursor& cursor);

  bool finished(i64 launch) const { return done(launch).load() == chunks(launch); }
  // Returns when all chunks of the launch are done. False: the step was stopped.
  bool await(i64 launch);

  void stop();
  bool stopped() const { return stopped_.load(std::memory_order_relaxed); }

 private:
  using Word = std::atomic<u32>;
  u32 chunks(i64 launch) const { return chunks_[static_cast<size_t>(launch)]; }
  Word& done(i64 launch) { return words_[launch]; }
  const Word& done(i64 launch) const { return words_[launch]; }
  Word& taken(i64 launch, i32 member) { return words_[(member + 1) * stride_ + launch]; }
  void await_briefly(i64 launch) const;
  void report(i64 launch, Cursor& cursor);
  void sleep(i64 launch);
  void ring();

  i64 stride_;    // words of a row: launches, whole cache lines
  i32 members_;
  std::vector<u32> chunks_;  // [launch]
  std::unique_ptr<u8[]> memory_;
  Word* words_ = nullptr;    // row 0: chunks done; row m + 1: chunks taken of member m's share
  alignas(line_bytes) std::atomic<u32> sleepers_{0};
  std::atomic<u32> bell_{0};
  std::atomic<bool> stopped_{false};
};

}  // namespace soma::cpu
