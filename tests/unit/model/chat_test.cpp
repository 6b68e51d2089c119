// Proves that conversations become the prompts that Jinja makes of each family's template, and
// that templates of other families are refused.
#include "model/tokenizer/chat.hpp"

#include <doctest/doctest.h>

#include "json_lines.hpp"
#include "tokenizer_checks.hpp"
#include "tokenizer_fixture.hpp"

using namespace soma;
using namespace soma::test;

TEST_CASE("every family's prompts are Jinja's, byte for byte") {
  const ChatFamily* family = nullptr;
  std::vector<std::string> seen;
  for (const JsonRow& row : read_json_lines("tests/golden/tokenizer/chat.jsonl")) {
    if (row.texts.contains("template")) {
      family = find_chat_family(row.texts.at("template"));
      REQUIRE(family != nullptr);
      CHECK(family->name == row.texts.at("family"));
      seen.emplace_back(family->name);
      continue;
    }
    REQUIRE(family != nullptr);
    std::vector<Message> messages;
    if (row.text_lists.contains("turns")) {
      const auto& turns = row.text_lists.at("turns");
      for (size_t i = 0; i < turns.size(); i += 2) messages.push_back({turns[i], turns[i + 1]});
    }
    const Result<std::string> prompt = render_chat(*family, "<|begin_of_text|>", messages);
    REQUIRE(prompt.ok());
    CHECK(*prompt == row.texts.at("prompt"));
  }
  CHECK(seen == std::vector<std::string>{"SmolLM", "Qwen2", "Qwen2.5", "Llama 3"});
}

TEST_CASE("templates of other families and other roles are refused") {
  CHECK(find_chat_family("") == nullptr);
  CHECK(find_chat_family("<|im_start|><|im_end|>") == nullptr);
  CHECK(find_chat_family("<|im_start|><|im_end|>You are a helpful assistant.<think>") == nullptr);
  CHECK(find_chat_family("[INST] You are a helpful assistant. [/INST]") == nullptr);

  const Message user[] = {{"user", "Hello"}};
  const auto chat = [&](const char* chat_template, std::span<const Message> messages) {
    TokenizerFixture fixture;
    if (chat_template != nullptr) fixture.writer.set("tokenizer.chat_template", chat_template);
    return must(fixture.build()).chat(messages);
  };
  const Result<std::string> none = chat(nullptr, user);
  REQUIRE_FALSE(none.ok());
  CHECK(none.error().id() == "template.unsupported");
  CHECK(none.error().message().find("no chat template") != std::string::npos);
  const Result<std::string> unknown = chat("[INST]", user);
  REQUIRE_FALSE(unknown.ok());
  CHECK(unknown.error().id() == "template.unsupported");

  const char* qwen2 = "<|im_start|><|im_end|>You are a helpful assistant.";
  const Message tool[] = {{"user", "Hello"}, {"tool", "42"}};
  CHECK(chat(qwen2, user).ok());
  const Result<std::string> role = chat(qwen2, tool);
  REQUIRE_FALSE(role.ok());
  CHECK(role.error().message().find("'tool'") != std::string::npos);
}

TEST_CASE("a begin token's text opens a Llama 3 prompt") {
  TokenizerFixture fixture;
  const TokenId begin = fixture.add("<|begin|>", 3);
  fixture.writer.set("tokenizer.ggml.bos_token_id", begin);
  fixture.writer.set("tokenizer.chat_template",
                     "bos_token <|start_header_id|> <|end_header_id|> | trim <|eot_id|>");
  const Message user[] = {{"user", " Hi "}};
  CHECK(*must(fixture.build()).chat(user) ==
        "<|begin|><|start_header_id|>user<|end_header_id|>\n\nHi<|eot_id|>"
        "<|start_header_id|>assistant<|end_header_id|>\n\n");
}
