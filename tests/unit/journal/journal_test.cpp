// Proves what a journal makes of records: states, divergence, identity, one wait for many threads,
// and that nothing follows a failure.
#include <atomic>
#include <mutex>
#include <thread>

#include "base/spin.hpp"
#include "unit/journal/places.hpp"

namespace soma {

namespace {

using Kind = Record::Kind;
using State = Journal::Recorded::State;

// A store whose every append waits until it is let through, and ends as it is told.
class GatedStore final : public JournalStore {
 public:
  struct Gate {
    std::atomic<u32> entered{0}, allowed{0};
    std::atomic<bool> fails{false}, throws{false};
    std::mutex mutex;
    std::vector<size_t> groups;
  };
  explicit GatedStore(Gate& gate) : gate_(gate) {}
  Result<std::optional<RunIdentity>> identity() override { return identity_; }
  Status bind(const RunIdentity& identity) override {
    identity_ = identity;
    return {};
  }
  Status load(Take, void*) override { return {}; }
  Status append(std::span<const Record> records) override {
    const u32 ticket = gate_.entered.fetch_add(1);
    futex_wake_all(gate_.entered);
    for (u32 now = gate_.allowed.load(); now <= ticket; now = gate_.allowed.load()) {
      futex_wait(gate_.allowed, now);
    }
    if (gate_.throws) throw std::bad_alloc();
    if (gate_.fails) return fail(Reason::journal_full, "no room is left");
    const std::lock_guard lock(gate_.mutex);
    gate_.groups.push_back(records.size());
    return {};
  }

