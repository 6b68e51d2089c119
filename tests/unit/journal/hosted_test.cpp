// Proves that a host which loses, doubles, moves, mixes up or makes up what it keeps gets a run
// refused, and one that fails gets it resumed: never a record that was not written.
#include <map>
#include <random>

#include "journal/entry.hpp"
#include "unit/journal/keepers.hpp"

namespace soma {

namespace {

using Entries = std::vector<std::string>;
using Fails = KeptEntries::Fails;
using State = JournalSummary::State;
using Kind = Record::Kind;

// A host with one run in it.
struct Host {
  KeptEntries kept;
  HostedJournals journals{std::make_unique<TestKeeper>(kept)};

  Result<std::unique_ptr<Journal>> open(const RunIdentity& identity = test_identity) {
    SOMA_ASSIGN(std::unique_ptr<JournalStore> store, journals.store(identity.run));
    return Journal::open(std::move(store), identity);
  }
  Entries& entries() { return kept.runs[test_identity.run]; }
};

std::vector<Record> some_records() {
  std::vector<Record> records;
  for (u32 i = 0; i < 12; ++i) {
    records.push_back({Kind::Output, {text("n{}", i), i, 1}, "e", "d",
                       std::string(size_t{30} * i, static_cast<char>('a' + i)), i});
  }
  return records;
}

// Entries of one to three records.
Entries some_entries(const std::vector<Record>& records, const RunIdentity& identity) {
  EntryChain chain;
  Entries entries = {chain.write_first(identity)};
  for (size_t at = 0; at < records.size();) {
    const size_t count = std::min(entries.size() % 3 + 1, records.size() - at);
    entries.push_back(chain.write_next(std::span(records).subspan(at, count)));
    at += count;
  }
  return entries;
}

// How many records are read; nothing, if they are refused, which they are with one reason only.
std::optional<size_t> read_back(const Entries& entries, const std::vector<Record>& written) {
  Host host;
  host.entries() = entries;
  const Result<std::unique_ptr<Journal>> journal = host.open();
  if (!journal.ok()) {
    CHECK(journal.error().reason() == Reason::journal_corrupt);
    CHECK(journal.error().message().find("entry ") != std::string::npos);
    return std::nullopt;
  }
  const std::vector<Record> records = records_of(**journal);
  REQUIRE(records.size() <= written.size());
  CHECK(std::equal(records.begin(), records.end(), written.begin()));
  return records.size();
}

}  // namespace

TEST_CASE("what a host gives back wrongly is refused") {
  const std::vector<Record> records = some_records();
  const Entries sound = some_entries(records, test_identity);
  REQUIRE(sound.size() == 7);
  REQUIRE(read_back(sound, records) == records.size());
  for (size_t at = 0; at < sound.size(); ++at) {
    CAPTURE(at);
    Entries doubled = sound;
    doubled.insert(doubled.begin() + static_cast<i64>(at), sound[at]);
    CHECK(!read_back(doubled, records));
    Entries empty = sound;
    empty[at].clear();
    CHECK(!read_back(empty, records));
    Entries longer = sound;
    longer[at] += '\0';
    CHECK(!read_back(longer, records));
    if (at + 1 == sound.size()) continue;
    Entries swapped = sound;
    std::swap(swapped[at], swapped[at + 1]);
    CHECK(!read_back(swapped, records));
    Entries joined = sound;
    joined[at] += joined[at + 1];
    joined.erase(joined.begin() + static_cast<i64>(at) + 1);
    CHECK(!read_back(joined, records));
    if (at == 0) continue;
    Entries dropped = sound;
    dropped.erase(dropped.begin() + static_cast<i64>(at));
    CHECK(!read_back(dropped, records));
  }
}

TEST_CASE("an entry that is cut anywhere, or has any bit flipped, is refused") {
  const std::vector<Record> records = some_records();
  const Entries sound = some_entries(records, test_identity);
  u32 tries = 0;
  for (const size_t at : {size_t{0}, size_t{2}, sound.size() - 1}) {
    for (size_t size = 0; size < sound[at].size(); ++size, ++tries) {
      Entries cut = sound;
      cut[at].resize(size);
      CHECK(!read_back(cut, records));
    }
  }
  std::minstd_rand random(5);
  for (u32 i = 0; i < 2000; ++i, ++tries) {
    Entries broken = sound;
    std::string& entry = broken[random() % broken.size()];
    char& byte = entry[random() % entry.size()];
    byte = static_cast<char>(byte ^ (1 << random() % 8));
    Host host;
    host.entries() = broken;
    const Result<std::unique_ptr<Journal>> journal = host.open();
    REQUIRE(!journal.ok());
    const Reason reason = journal.error().reason();
    CHECK((reason == Reason::journal_corrupt || reason == Reason::journal_version));
  }
  CHECK(tries > 2500);
}

TEST_CASE("entries of another run, another plan or another version are refused by name") {
  const std::vector<Record> records = some_records();
  Host host;
  host.entries() = some_entries(records, {"other", "plan-digest", "input-digest"});
  Error error = host.open().error();
  CHECK(error.reason() == Reason::journal_corrupt);
  CHECK(error.message().find("'other'") != std::string::npos);

  host.entries() = some_entries(records, {test_identity.run, "another", "input-digest"});
  error = host.open().error();
  CHECK(error.reason() == Reason::journal_other_plan);
  CHECK(error.message().find("'another'") != std::string::npos);

  // Sound first entry, the rest of a journal that is equal but for its plan.
  const Entries foreign = host.entries();
  host.entries() = some_entries(records, test_identity);
  for (size_t at = 1; at < foreign.size(); ++at) host.entries()[at] = foreign[at];
  CHECK(host.open().error().reason() == Reason::journal_corrupt);

  host.entries() = some_entries(records, test_identity);
  host.entries()[0][8 + 7] = 9;  // behind the mark and its length
  error = host.open().error();
  CHECK(error.reason() == Reason::journal_version);
  CHECK(error.message().find("version 9") != std::string::npos);
}

TEST_CASE("a host that loses the last entries gives the records before them") {
  const std::vector<Record> records = some_records();
  const Entries sound = some_entries(records, test_identity);
  size_t before = records.size() + 1;
  for (size_t kept = sound.size(); kept > 0; --kept) {
    const auto read = read_back({sound.begin(), sound.begin() + static_cast<i64>(kept)}, records);
    REQUIRE(read);
    CHECK(*read < before);
    before = *read;
  }
  CHECK(before == 0);
}

TEST_CASE("an append that fails ends the journal, and the next opening finds out what is kept") {
  for (const Fails fails : {Fails::Before, Fails::After}) {
    Host host;
    const Record first = test_intent("a", 0), second = test_intent("b", 0);
    {
      const auto journal = must(host.open());
      must(journal->append({first}));
      host.kept.fails = fails;
      const u32 appends = host.kept.appends;
      for (int again = 0; again < 3; ++again) {
        const Status failed = journal->append({second});
        REQUIRE(!failed.ok());
        CHECK(failed.error().reason() == Reason::journal_store);
        CHECK(failed.error().message().find("the connection was lost") != std::string::npos);
      }
      CHECK(host.kept.appends == appends + 1);  // nothing follows what is not known to be there
      CHECK(must(journal->find(second)).state == Journal::Recorded::State::Unknown);
    }
    host.kept.fails = Fails::Never;
    const auto journal = must(host.open());
    const bool is_there = fails == Fails::After;
    CHECK(records_of(*journal).size() == (is_there ? 2 : 1));
    must(journal->append({is_there ? test_outcome(Kind::Result, second, "1") : second}));
  }
}

TEST_CASE("of two who write at once, one is told") {
  KeptEntries kept;
  HostedJournals here(std::make_unique<TestKeeper>(kept));
  HostedJournals elsewhere(std::make_unique<TestKeeper>(kept));
  const auto first = must(Journal::open(must(here.store("nightly")), test_identity));
  CHECK(here.store("nightly").error().reason() == Reason::journal_locked);
  CHECK(here.remove("nightly").error().reason() == Reason::journal_locked);
  const auto second = must(Journal::open(must(elsewhere.store("nightly")), test_identity));
  must(second->append({test_intent("a", 0)}));
  const Status late = first->append({test_intent("a", 0)});
  REQUIRE(!late.ok());
  CHECK(late.error().reason() == Reason::journal_locked);
  must(second->append({test_intent("b", 0)}));
}

TEST_CASE("a keeper's lock lets one in, before anything is read, until it has done") {
  KeptEntries kept;
  kept.has_locks = true;
  HostedJournals here(std::make_unique<TestKeeper>(kept));
  HostedJournals elsewhere(std::make_unique<TestKeeper>(kept));
  {
    const auto first = must(Journal::open(must(here.store("nightly")), test_identity));
    CHECK(kept.locked.contains("nightly"));
    CHECK(elsewhere.store("nightly").error().reason() == Reason::journal_locked);
    CHECK(elsewhere.remove("nightly").error().reason() == Reason::journal_locked);
    // Within one object it isn't asked, nor given back.
    CHECK(here.store("nightly").error().reason() == Reason::journal_locked);
    CHECK(kept.locked.contains("nightly"));
    CHECK(must(elsewhere.list()).at(0).state == JournalSummary::State::InUse);
    must(elsewhere.store("another"));
    must(first->append({test_intent("a", 0)}));
  }
  CHECK(kept.locked.empty());
  CHECK(here.existing("no such run").error().reason() == Reason::journal_not_found);
  must(elsewhere.remove("nightly"));
  CHECK(kept.locked.empty());
  CHECK(kept.runs.empty());
}

TEST_CASE("runs are listed as they stand, and removed") {
  Host host;
  const Record ask = test_suspension("ask");
  must(must(host.open({"ended", "p", "i"}))->append({test_intent("a", 0), test_end("1")}));
  must(must(host.open({"asks", "p", "i"}))->append({ask}));
  must(must(host.open({"spoilt", "p", "i"}))->append({ask}));
  host.kept.runs["spoilt"][1].back() ^= 1;
  host.kept.runs["no\nname"] = {};
  host.kept.runs["none"] = {};
  const auto open = must(host.open({"open", "p", "i"}));
  const std::vector<JournalSummary> runs = must(host.journals.list());
  std::map<std::string, State> states;
  for (const JournalSummary& run : runs) states[run.identity.run] = run.state;
  CHECK(states == std::map<std::string, State>{{"asks", State::Waiting},
                                               {"ended", State::Ended},
                                               {"no\nname", State::Unreadable},
                                               {"none", State::Unreadable},
                                               {"open", State::InUse},
                                               {"spoilt", State::Unreadable}});
  must(host.journals.remove("spoilt"));
  CHECK(host.journals.remove("spoilt").error().reason() == Reason::journal_not_found);
  CHECK(host.journals.existing("spoilt").error().reason() == Reason::journal_not_found);
  CHECK(host.journals.store("no\nname").error().reason() == Reason::journal_run_id);
}

TEST_CASE("sound entries whose records contradict each other are refused") {
  Host host;
  const std::vector<Record> records = {test_outcome(Kind::Result, test_intent("a", 0), "1")};
  host.entries() = some_entries(records, test_identity);
  CHECK(host.open().error().reason() == Reason::journal_corrupt);
}

TEST_CASE("what is claimed costs nothing") {
  const auto entry = [](std::initializer_list<u64> numbers) {
    std::string bytes("\7\0\0\0\0\0\0\0records", 15);
    for (const u64 number : numbers) {
      bytes.append(reinterpret_cast<const char*>(&number), sizeof number);
    }
    return bytes;
  };
  constexpr u64 huge = ~u64{0};
  for (const std::string& bytes :
       {entry({1, 1, huge}), entry({1, 1, 1, huge}), entry({1, 1, 1, huge - 7}),
        entry({1, huge, 1, 0}), entry({1, 1, 0})}) {
    Host host;
    host.entries() = {EntryChain().write_first(test_identity), bytes};
    CHECK(host.open().error().reason() == Reason::journal_corrupt);
  }
}

}  // namespace soma
