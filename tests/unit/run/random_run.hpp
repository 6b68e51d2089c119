// Random plans of every shape, for tests of runs.
#pragma once

#include <algorithm>
#include <random>

#include "unit/plan/plan_builder.hpp"

namespace soma::fixture {

// Of nodes with op "mix", and now and then "fail". Nodes in streams wait for nobody.
class RandomPlan {
 public:
  explicit RandomPlan(u32 seed) : random_(seed) {}

  Plan make() {
    Ids visible;
    sequence(visible, 0);
    Plan plan = builder_.take();
    const bool some_wait = below(3) == 0;
    for (PlanNode& node : plan.nodes) {
      node.op = below(150) == 0 ? "fail" : "mix";
      node.waits = some_wait && below(6) == 0 && node.stream_mode == StreamMode::None;
    }
    REQUIRE(plan.verify().ok());
    return plan;
  }

 private:
  using Ids = std::vector<std::string>;

  u32 below(u32 bound) { return static_cast<u32>(random_() % bound); }

  Ids sources(const Ids& visible) {
    Ids out;
    for (u32 i = below(4); i > 0 && !visible.empty(); --i) {
      const std::string& one = visible[visible.size() - 1 - below(static_cast<u32>(std::min<size_t>(
                                           visible.size(), 6)))];
      if (std::find(out.begin(), out.end(), one) == out.end()) out.push_back(one);
    }
    return out;
  }

  void node(Ids& visible) {
    const std::string id = text("n{}", count_++);
    builder_.execute(id, sources(visible));
    visible.push_back(id);
  }

  void part(Ids& visible, u32 depth) {
    const u32 choice = depth > 5 ? 0 : below(13);
    if (choice < 4) return node(visible);
    if (choice == 12) return stream(visible);
    if (choice < 6) return sequence(visible, depth + 1);
    if (choice < 9) return wave(visible, depth + 1);
    if (choice == 9) return loop(visible, depth + 1);
    if (choice == 10) return branch(visible, depth + 1);
    dataflow(visible, depth + 1);
  }

  void sequence(Ids& visible, u32 depth) {
    builder_.open(Variant::Sequence);
    for (u32 i = 2 + below(4); i > 0; --i) part(visible, depth);
    builder_.close();
  }

  void wave(Ids& visible, u32 depth) {
    const Ids before = visible;
    builder_.open(Variant::Parallel);
    for (u32 i = 2 + below(5); i > 0; --i) {
      Ids own = before;
      part(own, depth);
      visible.insert(visible.end(), own.begin() + static_cast<std::ptrdiff_t>(before.size()),
                     own.end());
    }
    builder_.close();
  }

  // Of single nodes, each of which reads some of those that it is after.
  void dataflow(Ids& visible, u32) {
    const u32 nodes = 2 + below(12);
    std::vector<std::vector<u32>> after(nodes);
    const std::string first = text("n{}", count_);
    for (u32 i = 0; i < nodes; ++i) {
      for (u32 before = 0; before < i; ++before) {
        if (below(i + 1) == 0 || below(4) == 0) after[i].push_back(before);
      }
    }
    builder_.dataflow(after);
    const u32 base = count_;
    for (u32 i = 0; i < nodes; ++i) {
      Ids sources;
      for (const u32 before : after[i]) sources.push_back(text("n{}", base + before));
      builder_.execute(text("n{}", count_++), sources);
    }
    builder_.close();
    for (u32 i = 0; i < nodes; ++i) visible.push_back(text("n{}", base + i));
  }

  // Of nodes that each read the one before, the first whatever there is.
  void stream(Ids& visible) {
    builder_.stream(1 + below(3));
    Ids from;
    if (!visible.empty()) from.push_back(visible[below(static_cast<u32>(visible.size()))]);
    for (u32 i = 1 + below(4); i > 0; --i) {
      const std::string id = text("n{}", count_++);
      builder_.execute(id, from);
      constexpr StreamMode modes[] = {StreamMode::Stateless, StreamMode::Stateful,
                                      StreamMode::Barrier};
      builder_.node().stream_mode = modes[below(3)];
      from = {id};
    }
    builder_.close();
    visible.push_back(from[0]);
  }

  void loop(Ids& visible, u32 depth) {
    const std::string id = text("n{}", count_++);
    const size_t loop = builder_.begin_loop(id, sources(visible));
    Ids body = visible;
    sequence(body, depth);
    builder_.end_loop(loop, 1 + below(3), "", below(2) == 0 ? "" : body.back());
    builder_.close();
    visible.push_back(id);
  }

  void branch(Ids& visible, u32 depth) {
    builder_.open(Variant::Sequence);
    node(visible);
    builder_.branch(visible.back(), {"it > 5000", "it > 2000", "else"});
    const Ids before = visible;
    for (u32 i = 0; i < 3; ++i) {
      Ids own = before;
      part(own, depth);
      visible.insert(visible.end(), own.begin() + static_cast<std::ptrdiff_t>(before.size()),
                     own.end());
    }
    builder_.close().close();
  }

  std::mt19937 random_;
  PlanBuilder builder_;
  u32 count_ = 0;
};

}  // namespace soma::fixture
