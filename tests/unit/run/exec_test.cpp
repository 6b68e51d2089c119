// Proves that std.exec gives a program what its node reads, yields what it writes, says why it
// can't, ends it with its run, and that a journal keeps it from running twice.
#include <doctest/doctest.h>

#include "journal/memory_store.hpp"
#include "run/exec.hpp"
#include "run/recording.hpp"
#include "unit/process/told.hpp"
#include "unit/run/rendezvous.hpp"
#include "unit/run/step_ops.hpp"

namespace soma {

namespace {

using fixture::Folder;
using fixture::Gate;
using fixture::Watcher;

// The built-in ops with std.exec.
struct ExecOps : fixture::StepOps {
  explicit ExecOps(std::string folder = "") {
    REQUIRE(add_exec(*this, {fixture::some_environment(), std::move(folder)}).ok());
  }
};

// A node that runs it.
std::string node(std::string_view id, std::string_view argv, std::string_view more = "") {
  return text(R"({{"id":"{}","kind":"step","op":"std.exec","config":{{"argv":{}{}{}}}}})", id, argv,
              more.empty() ? "" : ",", more);
}
std::string shell_node(std::string_view id, std::string_view script, std::string_view more = "") {
  return node(id, text(R"(["sh","-c","{}"])", script), more);
}
std::string graph(std::string_view nodes, std::string_view edges = "") {
  return text(R"("nodes":[{}],"edges":[{}])", nodes, edges);
}

std::string outcome(std::string_view argv, std::string_view more = "",
                    std::string_view input = "null") {
  const ExecOps ops;
  return fixture::outcome(graph(node("run", argv, more)), ops, input);
}

std::string all_of(const Error& error) {
  std::string out = fixture::told(error) + "\n";
  for (const Error& other : error.others()) out += fixture::told(other) + "\n";
  return out;
}

bool holds(std::string_view text, std::string_view part) {
  return text.find(part) != std::string_view::npos;
}

}  // namespace

TEST_CASE("text goes in and comes out as it is, but for the last newline") {
  CHECK(outcome(R"(["cat"])", "", R"("a\nb")") == R"("a\nb")");
  CHECK(outcome(R"(["cat"])", "", R"("a\n\n")") == R"("a\n")");
  CHECK(outcome(R"(["cat"])", "", R"("")") == R"("")");
  CHECK(outcome(R"(["printf","ü"])") == R"("ü")");
}

TEST_CASE("other values go in as JSON, and JSON comes out as values") {
  CHECK(outcome(R"(["cat"])", "", R"({"a":[1,2.5,null]})") == R"("{\"a\":[1,2.5,null]}")");
  CHECK(outcome(R"(["cat"])", "", "null") == R"("null")");
  CHECK(outcome(R"(["cat"])", R"("parse":"json")", R"({"a":[1,2.5,null]})") ==
        R"({"a":[1,2.5,null]})");
  CHECK(outcome(R"(["printf"," [1] \n"])", R"("parse":"json")") == "[1]");
}

TEST_CASE("what it runs with") {
  Folder folder;
  folder.file("here", "here", 0600);
  const ExecOps ops(folder.path());
  const auto run = [&ops](std::string_view argv, std::string_view more = "") {
    return fixture::outcome(graph(node("run", argv, more)), ops);
  };
  CHECK(run(R"(["cat","here"])") == R"("here")");
  CHECK(run(R"(["pwd"])", R"("dir":"/")") == R"("/")");
  CHECK(run(R"(["pwd"])", R"("dir":"..")") == R"("/tmp")");
  CHECK(run(R"(["sh","-c","echo $HOME $A"])", R"("env":{"A":"b","HOME":"/x"})") == R"("/x b")");
  CHECK(holds(run(R"(["sh","-c","echo $SOMA_EFFECT_KEY"])"), ":run#0.0"));
}

TEST_CASE("programs in a row, and side by side") {
  const ExecOps ops;
  const std::string nodes = node("make", R"(["printf","b\\na\\nb\\n"])") + "," +
                            node("sort", R"(["sort","-u"])") + "," +
                            node("count", R"(["wc","-l"])", R"("parse":"json")");
  const std::string edges = R"({"from":"make","to":"sort"},{"from":"make","to":"count"})";
  CHECK(fixture::outcome(graph(nodes, edges), ops) == R"({"sort":"a\nb","count":2})");
  // Each of two programs waits for the other, and one thread serves both.
  Folder folder;
  Gate first(folder, "first"), second(folder, "second");
  const std::string both =
      shell_node("a", text("echo > {}; read x < {}; echo a", first.path(), second.path())) + "," +
      shell_node("b", text("echo > {}; read x < {}; echo b", second.path(), first.path()));
  CHECK(fixture::outcome(graph(both), ops) == R"({"a":"a","b":"b"})");
}

TEST_CASE("what goes wrong says why") {
  CHECK(outcome(R"(["sh","-c","echo out; echo bad >&2; exit 3"])") ==
        "run.node_failed: node 'run' failed: effect 'std.exec': program 'sh' ended with status 3; "
        "its stderr ends: 'bad' (exec.status)");
  CHECK(holds(outcome(R"(["sh","-c","kill -9 $$"])"),
              "program 'sh' was ended by signal 9; it wrote nothing to its stderr"));
  CHECK(holds(outcome(R"(["sleep","1000"])", R"("timeout_ms":20)"), "did not end in the time"));
  CHECK(holds(outcome(R"(["no-such-program"])"), "program 'no-such-program' can't be started: "));
  CHECK(holds(outcome(R"(["cat"])", R"("dir":"no/such/folder")"), "there is no folder"));
  CHECK(holds(outcome(R"(["cat"])", R"("env":{"A=B":"c"})"), "is no name of a variable"));
  CHECK(holds(outcome(R"(["printf","{"])", R"("parse":"json")"),
              "program 'printf' wrote to its stdout what is no JSON: "));
  CHECK(holds(outcome(R"(["printf","a\\377"])"), "no text in UTF-8 (byte 1)"));
  int object = 0;
  const ExecOps ops;
  const Plan plan = fixture::compiled(graph(node("run", R"(["cat"])"))).value();
  CHECK(holds(fixture::outcome(plan, ops, Value::opaque(&object, nullptr)),
              "what the program is to read: "));
}

TEST_CASE("an error has what a program needs as details") {
  const auto details = [](std::string_view nodes) {
    const ExecOps ops;
    const Plan plan = fixture::compiled(graph(nodes)).value();
    auto run = Run::create(plan, ops, {}).value();
    REQUIRE(run->start(Value(), nullptr).ok());
    const Result<Value> failed = run->finish();
    REQUIRE_FALSE(failed.ok());
    std::string out;
    for (const Detail& detail : failed.error().details()) {
      out += detail.key + "=" + detail.value + " ";
    }
    return out;
  };
  CHECK(details(shell_node("run", "echo bad >&2; exit 3")) ==
        "node=run path=run cause=exec.status program=sh status=3 stderr='bad' ");
  CHECK(details(shell_node("run", "kill -9 $$")) ==
        "node=run path=run cause=exec.status program=sh signal=9 stderr='' ");
  CHECK(details(shell_node("run", "echo much >&2; exec yes")) ==
        "node=run path=run cause=exec.output program=sh stderr='much' ");
  CHECK(details(node("run", R"(["sleep","1000"])", R"("timeout_ms":20)")) ==
        "node=run path=run cause=exec.timeout program=sleep stderr='' ");
  CHECK(details(node("run", R"(["printf","{"])", R"("parse":"json")")) ==
        "node=run path=run cause=exec.output program=printf ");
  CHECK(details(node("run", R"(["none"])")) ==
        "node=run path=run cause=exec.start program=none ");
}

TEST_CASE("wrong settings are found when the graph is compiled") {
  const std::string_view wrong =
      R"("timeout_ms":0,"parse":"xml","in_doubt":"no","env":{"A":1},"shell":"x")";
  const Result<Plan> plan = fixture::compiled(graph(node("run", "[]", wrong)));
  REQUIRE_FALSE(plan.ok());
  const std::string said = all_of(plan.error());
  for (const std::string_view part :
       {"graph.config: ", "at least 1, got a list of 0", "at least 1, got the integer 0",
        "text|json", "fail|retry|ask", "a map of texts", "'shell' is no setting of std.exec"}) {
    INFO(part);
    CHECK(holds(said, part));
  }
  const ExecOps ops;
  CHECK(holds(fixture::outcome(
                  graph(R"({"id":"run","op":"std.exec","config":{"argv":["true"]}})"), ops),
              "graph.config: "));
}

TEST_CASE("without leave of the host there is no code for it") {
  const fixture::TestOps ops;
  CHECK(fixture::outcome(graph(node("run", R"(["true"])")), ops) ==
        "run.unbound_op: the plan names 1 op that the run has no code for: 'std.exec' version 1 "
        "(node 'run'; it starts processes, which the host has to allow): register them, or correct "
        "the nodes' ops");
  ExecOps twice;
  CHECK(add_exec(twice, {}).error().id() == "ops.duplicate");
  CHECK(fixture::outcome(graph(node("run", R"(["printf","x"])")), twice) == R"("x")");
}

TEST_CASE("any step may ask for the effect, and is held to its form") {
  Value payload;
  auto ask = [&payload](StepCall& call) -> Status {
    if (call.turn() == 0) {
      call.await({{std::string(exec_name), payload}});
    } else {
      call.done(call.results()[0]);
    }
    return {};
  };
  ExecOps ops;
  ops.step("ask", ask);
  const auto asked = [&](std::string_view json) {
    payload = fixture::value_from(json);
    return fixture::outcome(graph(R"({"id":"s","kind":"step","op":"ask"})"), ops);
  };
  CHECK(asked(R"({"argv":["cat"],"input":"x"})") == R"("x")");
  CHECK(asked(R"({"argv":["cat"]})") == R"("")");
  for (const std::string_view wrong :
       {"null", "[]", R"({"argv":"cat"})", R"({"argv":[]})", R"({"argv":["cat"],"dir":1})",
        R"({"argv":["cat"],"in_doubt":"fail"})", R"({"argv":["cat"],"env":[]})"}) {
    INFO(wrong);
    CHECK(holds(asked(wrong), "node 's' failed: effect 'std.exec': what effect 'std.exec' is "));
  }
}

// ---- Ends of runs

TEST_CASE("a run that is cancelled ends its programs") {
  const auto pool = fixture::pool_of(2);
  for (Pool* used : {pool.get(), static_cast<Pool*>(nullptr)}) {
    Folder folder;
    Gate gate(folder, "gate");
    const ExecOps ops;
    const std::string script = text("echo $$ > {}; exec sleep 1000", gate.path());
    const Plan plan =
        fixture::compiled(graph(shell_node("a", script) + "," + shell_node("b", script))).value();
    Cancel cancel;
    std::string ids;
    std::thread canceller([&] {
      ids = gate.read_lines(2);
      cancel.request();
    });
    const std::string said = fixture::outcome(plan, ops, Value(), {.pool = used}, &cancel);
    canceller.join();
    CHECK(said.starts_with("cancelled: "));
    CHECK(Watcher(std::stoi(ids)).has_ended(fixture::patience_ms));
    CHECK(Watcher(std::stoi(ids.substr(ids.find('\n')))).has_ended(fixture::patience_ms));
  }
}

TEST_CASE("a branch that fails ends the programs of later ones") {
  Folder folder;
  Gate gate(folder, "gate");
  std::string id;
  auto fail_then = [&](NodeCall&) -> Status {
    id = gate.read_lines(1);
    return fail(Reason::run_node_failed, "no");
  };
  ExecOps ops;
  ops.function("fail_then", fail_then);
  const auto pool = fixture::pool_of(2);
  const std::string nodes =
      R"({"id":"a","op":"fail_then","waits":true},)" +
      shell_node("b", text("echo $$ > {}; exec sleep 1000", gate.path()));
  CHECK(fixture::outcome(graph(nodes), ops, "null", {.pool = pool.get()}) ==
        "run.node_failed: node 'a' failed: no");
  CHECK(Watcher(std::stoi(id)).has_ended(fixture::patience_ms));
}

TEST_CASE("a run that is given up, and ops that go, leave no process") {
  Folder folder;
  Gate gate(folder, "gate");
  std::string id;
  {
    const ExecOps ops;
    const std::string script = text("echo $$ > {}; exec sleep 1000", gate.path());
    const Plan plan = fixture::compiled(graph(shell_node("a", script))).value();
    auto run = Run::create(plan, ops, {}).value();
    REQUIRE(run->start(Value(), nullptr).ok());
    CHECK_FALSE(run->step(0));
    id = gate.read_lines(1);
  }
  CHECK(Watcher(std::stoi(id)).has_ended(0));
}

// ---- Journals

namespace {

// Runs of one id, one after the other.
class Journaled {
 public:
  explicit Journaled(std::string_view nodes_and_edges)
      : plan_(fixture::compiled(nodes_and_edges).value()) {}

  std::unique_ptr<Journal> open() {
    const RunIdentity identity = run_identity("r", "plan", Value()).value();
    return Journal::open(memory_.open().value(), identity).value();
  }
  std::unique_ptr<Run> start(const Ops& ops, Journal& journal) {
    auto run = Run::create(plan_, ops, {}).value();
    REQUIRE(run->start(Value(), nullptr, &journal).ok());
    return run;
  }
  std::string outcome(const Ops& ops) {
    const std::unique_ptr<Journal> journal = open();
    return fixture::told(start(ops, *journal)->finish());
  }

 private:
  const Plan plan_;
  JournalMemory memory_;
};

}  // namespace

TEST_CASE("what is in the journal is not run again") {
  Folder folder;
  Gate gate(folder, "gate");
  Journaled runs(graph(shell_node("a", text("echo ran > {}; echo $$", gate.path())) + "," +
                           shell_node("b", "[ -e ready ] && cat", R"("in_doubt":"retry")"),
                       R"({"from":"a","to":"b"})"));
  const ExecOps ops(folder.path());
  CHECK(holds(runs.outcome(ops), "node 'b' failed: effect 'std.exec': "));
  folder.file("ready", "", 0600);
  const std::string value = runs.outcome(ops);
  CHECK(std::stoi(value.substr(1)) > 0);  // a's, which b read
  CHECK(runs.outcome(ops) == value);
  gate.write("no more\n");
  CHECK(gate.read_lines(2) == "ran\nno more\n");  // a ran once
}

TEST_CASE("a program that was running when the run broke off is in doubt") {
  for (const std::string_view policy : {"fail", "retry", "ask"}) {
    INFO(policy);
    Folder folder;
    Gate gate(folder, "gate");
    Journaled runs(graph(shell_node(
        "a", text("echo $SOMA_EFFECT_KEY > {}; [ -e ready ] || exec sleep 1000", gate.path()),
        text(R"("in_doubt":"{}")", policy))));
    std::string key;
    {
      const ExecOps ops(folder.path());
      const std::unique_ptr<Journal> journal = runs.open();
      const std::unique_ptr<Run> run = runs.start(ops, *journal);
      const i64 until_ns = now_ns() + 20 * fixture::second_ns;
      while (!gate.has_some(0) && now_ns() < until_ns) CHECK_FALSE(run->step(1'000'000));
      key = gate.read_lines(1);
    }
    folder.file("ready", "", 0600);
    const ExecOps ops(folder.path());
    const std::string said = runs.outcome(ops);
    if (policy == "fail") CHECK(holds(said, "(journal.in_doubt)"));
    if (policy == "ask") CHECK(holds(said, "run.suspended: "));
    if (policy != "retry") continue;
    CHECK(said == R"("")");
    CHECK(key == "r:a#0.0\n");
    CHECK(gate.read_lines(1) == key);
  }
}

}  // namespace soma
