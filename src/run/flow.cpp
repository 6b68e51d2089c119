// Leads chunks through a stream.
//
// Problem. A chain of nodes that could each work on a piece at a time: the whole value need not lie
// in memory between any two of them, and the second need not wait for the last row of the first.
// But a fast node must not fill the memory before a slow one, chunks must come out in their order,
// and an error must not depend on who was faster.
//
// Idea. No node has a thread, and none waits for another. Whoever is free takes the node nearest to
// the end that can go on: that has a chunk, and room for what it yields. It calls that node for
// this chunk, hands on what came of it, and looks again. So one thread alone carries each chunk
// through all nodes before it cuts the next one, two threads are in two nodes at the same time, and
// a node behind which `waiting_max` chunks wait is simply none that can go on. At any one node
// there is one thread at a time, and it takes chunks in their order: that is what a state needs,
// and what puts the result in order.
//
// Barriers. A node that needs all rows at once gathers its chunks, is called once, and what it
// yields is cut anew for the nodes behind it, as if a stream began there. Until then these have
// nothing to do, so there is one such part at work at a time, and a count of chunks is one of it.
//
// Errors. The first chunk that fails at any node is the one whose failure counts. When one fails,
// those before it go on to the end, as they would have been carried there before: an earlier one
// may still fail, and then it is that one. Later ones are not begun any more.
//
// Why it ends. Each claim begins a chunk at a node, of which there are as many as chunks and nodes.
// If nothing runs and nothing is ready, then either nothing is left, or there was a failure: the
// last node that has a chunk waiting always has room behind it.
//
// Cost. Each claim and each end changes who is ready at most at two neighbours, so lists of those
// that are ready are kept. A chunk's rows are copied as references.
#include "run/flow.hpp"

#include <algorithm>

#include "base/text.hpp"
#include "run/binding.hpp"
#include "value/describe.hpp"

