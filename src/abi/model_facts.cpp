// What there is to know about a model, as JSON.
#include <map>

#include "abi/model.hpp"
#include "base/json_writer.hpp"

namespace soma::wall {

namespace {

constexpr size_t text_limit = 256;  // of a metadata text; templates and licences are long

std::string_view format_of(const gguf::Tensor& tensor) {
  return gguf::tensor_type_name(tensor.file_type);
}

void write_parameters(JsonWriter& json, const HyperParameters& parameters) {
  json.key("parameters")
      .object()
      .field("layers", parameters.layers)
      .field("hidden", parameters.hidden)
      .field("feed_forward", parameters.feed_forward)
      .field("heads", parameters.heads)
      .field("kv_heads", parameters.kv_heads)
      .field("head_dim", parameters.head_dim)
      .field("vocabulary", parameters.vocabulary)
      .field("context", parameters.context)
      .field("norm_epsilon", parameters.norm_epsilon)
      .field("rope_base", parameters.rope_base)
      .field("rope_dims", parameters.rope_dims)
      .field("rope_adjacent", parameters.rope_adjacent)
      .field("tied_head", parameters.tied_head)
      .close();
}

void write_tensors(JsonWriter& json, const gguf::File& file) {
  struct Sum {
    u64 count = 0, bytes = 0;
  };
  std::map<std::string_view, Sum> formats;
  Sum all;
  for (const gguf::Tensor& tensor : file.tensors()) {
    for (Sum* sum : {&all, &formats[format_of(tensor)]}) {
      sum->count += 1;
      sum->bytes += tensor.bytes.size();
    }
  }
  json.key("tensors").object().field("count", all.count).field("bytes", all.bytes);
  json.key("formats").object();
  for (const auto& [name, sum] : formats) {
    json.key(name).object().field("count", sum.count).field("bytes", sum.bytes).close();
  }
  json.close().close();
}

void write_tokenizer(JsonWriter& json, const Tokenizer& tokenizer) {
  json.key("tokenizer").object().field("vocabulary", tokenizer.vocabulary());
  json.key("begin_token");
  if (tokenizer.begin_token() < 0) {
    json.value(nullptr);
  } else {
    json.value(tokenizer.begin_token());
  }
  json.field("adds_begin", tokenizer.adds_begin_token()).key("end_tokens").array();
  for (TokenId token = 0; token < tokenizer.vocabulary(); ++token) {
    if (tokenizer.ends_generation(token)) json.value(token);
  }
  const Message probe[] = {{"user", "x"}};
  json.close().field("chat", tokenizer.chat(probe).ok()).close();
}

void write_value(JsonWriter& json, const gguf::Value& value) {
  switch (value.type) {
    case gguf::Type::Text: {
      if (value.text.size() <= text_limit) {
        json.value(value.text);
        break;
      }
      // Not in the middle of a character.
      size_t end = text_limit;
      while ((static_cast<u8>(value.text[end]) & 0xc0) == 0x80) --end;
      json.value(text("{}…", value.text.substr(0, end)));
      break;
    }
    case gguf::Type::F32:
    case gguf::Type::F64: json.value(value.number); break;
    case gguf::Type::Bool: json.value(value.integer != 0); break;
    case gguf::Type::I8:
    case gguf::Type::I16:
    case gguf::Type::I32:
    case gguf::Type::I64: json.value(static_cast<i64>(value.integer)); break;
    case gguf::Type::U8:
    case gguf::Type::U16:
    case gguf::Type::U32:
    case gguf::Type::U64: json.value(value.integer); break;
    case gguf::Type::Array: json.value(nullptr);  // has a count in place of a value
  }
}

void write_metadata(JsonWriter& json, const gguf::File& file) {
  json.key("metadata").array();
  for (const gguf::Entry& entry : file.entries()) {
    const gguf::Value& value = entry.value;
    json.object().field("key", entry.key).field("type", gguf::type_name(value.type));
    if (value.type == gguf::Type::Array) {
      json.field("element", gguf::type_name(value.element)).field("count", value.count);
    } else {
      write_value(json.key("value"), value);
    }
    json.close();
  }
  json.close();
}

}  // namespace

std::string model_facts(const Model& model) {
  JsonWriter json;
  json.object()
      .field("architecture", model.parameters().architecture)
      .field("name", model.parameters().name);
  write_parameters(json, model.parameters());
  json.key("file")
      .object()
      .field("version", model.file().version())
      .field("bytes", model.bytes().bytes().size())
      .close();
  write_tensors(json, model.file());
  write_tokenizer(json, model.tokenizer());
  write_metadata(json, model.file());
  json.close();
  return std::move(json).take();
}

std::string model_tensors(const Model& model) {
  JsonWriter json;
  json.array();
  for (const gguf::Tensor& tensor : model.file().tensors()) {
    json.object().field("name", tensor.name).field("format", format_of(tensor));
    json.key("shape").array();
    for (u32 i = 0; i < tensor.rank; ++i) json.value(tensor.dims[i]);
    json.close().field("offset", tensor.offset).field("bytes", tensor.bytes.size()).close();
  }
  json.close();
  return std::move(json).take();
}

}  // namespace soma::wall
