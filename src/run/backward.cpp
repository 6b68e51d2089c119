// Walks an execution backwards, from the gradient of what the plan yielded to that of its input.
//
// Problem. Gradients go from readers to who was read, so a node's turn comes when all of its
// readers have had theirs; and readers are to be found in passes of loops, in arms, behind
// hand-offs. Plans nest a hundred thousand constructs deep, and loops run as often as they like.
//
// Idea. The nodes of a plan are in the order in which one thread runs them, so the opposite order
// is one in which readers come first. The walk is the one of strand.cpp the other way round: a
// place between two nodes, the construct that ends there, and a stack of the regions around. It
// takes the way that the execution took: the tape says how many passes a loop had, and which arm or
// hand-off was chosen, each time, and both walk and tape count them backwards.
//
// Where gradients go. Each value has a place where gradients are gathered (gradients.hpp): what a
// node yields, what a construct hands to those nodes of its region that read no edge, and for each
// loop what its carry has for the next pass. When a node's turn comes,
//   - one with a vjp makes of the gradient of what it yielded that of what it read, and that is
//     handed out to what it read: to one value, to a member where an edge names an output, or by
//     the keys of the map that several edges make;
//   - a subgraph's node, which stands for its leaves, hands on what it gets;
//   - any other, and a step, lets nothing through.
// A loop's value is its carry's of the last pass that had one, so its gradient waits at the loop's
// carry place until the walk comes to the carry's node. What a pass was fed comes from the carry of
// the pass before: so at a pass's beginning, what has been gathered for the feed goes to the carry
// place. If the carry's node has not run in a pass, nobody takes what waits there, and it waits for
// the pass before that, as the value it belongs to came from there; at the first pass it belongs to
// the loop's input. Without a carry every pass reads that. An arm's feed is the value, or its
// member "value", of the node that decided, and that is where its gradient goes.
//
// Arms that were not taken. What reads one of their nodes read nothing; a gradient that it may
// still give is let go of when the walk passes by, before an earlier pass in which the arm was
// taken could find it.
//
// What is missing. A node that is declared as differentiable, whose op has no vjp, and that a
// gradient reaches, makes the answer wrong. To name all such nodes, the walk goes on from the first
// of them without calling anything, and only marks what is reached: of each node that has a vjp all
// that it read.
//
// Why it ends. It meets what ran in the opposite order, and nothing twice.
// Cost. Linear in what ran and in the size of the plan; no recursion.
#include "run/backward.hpp"

#include <algorithm>

#include "base/text.hpp"
#include "run/member_finder.hpp"
#include "value/describe.hpp"

