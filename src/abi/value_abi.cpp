// soma_value_*: what flows along edges.
#include "abi/value.hpp"

#include <unordered_set>

#include "abi/blob.hpp"
#include "abi/guard.hpp"
#include "abi/text_argument.hpp"
#include "base/text.hpp"
#include "value/value_json.hpp"

using namespace soma;
using namespace soma::wall;

namespace {

// ValueKind and SOMA_VALUE_* count alike.
static_assert(static_cast<int>(ValueKind::Null) == SOMA_VALUE_NULL &&
              static_cast<int>(ValueKind::Bool) == SOMA_VALUE_BOOL &&
              static_cast<int>(ValueKind::Integer) == SOMA_VALUE_INTEGER &&
              static_cast<int>(ValueKind::Number) == SOMA_VALUE_NUMBER &&
              static_cast<int>(ValueKind::Text) == SOMA_VALUE_TEXT &&
              static_cast<int>(ValueKind::Bytes) == SOMA_VALUE_BYTES &&
              static_cast<int>(ValueKind::List) == SOMA_VALUE_LIST &&
              static_cast<int>(ValueKind::Map) == SOMA_VALUE_MAP &&
              static_cast<int>(ValueKind::Opaque) == SOMA_VALUE_OPAQUE);

Error wrong_kind(const Value& value, std::string_view expected) {
  return fail(Reason::value_kind, "expected {}, got a value of kind {}", expected,
              value_kind_name(value.kind()));
}

template <typename Make>
soma_code make_value(const soma_runtime* runtime, soma_value** out, soma_error** error,
                     Make&& content) noexcept {
  return produce(runtime, out, error, [&]() -> Result<Ref<soma_value>> {
    SOMA_ASSIGN(Value value, content());
    return make<soma_value>(runtime, std::move(value));
  });
}

}  // namespace

soma_code soma_value_parse(const soma_runtime* runtime, const char* json, size_t json_length,
                           soma_value** out, soma_error** error) noexcept {
  return make_value(runtime, out, error, [&]() -> Result<Value> {
    SOMA_ASSIGN(const std::string_view text, text_argument("json", json, json_length));
    SOMA_ASSIGN(const Json parsed, Json::parse(text));
    return value_of(parsed.root());
  });
}

soma_code soma_value_json(const soma_value* value, soma_blob** out, soma_error** error) noexcept {
  return produce(value, out, error, [&]() -> Result<Ref<soma_blob>> {
    SOMA_ASSIGN(std::string json, value_json(value->value));
    return make_blob(value->runtime, std::move(json));
  });
}

soma_code soma_value_of_null(const soma_runtime* runtime, soma_value** out,
                             soma_error** error) noexcept {
  return make_value(runtime, out, error, []() -> Result<Value> { return Value(); });
}

soma_code soma_value_of_bool(const soma_runtime* runtime, int32_t truth, soma_value** out,
                             soma_error** error) noexcept {
  return make_value(runtime, out, error,
                    [&]() -> Result<Value> { return Value::boolean(truth != 0); });
}

soma_code soma_value_of_int(const soma_runtime* runtime, int64_t integer, soma_value** out,
                            soma_error** error) noexcept {
  return make_value(runtime, out, error,
                    [&]() -> Result<Value> { return Value::integer(integer); });
}

soma_code soma_value_of_double(const soma_runtime* runtime, double number, soma_value** out,
                               soma_error** error) noexcept {
  return make_value(runtime, out, error,
                    [&]() -> Result<Value> { return Value::number(number); });
}

soma_code soma_value_of_text(const soma_runtime* runtime, const char* text, size_t text_length,
                             soma_value** out, soma_error** error) noexcept {
  return make_value(runtime, out, error, [&]() -> Result<Value> {
    SOMA_ASSIGN(const std::string_view content, text_argument("text", text, text_length));
    return Value::text(std::string(content));
  });
}

soma_code soma_value_of_bytes(const soma_runtime* runtime, const void* bytes, size_t size,
                              soma_value** out, soma_error** error) noexcept {
  return make_value(runtime, out, error, [&]() -> Result<Value> {
    SOMA_TRY(check_array("bytes", bytes, size, 1));
    const u8* first = static_cast<const u8*>(bytes);
    return Value::bytes(size ? std::vector<u8>(first, first + size) : std::vector<u8>());
  });
}

soma_code soma_value_of_list(const soma_runtime* runtime, const soma_value* const* values,
                             size_t count, soma_value** out, soma_error** error) noexcept {
  return make_value(runtime, out, error, [&]() -> Result<Value> {
    SOMA_TRY(check_array("values", values, count, sizeof(soma_value*)));
    for (size_t i = 0; i < count; ++i) SOMA_TRY(check_within(runtime, values[i]));
    std::vector<Value> elements;
    elements.reserve(count);
    for (size_t i = 0; i < count; ++i) elements.push_back(values[i]->value);
    return Value::list(std::move(elements));
  });
}

