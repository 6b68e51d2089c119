// Proves that soma.hpp wraps what it says: results in containers, failures as exceptions with all
// that was found, callbacks that may throw, objects that may be copied and dropped in any order,
// graphs by operators. Steps and journals: wrapper_steps.cpp.
//
// usage: wrapper MODEL
#include <soma/soma.hpp>

#include <algorithm>
#include <cstdio>
#include <optional>
#include <set>
#include <thread>

#include "wrapper.hpp"

namespace {

void test_options(const soma::runtime& runtime) {
  soma::options settings("generate");
  settings.set("top_k", 5u).set("tokens", 8LL).set("seed", std::size_t{7}).set("temperature", 0.5);
  settings.set("ignore_end", true).set("top_p", 1.0).set("penalty_window", short{3});
  CHECK(reason_of([&] { settings.set("tokens", UINT64_MAX); }) == "option.range");
  CHECK(reason_of([&] { settings.set("no such", 1); }) == "option.unknown");
  CHECK(!settings.describe().empty());
  CHECK(runtime.facts().find("threads") != std::string::npos);
}

void test_errors(const soma::model& model) {
  soma::options settings("session");
  settings.set("context", 100000).set("prefill_rows", 8);
  try {
    const soma::session session(model, settings);
    CHECK(false);
  } catch (const soma::error& error) {
    CHECK(error.code() == SOMA_OUT_OF_RANGE);
    CHECK(error.reason() == "option.range");
    CHECK(std::string(error.what()).find("context") != std::string::npos);
    CHECK(!error.details().empty());
  }
}

void test_generate(const soma::session& session) {
  soma::sequence sequence(session);
  const soma::sequence::tokens prompt = {5, 6, 7, 8};
  soma::options settings("generate");
  settings.set("tokens", 6).set("ignore_end", true);
  int calls = 0;
  const auto count = [&](std::int32_t, std::string_view) { return ++calls > 0; };
  const std::string whole = sequence.generate(prompt, settings, count);
  CHECK(calls == 6);
  CHECK(whole.find("\"finish\":\"length\"") != std::string::npos);
  CHECK(sequence.length() == 9);
  soma::sequence thrower(session);
  bool thrown = false;
  try {
    (void)thrower.generate(prompt, settings, [](std::int32_t, std::string_view) -> bool {
      throw std::runtime_error("mine");
    });
  } catch (const std::runtime_error& error) {
    thrown = std::string(error.what()) == "mine";
  }
  CHECK(thrown);
}

void test_steps(std::optional<soma::session>& session) {
  soma::sequence sequence(*session);
  sequence.prefill({5, 6, 7});
  soma::sequence fork = sequence.fork();
  session.reset();  // the sequences keep it
  fork.decode(8);
  const soma::tensor logits = sequence.logits();
  CHECK(logits.shape().size() == 2 && logits.shape()[0] == 1);
  const std::int32_t token = sequence.sample();
  CHECK(token >= 0 && token < logits.shape()[1]);
  const float* row = logits.data();
  CHECK(row[token] == *std::max_element(row, row + logits.shape()[1]));
  CHECK(fork.held() == (soma::sequence::tokens{5, 6, 7, 8}));
  fork.truncate(1);
  CHECK(fork.length() == 1 && sequence.length() == 3);
  CHECK(reason_of([&] { (void)fork.logits(); }) == "session.logits.absent");
}

void test_cancel(const soma::runtime& runtime, const soma::session& session) {
  const soma::cancel stop(runtime);
  soma::sequence sequence(session);
  std::thread other([stop] { stop.request(); });
  other.join();
  try {
    sequence.prefill({5, 6}, SOMA_LOGITS_LAST, stop);
    CHECK(false);
  } catch (const soma::error& error) {
    CHECK(error.code() == SOMA_CANCELLED);
  }
  CHECK(sequence.length() == 0);
}

// ---- Graphs

using soma::call;
using soma::graph;
using soma::value;

// An exception with more in it than a message.
struct mine : std::runtime_error {
  explicit mine(int of_it) : std::runtime_error("mine"), number(of_it) {}
  int number;
};

void test_values(const soma::runtime& runtime) {
  const value list =
      value::list(runtime, {value::of(runtime, true), value::of(runtime, -7), value(),
                            value::of(runtime, 0.5), value::of(runtime, "so")});
  CHECK(list.json() == "[true,-7,null,0.5,\"so\"]");
  CHECK(list.at(0).truth() && list.at(1).integer() == -7 && list.at(3).number() == 0.5);
  CHECK(list.at(2).is_null() && value().is_null() && value().json() == "null");
  CHECK(list.at(4).text() == "so" && list.at(1).text().empty());
  const value map = value::map(runtime, {{"b", list}, {"a", value::bytes(runtime, "x\0y")}});
  CHECK(map.size() == 2 && map.key(0) == "b" && map.key(2).empty());
  CHECK(map.at("b").size() == 5 && map.at("a").kind() == SOMA_VALUE_BYTES);
  CHECK(value::bytes(runtime, {"x\0y", 3}).text().size() == 3);
  CHECK(value::parse(runtime, map.at("b").json()).json() == list.json());
  CHECK(reason_of([&] { (void)map.at("c"); }) == "value.member");
  CHECK(reason_of([&] { (void)map.integer(); }) == "value.kind");
  CHECK(reason_of([&] { (void)value::map(runtime, {{"a", list}, {"a", list}}); }) ==
        "document.duplicate_key");
  const value kept = value::opaque(runtime, std::make_unique<int>(42));
  CHECK(**kept.object<std::unique_ptr<int>>() == 42);
  CHECK(reason_of([&] { (void)kept.json(); }) == "value.no_json");
  bool refused = false;
  try {
    (void)value::of(runtime, UINT64_MAX);
  } catch (const std::out_of_range&) {
    refused = true;
  }
  CHECK(refused && value::of(runtime, INT64_MIN).integer() == INT64_MIN);
}

// A node of an op with settings.
graph node(const soma::runtime& runtime, const char* id, const char* op, const char* config) {
  return graph::node(runtime, std::string("{\"id\":\"") + id + "\",\"kind\":\"function\"," +
                                  "\"op\":\"" + op + "\",\"config\":" + config + "}");
}

void test_diamond(const soma::runtime& runtime) {
  const graph diamond = graph::function(runtime, "s", "std.identity") >>
                        (node(runtime, "l", "std.add", "{\"value\":1}") |
                         node(runtime, "r", "std.add", "{\"value\":2}")) >>
                        graph::function(runtime, "join");
  const soma::plan plan(diamond);
  CHECK(plan.show() ==
        "Sequence:\n  Execute(s)\n  Parallel:\n    Execute(l)\n    Execute(r)\n  Execute(join)\n");
  CHECK(soma::plan::parse(runtime, plan.document()).document() == plan.document());
  CHECK(graph::parse(runtime, diamond.document()).document() == diamond.document());
  CHECK(soma::plan::parse(runtime, plan.binary()).document() == plan.document());
  CHECK(plan.estimate().find("{\"total_us\":null,") == 0);
  CHECK(plan.estimate(R"({"ops":{"std.identity":2}})", 1).find("\"threads\":1,") !=
        std::string::npos);
  CHECK(reason_of([&] { static_cast<void>(plan.estimate("[]")); }) == "document.type");
  CHECK(plan.diff(plan).find("\"added\":[]") != std::string::npos);
  CHECK(reason_of([&] { soma::run unbound(plan); }) == "run.unbound_op");
  soma::ops ops;
  std::string path;
  ops.add("join", [&path](call& at_hand) {
    const value read = at_hand.input();
    path = value::parse(at_hand.owner(), at_hand.facts()).at("path").text();
    return at_hand.of(read.at("l").integer() * 100 + read.at("r").integer());
  });
  soma::run run(plan, ops);
  CHECK(run.execute(value::of(runtime, 5)).integer() == 607);
  CHECK(path == "join");
  run.start(value::of(runtime, 1));
  int steps = 0;
  std::optional<value> result;
  while (!(result = run.step(std::chrono::nanoseconds(1)))) ++steps;
  CHECK(steps > 0 && result->integer() == 203);
  soma::cancel stop(runtime);
  run.start(value::of(runtime, 1), stop);
  stop.request();
  CHECK(reason_of([&] { (void)run.step(std::chrono::nanoseconds(1)); }) == "cancelled");
  run.start(value::of(runtime, 1));
  (void)run.step(std::chrono::nanoseconds(1));
  run.abandon();
  CHECK(reason_of([&] { (void)run.step(std::chrono::nanoseconds(1)); }) == "run.not_started");
  ops.add("join", [](call&) { return value(); });
  CHECK(reason_of([&] { soma::run twice(plan, ops); }) == "ops.duplicate");
  CHECK(reason_of([&] { (void)(diamond | diamond); }) == "graph.duplicate_id");
}

void test_processes(const soma::runtime& runtime) {
  const soma::plan plan(graph::parse(
      runtime, R"({"soma":"graph","version":1,"nodes":[{"id":"a","kind":"step","op":"std.exec",)"
               R"("config":{"argv":["sh","-c","pwd; echo $A"]}}],"edges":[]})"));
  soma::ops ops;
  CHECK(reason_of([&] { soma::run refused(plan, ops); }) == "run.unbound_op");
  ops.allow_processes({{"A", "b"}, {"PATH", "/usr/bin:/bin"}}, "/");
  CHECK(soma::run(plan, ops).execute().text() == "/\nb");
  ops.allow_processes({{"A=B", "c"}});
  CHECK(reason_of([&] { soma::run refused(plan, ops); }) == "value.kind");
}

void test_programs(const soma::runtime& runtime, const soma::model& model) {
  const soma::plan plan(graph::node(
      runtime, R"({"id":"talk","kind":"program","model":"m","task":"generate",)"
               R"("config":{"max_tokens":6,"ignore_end":true}})"));
  soma::ops ops;
  CHECK(reason_of([&] { soma::run unbound(plan, ops); }) == "run.unbound_op");
  ops.add_session("m", soma::session(model));
  soma::run run(plan, ops), other(plan, ops);
  ops = soma::ops();  // the runs keep what they have
  const std::string said(run.execute(value::of(runtime, "hello")).text());
  soma::sequence sequence{soma::session(model)};
  soma::options settings("generate");
  settings.set("tokens", 6).set("ignore_end", true);
  const std::string alone = sequence.generate(model.chat_tokens({{"user", "hello"}}), settings);
  CHECK(!said.empty() && value::parse(runtime, alone).at("text").text() == said);
  CHECK(other.execute(value::of(runtime, "hello")).text() == said);
}

void test_loop(const soma::runtime& runtime) {
  const graph body = node(runtime, "more", "std.add", "{\"value\":1}") >>
                     graph::function(runtime, "judge");
  const graph whole = graph::function(runtime, "begin", "std.identity") >>
                      soma::loop("refine", body,
                                 R"({"max_iterations":9,"until":{"when_signaled":"judge"},)"
                                 R"("carry_from":"more"})") >>
                      node(runtime, "end", "std.add", "{\"value\":100}");
  CHECK(soma::plan(whole).show() ==
        "Sequence:\n  Execute(begin)\n  Loop(refine, max=9, until=judge, carry=more):\n"
        "    Sequence:\n      Execute(more)\n      Execute(judge)\n  Execute(end)\n");
  soma::ops ops;
  ops.add("judge", [](call& at_hand) { return at_hand.of(at_hand.input().integer() >= 3); });
  soma::run run(soma::plan(whole), ops);
  CHECK(run.execute(value::of(runtime, 0)).integer() == 103);
}

void test_gradients(const soma::runtime& runtime) {
  const auto differentiable = [&](const char* id, const char* op) {
    return graph::node(runtime, std::string(R"({"differentiable":true,"kind":"function","id":")") +
                                    id + R"(","op":")" + op + "\"}");
  };
  const graph whole = differentiable("square", "square") >>
                      (differentiable("left", "std.identity") |
                       differentiable("right", "square")) >>
                      differentiable("join", "std.sum");
  const soma::plan plan(whole, soma::options("compile").set("mode", "differentiable"));
  bool throws = false;
  soma::ops ops;
  ops.add("square", [](call& at) { return at.of(at.input().integer() * at.input().integer()); });
  ops.add_vjp("square", [&](call& at) {
    if (throws) throw mine(7);
    CHECK(at.yielded().integer() == at.input().integer() * at.input().integer());
    return at.of(2 * at.input().integer() * at.gradient().integer());
  });
  soma::run run(plan, ops);
  CHECK(run.execute(value::of(runtime, 3)).integer() == 90);              // x² + x⁴
  CHECK(run.backward(value::of(runtime, 1)).integer() == 6 + 4 * 27);
  throws = true;
  try {
    (void)run.backward(value::of(runtime, 1));
    CHECK(false);
  } catch (const mine& problem) {
    CHECK(problem.number == 7);
  }
  soma::ops prepared;
  prepared.add("square", [](call& at) { return at.of(at.state().at(0).text() + "!"); });
  prepared.add_prepare("square", [](call& at) {
    return value::list(at.owner(), {at.of("state of " + at.input().json())});
  });
  CHECK(soma::run(soma::plan(differentiable("n", "square")), prepared)
            .execute(value::of(runtime, 7))
            .text() == "state of 7!");
  // What only the host can add: texts, at the node that yielded what both read.
  soma::ops joining;
  joining.add("square", [](call& at) { return at.input(); });
  joining.add_vjp("square", [](call& at) { return at.of("g" + at.gradient().text()); });
  const graph fan = differentiable("a", "square") >>
                    (differentiable("b", "square") | differentiable("c", "square"));
  const soma::plan fanned(fan, soma::options("compile").set("mode", "differentiable"));
  const value both = value::parse(runtime, R"({"b":"1","c":"2"})");
  soma::run alone(fanned, joining);
  (void)alone.execute(value::of(runtime, 3));
  CHECK(reason_of([&] { (void)alone.backward(both); }) == "run.gradient");
  joining.set_gradient_sum([](call& at) {
    return at.of(at.input().at(0).text() + "+" + at.input().at(1).text());
  });
  soma::run joined(fanned, joining);
  (void)joined.execute(value::of(runtime, 3));
  CHECK(joined.backward(both).text() == "gg1+g2");
}

void test_branch(const soma::runtime& runtime) {
  const graph whole =
      soma::branch("gate",
                   {{"it.score > 0.8", node(runtime, "deploy", "std.const", "{\"value\":\"up\"}")},
                    {"again", node(runtime, "retry", "std.const", "{\"value\":\"re\"}"), true},
                    {"else", node(runtime, "retrain", "std.get", "{\"path\":\"it.score\"}")}},
                   R"({"op":"std.identity"})") >>
      graph::function(runtime, "end", "std.identity");
  soma::run run{soma::plan(whole)};
  CHECK(run.execute(value::parse(runtime, R"({"score":0.9})")).json() ==
        R"({"deploy":"up"})");  // what follows reads from the arm that ran
  CHECK(soma::plan(whole).show() ==
        "Sequence:\n  Execute(gate)\n  Branch(gate):\n"
        "    [score > 0.8]:\n      Execute(deploy)\n"
        "    [\"again\"]:\n      Execute(retry)\n    [else]:\n      Execute(retrain)\n"
        "  Execute(end)\n");
  std::vector<std::string> events;
  run.observe([&events](std::string_view event) { events.emplace_back(event); });
  (void)run.execute(value::parse(runtime, R"({"score":0.1})"));
  std::set<std::string> ran;
  for (const std::string& event : events) {
    const value told = value::parse(runtime, event);
    if (told.at("event").text() == "node_finished") ran.insert(told.at("node").text());
    if (told.at("event").text() == "arm_chosen") CHECK(told.at("arm").integer() == 2);
  }
  CHECK(ran == (std::set<std::string>{"gate", "retrain", "end"}));
}

void test_handoff_and_subgraph(const soma::runtime& runtime) {
  const graph whole = soma::handoff("ask", {graph::function(runtime, "a", "std.identity"),
                                            graph::function(runtime, "b", "std.identity")},
                                    R"({"op":"std.identity","max_turns":3})");
  const value edges = value::parse(runtime, whole.document()).at("edges");
  CHECK(edges.size() == 2 && edges.at(1).json() ==
                                 R"({"from":"ask","to":"b","kind":"control"})");
  const graph outer =
      soma::subgraph("outer", node(runtime, "inner", "std.add", "{\"value\":1}")) >>
      node(runtime, "after", "std.add", "{\"value\":1}");
  soma::run run{soma::plan(outer)};
  CHECK(run.execute(value::of(runtime, 1)).integer() == 3);
  CHECK(soma::plan(outer).show().find("outer/inner") != std::string::npos);
}

void test_the_exception_itself_comes_back(const soma::runtime& runtime) {
  const graph whole = graph::function(runtime, "begin", "std.identity") >>
                      soma::loop("again", graph::function(runtime, "thrower"),
                                 R"({"max_iterations":3,"until":"exhaust"})");
  soma::ops ops;
  int calls = 0;
  ops.add("thrower", [&calls](call& at_hand) -> value {
    if (at_hand.input().is_null()) throw 42;
    if (++calls % 2 == 0) throw mine(calls);
    return at_hand.input();
  });
  const soma::plan plan(whole);
  soma::run run(plan, ops), other(plan, ops);
  for (const int expected : {2, 4}) {
    int number = 0;
    try {
      (void)run.execute(value::of(runtime, 1));
    } catch (const mine& exception) {
      number = exception.number;
    }
    CHECK(number == expected);
  }
  int thrown = 0;
  try {
    (void)other.execute();
  } catch (int number) {
    thrown = number;
  }
  CHECK(thrown == 42);
  other.start();
  thrown = 0;
  try {
    while (!other.step(std::chrono::nanoseconds(1))) continue;
  } catch (int number) {
    thrown = number;
  }
  CHECK(thrown == 42);
  // What the library finds stays a soma::error, also after exceptions of its own.
  const soma::plan failing(node(runtime, "no", "std.fail", "{\"message\":\"because\"}"));
  try {
    soma::run(failing, ops).execute();
    CHECK(false);
  } catch (const soma::error& error) {
    CHECK(error.reason() == "run.node_failed" && error.detail("path") == "no");
    CHECK(std::string(error.what()).find("because") != std::string::npos);
  }
}

// Two runs with the same functions on two threads: each gets its own exceptions.
void test_exceptions_of_runs_side_by_side(const soma::runtime& runtime) {
  soma::ops ops;
  ops.add("thrower", [](call& at_hand) -> value {
    throw mine(static_cast<int>(at_hand.input().integer()));
  });
  const soma::plan plan(graph::function(runtime, "thrower"));
  const auto go = [&](int number, int* right) {
    soma::run run(plan, ops);
    for (int i = 0; i < 1000; ++i) {
      try {
        (void)run.execute(value::of(runtime, number));
      } catch (const mine& exception) {
        *right += exception.number == number;
      }
    }
  };
  int first = 0, second = 0;
  std::thread one(go, 1, &first), two(go, 2, &second);
  one.join();
  two.join();
  CHECK(first == 1000 && second == 1000);
}

void test_observer(const soma::runtime& runtime) {
  const soma::plan plan(graph::function(runtime, "a", "std.identity") >>
                        graph::function(runtime, "b", "std.identity"));
  soma::run run(plan);
  std::vector<std::string> events;
  run.observe([&events](std::string_view event) { events.emplace_back(event); });
  (void)run.execute();
  std::string seen;
  for (const std::string& event : events) {
    seen += value::parse(runtime, event).at("event").text() + " ";
  }
  CHECK(seen == "run_started node_started node_finished node_started node_finished run_finished ");
  run.observe([](std::string_view) { throw mine(7); });
  int number = 0;
  try {
    (void)run.execute();
  } catch (const mine& exception) {
    number = exception.number;
  }
  CHECK(number == 7);
  run.observe({});
  CHECK(run.execute(value::of(runtime, "through")).text() == "through");
}

void test_probe(const soma::runtime& runtime) {
  soma::run run(soma::plan(graph::function(runtime, "a", "std.identity")));
  std::string seen;
  run.probe([&seen](const soma_event& event) {
    seen += std::to_string(event.kind) + std::string(event.path, event.path_length) + " ";
  });
  (void)run.execute();
  CHECK(seen == "1 5a 6a 2 ");
  run.probe([](const soma_event&) { throw mine(8); });
  int number = 0;
  try {
    (void)run.execute();
  } catch (const mine& exception) {
    number = exception.number;
  }
  CHECK(number == 8);
  run.probe({});
  CHECK(run.execute(value::of(runtime, "through")).text() == "through");
}

// Values outlive what made them, and a cancelled run says so.
void test_lives(const soma::runtime& runtime) {
  std::optional<soma::run> run;
  std::shared_ptr<int> kept = std::make_shared<int>(0);
  soma::cancel stop(runtime);
  {
    soma::ops ops;
    ops.add("keep", [kept, &stop](call& at_hand) {
      if (at_hand.input().is_null()) stop.request();
      if (!at_hand.goes_on()) throw std::logic_error("asked to stop");
      return value::opaque(at_hand.owner(), kept);
    });
    run.emplace(soma::plan(graph::function(runtime, "keep")), ops);
  }
  value result = run->execute(value::of(runtime, 1));
  bool stopped = false;
  try {
    (void)run->execute({}, stop);
  } catch (const std::logic_error&) {
    stopped = true;
  }
  CHECK(stopped);
  CHECK(reason_of([&] { (void)run->execute({}, stop); }) == "cancelled");
  run.reset();
  CHECK(kept.use_count() == 2 && *result.object<std::shared_ptr<int>>() == kept);
  result = {};
  CHECK(kept.use_count() == 1);
}

void test_plan_cache(const soma::runtime& runtime) {
  const soma::plan_cache cache(runtime, soma::options("plan_cache").set("plans", 2));
  const auto piece = [&] { return graph::node(runtime, R"({"id":"a","op":"std.identity"})"); };
  const soma::plan first = cache.compile(piece()), second = cache.compile(piece());
  CHECK(first.get() == second.get());
  CHECK(soma::run(second).execute(value::of(runtime, 5)).integer() == 5);
  CHECK(reason_of([&] {
          cache.compile(graph::node(runtime, R"({"id":"a","kind":"loop"})"));
        }) == "loop.empty_body");
  const value facts = value::parse(runtime, cache.facts());
  CHECK(facts.at("hits").integer() == 1 && facts.at("misses").integer() == 2);
}

void test_cache(const soma::runtime& runtime) {
  int calls = 0;
  soma::ops ops;
  ops.add("twice", [&calls, &runtime](soma::call& call) {
    ++calls;
    return value::of(runtime, 2 * call.input().integer());
  });
  const soma::plan plan(
      graph::node(runtime, R"({"id":"a","op":"twice","cacheable":true})") >>
      graph::node(runtime, R"({"id":"b","op":"twice","cacheable":true})"));
  soma::run run(plan, ops);
  std::string key;
  run.observe([&](std::string_view event) {
    const value told = value::parse(runtime, event);
    if (told.at("event").text() == "cache_miss") key = told.at("key").text();
  });
  const soma::cache cache(runtime, soma::options("cache").set("memory_bytes", 1 << 20));
  run.use(cache);
  for (int i = 0; i < 3; ++i) CHECK(run.execute(value::of(runtime, 5)).integer() == 20);
  CHECK(calls == 2);
  cache.pin(key);
  const value facts = value::parse(runtime, cache.facts());
  CHECK(facts.at("hits").integer() == 2 && facts.at("misses").integer() == 2);
  CHECK(facts.at("memory").at("pinned").integer() == 2);
  CHECK(value::parse(runtime, cache.sweep(0)).at("entries").integer() == 2);
  CHECK(value::parse(runtime, cache.verify()).at("entries").integer() == 2);
  CHECK(value::parse(runtime, cache.measured()).at("ops").at("twice").number() >= 0);
  cache.pin(key, false);
  CHECK(value::parse(runtime, cache.sweep(0)).at("entries").integer() == 2);
  run.use({});
  CHECK(run.execute(value::of(runtime, 5)).integer() == 20 && calls == 4);
  CHECK(reason_of([&] { cache.pin("x"); }) == "cache.key");
  CHECK(reason_of([&] { (void)soma::cache(runtime, "/dev/null/x"); }) == "cache.store");
}

void test_graphs(const soma::runtime& runtime) {
  test_values(runtime);
  test_diamond(runtime);
  test_processes(runtime);
  test_loop(runtime);
  test_branch(runtime);
  test_gradients(runtime);
  test_handoff_and_subgraph(runtime);
  test_the_exception_itself_comes_back(runtime);
  test_exceptions_of_runs_side_by_side(runtime);
  test_observer(runtime);
  test_probe(runtime);
  test_plan_cache(runtime);
  test_cache(runtime);
  test_lives(runtime);
}

}  // namespace

int main(int count, char** arguments) {
  if (count < 2) return 2;
  const soma::runtime runtime(soma::options("runtime").set("threads", 2));
  test_options(runtime);
  test_graphs(runtime);
  const soma::model model(runtime, arguments[1]);
  test_errors(model);
  CHECK(!model.facts().empty() && !model.tensors().empty());
  const std::vector<std::int32_t> tokens = model.tokenize("hello", 0);
  CHECK(!tokens.empty() && model.detokenize(tokens) == "hello");
  CHECK(reason_of([&] { (void)soma::model(runtime, "/no/such/file"); }) == "file.not_found");
  std::optional<soma::session> session;
  session.emplace(model, soma::options("session").set("context", 64));
  test_generate(*session);
  test_programs(runtime, model);
  test_cancel(runtime, *session);
  test_steps(session);
  return summary();
}
