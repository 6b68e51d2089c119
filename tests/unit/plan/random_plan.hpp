// Random valid plans, for tests: every variant, every key of a node, and sources from wherever they
// may come.
#pragma once

#include <random>

#include "unit/plan/plan_builder.hpp"

namespace soma::fixture {

class RandomPlan {
 public:
  explicit RandomPlan(std::mt19937& random) : random_(random) {}

  // Has about as many nodes; none: an empty plan.
  Plan make(u32 nodes) {
    budget_ = nodes;
    Ids visible;
    if (nodes > 0) sequence(visible, 0);
    if (!visible.empty()) builder_.leaves(some(visible, 3));
    Plan plan = builder_.take();
    plan.mode = static_cast<PlanMode>(below(3));
    std::string digest;
    for (u32 i = 0; i < 64; ++i) digest += "0123456789abcdef"[below(16)];
    plan.origin = GraphOrigin(std::move(digest));
    return plan;
  }

 private:
  using Ids = std::vector<std::string>;  // of nodes that may be read

  static constexpr u32 depth_max = 6;

  u32 below(u32 bound) { return static_cast<u32>(random_() % bound); }
  bool one_in(u32 chance) { return below(chance) == 0; }

  // From one to `most` of them, each once, in any order.
  Ids some(Ids from, u32 most) {
    std::shuffle(from.begin(), from.end(), random_);
    from.resize(std::min<size_t>(from.size(), 1 + below(most)));
    return from;
  }

  Ids sources(const Ids& visible) {
    if (visible.empty() || one_in(4)) return {};
    Ids out = some(visible, 3);
    for (size_t i = 0; i < out.size(); ++i) {
      if (one_in(8)) out[i] += text(".out{}", below(3));
      if (one_in(8)) out[i] += text(":in{}", i);
    }
    return out;
  }

  // No dot and no colon: the builder has a use for these.
  std::string new_id() {
    constexpr std::string_view odd[] = {"é", "a b", "\"", "\\", "\n", "(x, y)", "<b>&amp;",
                                        "outer/inner", "[0]", "\x1b[31m", "\xc2\x9b", "-->"};
    std::string id = text("n{}", count_++);
    if (one_in(10)) id.append("_").append(odd[below(std::size(odd))]);
    return id;
  }

  void spend() { budget_ -= budget_ > 0 ? 1 : 0; }

  // ---- Items; each appends to `visible` what may be read behind it

  void item(Ids& visible, u32 depth) {
    const u32 choice = depth >= depth_max || budget_ == 0 ? 0 : below(14);
    if (choice <= 3) return execute(visible);
    if (choice <= 5) return sequence(visible, depth + 1);
    if (choice <= 7) return parallel(visible, depth + 1);
    if (choice == 8) return step(visible, depth + 1);
    if (choice == 9) return loop(visible, depth + 1);
    if (choice == 10) return branch(visible, depth + 1);
    if (choice == 11) return remote(visible, depth + 1);
    if (choice == 12) return one_in(2) ? composite(visible) : stream(visible);
    dataflow(visible, depth + 1);
  }

  void execute(Ids& visible) {
    constexpr NodeKind kinds[] = {NodeKind::Function, NodeKind::Branch, NodeKind::Subgraph,
                                  NodeKind::Program};
    const std::string id = new_id();
    builder_.execute(id, sources(visible), kinds[one_in(3) ? below(4) : 0]);
    describe(builder_.node());
    visible.push_back(id);
    spend();
  }

  void sequence(Ids& visible, u32 depth) {
    builder_.open(Variant::Sequence);
    for (u32 i = 2 + below(4); i > 0; --i) item(visible, depth);
    builder_.close();
  }

  // Children that do not see each other; all are seen behind them.
  void apart(Ids& visible, u32 children, u32 depth) {
    const Ids before = visible;
    for (; children > 0; --children) {
      Ids own = before;
      item(own, depth);
      visible.insert(visible.end(), own.begin() + static_cast<std::ptrdiff_t>(before.size()),
                     own.end());
    }
  }

  void parallel(Ids& visible, u32 depth) {
    builder_.open(Variant::Parallel);
    apart(visible, 2 + below(3), depth);
    builder_.close();
  }

  void step(Ids& visible, u32 depth) {
    const std::string id = new_id();
    Ids targets;
    for (u32 i = below(4); i > 0; --i) targets.push_back(text("target {}", i));
    builder_.step(id, targets, sources(visible));
    describe(builder_.node());
    visible.push_back(id);
    spend();
    apart(visible, static_cast<u32>(targets.size()), depth);
    builder_.close();
  }

