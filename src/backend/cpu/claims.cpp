// Chunks, claims and barriers of a step.
//
// Problem. Launches of a decode step take microseconds, so their division among the team must cost
// next to nothing; each core should stream the same part of the weights every time; and yet a core
// that is slow, or was taken away, or never came, must not hold up the step.
//
// Idea. A launch's chunks are split into contiguous shares, one a member. A member takes chunks of
// its own share by adding to the share's counter, and when that is used up goes on in the shares
// of the others. A member that does not come is thus replaced chunk by chunk, and one that comes
// late finds counters at their ends and walks by. A barrier is the sum of chunks done: nobody is
// waited for who has not claimed anything.
//
// The counters of one member for neighbouring launches share a cache line, which this member has
// at hand. A look at it by others takes it away, and fetching it back costs more than a small
// launch; so who is done with its own share first watches the done counter for a moment, unless it
// had to do all of the last launch alone. Clearing the counters for the next step is a few lines of
// memory.
//
// Right: adding hands out each chunk once. Data go from a chunk to whoever waits for it through
// the done counter (release by the adding member, acquire by the waiting one); nothing else
// carries data between launches. A member claims before it touches what the launch reads: the
// launch can then not be over, so nobody can be overwriting that yet.
//
// Waiting. The member waited for holds a chunk: at most a few hundred microseconds of work if it
// runs. If its processor was taken away, spinning would burn a processor which it might need, and
// so, after `barrier_spin_ns`, a waiter offers its own by yielding and at last sleeps on `bell_`.
// It is rung by whoever reports chunks while somebody sleeps. No ring is lost: the sleeper raises
// `sleepers_` and reads the bell before it looks at the counter for the last time, the reporter
// adds to the counter before it looks at `sleepers_`, all sequentially consistent.
#include "backend/cpu/claims.hpp"

#include <cstring>
#include <new>

#include "base/spin.hpp"

namespace soma::cpu {

namespace {

constexpr i64 barrier_spin_ns = 100'000;
constexpr i64 barrier_yield_ns = 500'000;
constexpr i32 steal_patience = 64;  // pauses: one to three microseconds

}  // namespace

Claims::Claims(i64 launches, i32 members)
    : stride_(static_cast<i64>(to_lines(static_cast<u64>(launches) * sizeof(Word)) / sizeof(Word))),
      members_(members),
      chunks_(static_cast<size_t>(launches)) {
  const auto words = static_cast<size_t>(stride_ * (members_ + 1));
  memory_ = std::make_unique<u8[]>(words * sizeof(Word) + line_bytes);
  const auto address = reinterpret_cast<uintptr_t>(memory_.get());
  u8* aligned = memory_.get() + (line_bytes - address % line_bytes) % line_bytes;
  words_ = reinterpret_cast<Word*>(aligned);
  for (size_t i = 0; i < words; ++i) new (words_ + i) Word(0);
}

void Claims::begin() {
  stopped_.store(false, std::memory_order_relaxed);
  for (i64 i = 0; i < stride_ * (members_ + 1); ++i) words_[i].store(0, std::memory_order_relaxed);
}

u32 Claims::claim(i64 launch, Cursor& cursor) {
  const u32 all = chunks(launch);
  const auto members = static_cast<u32>(members_);
  for (; cursor.shares_tried < members_; ++cursor.shares_tried) {
    const auto owner = static_cast<u32>((cursor.member + cursor.shares_tried) % members_);
    const auto first = static_cast<u32>(u64{all} * owner / members);
    const auto size = static_cast<u32>(u64{all} * (owner + 1) / members) - first;
    Word& counter = taken(launch, static_cast<i32>(owner));
    const bool own = cursor.shares_tried == 0 && size != 0;
    if (own || counter.load(std::memory_order_relaxed) < size) {
      const u32 chunk = counter.fetch_add(1, std::memory_order_relaxed);
      if (chunk < size) {
        ++cursor.claimed;
        return first + chunk;
      }
    }
    report(launch, cursor);
    if (cursor.shares_tried == 0 && !cursor.alone) await_briefly(launch);
    if (finished(launch)) break;
  }
  const bool alone = all > 1 ? cursor.claimed == all : cursor.alone;
  cursor = {.member = cursor.member, .alone = alone};
  return none;
}

void Claims::await_briefly(i64 launch) const {
  for (i32 i = 0; i < steal_patience && !finished(launch); ++i) cpu_pause();
}

void Claims::report(i64 launch, Cursor& cursor) {
  const u32 news = cursor.claimed - std::exchange(cursor.reported, cursor.claimed);
  if (news == 0) return;
  done(launch).fetch_add(news);
  if (sleepers_.load() != 0) ring();
}

bool Claims::await(i64 launch) {
  Spin spin(barrier_spin_ns, barrier_yield_ns);
  while (!finished(launch)) {
    if (stopped()) return false;
    if (!spin.wait()) sleep(launch);
  }
  return true;
}

void Claims::sleep(i64 launch) {
  sleepers_.fetch_add(1);
  const u32 rings = bell_.load();
  if (!finished(launch) && !stopped_.load()) futex_wait(bell_, rings);
  sleepers_.fetch_sub(1);
}

void Claims::ring() {
  bell_.fetch_add(1);
  futex_wake_all(bell_);
}

void Claims::stop() {
  stopped_.store(true);
  ring();
}

}  // namespace soma::cpu
