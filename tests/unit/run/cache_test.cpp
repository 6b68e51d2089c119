// Proves that a run with a cache yields what it would without one, value or error, that hits are
// exactly those that they must be, and that what is only read by hits is not run.
#include "cache/cache.hpp"

#include <doctest/doctest.h>

#include <map>
#include <mutex>
#include <set>
#include <thread>

#include "unit/run/rendezvous.hpp"
#include "value/value_binary.hpp"

namespace soma {

namespace {

using namespace fixture;

// Counts calls by name, and yields a text that says how it came about: "b(a(input))".
class Tracing {
 public:
  Tracing() { ops_.function("trace", *this); }

  Status operator()(NodeCall& call) {
    const Value& input = call.input();
    const std::string read = input.is(ValueKind::Text) ? input.text() : told(input);
    // By its settings and not by its id, of which no key knows.
    const std::string name = call.node().config().find("n")->text();
    {
      const std::lock_guard lock(mutex_);
      ++calls_[name];
    }
    if (failing_.contains(name)) return fail(Reason::run_node_failed, "{} is ill", name);
    call.output() = Value::text(name + "(" + read + ")");
    return {};
  }

  // Which nodes were called since, in alphabetical order: "a b2" if b was called twice.
  std::string called() {
    std::string out;
    for (const auto& [id, calls] : calls_) {
      out += (out.empty() ? "" : " ") + id + (calls == 1 ? "" : text("{}", calls));
    }
    calls_.clear();
    return out;
  }
  void fail_at(const std::string& id) { failing_.insert(id); }
  void heal() { failing_.clear(); }
  TestOps& ops() { return ops_; }

 private:
  TestOps ops_;
  std::mutex mutex_;
  std::map<std::string, u32> calls_;
  std::set<std::string> failing_;
};

std::string node(std::string_view id, std::string_view more = R"(,"cacheable":true)",
                 std::string_view kind = "function", std::string_view op = "trace") {
  const bool has_name = op == "trace" && more.find("config") == std::string_view::npos;
  const std::string name = has_name ? text(R"(,"config":{{"n":"{}"}})", id) : "";
  return text(R"({{"id":"{}","kind":"{}","op":"{}"{}{}}})", id, kind, op, more, name);
}
std::string edge(std::string_view from, std::string_view to, std::string_view more = "") {
  return text(R"({{"from":"{}","to":"{}"{}}})", from, to, more);
}
std::string document(const std::vector<std::string>& nodes, const std::vector<std::string>& edges) {
  const auto joined = [](const std::vector<std::string>& parts) {
    std::string out;
    for (const std::string& part : parts) out += (out.empty() ? "" : ",") + part;
    return out;
  };
  return text(R"("nodes":[{}],"edges":[{}])", joined(nodes), joined(edges));
}

struct Chain {
  Tracing tracing;
  Cache cache{{}};
  Pool* pool = nullptr;
  std::string run(std::string_view graph, std::string_view input = "1", bool has_cache = true) {
    RunOptions options;
    options.cache = has_cache ? &cache : nullptr;
    options.pool = pool;
    return outcome(graph, tracing.ops(), input, options);
  }
  // The counts since the last call: "1 hit, 2 misses, 3 skipped".
  std::string counts() {
    const CacheCounts now = cache.counts();
    const std::string out = text("{} hit, {} missed, {} skipped", now.hits - before_.hits,
                                 now.misses - before_.misses, now.skipped - before_.skipped);
    before_ = now;
    return out;
  }

