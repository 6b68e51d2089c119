// Typed, ranged reading of an architecture's keys.
#include "model/arch/keys.hpp"

#include "base/text.hpp"

namespace soma {

namespace {

constexpr std::string_view not_as_made = "the file is damaged or was converted wrongly";

bool is_signed(gguf::Type type) {
  return type == gguf::Type::I8 || type == gguf::Type::I16 || type == gguf::Type::I32 ||
         type == gguf::Type::I64;
}

bool is_real(gguf::Type type) { return type == gguf::Type::F32 || type == gguf::Type::F64; }

// The number as it is, for comparing and for messages; exact for what fits a double.
double as_double(const gguf::Value& value) {
  if (is_real(value.type)) return value.number;
  return is_signed(value.type) ? static_cast<double>(static_cast<i64>(value.integer))
                               : static_cast<double>(value.integer);
}

}  // namespace

const gguf::Value* KeyReader::find(std::string_view key) const {
  return file_.find(prefix_ + std::string(key));
}

void KeyReader::missing(std::string_view key) {
  problems_.add(fail(Reason::model_key_missing,
                     "the file has no key {}{}; convert the model again with current tools",
                     prefix_, key)
                    .with("key", prefix_ + std::string(key)));
}

void KeyReader::mistyped(std::string_view key, std::string_view expected,
                         const gguf::Value& value) {
  const std::string_view got = gguf::type_name(value.type);
  problems_.add(fail(Reason::model_key_type, "key {}{}: expected {}, got {}; {}", prefix_,
                     key, expected, got, not_as_made)
                    .with("key", prefix_ + std::string(key))
                    .with("expected", expected)
                    .with("got", got));
}

i64 KeyReader::whole(std::string_view key, i64 low, i64 high) {
  if (!has(key)) missing(key);
  return whole_or(key, low, low, high);
}

i64 KeyReader::whole_or(std::string_view key, i64 otherwise, i64 low, i64 high) {
  const gguf::Value* value = find(key);
  if (value == nullptr) return otherwise;
  if (!gguf::is_integer(value->type)) {
    mistyped(key, "a whole number", *value);
    return low;
  }
  const bool huge = !is_signed(value->type) && value->integer > static_cast<u64>(high);
  const i64 number = static_cast<i64>(value->integer);
  if (huge || number < low || number > high) {
    const std::string got = huge ? text("{}", value->integer) : text("{}", number);
    problems_.add(fail(Reason::model_parameter, "key {}{}: expected {} to {}, got {}; {}",
                       prefix_, key, low, high, got, not_as_made)
                      .with("key", prefix_ + std::string(key))
                      .with("expected", text("{} to {}", low, high))
                      .with("got", got));
    return low;
  }
  return number;
}

double KeyReader::real(std::string_view key, double low, double high) {
  if (!has(key)) missing(key);
  return real_or(key, low, low, high);
}

double KeyReader::real_or(std::string_view key, double otherwise, double low, double high) {
  const gguf::Value* value = find(key);
  if (value == nullptr) return otherwise;
  if (!is_real(value->type)) {
    mistyped(key, "a real number", *value);
    return low;
  }
  // Written so that a NaN is out of range.
  if (!(value->number >= low && value->number <= high)) {
    problems_.add(fail(Reason::model_parameter, "key {}{}: expected {} to {}, got {}; {}",
                       prefix_, key, low, high, value->number, not_as_made)
                      .with("key", prefix_ + std::string(key))
                      .with("expected", text("{} to {}", low, high))
                      .with("got", text("{}", value->number)));
    return low;
  }
  return value->number;
}

void KeyReader::must_be(std::string_view key, double neutral) {
  const gguf::Value* value = find(key);
  if (value == nullptr) return;
  const bool number =
      gguf::is_integer(value->type) || is_real(value->type) || value->type == gguf::Type::Bool;
  if (!number) return mistyped(key, "a number", *value);
  if (as_double(*value) == neutral) return;
  problems_.add(fail(Reason::model_unsupported,
                     "key {}{} is {}: this variant is not supported, only {} is; use another model",
                     prefix_, key, as_double(*value), neutral)
                    .with("key", prefix_ + std::string(key)));
}

void KeyReader::must_be(std::string_view key, std::string_view neutral) {
  const gguf::Value* value = find(key);
  if (value == nullptr) return;
  if (value->type != gguf::Type::Text) return mistyped(key, "a text", *value);
  if (value->text == neutral) return;
  problems_.add(fail(Reason::model_unsupported,
                     "key {}{} is {}: this variant is not supported, only {} is; use another model",
                     prefix_, key, quoted(value->text), quoted(neutral))
                    .with("key", prefix_ + std::string(key)));
}

void KeyReader::contradiction(std::string_view what) {
  if (problems_.none()) problems_.add(fail(Reason::model_parameter, "{}; {}", what, not_as_made));
}

}  // namespace soma
