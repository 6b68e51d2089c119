// Reads the tokenizer's keys of a GGUF file with the types that they must have.
#include "model/tokenizer/keys.hpp"

namespace soma {

namespace {

const gguf::Value* find(const gguf::File& file, std::string_view key, Presence presence,
                        Problems& problems) {
  const gguf::Value* value = file.find(key);
  if (value == nullptr && presence == Presence::Required) {
    problems.add(fail(Reason::tokenizer_missing,
                      "the file has no key {}, without which text can't be turned into tokens; "
                      "convert the model again with its tokenizer", key)
                     .with("key", key));
  }
  return value;
}

Error wrong_type(std::string_view key, std::string_view expected, std::string_view got) {
  return fail(Reason::tokenizer_broken, "{} must be {}, but the file has {}", key, expected, got)
      .with("key", key);
}

}  // namespace

std::optional<std::string_view> read_text(const gguf::File& file, std::string_view key,
                                          Presence presence, Problems& problems) {
  const gguf::Value* value = find(file, key, presence, problems);
  if (value == nullptr) return std::nullopt;
  if (value->type != gguf::Type::Text) {
    problems.add(wrong_type(key, "a text", gguf::type_name(value->type)));
    return std::nullopt;
  }
  return value->text;
}

std::optional<bool> read_bool(const gguf::File& file, std::string_view key, Problems& problems) {
  const gguf::Value* value = find(file, key, Presence::Optional, problems);
  if (value == nullptr) return std::nullopt;
  if (value->type != gguf::Type::Bool) {
    problems.add(wrong_type(key, "a bool", gguf::type_name(value->type)));
    return std::nullopt;
  }
  return value->integer != 0;
}

const gguf::Value* read_array(const gguf::File& file, std::string_view key, gguf::Type element,
                              gguf::Type or_element, Problems& problems) {
  const gguf::Value* value = find(file, key, Presence::Required, problems);
  if (value == nullptr) return nullptr;
  const std::string expected = text("an array of {}", gguf::type_name(element));
  if (value->type != gguf::Type::Array) {
    problems.add(wrong_type(key, expected, gguf::type_name(value->type)));
    return nullptr;
  }
  if (value->element != element && value->element != or_element) {
    const std::string got = text("an array of {}", gguf::type_name(value->element));
    problems.add(wrong_type(key, expected, got));
    return nullptr;
  }
  return value;
}

i32 read_token(const gguf::File& file, std::string_view key, i64 vocabulary, Problems& problems) {
  const gguf::Value* value = file.find(key);
  if (value == nullptr) return -1;
  switch (value->type) {
    case gguf::Type::U8:
    case gguf::Type::I8:
    case gguf::Type::U16:
    case gguf::Type::I16:
    case gguf::Type::U32:
    case gguf::Type::I32:
    case gguf::Type::U64:
    case gguf::Type::I64:
      break;
    case gguf::Type::F32:
    case gguf::Type::F64:
    case gguf::Type::Bool:
    case gguf::Type::Text:
    case gguf::Type::Array:
      problems.add(wrong_type(key, "a whole number", gguf::type_name(value->type)));
      return -1;
  }
  // A negative number is a huge one here, and no less out of range.
  if (value->integer >= static_cast<u64>(vocabulary)) {
    problems.add(fail(Reason::tokenizer_broken, "{} is {}, but the vocabulary has {} tokens", key,
                      static_cast<i64>(value->integer), vocabulary)
                     .with("key", key));
    return -1;
  }
  return static_cast<i32>(value->integer);
}

}  // namespace soma
