// Measures read bandwidth.
//
// The block is larger than any last-level cache it may meet and lies in huge pages where the system
// gives them, like packed weights; every page is written first, else all of them would be the one
// page of zeros. Members claim pieces of 1 MiB, so that a helper that gets no time costs nothing
// but its share. Sums are kept, so that no read can be left out.
#include "base/bandwidth.hpp"

#include <sys/mman.h>

#include <algorithm>
#include <atomic>
#include <cstring>

#include "base/clock.hpp"
#include "base/memory.hpp"

namespace soma {

namespace {

constexpr u64 block_bytes = u64{512} << 20;
constexpr u64 piece_bytes = u64{1} << 20;
constexpr i64 wanted_ns = 1'000'000'000;
constexpr size_t fewest_rounds = 3;
constexpr size_t most_rounds = 64;

class Block {
 public:
  static Result<Block> map() {
    void* memory =
        mmap(nullptr, block_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) {
      return fail(Reason::out_of_memory, "no {} MiB to measure with", block_bytes >> 20);
    }
    madvise(memory, block_bytes, MADV_HUGEPAGE);
    return Block(static_cast<u8*>(memory));
  }
  Block(Block&& other) noexcept
      : data_(std::exchange(other.data_, nullptr)), count_(std::move(other.count_)) {}
  Block& operator=(Block&&) = delete;
  ~Block() {
    if (data_) munmap(data_, block_bytes);
  }
  u8* data() const { return data_; }

 private:
  explicit Block(u8* data) : data_(data), count_(block_bytes) {}
  u8* data_;
  MappedBytes count_;
};

struct Round {
  u8* data = nullptr;
  bool fill = false;  // the first round: writes instead
  std::atomic<u64> next{0};
  std::atomic<u64> sum{0};
  std::atomic<bool> stop{false};
  const Cancel* cancel = nullptr;
};

// A word of each line, so that the sums cost nothing, in four far streams, which is what keeps most
// misses in flight: on a Zen 3 twice the rate of adding all words of one stream (17.8, 8.9 GB/s).
u64 sum_of(const u8* piece) {
  constexpr size_t streams = 4;
  constexpr u64 line_bytes = 64;
  constexpr u64 stream_bytes = piece_bytes / streams;
  u64 sums[streams] = {};
  for (u64 at = 0; at < stream_bytes; at += line_bytes) {
    for (size_t i = 0; i < streams; ++i) {
      u64 word;
      std::memcpy(&word, piece + i * stream_bytes + at, sizeof word);
      sums[i] += word;
    }
  }
  u64 sum = 0;
  for (const u64 part : sums) sum += part;
  return sum;
}

void work(void* user, i32 member) {
  Round& round = *static_cast<Round*>(user);
  u64 sum = 0;
  while (!round.stop.load(std::memory_order_relaxed)) {
    const u64 at = round.next.fetch_add(piece_bytes, std::memory_order_relaxed);
    if (at >= block_bytes) break;
    if (round.fill) {
      std::memset(round.data + at, 1, piece_bytes);
    } else {
      sum += sum_of(round.data + at);
    }
    if (member == 0 && round.cancel && !round.cancel->check().ok()) round.stop.store(true);
  }
  round.sum.fetch_add(sum, std::memory_order_relaxed);
}

}  // namespace

Result<Bandwidth> measure_read_bandwidth(Team& team, const Cancel* cancel) {
  SOMA_ASSIGN(const Block block, Block::map());
  std::vector<double> rates;
  const i64 begin = now_ns();
  for (size_t i = 0; i <= most_rounds; ++i) {
    Round round;
    round.data = block.data();
    round.fill = i == 0;
    round.cancel = cancel;
    const i64 start = now_ns();
    team.run(work, &round);
    const i64 end = now_ns();
    if (cancel) SOMA_TRY(cancel->check());
    if (i == 0) continue;
    rates.push_back(static_cast<double>(block_bytes) * 1e9 / static_cast<double>(end - start));
    if (cancel) cancel->report("measure", static_cast<u64>(end - begin), u64{wanted_ns});
    if (rates.size() >= fewest_rounds && end - begin >= wanted_ns) break;
  }
  std::sort(rates.begin(), rates.end());
  return Bandwidth{rates[rates.size() / 2], block_bytes, static_cast<i32>(rates.size())};
}

}  // namespace soma
