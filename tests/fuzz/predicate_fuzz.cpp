// Feeds texts to the parser of predicates and paths: the canonical form of what is taken must
// parse, print itself, and say the same about a value.
#include "value/predicate.hpp"

namespace soma {

namespace {

const Value& value() {
  static const Value it = Value::map(
      {{"a", Value::integer(1)},
       {"b", Value::number(0.5)},
       {"t", Value::text("é")},
       {"y", Value::boolean(true)},
       {"n", Value()},
       {"m", Value::map({{"a b", Value::list({Value::integer(1), Value::text("x")})}})},
       {"l", Value::list({Value::boolean(false), Value::list({Value::boolean(true)})})}});
  return it;
}

void read_predicate(std::string_view text) {
  const Result<Predicate> predicate = Predicate::parse(text);
  if (!predicate.ok()) {
    if (predicate.error().reason() != Reason::predicate_syntax) __builtin_trap();
    return;
  }
  const Result<Predicate> again = Predicate::parse(predicate->canonical());
  if (!again.ok() || again->canonical() != predicate->canonical()) __builtin_trap();
  if (again->is_else() != predicate->is_else()) __builtin_trap();
  const Result<bool> first = predicate->test(value());
  const Result<bool> second = again->test(value());
  if (first.ok() != second.ok()) __builtin_trap();
  if (first.ok() && *first != *second) __builtin_trap();
  if (!first.ok() && first.error().message() != second.error().message()) __builtin_trap();
}

void read_path(std::string_view text) {
  const Result<Path> path = Path::parse(text);
  if (!path.ok()) return;
  const Result<Path> again = Path::parse(path->canonical());
  // Only of a path at its limit can the canonical form be too long.
  if (!again.ok() && path->canonical().size() <= Predicate::bytes_max) __builtin_trap();
  if (!again.ok()) return;
  if (again->canonical() != path->canonical()) __builtin_trap();
  if (again->find(value()) != path->find(value())) __builtin_trap();
  if (path->follow(value()).ok() != (path->find(value()) != nullptr)) __builtin_trap();
}

}  // namespace

}  // namespace soma

extern "C" int LLVMFuzzerTestOneInput(const unsigned char* data, size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  soma::read_predicate(text);
  soma::read_path(text);
  return 0;
}
