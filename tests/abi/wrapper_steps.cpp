// Proves that soma.hpp wraps steps, the effects that they ask for, and journals, a host's own too.
//
// usage: wrapper_steps
#include <cerrno>
#include <map>
#include <set>
#include <thread>

#include "wrapper.hpp"

namespace {

// What a host keeps, with a lock, and what it fails with.
class kept_entries : public soma::journal_store {
 public:
  void load(std::string_view run, const take& give) override {
    const auto place = runs.find(run);
    if (place == runs.end()) return;
    for (const std::string& entry : place->second) {
      if (!give(entry)) break;
    }
  }
  void append(std::string_view run, std::uint64_t number, std::string_view entry) override {
    std::vector<std::string>& entries = runs[std::string(run)];
    if (number != entries.size()) throw taken();
    if (fails) fails();
    entries.emplace_back(entry);
  }
  void list(const take& give) override {
    for (const auto& [run, entries] : runs) give(run);
  }
  void remove(std::string_view run) override { runs.erase(std::string(run)); }
  void lock(std::string_view run) override {
    if (!locked.emplace(run).second) throw taken();
  }
  void unlock(std::string_view run) noexcept override { locked.erase(std::string(run)); }

  std::map<std::string, std::vector<std::string>, std::less<>> runs;
  std::set<std::string> locked;
  void (*fails)() = nullptr;

 private:
  static std::system_error taken() {
    return {std::make_error_code(std::errc::file_exists), "somebody else"};
  }
};

void test_hosted_journal(const soma::runtime& runtime) {
  const auto store = std::make_shared<kept_entries>();
  const soma::journal journal(runtime, store);
  soma::ops ops;
  ops.add_step("ask", [](soma::turn& turn) {
    if (turn.number() == 0) turn.suspend(turn.of("go on?"));
    else turn.done(turn.history().at(0));
  });
  const soma::plan plan(soma::graph::node(runtime, R"({"id":"s","kind":"step","op":"ask"})"));
  soma::run run(plan, ops);
  run.remember(journal, "r");
  store->locked.insert("r");
  CHECK(reason_of([&] { run.execute(); }) == "journal.locked");
  store->locked.clear();
  const std::pair<void (*)(), const char*> failures[] = {
      {[] { throw std::runtime_error("mine"); }, "journal.store"},
      {[] { throw std::bad_alloc(); }, "journal.full"},
      {[] { throw 3; }, "journal.store"},
      {[] { throw std::system_error(ENOSPC, std::generic_category()); }, "journal.full"},
      {[] { throw std::runtime_error("\xff"); }, "journal.store"}};
  for (const auto& [fails, reason] : failures) {
    store->fails = fails;
    CHECK(reason_of([&] { run.execute(); }) == reason);
    CHECK(store->runs["r"].empty());
  }
  store->fails = nullptr;
  CHECK(reason_of([&] { run.execute(); }) == "run.suspended");
  CHECK(store->runs["r"].size() == 2 && store->locked.empty());
  CHECK(journal.list().find(R"("state":"waiting")") != std::string::npos);
  journal.answer("r", soma::value::of(runtime, "yes"));
  CHECK(run.execute().json() == R"(["yes"])");
  journal.remove("r");
  CHECK(store->runs.empty() && store->locked.empty());
  CHECK(reason_of([&] { soma::journal(runtime, std::shared_ptr<kept_entries>()); }) ==
        "argument.null");
}

// Steps: effects that end elsewhere, children, answers, and what a journal remembers.
void test_effects(const soma::runtime& runtime) {
  soma::ops ops;
  int performed = 0;
  ops.add_step("twice", [](soma::turn& turn) {
    if (turn.number() == 0) {
      turn.await("echo", turn.input());
      turn.await("echo", turn.of(2));
    } else if (turn.number() == 1) {
      turn.suspend(turn.of("go on?"));
    } else {
      turn.done(turn.history().at(0));
    }
  });
  ops.add_step("parent", [](soma::turn& turn) {
    if (turn.number() == 0) turn.spawn("c", "twice", turn.input());
    else turn.done(turn.results().at(0));
  });
  ops.add_step("bad", [](soma::turn&) { throw std::out_of_range("mine"); });
  ops.add_handler("echo", SOMA_IN_DOUBT_RETRY, [&](const soma::effect& effect) {
    ++performed;
    CHECK(effect.name() == "echo" && effect.key().substr(0, 2) == "r:");
    CHECK(!effect.is_retry() && effect.is_wanted());
    std::thread([effect] { effect.complete(effect.payload()); }).detach();
  });
  const auto plan_of = [&](const std::string& op) {
    return soma::plan(
        soma::graph::node(runtime, R"({"id":"s","kind":"step","op":")" + op + R"("})"));
  };
  const soma::journal journal(runtime);
  soma::run run(plan_of("parent"), ops);
  run.remember(journal, "r");
  const soma::value input = soma::value::of(runtime, "x");
  CHECK(reason_of([&] { run.execute(input); }) == "run.suspended");
  CHECK(journal.list().find("\"path\":\"s/c\"") != std::string::npos);
  CHECK(reason_of([&] { journal.answer("r", input, "t"); }) == "journal.not_waiting");
  run.answer(input, "s/c");
  CHECK(run.execute(input).json() == R"(["x",2])");
  CHECK(performed == 2);
  CHECK(journal.show("r").find("\"end\"") != std::string::npos);
  CHECK(reason_of([&] { run.execute(); }) == "journal.other_plan");
  journal.remove("r");
  CHECK(reason_of([&] { journal.show("r"); }) == "journal.not_found");
  bool thrown = false;
  try {
    soma::run(plan_of("bad"), ops).execute();
  } catch (const std::out_of_range&) {
    thrown = true;
  }
  CHECK(thrown);
}

}  // namespace

int main() {
  const soma::runtime runtime(soma::options("runtime").set("threads", 2));
  test_effects(runtime);
  test_hosted_journal(runtime);
  return summary();
}