namespace soma {

namespace {

// Along the first axis; nothing: it has none.
std::optional<u64> rows_of(const Value& value) {
  if (value.is(ValueKind::List)) return value.list().size();
  if (value.is(ValueKind::Bytes)) return value.bytes().size();
  return std::nullopt;
}

Value cut(const Value& value, u64 first, u64 rows) {
  if (value.is(ValueKind::List)) {
    const std::span<const Value> part = value.list().subspan(first, rows);
    return Value::list({part.begin(), part.end()});
  }
  const std::span<const u8> part = value.bytes().subspan(first, rows);
  return Value::bytes({part.begin(), part.end()});
}

bool can_be_joined(ValueKind kind) {
  return kind == ValueKind::List || kind == ValueKind::Bytes || kind == ValueKind::Text;
}

template <typename T, typename RowsOf>
std::vector<T> concatenate(std::span<const Value> parts, RowsOf rows) {
  size_t size = 0;
  for (const Value& part : parts) size += rows(part).size();
  std::vector<T> out;
  out.reserve(size);
  for (const Value& part : parts) out.insert(out.end(), rows(part).begin(), rows(part).end());
  return out;
}

// All of one kind, which can be joined, or just one.
Value join(std::span<const Value> parts) {
  if (parts.size() == 1) return parts[0];
  if (parts[0].is(ValueKind::List)) {
    return Value::list(concatenate<Value>(parts, [](const Value& part) { return part.list(); }));
  }
  if (parts[0].is(ValueKind::Bytes)) {
    return Value::bytes(concatenate<u8>(parts, [](const Value& part) { return part.bytes(); }));
  }
  std::string out;
  for (const Value& part : parts) out += part.text();
  return Value::text(std::move(out));
}

}  // namespace

Flow::Flow(const Plan& plan, const Region& stream, Values& values)
    : stream_(stream),
      chunk_rows_(plan.items[stream.item].detail),
      values_(values),
      stages_(stream.end - stream.begin) {
  for (u32 stage = 0; stage < stages_.size(); ++stage) {
    stages_[stage].is_barrier = plan.nodes[node(stage)].stream_mode == StreamMode::Barrier;
    stages_[stage].waiting.reserve(waiting_max);
  }
  for (BranchSet* places : {&pinned_, &others_}) places->reset(static_cast<u32>(stages_.size()));
}

void Flow::begin(Value input, const Binding& binding) {
  clear();
  for (u32 stage = 0; stage < stages_.size(); ++stage) {
    stages_[stage].is_pinned = binding.is_caller_only(node(stage));
    has_pinned_ = has_pinned_ || stages_[stage].is_pinned;
  }
  make_room(0, input);
  feed(0, std::move(input));
  look_at(0);
}

void Flow::clear() noexcept {
  failed_ = ~u64{0};
  is_dropped_ = false;
  running_ = 0;
  yielded_.clear();
  pinned_.reset(static_cast<u32>(stages_.size()));
  others_.reset(static_cast<u32>(stages_.size()));
  for (u32 stage = 0; stage < stages_.size(); ++stage) {
    Stage& it = stages_[stage];
    it.whole = Value();
    it.waiting.clear();
    it.chunk = Chunk();
    it.chunk.count = 0;
    it.begun = 0;
    it.yields.reset();
    it.is_running = it.is_listed = false;
    values_.chunk(node(stage)) = Value();
    values_.slot_to_set(node(stage)) = Value();
  }
}

Value Flow::result() {
  // Dropped: an earlier branch has failed, and whoever asks is about to hear of it.
  Value value = is_dropped_ ? Value() : join(yielded_);
  clear();
  return value;
}

// A value of no rows, or without any, is one chunk.
u64 Flow::count_chunks(u32 stage, const Value& whole) const {
  const std::optional<u64> rows = rows_of(whole);
  if (stages_[stage].is_barrier || !rows || *rows == 0) return 1;
  return (*rows - 1) / chunk_rows_ + 1;
}

// Behind the last node that chunks cut for this one come to: a barrier, or the last of all.
u32 Flow::end_of_part(u32 stage) const {
  while (!stages_[stage].is_barrier && stage + 1 < stages_.size()) ++stage;
  return stage + 1;
}

// So that nothing can fail later. Nobody looks at these nodes until they are fed.
void Flow::make_room(u32 stage, const Value& whole) {
  const u64 count = count_chunks(stage, whole);
  const u32 end = end_of_part(stage);
  Stage& last = stages_[end - 1];
  if (last.is_barrier && end - 1 > stage) last.waiting.reserve(count);
  if (end == stages_.size()) yielded_.reserve(last.is_barrier ? 1 : count);
}

void Flow::feed(u32 stage, Value whole) noexcept {
  const u64 count = count_chunks(stage, whole);
  const u32 end = end_of_part(stage);
  for (u32 at = stage; at < end; ++at) {
    stages_[at].chunk.count = stages_[at].is_barrier ? 1 : count;
  }
  stages_[stage].whole = std::move(whole);
}

// ---- Who can go on

bool Flow::has_room_behind(u32 stage) const {
  if (stage + 1 == stages_.size() || is_fed_whole(stage + 1)) return true;
  const Stage& next = stages_[stage + 1];
  return next.is_barrier || next.waiting.size() < waiting_max;
}

bool Flow::is_ready(u32 stage) const {
  const Stage& it = stages_[stage];
  if (is_dropped_ || it.is_running || it.begun == it.chunk.count || it.begun >= failed_) {
    return false;
  }
  if (is_fed_whole(stage)) return has_room_behind(stage);
  if (it.is_barrier) return it.waiting.size() == stages_[stage - 1].chunk.count;
  return !it.waiting.empty() && has_room_behind(stage);
}

void Flow::look_at(u32 stage) noexcept {
  Stage& it = stages_[stage];
  if (it.is_listed || !is_ready(stage)) return;
  it.is_listed = true;
  (it.is_pinned ? pinned_ : others_).add(place(stage));
}

// Takes out those that need not run any more.
bool Flow::has_ready(BranchSet& places) {
  while (!places.empty()) {
    const u32 stage = place(places.lowest());
    if (is_ready(stage)) return true;
    places.take(1);
    stages_[stage].is_listed = false;
  }
  return false;
}

u32 Flow::claim(Hand hand) {
  const bool has_pinned = hand == Hand::Caller && has_ready(pinned_);
  const bool has_other = has_ready(others_);
  if (!has_pinned && !has_other) return none;
  const bool is_pinned = has_pinned && (!has_other || pinned_.lowest() < others_.lowest());
  const u32 stage = place((is_pinned ? pinned_ : others_).take(1).first);
  Stage& it = stages_[stage];
  it.is_listed = false;
  it.is_running = true;
  ++running_;
  it.chunk.index = it.begun++;
  if (is_fed_whole(stage) || it.is_barrier) return stage;
  values_.chunk(node(stage)) = std::move(it.waiting.front());
  it.waiting.erase(it.waiting.begin());
  look_at(stage - 1);
  return stage;
}

bool Flow::is_over() {
  return is_dropped_ || (running_ == 0 && !has_ready(pinned_) && !has_ready(others_));
}

// ---- Chunks

void Flow::provide(u32 stage) {
  Stage& it = stages_[stage];
  Value& input = values_.chunk(node(stage));
  if (it.is_barrier) {
    input = is_fed_whole(stage) ? std::move(it.whole) : join(it.waiting);
    it.waiting.clear();
  } else if (is_fed_whole(stage)) {
    const std::optional<u64> rows = rows_of(it.whole);
    const u64 first = it.chunk.index * chunk_rows_;
    const bool is_all = it.chunk.count == 1;
    input = is_all ? it.whole : cut(it.whole, first, std::min(chunk_rows_, *rows - first));
    if (it.chunk.is_last()) it.whole = Value();
  }
}

Status Flow::accept(u32 stage) {
  Stage& it = stages_[stage];
  const Value& value = values_.slot(node(stage));
  const bool is_as_before = it.yields.value_or(value.kind()) == value.kind();
  const bool is_fine = it.chunk.count == 1 || (can_be_joined(value.kind()) && is_as_before);
  if (!is_fine) {
    std::string before;
    if (it.yields) before = text(", and before that {} values", value_kind_name(*it.yields));
    return fail(Reason::run_stream,
                "it yielded {} for one of {} chunks{}: for several chunks it yields lists, bytes "
                "or texts, all of one kind, to be joined (an empty one for nothing)",
                describe(value), it.chunk.count, before);
  }
  it.yields = value.kind();
  if (it.is_barrier && stage + 1 < stages_.size()) make_room(stage + 1, value);
  return {};
}

void Flow::finish(u32 stage) noexcept {
  Stage& it = stages_[stage];
  it.is_running = false;
  --running_;
  Value value = std::move(values_.slot_to_set(node(stage)));
  values_.chunk(node(stage)) = Value();
  if (it.chunk.is_last()) it.chunk.state = Value();
  if (stage + 1 == stages_.size()) {
    yielded_.push_back(std::move(value));       // there is room (make_room)
  } else if (is_fed_whole(stage + 1)) {
    feed(stage + 1, std::move(value));
  } else {
    stages_[stage + 1].waiting.push_back(std::move(value));
  }
  look_at(stage);
  if (stage + 1 < stages_.size()) look_at(stage + 1);
}

bool Flow::end_badly(u32 stage) noexcept {
  Stage& it = stages_[stage];
  it.is_running = false;
  --running_;
  values_.slot_to_set(node(stage)) = Value();
  if (it.chunk.index >= failed_) return false;
  failed_ = it.chunk.index;
  return true;
}

}  // namespace soma
