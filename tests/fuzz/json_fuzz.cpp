// Feeds texts to the JSON reader: what is taken must print and read again as the same value in the
// same bytes, and what is refused must be refused for a reason of documents. The same for the exact
// form of values.
#include "base/json.hpp"
#include "value/exact_json.hpp"
#include "value/value_json.hpp"

namespace soma {

namespace {

bool is_refusal(const Error& error) {
  return error.reason() == Reason::document_syntax || error.reason() == Reason::document_limit ||
         error.reason() == Reason::document_duplicate_key;
}

void read_and_print(std::string_view text) {
  const Result<Json> json = Json::parse(text);
  if (!json.ok()) {
    if (!is_refusal(json.error())) __builtin_trap();
    return;
  }
  const Value value = value_of(json->root());
  const Result<std::string> printed = value_json(value);
  if (!printed.ok()) __builtin_trap();
  const Result<Json> again = Json::parse(*printed);
  if (!again.ok()) __builtin_trap();
  const Value same = value_of(again->root());
  if (!(same == value)) __builtin_trap();
  if (value_json(same).value() != *printed) __builtin_trap();
}

void read_exactly(std::string_view text) {
  const Result<Value> value = value_of_exact_json(text);
  if (!value.ok()) {
    const bool is_known =
        is_refusal(value.error()) || value.error().reason() == Reason::document_type;
    if (!is_known) __builtin_trap();
    return;
  }
  const Result<std::string> printed = exact_json(*value);
  if (!printed.ok()) return;  // it is too deep
  const Result<Value> same = value_of_exact_json(*printed);
  if (!same.ok() || exact_json(*same).value() != *printed) __builtin_trap();
}

}  // namespace

}  // namespace soma

extern "C" int LLVMFuzzerTestOneInput(const unsigned char* data, size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  soma::read_and_print(text);
  soma::read_exactly(text);
  return 0;
}
