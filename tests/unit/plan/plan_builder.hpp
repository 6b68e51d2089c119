// Writes plans as code, for tests: items in pre-order, ids instead of indices.
#pragma once

#include <algorithm>
#include <map>

#include "plan/plan.hpp"

namespace soma::fixture {

class PlanBuilder {
 public:
  using Texts = std::vector<std::string>;

  // Of Sequence, Parallel, Composite. Every open item wants its close().
  PlanBuilder& open(Variant variant) {
    items_.open(variant);
    loops_open_.push_back(false);
    return *this;
  }
  PlanBuilder& close() {
    items_.close();
    loops_around_ -= loops_open_.back();
    loops_open_.pop_back();
    return *this;
  }

  // Sources are ids, or "id.output:input" where ports are named.
  PlanBuilder& execute(const std::string& id, const Texts& sources = {},
                       NodeKind kind = NodeKind::Function) {
    items_.leaf(Variant::Execute, add_node(id, kind, sources));
    return *this;
  }
  PlanBuilder& step(const std::string& id, const Texts& targets, const Texts& sources = {}) {
    open_node(Variant::Step, add_node(id, NodeKind::Step, sources), plan_.handoffs.size());
    plan_.handoffs.push_back(targets);
    return *this;
  }
  // Signal and carry: ids, or nothing. A bound of 0: none.
  PlanBuilder& loop(const std::string& id, u64 bound, const std::string& signal,
                    const std::string& carry, const Texts& sources = {}) {
    end_loop(begin_loop(id, sources), bound, signal, carry);
    return *this;
  }
  // The same in two calls, for who does not know the body yet.
  size_t begin_loop(const std::string& id, const Texts& sources = {}) {
    open_node(Variant::Loop, add_node(id, NodeKind::Loop, sources), plan_.loops.size());
    loops_open_.back() = true;
    ++loops_around_;
    plan_.loops.emplace_back();
    loop_ends_.emplace_back();
    return plan_.loops.size() - 1;
  }
  void end_loop(size_t loop, u64 bound, const std::string& signal, const std::string& carry) {
    if (bound > 0) plan_.loops[loop].max_iterations = bound;
    loop_ends_[loop] = {signal, carry};
  }
  PlanBuilder& branch(const std::string& id, const Texts& arms) {
    open_node(Variant::Branch, index_.at(id), plan_.branches.size());
    plan_.branches.emplace_back();
    for (const std::string& arm : arms) plan_.branches.back().push_back(Arm::parse(arm).value());
    return *this;
  }
  // The next node gets the target.
  PlanBuilder& remote(const Target& target) {
    open_node(Variant::Remote, static_cast<u32>(plan_.nodes.size()), 0);
    target_ = target;
    return *this;
  }
  PlanBuilder& stream(u32 rows) {
    open_node(Variant::Stream, no_node, rows);
    return *this;
  }
  PlanBuilder& dataflow(const std::vector<std::vector<u32>>& after) {
    open_node(Variant::Dataflow, no_node, plan_.dataflows.size());
    plan_.dataflows.push_back(after);
    return *this;
  }

  // Of the node that was added last.
  PlanNode& node() { return plan_.nodes.back(); }
  // Otherwise: all that nobody reads, outside of bodies.
  PlanBuilder& leaves(const Texts& ids) {
    for (const std::string& id : ids) plan_.leaves.push_back(index_.at(id));
    return *this;
  }

  Plan take() {
    plan_.items = std::move(items_).take();
    for (size_t i = 0; i < loop_ends_.size(); ++i) {
      const auto& [signal, carry] = loop_ends_[i];
      if (!signal.empty()) plan_.loops[i].signal = index_.at(signal);
      if (!carry.empty()) plan_.loops[i].carry = index_.at(carry);
    }
    if (plan_.leaves.empty()) plan_.leaves = unread();
    return std::move(plan_);
  }

 private:
  void open_node(Variant variant, u32 node, size_t detail) {
    items_.open(variant, node, static_cast<u32>(detail));
    loops_open_.push_back(false);
  }

  u32 add_node(const std::string& id, NodeKind kind, const Texts& sources) {
    const u32 index = static_cast<u32>(plan_.nodes.size());
    PlanNode& node = plan_.nodes.emplace_back();
    node.id = id;
    node.kind = kind;
    if (target_) node.edit().target = *std::exchange(target_, std::nullopt);
    node.sources_begin = static_cast<u32>(plan_.sources.size());
    for (const std::string& source : sources) plan_.sources.push_back(source_of(source));
    node.sources_end = static_cast<u32>(plan_.sources.size());
    index_[id] = index;
    in_body_.push_back(loops_around_ > 0);
    return index;
  }

  Source source_of(std::string text) {
    Source source;
    if (const size_t colon = text.find(':'); colon != text.npos) {
      source.input = name(text.substr(colon + 1));
      text.resize(colon);
    }
    if (const size_t dot = text.find('.'); dot != text.npos) {
      source.output = name(text.substr(dot + 1));
      text.resize(dot);
    }
    source.node = index_.at(text);
    return source;
  }

  u32 name(const std::string& text) {
    const auto at = std::find(plan_.names.begin(), plan_.names.end(), text);
    const u32 index = static_cast<u32>(at - plan_.names.begin());
    if (at == plan_.names.end()) plan_.names.push_back(text);
    return index;
  }

  std::vector<u32> unread() const {
    std::vector<bool> is_read(plan_.nodes.size());
    for (const Source& source : plan_.sources) is_read[source.node] = true;
    std::vector<u32> out;
    for (u32 i = 0; i < plan_.nodes.size(); ++i) {
      if (!is_read[i] && !in_body_[i]) out.push_back(i);
    }
    return out;
  }

  Plan plan_;
  ItemWriter items_;
  std::map<std::string, u32> index_;
  std::vector<std::pair<std::string, std::string>> loop_ends_;  // signal and carry
  std::vector<bool> loops_open_;  // by open item: is it a loop?
  u32 loops_around_ = 0;          // how many are
  std::vector<bool> in_body_;     // by node
  std::optional<Target> target_;  // of the next node
};

// A plan of nodes that read nothing, from a tree like "s[a p[b c2]]": s is a sequence, p a wave and
// c a composite.
inline Plan tree(std::string_view text) {
  PlanBuilder builder;
  while (!text.empty()) {
    const size_t end = std::min(text.find_first_of(" []"), text.size());
    const std::string_view word = text.substr(0, end);
    const char behind = end < text.size() ? text[end] : ' ';
    if (behind == '[') {
      builder.open(word == "s"   ? Variant::Sequence
                   : word == "p" ? Variant::Parallel
                                 : Variant::Composite);
    } else if (!word.empty()) {
      builder.execute(std::string(word));
    }
    if (behind == ']') builder.close();
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  Plan plan = builder.take();
  plan.leaves = {static_cast<u32>(plan.nodes.size()) - 1};
  return plan;
}

// "document.type item 2, execute 'a': …" for each problem, one a line; nothing if there is none.
template <typename T>
std::string problems_of(const T& result) {
  if (result.ok()) return "";
  std::string out = text("{} {}\n", result.error().id(), result.error().message());
  for (const Error& other : result.error().others()) {
    out += text("{} {}\n", other.id(), other.message());
  }
  return out;
}

}  // namespace soma::fixture
