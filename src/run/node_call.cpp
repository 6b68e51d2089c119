// Puts together what a node asks for.
#include "run/node_call.hpp"

#include "run/prepared.hpp"
#include "run/strand.hpp"

namespace soma {

const Value& NodeCall::read_input() {
  let_go();
  input_ = &values_.input(index(), made_);
  input_of_ = index();
  return *input_;
}

void NodeCall::let_go() {
  input_of_ = no_node;
  if (!made_.is_null()) made_ = Value();
}

Value NodeCall::take_input() {
  const Value& value = input();
  if (input_ != &made_) return value;
  return std::move(made_);
}

Status NodeCall::check() const { return strand_.check_in_call(); }

const Chunk& NodeCall::chunk() const {
  static const Chunk only;
  const Chunk* const chunk = strand_.run_.streams.chunk(index());
  return chunk ? *chunk : only;
}

Value NodeCall::declared_state() const {
  const std::vector<u8>& bytes = node().state();
  return bytes.empty() ? Value() : Value::bytes(bytes);
}

Value NodeCall::state() const {
  if (keeps_state()) return strand_.run_.streams.chunk(index())->state;
  const Value* const state = prepared_state();
  return state ? *state : declared_state();
}

const Value* NodeCall::prepared_state() const {
  const Prepared* const prepared = strand_.run_.prepared;
  return prepared ? prepared->state(index()) : nullptr;
}

Status NodeCall::set_state(Value state) {
  if (!keeps_state()) {
    return fail(Reason::run_input,
                "the node keeps no state from call to call: expected stream_mode stateful, got {}",
                stream_mode_name(node().stream_mode));
  }
  strand_.run_.streams.chunk(index())->state = std::move(state);
  return {};
}

std::string NodeCall::path() const { return strand_.run_.path(index()); }
u32 NodeCall::thread() const { return strand_.thread_; }
bool NodeCall::was_told_to_stop() const { return strand_.told_node_ != no_node; }
std::vector<u64> NodeCall::passes() const { return strand_.run_.passes_around(index()); }

}  // namespace soma