 private:
  CacheCounts before_;
};

const std::string plain = "";

}  // namespace

TEST_CASE("a chain that ran is recalled by its last value, and all before it is skipped") {
  Chain chain;
  const std::string graph = document({node("a"), node("b"), node("c")},
                                     {edge("a", "b"), edge("b", "c")});
  const std::string value = chain.run(graph);
  CHECK(value == R"x("c(b(a(1)))")x");
  CHECK(chain.tracing.called() == "a b c");
  CHECK(chain.counts() == "0 hit, 3 missed, 0 skipped");
  CHECK(chain.run(graph) == value);
  CHECK(chain.tracing.called() == "");
  CHECK(chain.counts() == "1 hit, 0 missed, 2 skipped");
}

TEST_CASE("another input, config, op, version or state misses what depends on it, and no more") {
  const auto graph = [](std::string_view of_b) {
    return document({node("in"), node("a"), node("b", of_b), node("c"), node("d", plain)},
                    {edge("in", "a"), edge("in", "b"), edge("b", "c"), edge("a", "d"),
                     edge("c", "d")});
  };
  Chain chain;
  const std::string cacheable = R"(,"cacheable":true)";
  chain.run(graph(cacheable));
  chain.tracing.called();
  chain.run(graph(cacheable));
  CHECK(chain.tracing.called() == "d");
  chain.counts();
  for (const std::string_view more : {R"(,"config":{"n":"b","x":1})",
                                      R"(,"config":{"n":"b","x":1.5})",
                                      R"(,"op_version":2)", R"(,"state":"AAAA")",
                                      R"(,"device":"cuda:0")"}) {
    CAPTURE(more);
    chain.run(graph(cacheable + std::string(more)));
    // What b yields is the same text, so c is found by its content.
    CHECK(chain.tracing.called() == "b d");
    CHECK(chain.counts() == "3 hit, 1 missed, 0 skipped");
    chain.run(graph(cacheable + std::string(more)));
    CHECK(chain.tracing.called() == "d");
    CHECK(chain.counts() == "2 hit, 0 missed, 2 skipped");
  }
  chain.run(graph(cacheable), "2");
  CHECK(chain.tracing.called() == "a b c d in");
}

TEST_CASE("a change that changes nothing of what is read is a hit by content") {
  Chain chain;
  const auto graph = [](std::string_view first) {
    return document({node("a", first, "function", "std.identity"), node("b")}, {edge("a", "b")});
  };
  chain.run(graph(""));
  chain.counts();
  chain.run(graph(R"(,"device":"cuda:1")"));
  CHECK(chain.counts() == "1 hit, 0 missed, 0 skipped");
  chain.run(graph(R"(,"device":"cuda:1")"));  // now its recipe is known too
  CHECK(chain.counts() == "1 hit, 0 missed, 1 skipped");
}

TEST_CASE("what is read under another name is another input") {
  Chain chain;
  const auto graph = [](std::string_view id) {
    return document({node(id), node("b"), node("c")}, {edge(id, "c"), edge("b", "c")});
  };
  const std::string one = chain.run(graph("x"));
  chain.tracing.called();
  const std::string other = chain.run(graph("y"));
  CHECK(one != other);
  CHECK(other == Chain().run(graph("y"), "1", false));
}

TEST_CASE("without a word from the node, nothing is kept; nor if it is not deterministic") {
  for (const std::string_view more : {"", R"(,"cacheable":true,"deterministic":false)"}) {
    Chain chain;
    const std::string graph = document({node("a", more), node("b", more)}, {edge("a", "b")});
    chain.run(graph);
    chain.run(graph);
    CHECK(chain.tracing.called() == "a2 b2");
    CHECK(chain.counts() == "0 hit, 0 missed, 0 skipped");
  }
}

TEST_CASE("what is not cacheable is skipped with the rest; what is not deterministic never") {
  Chain chain;
  const std::string graph = document({node("a", plain), node("b")}, {edge("a", "b")});
  chain.run(graph);
  chain.run(graph);
  CHECK(chain.tracing.called() == "a b");
  const std::string dice = document({node("a", R"(,"deterministic":false)"), node("b")},
                                    {edge("a", "b")});
  chain.run(dice);
  chain.run(dice);
  CHECK(chain.tracing.called() == "a2");  // b is found by the content of what a yields
}

TEST_CASE("what somebody else needs is run, though what else reads it was found") {
  Chain chain;
  const std::string graph = document({node("a", plain), node("b"), node("c", plain)},
                                     {edge("a", "b"), edge("a", "c")});
  const std::string value = chain.run(graph);
  chain.tracing.called();
  CHECK(chain.run(graph) == value);
  CHECK(chain.tracing.called() == "a c");
}

TEST_CASE("a node that fails is not kept, and one that is skipped can't fail") {
  Chain chain;
  const std::string graph = document({node("a", plain), node("b")}, {edge("a", "b")});
  chain.tracing.fail_at("b");
  const std::string error = chain.run(graph);
  CHECK(error.find("b is ill") != std::string::npos);
  CHECK(chain.run(graph) == error);
  CHECK(chain.tracing.called() == "a2 b2");
  chain.tracing.heal();
  const std::string value = chain.run(graph);
  chain.tracing.fail_at("a");
  CHECK(chain.run(graph) == value);
}

TEST_CASE("modes: only inference reads and writes") {
  Chain chain;
  const std::string graph = document({node("a")}, {});
  for (const PlanMode mode : {PlanMode::NoCache, PlanMode::Differentiable}) {
    CompileOptions compile_options;
    compile_options.mode = mode;
    const Plan plan = compiled(graph, compile_options).value();
    RunOptions options;
    options.cache = &chain.cache;
    outcome(plan, chain.tracing.ops(), Value::integer(1), options);
    outcome(plan, chain.tracing.ops(), Value::integer(1), options);
    CHECK(chain.tracing.called() == "a2");
  }
  CHECK(chain.counts() == "0 hit, 0 missed, 0 skipped");
}

TEST_CASE("two nodes that are the same but for their ids are one to the cache") {
  Chain chain;
  const std::string same = R"(,"cacheable":true,"config":{"n":"same"})";
  const std::string graph = document({node("x", same), node("y", same), node("z")},
                                     {edge("x", "y"), edge("y", "z"), edge("x", "z")});
  chain.run(graph);
  CHECK(chain.tracing.called() == "same2 z");
  const std::string twins = document({node("x", same), node("y", same)}, {});
  chain.run(twins, "7");
  CHECK(chain.tracing.called() == "same");
}

TEST_CASE("a node that waits for another branch is run, as that one may wait for it") {
  Chain chain;
  const auto pool = pool_of(2);
  chain.pool = pool.get();
  const std::string waits = R"(,"cacheable":true,"waits":true)";
  const std::string graph = document({node("x", waits), node("y", waits), node("z")},
                                     {edge("x", "z"), edge("y", "z")});
  chain.run(graph);
  chain.run(graph);
  CHECK(chain.tracing.called() == "x2 y2 z");
  CHECK(chain.counts() == "1 hit, 1 missed, 0 skipped");
}

// ---- Opaque values

namespace {

Status make_opaque(NodeCall& call) {
  call.output() = Value::list({Value::opaque(nullptr, nullptr)});
  return {};
}

}  // namespace

TEST_CASE("who yields or reads something opaque is not kept, and nothing after it by its recipe") {
  Chain chain;
  auto make = make_opaque;
  const auto look = [](NodeCall& call) -> Status {
    call.output() = Value::integer(static_cast<i64>(call.input().list().size()));
    return {};
  };
  u32 looks = 0;
  auto counted = [&](NodeCall& call) -> Status {
    ++looks;
    return look(call);
  };
  chain.tracing.ops().function("make", make).function("look", counted);
  const std::string cacheable = R"(,"cacheable":true)";
  const std::string graph =
      document({node("o", cacheable, "function", "make"), node("r", cacheable, "function", "look"),
                node("a"), node("b")},
               {edge("o", "r"), edge("r", "a"), edge("a", "b")});
  const std::string value = chain.run(graph);
  CHECK(looks == 1);
  CHECK(chain.counts() == "0 hit, 3 missed, 0 skipped");
  CHECK(chain.run(graph) == value);
  CHECK(looks == 2);
  CHECK(chain.tracing.called() == "a b");
  CHECK(chain.counts() == "2 hit, 1 missed, 0 skipped");
}

TEST_CASE("an opaque input of the run keeps its readers from being kept") {
  Chain chain;
  const Plan plan = compiled(document({node("a"), node("b")}, {edge("a", "b")})).value();
  RunOptions options;
  options.cache = &chain.cache;
  for (u32 i = 0; i < 2; ++i) {
    outcome(plan, chain.tracing.ops(), Value::opaque(nullptr, nullptr), options);
  }
  CHECK(chain.tracing.called() == "a2 b");
}

// ---- Constructs

namespace {

std::string loop_graph(std::string_view more) {
  return document(
      {node("first"), R"({"id":"l","kind":"loop","max_iterations":3,"until":"exhaust"})",
       node("body", more), node("after")},
      {edge("first", "l"), edge("l", "body", R"(,"kind":"control")"), edge("l", "after")});
}

}  // namespace

TEST_CASE("bodies are found by content, pass by pass; what a loop reads always runs or is found") {
  Chain chain;
  const std::string graph = loop_graph(R"(,"cacheable":true)");
  const std::string value = chain.run(graph);
  CHECK(chain.tracing.called() == "after body3 first");
  CHECK(chain.counts() == "0 hit, 5 missed, 0 skipped");
  CHECK(chain.run(graph) == value);
  CHECK(chain.tracing.called() == "");
  CHECK(chain.counts() == "5 hit, 0 missed, 0 skipped");
  CHECK(chain.run(loop_graph("")) == value);
  CHECK(chain.tracing.called() == "body3");
}

TEST_CASE("arms are found by content, and a branch decides by a value that was found") {
  Chain chain;
  const std::string graph = document(
      {node("a"), node("g", R"(,"cacheable":true)", "branch", "std.identity"), node("x"), node("y"),
       node("z")},
      {edge("a", "g"), edge("g", "x", R"(,"kind":"control","arm":"it != \"\"")"),
       edge("g", "y", R"(,"kind":"control","arm":"else")"), edge("x", "z"), edge("y", "z")});
  const std::string value = chain.run(graph);
  CHECK(chain.tracing.called() == "a x z");
  CHECK(chain.run(graph) == value);
  CHECK(chain.tracing.called() == "");
  CHECK(value == Chain().run(graph, "1", false));
}

// ---- What is told

TEST_CASE("events say what was found, missed and skipped, with keys that pin it") {
  Chain chain;
  const Plan plan = compiled(document({node("a"), node("b")}, {edge("a", "b")})).value();
  std::vector<std::string> events;
  RunOptions options;
  options.cache = &chain.cache;
  options.observer.user = &events;
  options.observer.notify = [](void* user, const Event& event) {
    const bool is_cache = event.kind >= Event::Kind::CacheHit;
    if (!is_cache) return;
    static_cast<std::vector<std::string>*>(user)->push_back(
        text("{} {} {}", event_name(event.kind), event.path, event.key));
  };
  outcome(plan, chain.tracing.ops(), Value::integer(1), options);
  outcome(plan, chain.tracing.ops(), Value::integer(1), options);
  REQUIRE(events.size() == 4);
  CHECK(events[0].starts_with("cache_miss a "));
  CHECK(events[1].starts_with("cache_miss b "));
  CHECK(events[2] == "node_skipped a ");
  CHECK(events[3] == "cache_hit b " + events[1].substr(13));
  const CacheKey key = CacheKey::parse(events[3].substr(12)).value();
  CHECK(chain.cache.store().pin(key).ok());
  CHECK(chain.cache.sweep(0).value().entries == 2);
  outcome(plan, chain.tracing.ops(), Value::integer(1), options);
  CHECK(events[5].starts_with("cache_hit b "));
}

TEST_CASE("what can't be written is told, and the run yields what it would") {
  Tracing tracing;
  Cache cache({.memory_bytes = 400, .disk_bytes = 0});
  const Plan plan = compiled(document({node("a")}, {})).value();
  std::vector<std::string> events;
  RunOptions options;
  options.cache = &cache;
  options.observer.user = &events;
  options.observer.notify = [](void* user, const Event& event) {
    if (event.kind != Event::Kind::CacheFailed) return;
    static_cast<std::vector<std::string>*>(user)->push_back(std::string(event.error->id()));
  };
  const Value large = Value::text(std::string(1000, 'x'));
  const std::string value = outcome(plan, tracing.ops(), large, options);
  CHECK(value == outcome(plan, tracing.ops(), large));
  CHECK(events == std::vector<std::string>{"cache.store"});
  CHECK(cache.counts().failed_writes == 1);
}

TEST_CASE("a value that the cache holds is changed by nobody") {
  Chain chain;
  auto grow = [](NodeCall& call) -> Status {
    Value value = call.take_input();
    if (value.is_sole_owner()) {
      const_cast<std::string&>(value.text()) += "!";
    } else {
      value = Value::text(value.text() + "!");
    }
    call.output() = std::move(value);
    return {};
  };
  chain.tracing.ops().function("grow", grow);
  const std::string graph =
      document({node("a"), node("b", R"(,"cacheable":true)", "function", "grow"),
                node("c", plain, "function", "grow")},
               {edge("a", "b"), edge("b", "c")});
  for (u32 i = 0; i < 3; ++i) CHECK(chain.run(graph) == R"x("a(1)!!")x");
}

TEST_CASE("a node that was told to stop is not kept") {
  Chain chain;
  Cancel cancel;
  auto half = [&cancel](NodeCall& call) -> Status {
    cancel.request();
    call.output() = Value::text(call.check().ok() ? "whole" : "half");
    return {};
  };
  chain.tracing.ops().function("half", half);
  const Plan plan =
      compiled(document({node("a", R"(,"cacheable":true)", "function", "half")}, {})).value();
  RunOptions options;
  options.cache = &chain.cache;
  CHECK(outcome(plan, chain.tracing.ops(), Value(), options, &cancel).starts_with("cancelled"));
  CHECK(chain.counts() == "0 hit, 1 missed, 0 skipped");
  CHECK(chain.cache.memory_use().value().entries == 0);
}

}  // namespace soma
