// Puts together what a node asks for.
#include "run/node_call.hpp"

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
std::string NodeCall::path() const { return strand_.run_.path(index()); }
u32 NodeCall::thread() const { return strand_.thread_; }
bool NodeCall::was_told_to_stop() const { return strand_.told_node_ != no_node; }
std::vector<u64> NodeCall::passes() const { return strand_.run_.passes_around(index()); }

}  // namespace soma