namespace soma {

namespace {

constexpr u32 whole = Course::whole;

// What stands for any gradient as soon as one is missing.
Value mark() { return Value::boolean(true); }

// give(i, gradient) for each of `count` keys that the map has. Returns a key of the map that is
// none of them; nothing: there is no such one.
template <typename Key, typename Give>
std::optional<std::string_view> hand_out(std::span<const Member> members, size_t count, Key key,
                                         Give give) {
  MemberFinder finder(members);
  std::vector<bool> is_given(members.size());
  for (size_t i = 0; i < count; ++i) {
    const size_t member = finder.find(key(i));
    if (member == MemberFinder::nowhere) continue;
    is_given[member] = true;
    give(i, members[member].value);
  }
  const auto left = std::ranges::find(is_given, false);
  if (left == is_given.end()) return std::nullopt;
  return members[static_cast<size_t>(left - is_given.begin())].key;
}

u32 count_regions(const Plan& plan, const Construct& construct) {
  if (construct.variant == Variant::Loop) return 1;
  const size_t count = construct.variant == Variant::Branch
                           ? plan.branches[construct.detail].size()
                           : plan.handoffs[construct.detail].size();
  return static_cast<u32>(count);
}

}  // namespace

Backward::Backward(RunState& run, const Tape& tape)
    : run_(run),
      plan_(run.plan),
      course_(run.course),
      tape_(tape),
      constructs_(course_.constructs()),
      gradients_(run, plan_.nodes.size() + 2 * constructs_.size() + 1),
      before_(constructs_.size()),
      carries_for_(plan_.nodes.size(), whole),
      records_(plan_.nodes.size()),
      choices_(constructs_.size()),
      is_missing_(plan_.nodes.size()) {
  for (u32 node = 0; node < records_.size(); ++node) {
    if (const Tape::Node* taped = tape.find(node)) records_[node] = taped->records.size();
    total_ += records_[node];
  }
  find_constructs();
}

// Constructs are in pre-order, so those directly in one region come in its order.
void Backward::find_constructs() {
  const u32 regions = constructs_.empty() ? 0
                                          : constructs_.back().regions +
                                                count_regions(plan_, constructs_.back());
  last_.resize(size_t{regions} + 1, whole);
  std::vector<u32> current(constructs_.size());  // the region that the next one within lies in
  for (u32 c = 0; c < constructs_.size(); ++c) {
    const Construct& construct = constructs_[c];
    u32 around = regions;
    if (construct.outer != whole) {
      u32& at = current[construct.outer];
      while (region(at).item_end <= construct.item) ++at;
      around = at;
    }
    before_[c] = std::exchange(last_[around], c);
    current[c] = construct.regions;
    choices_[c] = tape_.choices(c).size();
    if (construct.variant != Variant::Loop) continue;
    const u32 carry = plan_.loops[construct.detail].carry;
    if (carry != no_node) carries_for_[carry] = c;
  }
}

Result<Value> Backward::trace(Value gradient) {
  SOMA_TRY(seed(std::move(gradient)));
  frames_.reserve(size_t{course_.depth()} + 1);
  at_ = static_cast<u32>(plan_.nodes.size());
  next_ = last_.back();
  frames_.push_back({whole, 0, static_cast<u32>(last_.size()) - 1, 1});
  SOMA_TRY(walk());
  if (!missing_.empty()) return missing();
  return gradients_.take(fed(whole), no_node);
}

Status Backward::seed(Value gradient) {
  const std::vector<u32>& leaves = plan_.leaves;
  if (leaves.size() == 1 || gradient.is_null()) {
    gradients_.add(leaves[0], std::move(gradient));
    return {};
  }
  const auto refusal = [&](const std::string& got) {
    return fail(Reason::run_gradient,
                "the plan yields a map of its {} leaves: expected as its gradient a map by their "
                "ids, got {}",
                leaves.size(), got);
  };
  if (!gradient.is(ValueKind::Map)) return refusal(describe(gradient));
  const auto unknown = hand_out(
      gradient.map(), leaves.size(),
      [&](size_t i) -> std::string_view { return plan_.nodes[leaves[i]].id; },
      [&](size_t i, const Value& part) { gradients_.add(leaves[i], part); });
  return unknown ? refusal("member " + quoted(*unknown)) : Status();
}

Status Backward::check() const {
  run_.cancel->report("backward", done_, total_);
  return run_.cancel->check();
}

Status Backward::walk() {
  constexpr u64 check_each = 1024;
  while (true) {
    if (++visits_ % check_each == 0) SOMA_TRY(check());
    if (next_ != whole && constructs_[next_].end == at_) {
      SOMA_TRY(enter(next_));
    } else if (at_ > frames_.back().begin) {
      SOMA_TRY(visit(--at_));
    } else if (frames_.size() > 1) {
      SOMA_TRY(leave());
    } else {
      return {};
    }
  }
}

// ---- Regions

void Backward::push(u32 construct, u32 number, u64 passes) {
  frames_.push_back({construct, region(number).begin, number, passes});
  at_ = region(number).end;
  next_ = last_[number];
}

Status Backward::enter(u32 number) {
  const Construct& construct = constructs_[number];
  const Tape::Choice choice = tape_.choices(number)[--choices_[number]];
  if (construct.variant == Variant::Loop) {
    const PlanLoop& loop = plan_.loops[construct.detail];
    SOMA_ASSIGN(Value gradient, take(construct.node));
    if (loop.carry != no_node) {
      gradients_.add(carried(number), std::move(gradient));
    } else if (loop.signal != no_node) {
      gradients_.add(loop.signal, std::move(gradient));
    }
    run_.passes[number] = choice.number;
    push(number, construct.regions, choice.number);
    return {};
  }
  // A step's own node stands before its hand-offs; those that it did not choose are passed by.
  const u32 begin = construct.begin + (construct.variant == Variant::Step ? 1 : 0);
  const bool is_chosen = choice.number != Tape::none;
  const u32 chosen = construct.regions + (is_chosen ? static_cast<u32>(choice.number) : 0);
  const Region taken = is_chosen ? region(chosen) : Region{0, 0, begin, begin};
  skip(begin, taken.begin);
  skip(taken.end, construct.end);
  if (is_chosen) {
    push(number, chosen, 1);
  } else {
    frames_.push_back({number, begin, 0, 1});
    at_ = begin;
    next_ = whole;
  }
  return {};
}

// What was not taken yielded nothing that could have a gradient.
void Backward::skip(u32 begin, u32 end) {
  for (u32 node = begin; node < end; ++node) gradients_.drop(node);
}

Status Backward::leave() {
  Frame& frame = frames_.back();
  const u32 number = frame.construct;
  const Construct& construct = constructs_[number];
  if (construct.variant == Variant::Loop) return leave_body(frame);
  frames_.pop_back();
  at_ = construct.begin;
  next_ = before_[number];
  if (construct.variant == Variant::Step) {
    gradients_.drop(fed(number));
    drop(construct.node);
    return {};
  }
  SOMA_ASSIGN(Value gradient, sum_at(fed(number), construct.node));
  const bool is_member = tape_.choices(number)[choices_[number]].is_member;
  gradients_.add(construct.node, std::move(gradient), is_member ? "value" : "");
  return {};
}

Status Backward::leave_body(Frame& frame) {
  const u32 number = frame.construct;
  const Construct& loop = constructs_[number];
  const bool has_carry = plan_.loops[loop.detail].carry != no_node;
  if (has_carry) {
    SOMA_ASSIGN(Value gradient, sum_at(fed(number), loop.node));
    gradients_.add(carried(number), std::move(gradient));
  }
  if (frame.passes > 1) {
    run_.passes[number] = --frame.passes;
    at_ = region(frame.region).end;
    next_ = last_[frame.region];
    return {};
  }
  SOMA_ASSIGN(Value gradient, sum_at(has_carry ? carried(number) : fed(number), loop.node));
  frames_.pop_back();
  at_ = loop.begin;
  next_ = before_[number];
  return pass_on(loop.node, std::move(gradient));
}

// ---- Nodes

Status Backward::visit(u32 node) {
  const Tape::Node* const taped = tape_.find(node);
  const Tape::Record* const record = taped ? &taped->records[--records_[node]] : nullptr;
  done_ += taped ? 1 : 0;
  const bool hands_on = plan_.nodes[node].kind == NodeKind::Subgraph;
  if (!hands_on && !plan_.nodes[node].differentiable) {
    drop(node);
    return {};
  }
  SOMA_ASSIGN(Value gradient, take(node));
  if (gradient.is_null()) return {};
  if (!hands_on && !taped) miss(node);
  if (hands_on || !missing_.empty()) return pass_on(node, std::move(gradient));
  SOMA_ASSIGN(Value of_input, gradient_of_input(node, taped->vjp, *record, gradient));
  return pass_on(node, std::move(of_input));
}

Result<Value> Backward::gradient_of_input(u32 node, const NodeVjp& vjp, const Tape::Record& record,
                                          const Value& gradient) {
  const auto check_here = [&]() -> Status {
    Status status = check();
    if (status.ok()) return status;
    return run_.at(node, std::move(status).error());
  };
  SOMA_TRY(check_here());
  GradientCall call(run_, node, record.input, record.yielded, gradient,
                    record.state ? &*record.state : nullptr);
  Status status;
  try {
    status = vjp.code(vjp.user, call);
  } catch (...) {
    return run_.exception(node);
  }
  if (call.was_told_to_stop()) {
    SOMA_TRY(check_here());
    return run_.at(node, fail(Reason::cancelled, "the node was asked to stop"));
  }
  if (!status.ok()) return run_.failure(node, std::move(status).error().context("its vjp"));
  return std::move(call.output());
}

// The sum of what has come for a node's value; that of a carry also from the pass behind.
Result<Value> Backward::take(u32 node) {
  const u32 loop = carries_for_[node];
  if (loop != whole) {
    SOMA_ASSIGN(Value gradient, sum_at(carried(loop), constructs_[loop].node));
    gradients_.add(node, std::move(gradient));
  }
  return sum_at(node, node);
}

void Backward::drop(u32 node) {
  gradients_.drop(node);
  if (carries_for_[node] != whole) gradients_.drop(carried(carries_for_[node]));
}

Result<Value> Backward::sum_at(size_t place, u32 node) {
  if (missing_.empty()) return gradients_.take(place, node);
  const bool is_reached = gradients_.has(place);
  gradients_.drop(place);
  return is_reached ? mark() : Value();
}

// Hands a gradient of what a node read to what it read.
Status Backward::pass_on(u32 node, Value gradient) {
  if (gradient.is_null()) return {};
  const std::span<const Source> sources = plan_.sources_of(node);
  if (sources.empty()) {
    gradients_.add(fed(frames_.back().construct), std::move(gradient));
  } else if (!missing_.empty()) {
    for (const Source& source : sources) gradients_.add(source.node, mark());
  } else if (sources.size() > 1) {
    return pass_on_members(node, gradient);
  } else {
    add_to(sources[0], std::move(gradient));
  }
  return {};
}

void Backward::add_to(const Source& source, Value gradient) {
  const bool reads_all = run_.values.reads_all_of(source);
  gradients_.add(source.node, std::move(gradient),
                 reads_all ? std::string_view() : std::string_view(plan_.names[source.output]));
}

Status Backward::pass_on_members(u32 node, const Value& gradient) {
  const std::span<const Source> sources = plan_.sources_of(node);
  const auto refusal = [&](const std::string& got) {
    return run_.at(node, fail(Reason::run_gradient,
                              "node {} reads {} values: expected as the gradient of its input a "
                              "map by their keys, got {}",
                              quoted(run_.path(node)), sources.size(), got));
  };
  if (!gradient.is(ValueKind::Map)) return refusal(describe(gradient));
  const auto unknown = hand_out(
      gradient.map(), sources.size(),
      [&](size_t i) { return run_.values.key_of(sources[i]); },
      [&](size_t i, const Value& part) { add_to(sources[i], part); });
  return unknown ? refusal("member " + quoted(*unknown)) : Status();
}

// ---- Nodes without a vjp

void Backward::miss(u32 node) {
  if (is_missing_[node]) return;
  is_missing_[node] = true;
  missing_.push_back(node);
}

Error Backward::missing() const {
  std::vector<u32> nodes = missing_;
  std::ranges::sort(nodes);
  Problems problems;
  std::string list;
  for (size_t i = 0; i < nodes.size(); ++i) {
    const PlanNode& node = plan_.nodes[nodes[i]];
    const std::string_view why = tape_.is_streamed(nodes[i])
                                     ? "runs in chunks, of which no tape is kept (compile "
                                       "without \"chunk\")"
                                     : "has no vjp";
    const std::string line = text("node {}, whose op {} {}", quoted(node.id),
                                  quoted(node.op_name()), why);
    if (i < Problems::kept_max) list += (i == 0 ? "" : "; ") + line;
    problems.add(fail(Reason::run_no_gradient, "{}", line).with("node", node.id));
  }
  if (nodes.size() > Problems::kept_max) list += "; …";
  Error error = fail(Reason::run_no_gradient,
                     "a gradient reaches {} node{} that can't pass it on: {}: give the ops a vjp, "
                     "or don't declare the nodes as differentiable",
                     nodes.size(), nodes.size() == 1 ? "" : "s", list);
  error.with("node", plan_.nodes[nodes[0]].id);
  if (nodes.size() > 1) error.add(std::move(problems).take());
  return error;
}

}  // namespace soma
