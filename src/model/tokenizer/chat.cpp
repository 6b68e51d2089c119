// Writes a conversation as the prompt that a model's chat template would make of it.
//
// A template is a program in the Jinja language. Of what those programs do for plain conversations
// (system, user and assistant turns of text, then the assistant's opening) there are few kinds, and
// each is a row of the table below instead of an interpreter. A row is recognised by texts that the
// template must contain, as it writes them into the prompt, and by ones that it must not contain,
// because they belong to relatives that write other prompts. A template that fits no row is
// refused: a prompt that is nearly right makes a model quietly worse.
#include "model/tokenizer/chat.hpp"

#include <algorithm>

#include "base/text.hpp"

namespace soma {

namespace {

using Texts = std::span<const std::string_view>;

constexpr std::string_view chatml_foreign[] = {
    "think",            // Qwen3 and its relatives drop or add reasoning
    "raise_exception",  // refuses conversations that would be written here
    "| trim",           // this family keeps white space
    "|trim",
};
constexpr std::string_view smollm_system =
    "You are a helpful AI assistant named SmolLM, trained by Hugging Face";
constexpr std::string_view smollm_marks[] = {"<|im_start|>", "<|im_end|>", smollm_system};

// The first Qwen2 models' sentence ends Qwen2.5's longer one, so the longer row comes first.
constexpr std::string_view qwen25_system =
    "You are Qwen, created by Alibaba Cloud. You are a helpful assistant.";
constexpr std::string_view qwen25_marks[] = {"<|im_start|>", "<|im_end|>", qwen25_system};
constexpr std::string_view qwen2_system = "You are a helpful assistant.";
constexpr std::string_view qwen2_marks[] = {"<|im_start|>", "<|im_end|>", qwen2_system};

constexpr std::string_view llama3_marks[] = {"<|start_header_id|>", "<|end_header_id|>",
                                             "<|eot_id|>", "bos_token", "| trim"};
// Later members write today's date and the tools into a system turn of their own.
constexpr std::string_view llama3_foreign[] = {"Cutting Knowledge Date", "ipython", "think",
                                               "raise_exception"};

constexpr ChatFamily chatml(std::string_view name, Texts marks, std::string_view system) {
  return {
      .name = name,
      .marks = marks,
      .foreign = chatml_foreign,
      .default_system = system,
      .before_role = "<|im_start|>",
      .after_role = "\n",
      .after_content = "<|im_end|>\n",
      .starts_with_begin_token = false,
      .trims_content = false,
  };
}

constexpr ChatFamily families[] = {
    chatml("SmolLM", smollm_marks, smollm_system),
    chatml("Qwen2.5", qwen25_marks, qwen25_system),
    chatml("Qwen2", qwen2_marks, qwen2_system),
    {
        .name = "Llama 3",
        .marks = llama3_marks,
        .foreign = llama3_foreign,
        .default_system = {},
        .before_role = "<|start_header_id|>",
        .after_role = "<|end_header_id|>\n\n",
        .after_content = "<|eot_id|>",
        .starts_with_begin_token = true,
        .trims_content = true,
    },
};

// White space as Python's str.strip, and so the templates' trim, understands it.
constexpr std::string_view white_space[] = {
    " ",        "\n",       "\t",       "\r",       "\v",       "\f",       "\x1C",     "\x1D",
    "\x1E",     "\x1F",     "\u0085",   "\u00A0",   "\u1680",   "\u2000",   "\u2001",   "\u2002",
    "\u2003",   "\u2004",   "\u2005",   "\u2006",   "\u2007",   "\u2008",   "\u2009",   "\u200A",
    "\u2028",   "\u2029",   "\u202F",   "\u205F",   "\u3000",
};

std::string_view trimmed(std::string_view text) {
  const auto leading = [&](std::string_view space) { return text.starts_with(space); };
  const auto trailing = [&](std::string_view space) { return text.ends_with(space); };
  const auto find = [](auto matches) {
    const auto at = std::find_if(std::begin(white_space), std::end(white_space), matches);
    return at == std::end(white_space) ? size_t{0} : at->size();
  };
  while (const size_t length = find(leading)) text.remove_prefix(length);
  while (const size_t length = find(trailing)) text.remove_suffix(length);
  return text;
}

}  // namespace

const ChatFamily* find_chat_family(std::string_view chat_template) {
  const auto contained = [&](std::string_view mark) {
    return chat_template.find(mark) != std::string_view::npos;
  };
  const auto family =
      std::find_if(std::begin(families), std::end(families), [&](const ChatFamily& row) {
        return std::all_of(row.marks.begin(), row.marks.end(), contained) &&
               std::none_of(row.foreign.begin(), row.foreign.end(), contained);
      });
  return family == std::end(families) ? nullptr : family;
}

std::string chat_family_names() {
  std::string names;
  for (const ChatFamily& family : families) {
    if (!names.empty()) names += ", ";
    names += family.name;
  }
  return names;
}

Result<ChatPrompt> render_chat(const ChatFamily& family, std::string_view begin_text,
                               std::span<const Message> messages) {
  ChatPrompt out;
  std::string& prompt = out.text;
  const auto open = [&](std::string_view role) {
    prompt += family.before_role;
    prompt += role;
    prompt += family.after_role;
  };
  const auto add = [&](std::string_view role, std::string_view content) {
    open(role);
    out.contents.push_back({prompt.size(), prompt.size() + content.size()});
    prompt += content;
    prompt += family.after_content;
  };
  // The templates do what comes first while they visit the first message: with none, they don't.
  if (!messages.empty()) {
    if (family.starts_with_begin_token) prompt += begin_text;
    if (!family.default_system.empty() && messages[0].role != "system") {
      add("system", family.default_system);
    }
  }
  for (const Message& message : messages) {
    if (message.role != "system" && message.role != "user" && message.role != "assistant") {
      return fail(Reason::chat_role,
                  "a message has the role {}; expected 'system', 'user' or 'assistant'",
                  quoted(message.role));
    }
    add(message.role, family.trims_content ? trimmed(message.content) : message.content);
  }
  open("assistant");
  return out;
}

}  // namespace soma
