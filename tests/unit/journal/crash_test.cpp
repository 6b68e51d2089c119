// Proves that what a journal said is durable survives: processes killed at any moment, writes that
// break at each point, and a disk that forgets what was not flushed.
#include <sys/wait.h>
#include <time.h>

#include <csignal>
#include <random>

#include "unit/journal/faulty_vfs.hpp"

namespace soma {

namespace {

// The n-th record, of a size of its own: every eighth is one of many pages.
template <size_t BigBytes>
Record numbered(u64 number) {
  const size_t size = number % 8 == 7 ? BigBytes : number * 7919 % 5000;
  std::string content(size, static_cast<char>('a' + number % 26));
  content += text("{}", number);
  return {.kind = Record::Kind::Output, .site = {text("n{}", number), 0, 0}, .effect = "e",
          .digest = "d", .content = std::move(content), .at_ns = static_cast<i64>(number)};
}

// Fails at the first record that is not the next one, as it was written.
template <size_t BigBytes>
Status count_numbered(void* user, Record record) {
  u64& count = *static_cast<u64*>(user);
  if (record != numbered<BigBytes>(count)) {
    return fail(Reason::internal, "record {} is another", count);
  }
  ++count;
  return {};
}

// So large that SQLite's log is full, and written back, now and then in a child.
constexpr size_t big = 400'000;

// Looks whether all is there that was reported, appends records one by one and tells of each after
// it is durable, until it is killed.
[[noreturn]] void append_for_ever(const std::string& path, u64 reported, int pipe) {
  Result<std::unique_ptr<JournalStore>> store = open_sqlite_store(path);
  u64 count = 0;
  if (!store.ok() || !(*store)->load(count_numbered<big>, &count).ok()) ::_exit(3);
  if (count < reported) ::_exit(4);
  while ((*store)->append(std::vector{numbered<big>(count)}).ok()) {
    if (::write(pipe, &count, sizeof count) != sizeof count) break;
    ++count;
  }
  ::_exit(5);
}

// Kills a child after so many reports and so long; the last number that it reported, if any.
std::optional<u64> kill_one(const std::string& path, u64 reported, u32 reports, i64 delay_ns) {
  int ends[2];
  REQUIRE(::pipe(ends) == 0);
  const pid_t child = ::fork();
  REQUIRE(child >= 0);
  if (child == 0) append_for_ever(path, reported, ends[1]);
  ::close(ends[1]);
  std::optional<u64> last;
  u64 number = 0;
  for (u32 i = 0; i < reports && ::read(ends[0], &number, sizeof number) == sizeof number; ++i) {
    last = number;
  }
  const timespec delay = {.tv_sec = 0, .tv_nsec = delay_ns};
  ::nanosleep(&delay, nullptr);
  ::kill(child, SIGKILL);
  while (::read(ends[0], &number, sizeof number) == sizeof number) last = number;
  ::close(ends[0]);
  int status = 0;
  REQUIRE(::waitpid(child, &status, 0) == child);
  CHECK(WIFSIGNALED(status));  // it did not fail on its own
  return last;
}

}  // namespace

TEST_CASE("a killed process leaves all that it reported, in order, and nothing half") {
  constexpr u32 journals = 8, kills = 25;
  std::minstd_rand random(7);
  u64 records = 0;
  for (u32 journal = 0; journal < journals; ++journal) {
    const TestFolder folder;
    const std::string path = folder / "run.journal";
    must(must(open_sqlite_store(path))->bind(test_identity));
    u64 reported = 0;
    for (u32 kill = 0; kill < kills; ++kill) {
      const auto reports = static_cast<u32>(random() % 5);
      const auto delay_ns = static_cast<i64>(random() % 6'000'000);
      const std::optional<u64> last = kill_one(path, reported, reports, delay_ns);
      if (last) reported = *last + 1;
    }
    u64 count = 0;
    must(must(open_sqlite_store(path))->load(count_numbered<big>, &count));
    CHECK(count >= reported);
    CHECK(reported > kills / 2);
    records += count;
  }
  MESSAGE((journals * kills), " kills, ", records, " records");
}

namespace {

constexpr size_t small = 20'000;

struct Outcome {
  bool is_bound = false;
  u64 acknowledged = 0, attempted = 0;
};

// A journal's life through a disk that breaks somewhere.
Outcome live(const std::string& path) {
  Outcome outcome;
  Result<std::unique_ptr<JournalStore>> store = open_sqlite_store(path, {.vfs = "faulty"});
  REQUIRE(store.ok());
  outcome.is_bound = (*store)->bind(test_identity).ok();
  u64 loaded = 0;
  if (!outcome.is_bound || !(*store)->load(count_numbered<small>, &loaded).ok()) return outcome;
  for (u64 group = 1; group <= 5; ++group) {
    std::vector<Record> records;
    for (u64 i = 0; i < group; ++i) records.push_back(numbered<small>(outcome.acknowledged + i));
    outcome.attempted = outcome.acknowledged + group;
    if (const Status status = (*store)->append(records); !status.ok()) {
      CHECK(!(*store)->append(std::vector{numbered<small>(99)}).ok());  // nothing follows a failure
      return outcome;
    }
    outcome.acknowledged += group;
  }
  return outcome;
}

void check_after(const std::string& path, const Outcome& outcome) {
  const Result<std::unique_ptr<JournalStore>> store = open_sqlite_store(path);
  if (!store.ok()) FAIL(store.error().message());
  const std::optional<RunIdentity> identity = must((*store)->identity());
  CHECK((identity.has_value() || !outcome.is_bound));
  if (!identity) return;
  CHECK(identity == test_identity);
  u64 count = 0;
  must((*store)->load(count_numbered<small>, &count));
  CHECK((count == outcome.acknowledged || count == outcome.attempted));
  must((*store)->append(std::vector{numbered<small>(count)}));
}

}  // namespace

TEST_CASE("a write that breaks, at each point of a journal's life, loses nothing acknowledged") {
  u32 points = 0;
  for (const FaultyVfs::Mode mode :
       {FaultyVfs::Mode::Dies, FaultyVfs::Mode::Fails, FaultyVfs::Mode::Full}) {
    for (const bool loses_power : {false, true}) {
      bool broke = true;
      for (i64 at = 1; broke; at += loses_power ? 3 : 1) {
        const TestFolder folder;
        const std::string path = folder / "run.journal";
        CAPTURE(at);
        CAPTURE(static_cast<int>(mode));
        FaultyVfs vfs(mode, at);
        const Outcome outcome = live(path);
        broke = vfs.broke();
        if (loses_power) vfs.lose_power(static_cast<u32>(at));
        check_after(path, outcome);
        ++points;
      }
    }
  }
  MESSAGE(points, " points");
  CHECK(points > 100);
}

TEST_CASE("a full disk says so") {
  const TestFolder folder;
  const std::string path = folder / "run.journal";
  const auto open = must(open_sqlite_store(path));
  must(open->bind(test_identity));
  FaultyVfs vfs(FaultyVfs::Mode::Full, 1);
  const TestFolder other;
  const Status bound =
      must(open_sqlite_store(other / "run.journal", {.vfs = "faulty"}))->bind(test_identity);
  REQUIRE(!bound.ok());
  CHECK(bound.error().reason() == Reason::journal_full);
  CHECK(bound.error().message().find("make room") != std::string::npos);
}

}  // namespace soma