 private:
  Gate& gate_;
  std::optional<RunIdentity> identity_;
};

void allow(GatedStore::Gate& gate, u32 count) {
  gate.allowed.fetch_add(count);
  futex_wake_all(gate.allowed);
}
void await_entered(GatedStore::Gate& gate, u32 count) {
  for (u32 now = gate.entered.load(); now < count; now = gate.entered.load()) {
    futex_wait(gate.entered, now);
  }
}

std::unique_ptr<Journal> in_memory(JournalMemory& memory) {
  return must(Journal::open(must(memory.open()), test_identity));
}

Reason reason_of(const Status& status) {
  REQUIRE(!status.ok());
  return status.error().reason();
}

}  // namespace

TEST_CASE("an effect is unknown, in doubt, done, or failed and unknown again") {
  JournalMemory memory;
  const auto journal = in_memory(memory);
  const Record intent = test_intent("a", 0);
  CHECK(must(journal->find(intent)).state == State::Unknown);
  must(journal->append({intent}));
  CHECK(must(journal->find(intent)).state == State::InDoubt);
  must(journal->append({intent}));  // it was in doubt, and is tried again
  must(journal->append({test_outcome(Kind::Failure, intent, "\"no\"")}));
  CHECK(must(journal->find(intent)).state == State::Unknown);
  must(journal->append({intent, test_outcome(Kind::Result, intent, "1")}));
  CHECK(must(journal->find(intent)).state == State::Done);
  CHECK(must(journal->find(intent)).content == "1");
  // Neighbours in each part of the site are other sites.
  Record other = intent;
  other.site.turn = 1;
  CHECK(must(journal->find(other)).state == State::Unknown);
  other = intent;
  other.site.path = "a[1]";
  CHECK(must(journal->find(other)).state == State::Unknown);
}

TEST_CASE("a suspension waits until it is answered, once") {
  JournalMemory memory;
  const auto journal = in_memory(memory);
  const Record first = test_suspension("ask", "\"which?\""), second = test_suspension("b");
  const Record answer = test_outcome(Kind::Answer, first, "\"this\"");
  CHECK(reason_of(journal->append({answer})) == Reason::journal_not_waiting);
  must(journal->append({first}));
  must(journal->append({second}));
  CHECK(must(journal->find(first)).state == State::Waiting);
  CHECK(must(journal->find(first)).content == "\"which?\"");
  CHECK(journal->waiting() == std::vector{first, second});
  must(journal->append({answer}));
  CHECK(must(journal->find(first)).state == State::Done);
  CHECK(must(journal->find(first)).content == "\"this\"");
  CHECK(journal->waiting() == std::vector{second});
  CHECK(reason_of(journal->append({answer})) == Reason::journal_not_waiting);
  CHECK(!journal->result());
  must(journal->append({test_end("[]")}));
  CHECK(journal->result() == "[]");
  CHECK(reason_of(journal->append({test_outcome(Kind::Answer, second, "1")})) ==
        Reason::journal_not_waiting);
}

TEST_CASE("an effect other than the recorded one is named with it") {
  JournalMemory memory;
  const auto journal = in_memory(memory);
  const Record recorded = test_intent("refine[3]/judge", 2, "{\"argv\":[\"ls\"]}");
  must(journal->append({recorded, test_outcome(Kind::Result, recorded, "1")}));
  const std::string big(100'000, 'x');
  std::vector<Record> others(4, recorded);
  others[0].digest = "other", others[0].content = "{\"argv\":[\"rm\"]}";
  others[1].effect = "std.http", others[1].content = big;
  others[2].kind = Kind::Suspension, others[2].effect = "";
  others[3].kind = Kind::Output, others[3].content = "";
  for (const Record& attempted : others) {
    const Result<Journal::Recorded> found = journal->find(attempted);
    REQUIRE(!found.ok());
    CHECK(found.error().reason() == Reason::journal_divergence);
    const std::string& message = found.error().message();
    CHECK(message.find("'refine[3]/judge' (turn 0, effect 2)") != std::string::npos);
    CHECK(message.find("'std.exec' with '{\"argv\":[\"ls\"]}'") != std::string::npos);
    CHECK(message.size() < 1500);
  }
  CHECK(journal->find(others[0]).error().message().find("[\"rm\"]") != std::string::npos);
  CHECK(journal->find(others[1]).error().message().find("'std.http' with 'xxx") !=
        std::string::npos);
  CHECK(must(journal->find(recorded)).content == "1");
}

TEST_CASE("records that can't follow are refused, and change nothing") {
  JournalMemory memory;
  const auto journal = in_memory(memory);
  const Record intent = test_intent("a", 0), output = {Kind::Output, {"o", 0, 0}, "e", "d", "1"};
  Record other = intent;
  other.digest = "x";
  Record nowhere = test_intent("", 0);
  Record end = test_end("1");
  end.site.path = "a";
  must(journal->append({output}));
  for (const std::vector<Record>& wrong : {
           std::vector{test_outcome(Kind::Result, intent, "1")},
           std::vector{test_outcome(Kind::Failure, intent, "1")},
           std::vector{output},
           std::vector{test_outcome(Kind::Result, output, "1")},
           std::vector{nowhere},
           std::vector{end},
           std::vector{test_end("1"), intent},
           std::vector{intent, test_outcome(Kind::Result, intent, "1"),
                       test_outcome(Kind::Result, intent, "1")},
       }) {
    CHECK(reason_of(journal->append(wrong)) == Reason::internal);
  }
  CHECK(must(journal->find(intent)).state == State::Unknown);
  must(journal->append({intent}));
  CHECK(reason_of(journal->append({other})) == Reason::internal);
  Record large = intent;
  large.content.assign(static_cast<size_t>(Record::bytes_max) + 1, 'x');
  CHECK(reason_of(journal->append({large})) == Reason::journal_limit);
  CHECK(records_of(*journal).size() == 2);
  must(journal->append({test_outcome(Kind::Result, intent, "1")}));
  must(journal->append({}));
}

TEST_CASE("a journal belongs to one run, plan and input") {
  JournalMemory memory;
  CHECK(Journal::open(must(memory.open())).error().reason() == Reason::journal_not_found);
  { const auto journal = in_memory(memory); }
  for (const RunIdentity& other : {RunIdentity{"nightly", "another-plan", "input-digest"},
                                   RunIdentity{"nightly", "plan-digest", "another-input"},
                                   RunIdentity{"daily", "plan-digest", "input-digest"}}) {
    const Result<std::unique_ptr<Journal>> opened = Journal::open(must(memory.open()), other);
    REQUIRE(!opened.ok());
    CHECK(opened.error().reason() == Reason::journal_other_plan);
  }
  const std::string message =
      Journal::open(must(memory.open()), {"nightly", "another-plan", "input-digest"})
          .error().message();
  CHECK(message.find("'plan-digest'") != std::string::npos);
  CHECK(message.find("'another-plan'") != std::string::npos);
  CHECK(must(Journal::open(must(memory.open())))->identity() == test_identity);
  for (const std::string& run : {std::string(), std::string(201, 'a'), std::string("a\nb"),
                                 std::string("\xff"), std::string("a\0", 2)}) {
    CHECK(Journal::open(must(memory.open()), {run, "p", "i"}).error().reason() ==
          Reason::journal_run_id);
  }
}

TEST_CASE("who comes while one waits for the disk shares the next wait") {
  GatedStore::Gate gate;
  const auto journal = must(Journal::open(std::make_unique<GatedStore>(gate), test_identity));
  std::vector<std::thread> crew;
  std::atomic<u32> good{0};
  const auto append = [&](u32 t) {
    crew.emplace_back([&, t] {
      if (journal->append({test_intent(text("t{}", t), 0)}).ok()) ++good;
    });
  };
  append(0);
  await_entered(gate, 1);
  // The first is at the disk: nothing of it may be seen yet.
  CHECK(must(journal->find(test_intent("t0", 0))).state == State::Unknown);
  CHECK(records_of(*journal).empty());
  for (u32 t = 1; t <= 20; ++t) append(t);
  // Two records of which the second is wrong are refused. What for tells whether the intent has
  // been staged: not before that can the first follow it.
  for (u32 t = 1; t <= 20; ++t) {
    const Record result = test_outcome(Kind::Result, test_intent(text("t{}", t), 0), "1");
    const std::vector<Record> refused = {result, test_intent("", 0)};
    while (journal->append(refused).error().message().find("follows no intent") !=
           std::string::npos) {
      std::this_thread::yield();
    }
  }
  allow(gate, 100);
  for (std::thread& one : crew) one.join();
  CHECK(good == 21);
  CHECK(gate.groups == std::vector<size_t>{1, 20});
  CHECK(records_of(*journal).size() == 21);
}

TEST_CASE("after a failure nothing is written, and everybody learns of it") {
  GatedStore::Gate gate;
  const auto journal = must(Journal::open(std::make_unique<GatedStore>(gate), test_identity));
  gate.allowed = 1;
  must(journal->append({test_intent("before", 0)}));
  gate.fails = true;
  std::vector<std::thread> crew;
  std::atomic<u32> full{0};
  for (u32 t = 0; t < 8; ++t) {
    crew.emplace_back([&, t] {
      const Status status = journal->append({test_intent(text("t{}", t), 0)});
      if (!status.ok() && status.error().reason() == Reason::journal_full) ++full;
    });
  }
  await_entered(gate, 2);
  allow(gate, 100);
  for (std::thread& one : crew) one.join();
  CHECK(full == 8);
  gate.fails = false;
  CHECK(reason_of(journal->append({test_intent("late", 0)})) == Reason::journal_full);
  CHECK(gate.entered == 2);
  CHECK(records_of(*journal).size() == 1);
  CHECK(must(journal->find(test_intent("t0", 0))).state == State::Unknown);
  CHECK(must(journal->find(test_intent("before", 0))).state == State::InDoubt);
}

TEST_CASE("a writer that runs out of memory leaves nobody waiting") {
  GatedStore::Gate gate;
  const auto journal = must(Journal::open(std::make_unique<GatedStore>(gate), test_identity));
  gate.throws = true;
  std::atomic<u32> refused{0};
  std::vector<std::thread> crew;
  for (u32 t = 0; t < 8; ++t) {
    crew.emplace_back([&, t] {
      const Status status = journal->append({test_intent(text("t{}", t), 0)});
      if (!status.ok() && status.error().reason() == Reason::out_of_memory) ++refused;
    });
  }
  await_entered(gate, 1);
  allow(gate, 100);
  for (std::thread& one : crew) one.join();
  CHECK(refused == 8);
}

namespace {

// Counts who has been told what.
struct Told {
  std::atomic<u32> durable{0}, failed{0};
  Journal::Listener listener() {
    return {this, [](void* user, const Error* failure) {
              Told& told = *static_cast<Told*>(user);
              std::atomic<u32>& count = failure ? told.failed : told.durable;
              count.fetch_add(1);
              futex_wake_all(count);
            }};
  }
};

void await_count(const std::atomic<u32>& count, u32 least) {
  for (u32 now = count.load(); now < least; now = count.load()) futex_wait(count, now);
}

}  // namespace

TEST_CASE("who can't wait is told, and shares the wait for the disk all the same") {
  GatedStore::Gate gate;
  auto journal = must(Journal::open(std::make_unique<GatedStore>(gate), test_identity));
  Told told;
  must(journal->append({test_intent("a", 0)}, told.listener()));
  await_entered(gate, 1);
  for (u32 i = 1; i <= 20; ++i) must(journal->append({test_intent("a", i)}, told.listener()));
  CHECK(told.durable == 0);
  CHECK(must(journal->find(test_intent("a", 0))).state == State::Unknown);
  allow(gate, 2);
  await_count(told.durable, 21);
  CHECK(gate.groups == std::vector<size_t>{1, 20});
  CHECK(must(journal->find(test_intent("a", 20))).state == State::InDoubt);

  SUBCASE("one that closes writes first what it was given") {
    allow(gate, 100);
    must(journal->append({test_intent("b", 0)}, told.listener()));
    journal.reset();
    CHECK(told.durable == 22);
  }
  SUBCASE("one whose disk fails tells all") {
    gate.fails = true;
    must(journal->append({test_intent("b", 0)}, told.listener()));
    await_entered(gate, 3);
    must(journal->append({test_intent("b", 1)}, told.listener()));
    allow(gate, 100);
    await_count(told.failed, 2);
    CHECK(gate.entered == 3);
    CHECK(reason_of(journal->append({test_intent("b", 2)}, told.listener())) ==
          Reason::journal_full);
  }
  SUBCASE("what can't be recorded is refused at once") {
    CHECK_FALSE(journal->append({test_intent("", 0)}, told.listener()).ok());
  }
}

TEST_CASE("somebody may be asked about an effect in doubt") {
  JournalMemory memory;
  const Record intent = test_intent("a", 3);
  Record question = test_suspension("a", "\"did it?\"");
  question.site = intent.site;
  {
    const auto journal = in_memory(memory);
    must(journal->append({intent}));
    must(journal->append({question}));
    CHECK(must(journal->find(intent)).state == State::Waiting);
    CHECK(journal->waiting() == std::vector<Record>{question});
    CHECK_FALSE(journal->append({question}).ok());
    CHECK_FALSE(journal->append({test_outcome(Kind::Result, intent, "1")}).ok());
  }
  SUBCASE("the answer is its result") {
    const auto journal = in_memory(memory);
    must(journal->append({test_outcome(Kind::Answer, intent, "\"yes\"")}));
    CHECK(must(journal->find(intent)).state == State::Done);
    CHECK(must(journal->find(intent)).content == "\"yes\"");
    CHECK(journal->waiting().empty());
    CHECK(reason_of(journal->append({test_outcome(Kind::Answer, intent, "2")})) ==
          Reason::journal_not_waiting);
  }
  SUBCASE("it may be tried again all the same") {
    const auto journal = in_memory(memory);
    must(journal->append({intent}));
    CHECK(must(journal->find(intent)).state == State::InDoubt);
    CHECK(journal->waiting().empty());
    must(journal->append({test_outcome(Kind::Result, intent, "1")}));
    CHECK(must(journal->find(intent)).content == "1");
  }
}

}  // namespace soma
