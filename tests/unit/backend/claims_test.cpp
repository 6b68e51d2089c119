// Proves that every chunk is done exactly once and before its launch counts as over, whoever comes,
// however late, and that waiting members sleep and are woken.
#include "backend/cpu/claims.hpp"

#include <doctest/doctest.h>
#include <unistd.h>

#include <array>
#include <thread>

using namespace soma;
using cpu::Claims;

namespace {

constexpr i64 launches = 40;

// Members walk all launches as the executor does; each chunk writes its own counter.
struct Walk {
  Claims claims;
  std::array<u32, launches> chunks{};
  std::array<std::array<i32, 64>, launches> done{};  // plain: a race is a failure under TSan
  std::atomic<i32> wrong{0};

  explicit Walk(i32 members) : claims(launches, members) {
    for (size_t i = 0; i < launches; ++i) {
      chunks[i] = static_cast<u32>(i * 7 % 20);  // 0 and 1 are among them
      claims.set_chunks(static_cast<i64>(i), chunks[i]);
    }
    claims.begin();
  }

  void member(i32 number, i64 sleep_at) {
    Claims::Cursor cursor = Claims::start(number);
    for (i64 launch = 0; launch < launches; ++launch) {
      if (launch > 0 && !claims.await(launch - 1)) return;
      if (launch > 0) check_done(launch - 1);
      for (u32 chunk; (chunk = claims.claim(launch, cursor)) != Claims::none;) {
        if (launch == sleep_at) usleep(3000);
        ++done[static_cast<size_t>(launch)][chunk];
      }
    }
  }
  void check_done(i64 launch) {
    const auto at = static_cast<size_t>(launch);
    for (u32 chunk = 0; chunk < chunks[at]; ++chunk) {
      if (done[at][chunk] != 1) ++wrong;
    }
  }
  bool all_once() {
    for (i64 launch = 0; launch < launches; ++launch) check_done(launch);
    return wrong == 0;
  }
};

}  // namespace

TEST_CASE("one member of several does all the work alone") {
  for (const i32 number : {0, 1, 3}) {
    Walk walk(4);
    walk.member(number, -1);
    CHECK(walk.all_once());
  }
}

TEST_CASE("members share the work, one of them dawdling") {
  for (int round = 0; round < 30; ++round) {
    Walk walk(4);
    std::array<std::thread, 3> others;
    for (i32 i = 0; i < 3; ++i) {
      others[static_cast<size_t>(i)] =
          std::thread([&walk, i, round] { walk.member(i + 1, i == 1 ? round : -1); });
    }
    walk.member(0, -1);
    for (std::thread& other : others) other.join();
    CHECK(walk.all_once());
  }
}

TEST_CASE("each member begins with its own share") {
  Claims claims(1, 3);
  claims.set_chunks(0, 10);
  claims.begin();
  std::array<u32, 3> first{};
  for (i32 i = 0; i < 3; ++i) {
    Claims::Cursor cursor = Claims::start(i);
    first[static_cast<size_t>(i)] = claims.claim(0, cursor);
  }
  CHECK(first == std::array<u32, 3>{0, 3, 6});
}

TEST_CASE("a stop ends every wait") {
  Walk walk(2);
  std::thread waiting([&] { CHECK(!walk.claims.await(5)); });
  usleep(5000);  // long enough that it sleeps
  walk.claims.stop();
  waiting.join();
  CHECK(walk.claims.stopped());
  walk.claims.begin();
  CHECK(!walk.claims.stopped());
}

TEST_CASE("a member that sleeps at a barrier is woken by the last report") {
  Claims claims(1, 2);
  claims.set_chunks(0, 2);
  claims.begin();
  Claims::Cursor cursor = Claims::start(0);
  REQUIRE(claims.claim(0, cursor) != Claims::none);
  REQUIRE(claims.claim(0, cursor) != Claims::none);
  std::thread waiting([&] { CHECK(claims.await(0)); });
  usleep(5000);
  CHECK(!claims.finished(0));
  CHECK(claims.claim(0, cursor) == Claims::none);
  CHECK(claims.finished(0));
  waiting.join();
}