soma_code soma_value_of_map(const soma_runtime* runtime, const char* const* keys,
                            const soma_value* const* values, size_t count, soma_value** out,
                            soma_error** error) noexcept {
  return make_value(runtime, out, error, [&]() -> Result<Value> {
    SOMA_TRY(check_array("keys", keys, count, sizeof(char*)));
    SOMA_TRY(check_array("values", values, count, sizeof(soma_value*)));
    for (size_t i = 0; i < count; ++i) SOMA_TRY(check_within(runtime, values[i]));
    std::vector<Member> members;
    members.reserve(count);
    std::unordered_set<std::string_view> known;
    for (size_t i = 0; i < count; ++i) {
      SOMA_ASSIGN(const std::string_view key, text_argument("key", keys[i], SOMA_NUL));
      if (!known.insert(key).second) {
        return fail(Reason::document_duplicate_key, "the key {} comes twice", quoted(key));
      }
      members.push_back({std::string(key), values[i]->value});
    }
    return Value::map(std::move(members));
  });
}

soma_code soma_value_of_opaque(const soma_runtime* runtime, void* object, soma_destroy_fn destroy,
                               soma_value** out, soma_error** error) noexcept {
  UserData data(object, destroy);
  return make_value(runtime, out, error, [&]() -> Result<Value> {
    return Value::opaque(object, std::move(data).give());  // calls destroy, whatever happens
  });
}

int32_t soma_value_kind(const soma_value* value) noexcept {
  return is_valid(value) ? static_cast<int32_t>(value->value.kind()) : -1;
}

soma_code soma_value_int(const soma_value* value, int64_t* out, soma_error** error) noexcept {
  return perform(value, error, [&]() -> Status {
    if (!out) return null_argument("out");
    switch (value->value.kind()) {
      case ValueKind::Bool: *out = value->value.truth(); return {};
      case ValueKind::Integer: *out = value->value.integer(); return {};
      default: return wrong_kind(value->value, "a bool or an integer");
    }
  });
}

soma_code soma_value_double(const soma_value* value, double* out, soma_error** error) noexcept {
  return perform(value, error, [&]() -> Status {
    if (!out) return null_argument("out");
    switch (value->value.kind()) {
      case ValueKind::Integer: *out = static_cast<double>(value->value.integer()); return {};
      case ValueKind::Number: *out = value->value.number(); return {};
      default: return wrong_kind(value->value, "a number");
    }
  });
}

const void* soma_value_data(const soma_value* value) noexcept {
  if (!is_valid(value)) return "";
  if (value->value.is(ValueKind::Text)) return value->value.text().c_str();
  if (value->value.is(ValueKind::Bytes) && !value->value.bytes().empty()) {
    return value->value.bytes().data();
  }
  return "";
}

size_t soma_value_size(const soma_value* value) noexcept {
  if (!is_valid(value)) return 0;
  switch (value->value.kind()) {
    case ValueKind::Text: return value->value.text().size();
    case ValueKind::Bytes: return value->value.bytes().size();
    case ValueKind::List: return value->value.list().size();
    case ValueKind::Map: return value->value.map().size();
    default: return 0;
  }
}

soma_code soma_value_at(const soma_value* value, size_t index, soma_value** out,
                        soma_error** error) noexcept {
  return produce(value, out, error, [&]() -> Result<Ref<soma_value>> {
    const bool is_list = value->value.is(ValueKind::List);
    if (!is_list && !value->value.is(ValueKind::Map)) {
      return wrong_kind(value->value, "a list or a map");
    }
    const size_t size = is_list ? value->value.list().size() : value->value.map().size();
    if (index >= size) {
      return fail(Reason::value_member, "asked for member {} of {}", index, size);
    }
    return make<soma_value>(value->runtime, is_list ? value->value.list()[index]
                                                    : value->value.map()[index].value);
  });
}

const char* soma_value_key(const soma_value* value, size_t index) noexcept {
  if (!is_valid(value) || !value->value.is(ValueKind::Map)) return nullptr;
  const std::span<const Member> members = value->value.map();
  return index < members.size() ? members[index].key.c_str() : nullptr;
}

soma_code soma_value_get(const soma_value* value, const char* key, size_t key_length,
                         soma_value** out, soma_error** error) noexcept {
  return produce(value, out, error, [&]() -> Result<Ref<soma_value>> {
    SOMA_ASSIGN(const std::string_view name, text_argument("key", key, key_length));
    if (!value->value.is(ValueKind::Map)) return wrong_kind(value->value, "a map");
    const Value* member = value->value.find(name);
    if (!member) return fail(Reason::value_member, "the map has no member {}", quoted(name));
    return make<soma_value>(value->runtime, *member);
  });
}

void* soma_value_opaque(const soma_value* value) noexcept {
  if (!is_valid(value) || !value->value.is(ValueKind::Opaque)) return nullptr;
  return value->value.opaque();
}

void soma_value_retain(const soma_value* value) noexcept { retain(value); }
void soma_value_release(const soma_value* value) noexcept { release(value); }