  void loop(Ids& visible, u32 depth) {
    const std::string id = new_id();
    spend();
    const size_t loop = builder_.begin_loop(id, sources(visible));
    describe(builder_.node());
    Ids body = visible;
    item(body, depth);
    body.erase(body.begin(), body.begin() + static_cast<std::ptrdiff_t>(visible.size()));
    const std::string signal = one_in(2) ? "" : body[below(static_cast<u32>(body.size()))];
    const u64 bound = signal.empty() || one_in(2) ? 1 + below(1000) : 0;
    builder_.end_loop(loop, bound, signal,
                      one_in(3) ? "" : body[below(static_cast<u32>(body.size()))]);
    builder_.close();
    visible.push_back(id);
  }

  // The node that decides, and its arms.
  void branch(Ids& visible, u32 depth) {
    builder_.open(Variant::Sequence);
    if (one_in(4)) {
      remote(visible, depth, true);
    } else {
      execute(visible);
    }
    Ids arms = {"score > 0.8", "\"a label\"", "has(x.y) && !(it == 1)", "true", "else"};
    arms.erase(arms.begin(), arms.begin() + below(4));
    if (one_in(3) && arms.size() > 1) arms.pop_back();
    builder_.branch(visible.back(), arms);
    apart(visible, static_cast<u32>(arms.size()), depth);
    builder_.close().close();
  }

  void remote(Ids& visible, u32 depth, bool only_execute = false) {
    builder_.remote({one_in(2) ? Target::Kind::Tag : Target::Kind::Worker, text("t{}", below(3))});
    only_execute ? execute(visible) : item(visible, depth);
    builder_.close();
  }

  void composite(Ids& visible) {
    builder_.open(Variant::Composite);
    for (u32 i = 2 + below(3); i > 0; --i) execute(visible);
    builder_.close();
  }

  void stream(Ids& visible) {
    builder_.stream(1 + below(100));
    for (u32 i = 0, nodes = 1 + below(4); i < nodes; ++i) {
      const std::string id = new_id();
      builder_.execute(id, i > 0 ? Ids{visible.back()} : sources(visible));
      describe(builder_.node());
      builder_.node().stream_mode = static_cast<StreamMode>(1 + below(3));
      visible.push_back(id);
      spend();
    }
    builder_.close();
  }

  // Each child sees those that it is after.
  void dataflow(Ids& visible, u32 depth) {
    const u32 children = 2 + below(4);
    std::vector<std::vector<u32>> after(children);
    for (u32 i = 0; i < children; ++i) {
      for (u32 k = 0; k < i; ++k) {
        if (one_in(2)) after[i].push_back(k);
      }
    }
    builder_.dataflow(after);
    const Ids before = visible;
    std::vector<Ids> added(children);
    for (u32 i = 0; i < children; ++i) {
      Ids own = before;
      for (const u32 k : after[i]) own.insert(own.end(), added[k].begin(), added[k].end());
      const std::ptrdiff_t seen = static_cast<std::ptrdiff_t>(own.size());
      item(own, depth);
      added[i].assign(own.begin() + seen, own.end());
      visible.insert(visible.end(), added[i].begin(), added[i].end());
    }
    builder_.close();
  }

  // ---- What nodes say of themselves

  void describe(PlanNode& node) {
    if (one_in(3)) node.op = text("op{}", below(5));
    if (one_in(6)) node.op_version = below(4);
    if (one_in(6)) node.edit().config = Value::map({{"value", Value::number(below(9) / 4.0)}});
    if (one_in(8)) node.edit().state = {1, 2, static_cast<u8>(below(256))};
    node.cacheable = one_in(4);
    node.deterministic = !one_in(6);
    node.differentiable = one_in(4);
    node.waits = one_in(8);
    if (one_in(5)) node.edit().cost_us = below(1000) / 8.0;
    if (one_in(8)) node.edit().device = text("cuda:{}", below(4));
    if (one_in(6)) node.edit().inputs = {{"in", Dtype::F32, {}, one_in(2)}};
    if (one_in(6)) {
      node.edit().outputs = {{"out", Dtype::Text,
                       std::vector<Dimension>{{Dimension::Kind::Symbol, 0, "batch"},
                                              {Dimension::Kind::Fixed, below(9), ""},
                                              {}},
                       true}};
    }
    if (node.kind == NodeKind::Step && one_in(2)) node.edit().max_turns = below(30);
    if (node.kind == NodeKind::Program) node.edit().model = "model.gguf";
  }

  std::mt19937& random_;
  PlanBuilder builder_;
  u32 budget_ = 0;
  u32 count_ = 0;                 // of ids made
};

inline Plan random_plan(std::mt19937& random, u32 nodes) { return RandomPlan(random).make(nodes); }

}  // namespace soma::fixture
