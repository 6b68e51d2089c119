// Opens a model file: bytes, structure, architecture, hyper-parameters, tensors, tokenizer.
#include "model/model.hpp"

#include "base/text.hpp"
#include "model/arch/arch.hpp"
#include "model/arch/keys.hpp"

namespace soma {

namespace {

constexpr Family family_table[] = {
    {"llama", read_llama, build_llama},
};

Result<const Family*> family_of(const gguf::File& file) {
  constexpr std::string_view key = "general.architecture";
  const gguf::Value* value = file.find(key);
  if (value == nullptr) {
    return fail(Reason::model_key_missing,
                "the file has no key {}, so nothing says what model it holds; give a model's file",
                key)
        .with("key", key);
  }
  if (value->type != gguf::Type::Text) {
    return fail(Reason::model_key_type, "key {}: expected a text, got {}", key,
                gguf::type_name(value->type))
        .with("key", key);
  }
  std::string known;
  for (const Family& family : families()) {
    if (family.name == value->text) return &family;
    known += known.empty() ? "" : ", ";
    known += family.name;
  }
  return fail(Reason::model_architecture,
              "the file's architecture is {}; this library runs {}: use a model of these",
              quoted(value->text), known)
      .with("architecture", value->text)
      .with("expected", known);
}

// Files of a known architecture that are still no whole model: adapters, projectors, parts.
Status check_wholeness(const gguf::File& file) {
  KeyReader general(file, "general.");
  general.must_be("type", "model");
  SOMA_TRY(std::move(general).finish());
  KeyReader split(file, "split.");
  const i64 parts = split.whole_or("count", 1, 0, 65535);
  SOMA_TRY(std::move(split).finish());
  if (parts <= 1) return {};
  return fail(Reason::model_unsupported,
              "the file is one of the {} parts of a model; merge them into one file first", parts)
      .with("key", "split.count");
}

Result<std::string> name_of(const gguf::File& file) {
  const gguf::Value* value = file.find("general.name");
  if (value == nullptr) return std::string();
  if (value->type == gguf::Type::Text) return std::string(value->text);
  return fail(Reason::model_key_type, "key general.name: expected a text, got {}",
              gguf::type_name(value->type))
      .with("key", "general.name");
}

}  // namespace

std::span<const Family> families() { return family_table; }

Model::Model(FileBytes bytes, gguf::File file)
    : bytes_(std::move(bytes)), file_(std::move(file)) {}

Result<Model> Model::open(const std::string& path, LoadMode mode) {
  SOMA_ASSIGN(FileBytes bytes, FileBytes::open(path, mode));
  Result<Model> model = parse(std::move(bytes));
  if (!model.ok()) return std::move(model).error().context(quoted(path, 4096));
  return model;
}

Result<Model> Model::parse(FileBytes bytes) {
  SOMA_ASSIGN(gguf::File file, gguf::File::parse(bytes.bytes()));
  Model model(std::move(bytes), std::move(file));
  SOMA_ASSIGN(const Family* family, family_of(model.file_));
  SOMA_TRY(check_wholeness(model.file_));
  SOMA_ASSIGN(model.parameters_, family->read(model.file_));
  SOMA_ASSIGN(model.parameters_.name, name_of(model.file_));
  SOMA_ASSIGN(model.circuit_, family->build(model.parameters_, model.file_));
  SOMA_ASSIGN(model.tokenizer_, Tokenizer::build(model.file_));
  if (model.tokenizer_->vocabulary() != model.parameters_.vocabulary) {
    return fail(Reason::tokenizer_broken,
                "the tokenizer has {} tokens, the model {}; the file was converted wrongly",
                model.tokenizer_->vocabulary(), model.parameters_.vocabulary);
  }
  return model;
}

}  // namespace soma
