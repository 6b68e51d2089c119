// A plan: in which order the nodes of a graph run, and which of them at the same time.
//
// A plan is plain data and needs no graph: a tree of variants over a table of nodes. The tree is
// flat, in pre-order: an item says where its subtree ends, so that walking, printing, hashing and
// running it take a loop and a stack of ends, however deep it nests. The table holds the nodes in
// the order in which the tree names them, which is the order in which one thread would run them; so
// the nodes of a subtree are neighbours, and a node's place in the table is its place in time.
// Whoever makes a plan (the compiler, the reader of documents) ends with verify(); then it is
// const, and all that takes a plan takes a verified one.
#pragma once

#include "plan/arm.hpp"
#include "plan/origin.hpp"
#include "value/node.hpp"

namespace soma {

enum class PlanMode : u8 {
  Inference,       // states and outputs may come from a cache
  Differentiable,  // chains of differentiable nodes run as one, values pass as they are
  NoCache,
};
std::string_view plan_mode_name(PlanMode mode);  // "inference", "differentiable", "no_cache"
std::optional<PlanMode> plan_mode_by_name(std::string_view name);

enum class Variant : u8 {
  Empty,      // nothing; yields its input. Only as the whole plan
  Execute,    // node
  Sequence,   // children one after the other; two or more, none of them a Sequence
  Parallel,   // children at the same time; two or more, none of them a Parallel
  Step,       // node, then at most one of the children: a hand-off each
  Loop,       // node stands for it and is not called; one child: the body
  Branch,     // node decided, before it; at most one of the children: an arm each
  Remote,     // one child, in another process; node is its first
  Composite,  // two or more Execute, values pass between them untouched
  Stream,     // one or more Execute over chunks; each reads just the one before it
  Dataflow,   // children as soon as those that they are after are done; two or more
};
std::string_view variant_name(Variant variant);  // "empty", "execute", …

inline constexpr u32 no_node = ~u32{0};

struct PlanItem {
  Variant variant = Variant::Empty;
  u32 node = no_node;  // Execute, Step, Loop, Branch, Remote
  u32 end = 0;         // behind the last item of the subtree; a leaf's own index + 1
  u32 detail = 0;      // Step, Loop, Branch, Dataflow: in the plan's table; Stream: rows of a chunk
  bool operator==(const PlanItem&) const = default;
};

struct PlanLoop {
  std::optional<u64> max_iterations;
  u32 signal = no_node;  // whose value says stop or go on; none: only the bound ends the loop
  u32 carry = no_node;   // whose value the next pass reads
  bool operator==(const PlanLoop&) const = default;
};

// What a node reads: the value of another node.
struct Source {
  u32 node = no_node;
  u32 output = 0;  // in Plan::names: the member of that value; 0: all of it
  u32 input = 0;   // in Plan::names: the key that it gets among several; 0: that node's id
  bool operator==(const Source&) const = default;
};

struct PlanNode : NodeSpec {     // max_iterations, until, carry_from: not here, in PlanLoop
  u32 sources_begin = 0, sources_end = 0;
};

struct Plan {
  PlanMode mode = PlanMode::Inference;
  GraphOrigin origin;                         // the graph that it was compiled from
  std::vector<PlanItem> items;                // pre-order; the whole plan is items[0]
  std::vector<PlanNode> nodes;                // in the order of the tree
  std::vector<Source> sources;                // of the first node, then of the second, …
  std::vector<std::string> names = {""};      // of ports, which sources mention
  std::vector<u32> leaves;                    // whose values the plan yields, in the graph's order
  std::vector<PlanLoop> loops;
  std::vector<std::vector<Arm>> branches;     // as they are tried: in the order of the children
  std::vector<std::vector<std::string>> handoffs;   // targets, in the order of the children
  // Of each child, those that it is after, ascending: all of those that anything in it reads.
  std::vector<std::vector<std::vector<u32>>> dataflows;

  // What node `index` reads, in the order of its edges. Nothing: the input of the run, or of the
  // construct around it.
  std::span<const Source> sources_of(u32 index) const {
    const PlanNode& node = nodes[index];
    return std::span(sources).subspan(node.sources_begin, node.sources_end - node.sources_begin);
  }
  // child(item index) for each child of an item, in order.
  template <typename Use>
  void each_child(u32 item, Use child) const {
    for (u32 at = item + 1; at < items[item].end; at = items[at].end) child(at);
  }

  // ---- verify.cpp: everything said above and in Variant, and that nothing is read before it is
  // there. An error of reason document_type names the first items and nodes that break a rule.
  Status verify() const;

  // ---- document_read.cpp, document_write.cpp: strict JSON of version 1. parse(document()) is the
  // same plan, and prints the same bytes. document_* reasons, all problems at once.
  enum class Reading : u8 { Strict, Lenient };
  static Result<Plan> parse(std::string_view json, Reading reading = Reading::Strict);
  std::string document() const;
  std::string digest() const;  // BLAKE2b-256 of the document, 64 hexadecimal digits
  // Of the document that it was compiled from: made when it is first asked for (origin.hpp).
  const std::string& graph_digest() const { return origin.digest(*this); }

  // ---- display.cpp, draw.cpp
  std::string display() const;  // two spaces a level, one item a line
  std::string mermaid() const;
  std::string dot() const;
};

// Writes items in pre-order and knows where they end. A Sequence or Parallel of one child is left
// out when it closes, and a Sequence in a Sequence, or a Parallel in a Parallel, gives its children
// to the outer one: what comes out is canonical.
class ItemWriter {
 public:
  void reserve(size_t items) { items_.reserve(items); }
  void open(Variant variant, u32 node = no_node, u32 detail = 0);
  void close();
  void leaf(Variant variant, u32 node = no_node);
  // The items of `from` in [begin, end), whole subtrees.
  void copy(const std::vector<PlanItem>& from, u32 begin, u32 end);
  // Of nothing: an Empty.
  std::vector<PlanItem> take() &&;

 private:
  struct Open {
    u32 item = 0;
    u32 children = 0;
    u32 last = 0, last_children = 0;  // the last child, and how many that has
  };
  void become_child(const Open& done);
  void leave_out(PlanItem& item);

  std::vector<PlanItem> items_;
  bool has_left_out_ = false;
  std::vector<Open> open_;
};

}  // namespace soma
