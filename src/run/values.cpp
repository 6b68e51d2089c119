// Finds out once what each node reads, and then reads it.
//
// Problem. A run must not look anything up, must not copy values, and should let go of a value as
// soon as its last reader has it: a callback may change in place what it alone owns.
//
// Idea. Edges are resolved when the run is made: a node reads one slot, or several, or what its
// construct hands over. A slot with one reader is moved out of, if that reader lies in the same
// loops as the slot's node: then neither runs again without the other, and the value belongs to the
// reader, who lets go of it when it is done. All other values stay until their loop's next pass, or
// the end of the run.
//
// Values are let go of where a note says that a block of nodes has any: else a run of nodes that
// yield nothing, or one that was stopped early, would spend its time there. The note is taken back
// by who clears the whole block, when nobody is at work on any of its nodes.
//
// Cost. Four bytes a node, besides 17 for the slot; reading one slot is a look at the former.
#include "run/values.hpp"

#include <algorithm>
#include <cstring>

#include "base/problems.hpp"
#include "base/text.hpp"
#include "value/describe.hpp"
#include "value/repeats.hpp"

namespace soma {

Values::Values(const Plan& plan, const Course& course)
    : plan_(plan),
      slots_(plan.nodes.size()),
      was_set_(plan.nodes.size() / block_nodes + 1),
      present_(plan.nodes.size(), 1),
      feeds_(course.constructs().size() + 1),
      readings_(plan.nodes.size()) {
  const std::vector<u32> around = around_each(course);
  const std::vector<u8> has_one_reader = count_readers(course);
  const std::span<const Construct> constructs = course.constructs();
  std::vector<u32> loop_of(constructs.size());  // the innermost, by construct
  for (u32 c = 0; c < constructs.size(); ++c) {
    const Construct& construct = constructs[c];
    const u32 outer = construct.outer == Course::whole ? Course::whole : loop_of[construct.outer];
    loop_of[c] = construct.variant == Variant::Loop ? c : outer;
  }
  const auto loop_around = [&](u32 node) {
    return around[node] == Course::whole ? Course::whole : loop_of[around[node]];
  };
  for (u32 node = 0; node < readings_.size(); ++node) {
    const std::span<const Source> sources = plan_.sources_of(node);
    Reading& reading = readings_[node];
    if (sources.empty()) {
      reading = {From::Feed, false, around[node] == Course::whole ? 0 : around[node] + 1};
    } else if (sources.size() > 1 || !reads_all_of(sources[0])) {
      reading = {From::Several, false, 0};
    } else {
      const u32 source = sources[0].node;
      const bool moves = has_one_reader[source] && loop_around(source) == loop_around(node);
      reading = {From::Node, moves, source};
    }
  }
  for (const Region& stream : course.streams()) {
    wholes_[stream.begin] = readings_[stream.begin];
    for (u32 node = stream.begin; node < stream.end; ++node) {
      readings_[node] = {From::Chunk, true, static_cast<u32>(chunks_.size())};
      chunks_.emplace_back();
    }
  }
}

// By node, the innermost construct in whose regions it lies.
std::vector<u32> Values::around_each(const Course& course) const {
  const std::span<const Construct> constructs = course.constructs();
  std::vector<u32> around(slots_.size());
  u32 inner = Course::whole, next = 0;
  for (u32 node = 0; node < around.size(); ++node) {
    while (inner != Course::whole && constructs[inner].end <= node) {
      inner = constructs[inner].outer;
    }
    while (next < constructs.size() && constructs[next].begin == node) inner = next++;
    const bool is_its_own = inner != Course::whole && constructs[inner].node == node;
    around[node] = is_its_own ? constructs[inner].outer : inner;
  }
  return around;
}

// By node, whether one edge is all that reads its value.
std::vector<u8> Values::count_readers(const Course& course) const {
  std::vector<u8> readers(slots_.size(), 0);  // 0, 1, and 2 for more
  const auto count = [&readers](u32 node, u8 more) {
    if (node != no_node) readers[node] = static_cast<u8>(std::min(readers[node] + more, 2));
  };
  for (const Source& source : plan_.sources) count(source.node, 1);
  for (const u32 leaf : plan_.leaves) count(leaf, 2);
  for (const PlanLoop& loop : plan_.loops) {
    count(loop.signal, 2);
    count(loop.carry, 2);
  }
  for (const Construct& construct : course.constructs()) {
    if (construct.variant == Variant::Branch) count(construct.node, 2);
  }
  for (u8& readers_of_one : readers) readers_of_one = readers_of_one == 1;
  return readers;
}

// A node with one output yields it, and no map with one member.
bool Values::reads_all_of(const Source& source) const {
  return source.output == 0 || plan_.nodes[source.node].outputs().size() == 1;
}

std::string_view Values::key_of(const Source& source) const {
  return source.input == 0 ? plan_.nodes[source.node].id.view() : plan_.names[source.input];
}

void Values::set_present(u32 begin, u32 end, bool is_present) {
  std::memset(present_.data() + begin, is_present ? 1 : 0, end - begin);
}

void Values::clear(u32 begin, u32 end) {
  while (begin < end) {
    const u32 block = begin / block_nodes, behind = (block + 1) * block_nodes;
    const u32 first = begin;
    begin = std::min(behind, end);
    if (was_set_[block].load(std::memory_order_relaxed) == 0) continue;
    for (u32 node = first; node < begin; ++node) {
      if (!slots_[node].is_null()) slots_[node] = Value();
    }
    const bool is_whole = first % block_nodes == 0 && (begin == behind || begin == slots_.size());
    if (is_whole) was_set_[block].store(0, std::memory_order_relaxed);
  }
}

void Values::clear() {
  clear(0, static_cast<u32>(slots_.size()));
  std::fill(feeds_.begin(), feeds_.end(), Value());
}

const Value& Values::input(u32 node, Value& made) { return input(node, readings_[node], made); }

const Value& Values::whole(u32 node, Value& made) { return input(node, wholes_.at(node), made); }

const Value& Values::input(u32 node, const Reading& reading, Value& made) {
  const u32 at = reading.at();
  switch (reading.from()) {
    case From::Feed: return feeds_[at];
    case From::Node:
      if (!is_present(at)) return made;
      if (!reading.moves()) return slots_[at];
      made = std::move(slots_[at]);
      return made;
    case From::Several: made = collect(node); break;
    case From::Chunk: made = std::move(chunks_[at]); break;
  }
  return made;
}

const Value* Values::read(const Source& source) const {
  if (!is_present(source.node)) return nullptr;
  const Value& value = slots_[source.node];
  if (reads_all_of(source)) return &value;
  return value.is(ValueKind::Map) ? value.find(plan_.names[source.output]) : nullptr;
}

Value Values::collect(u32 node) const {
  const std::span<const Source> sources = plan_.sources_of(node);
  if (sources.size() == 1) {
    const Value* value = read(sources[0]);
    return value ? *value : Value();
  }
  std::vector<Member> members;
  members.reserve(sources.size());
  for (const Source& source : sources) {
    const Value* value = read(source);
    if (!value) continue;
    members.push_back({std::string(key_of(source)), *value});
  }
  return Value::map(std::move(members));
}

bool Values::names_outputs(u32 node) const {
  return !std::ranges::all_of(plan_.sources_of(node),
                              [this](const Source& source) { return reads_all_of(source); });
}

Status Values::check_keys() const {
  Problems problems;
  for (u32 node = 0; node < readings_.size(); ++node) {
    const std::span<const Source> sources = plan_.sources_of(node);
    if (sources.size() < 2) continue;
    const auto key_at = [&](u32 i) { return key_of(sources[i]); };
    const std::vector<u32> repeats = find_repeats(static_cast<u32>(sources.size()), key_at);
    if (repeats.empty()) continue;
    problems.add(fail(Reason::graph_ambiguous_port,
                      "node {}: two of the values that it reads would be its member {}: name an "
                      "input on their edges",
                      quoted(plan_.nodes[node].id), quoted(key_at(repeats[0])))
                     .with("node", plan_.nodes[node].id));
  }
  return std::move(problems).status();
}

Status Values::check_outputs(u32 node) const {
  for (const Source& source : plan_.sources_of(node)) {
    if (!is_present(source.node) || read(source)) continue;
    return fail(Reason::run_input, "it reads output {} of node {}, which yielded {}",
                quoted(plan_.names[source.output]), quoted(plan_.nodes[source.node].id),
                describe(slots_[source.node]));
  }
  return {};
}

Value Values::result() const {
  if (slots_.empty()) return feeds_[0];
  const auto value = [this](u32 leaf) { return is_present(leaf) ? slots_[leaf] : Value(); };
  if (plan_.leaves.size() == 1) return value(plan_.leaves[0]);
  std::vector<Member> members;
  members.reserve(plan_.leaves.size());
  for (const u32 leaf : plan_.leaves) {
    if (is_present(leaf)) members.push_back({plan_.nodes[leaf].id.str(), value(leaf)});
  }
  return Value::map(std::move(members));
}

}  // namespace soma
