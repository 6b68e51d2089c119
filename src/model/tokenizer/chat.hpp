// Writes a conversation as the prompt that a model's chat template would make of it.
#pragma once

#include "base/core.hpp"
#include "model/tokenizer/tokenizer.hpp"

namespace soma {

// What the templates of one family make of a conversation. Constant data.
struct ChatFamily {
  std::string_view name;
  // The template is of this family if it has all of these texts …
  std::span<const std::string_view> marks;
  // … and none of these, which change the prompt in ways the family doesn't have.
  std::span<const std::string_view> foreign;
  std::string_view default_system;  // the system turn put before a conversation that has none
  std::string_view before_role;
  std::string_view after_role;
  std::string_view after_content;
  bool starts_with_begin_token;  // the begin token's text comes first
  bool trims_content;            // white space around a message is dropped
};

// The family of a template's text, or nullptr.
const ChatFamily* find_chat_family(std::string_view chat_template);
std::string chat_family_names();  // for messages: "a, b, c"

struct ChatPrompt {
  std::string text;
  std::vector<TextRange> contents;  // where the messages' contents lie in it, in order
};

// The prompt: every message as a turn, and the opening of the assistant's turn behind them.
// `begin_text` is the text of the model's begin token, empty if it has none.
// chat_role for a role that is not system, user or assistant.
Result<ChatPrompt> render_chat(const ChatFamily& family, std::string_view begin_text,
                                std::span<const Message> messages);

}  // namespace soma
