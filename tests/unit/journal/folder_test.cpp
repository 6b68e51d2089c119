// Proves how runs are found by their ids: names, folders, listing beside a writer, removing.
#include <sys/wait.h>
#include <unistd.h>

#include <set>
#include <thread>

#include "unit/journal/places.hpp"

namespace soma {

namespace {

using State = JournalSummary::State;

std::unique_ptr<Journal> begun(JournalFolder& folder, const std::string& run) {
  return must(Journal::open(must(folder.store(run)), {run, "plan", "input"}));
}

}  // namespace

TEST_CASE("every id has a name of its own that any file system takes") {
  const std::string long_one(200, '/'), umlauts = "é/ü ß";
  CHECK(journal_file_name("nightly-2026.11_30") == "nightly-2026.11_30");
  CHECK(journal_file_name("a/b") == "a%2Fb");
  CHECK(journal_file_name("..") == "%2E.");
  CHECK(journal_file_name("file:x?vfs=y") == "file%3Ax%3Fvfs%3Dy");
  CHECK(journal_file_name("%2F") == "%252F");
  CHECK(journal_file_name(umlauts) == "é%2Fü%20ß");
  std::vector<std::string> ids;
  for (const char* id : {"a", "A", "a.", ".a", "a/b", "a%2Fb", "a\\b", "a b"}) ids.push_back(id);
  for (const size_t size : {size_t{199}, size_t{200}}) {
    for (const char c : {'/', 'a', '.'}) ids.push_back(std::string(size, c));
  }
  ids.push_back(text("{}a", long_one.substr(1)));
  for (char c = 0x20; c < 0x7F; ++c) ids.push_back(text("x{}", c));
  std::string emoji;
  while (emoji.size() < 196) emoji += "😀";
  ids.push_back(emoji);
  ids.push_back(text("{}/", emoji));
  std::set<std::string> names;
  for (const std::string& id : ids) {
    const std::string name = journal_file_name(id);
    CHECK(names.insert(name).second);
    CHECK(name.size() + std::string_view(".journal-wal.new").size() <= 255);
    CHECK(name.find('/') == std::string::npos);
    CHECK(name.front() != '.');
  }
  CHECK(journal_file_name(long_one).size() < 140);
}

TEST_CASE("a folder is made with what is above it, and runs are found in it") {
  const TestFolder root;
  const std::string path = root / "a/b//c/";
  CHECK(JournalFolder::open(path).error().reason() == Reason::file_not_found);
  JournalFolder folder = must(JournalFolder::make(path));
  must(JournalFolder::make(path));
  CHECK(must(folder.list()).empty());
  CHECK(folder.existing("x").error().reason() == Reason::journal_not_found);
  CHECK(folder.store("a\nb").error().reason() == Reason::journal_run_id);
  CHECK(must(folder.list()).empty());
  { const auto journal = begun(folder, "x/y"); }
  CHECK(must(Journal::open(must(folder.existing("x/y"))))->identity().run == "x/y");
  write_file(root / "file", "x");
  CHECK(JournalFolder::make(root / "file/below").error().reason() == Reason::journal_store);
}

TEST_CASE("runs are listed as they stand, the one that is going on too") {
  const TestFolder root;
  JournalFolder folder = must(JournalFolder::make(root / "runs"));
  const Record ask = test_suspension("ask");
  must(begun(folder, "ended")->append({test_intent("a", 0), test_end("1")}));
  must(begun(folder, "broken/off")->append({test_intent("a", 0)}));
  must(begun(folder, "asks")->append({ask}));
  write_file(must(folder.file("zero")), "");
  std::filesystem::copy_file(must(folder.file("ended")), must(folder.file("renamed")));
  const auto writer = begun(folder, "now");
  const std::vector<JournalSummary> runs = must(folder.list());
  REQUIRE(runs.size() == 6);
  const auto check = [&runs](size_t at, std::string_view run, State state, u64 records) {
    CAPTURE(run);
    CHECK(runs[at].identity.run == run);
    CHECK(runs[at].state == state);
    CHECK(runs[at].records == records);
    CHECK(runs[at].problem.empty() == (state != State::Unreadable));
  };
  check(0, "asks", State::Waiting, 1);
  check(1, "broken/off", State::Broken, 1);
  check(2, "ended", State::Ended, 2);
  check(3, "now", State::InUse, 0);
  check(4, "renamed", State::Unreadable, 0);
  check(5, "zero", State::Unreadable, 0);
  CHECK(runs[0].waiting == std::vector{ask});
  CHECK(runs[2].identity.plan == "plan");
  must(writer->append({test_intent("a", 0)}));
}

TEST_CASE("a writer that begins while runs are listed is not turned away") {
  const TestFolder root;
  JournalFolder folder = must(JournalFolder::make(root / "runs"));
  { const auto journal = begun(folder, "a"); }
  std::atomic<bool> stops{false};
  std::atomic<u32> lists{0};
  std::vector<std::thread> lookers;
  for (int i = 0; i < 2; ++i) {
    lookers.emplace_back([&] {
      while (!stops) {
        if (folder.list().ok()) ++lists;
      }
    });
  }
  u32 opened = 0;
  while (lists < 20 || opened < 20) {
    const Result<std::unique_ptr<JournalStore>> store = folder.store("a");
    if (!store.ok()) FAIL_CHECK(store.error().message());
    if (!store.ok()) break;
    ++opened;
  }
  stops = true;
  for (std::thread& one : lookers) one.join();
}

TEST_CASE("a child that has not begun its program holds a run up, and no longer") {
  const TestFolder root;
  JournalFolder folder = must(JournalFolder::make(root / "runs"));
  auto journal = begun(folder, "a");
  int pipe[2] = {};
  REQUIRE(::pipe(pipe) == 0);
  const pid_t child = fork();
  if (child == 0) {
    char byte = 0;
    ::close(pipe[1]);
    while (::read(pipe[0], &byte, 1) < 0) {
    }
    _exit(0);                        // until then it has the lock file open
  }
  REQUIRE(child > 0);
  journal.reset();
  CHECK(folder.store("a").error().reason() == Reason::journal_locked);
  std::thread end([&pipe] { ::close(pipe[1]); });
  CHECK(folder.store("a").ok());
  end.join();
  ::close(pipe[0]);
  CHECK(waitpid(child, nullptr, 0) == child);
}

TEST_CASE("a run is removed with all that is beside it, and not while it is open") {
  const TestFolder root;
  JournalFolder folder = must(JournalFolder::make(root / "runs"));
  CHECK(folder.remove("a").error().reason() == Reason::journal_not_found);
  {
    const auto journal = begun(folder, "a");
    CHECK(folder.remove("a").error().reason() == Reason::journal_locked);
    must(journal->append({test_intent("a", 0)}));
  }
  must(folder.remove("a"));
  CHECK(std::filesystem::is_empty(folder.path()));
  CHECK(records_of(*begun(folder, "a")).empty());
}

}  // namespace soma
