// Fuzzes what stands between a conversation and its text: prompts of every family hold each
// message, a template is of a known family or of none, and a stream of bytes comes out as text at
// every cut.
#include "base/text.hpp"
#include "model/tokenizer/chat.hpp"

namespace {

using namespace soma;

constexpr std::string_view templates[] = {
    "<|im_start|><|im_end|>You are a helpful AI assistant named SmolLM, trained by Hugging Face",
    "<|im_start|><|im_end|>You are a helpful assistant.",
    "<|start_header_id|><|end_header_id|><|eot_id|>bos_token| trim",
};

void check_stream(std::string_view bytes) {
  TextStream whole;
  std::string expected = whole.push(bytes);
  expected += whole.finish();
  if (find_invalid_utf8(expected) != std::string_view::npos) __builtin_trap();
  if (find_invalid_utf8(bytes) == std::string_view::npos && expected != bytes) __builtin_trap();
  for (size_t step : {size_t{1}, size_t{2}, size_t{3}}) {
    TextStream stream;
    std::string out;
    for (size_t at = 0; at < bytes.size(); at += step) {
      const std::string pushed = stream.push(bytes.substr(at, step));
      if (find_invalid_utf8(pushed) != std::string_view::npos) __builtin_trap();
      out += pushed;
    }
    out += stream.finish();
    if (out != expected) __builtin_trap();
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const unsigned char* data, size_t size) {
  const std::string_view input(reinterpret_cast<const char*>(data), size);
  check_stream(input);
  static_cast<void>(find_chat_family(input));
  const std::string_view roles[] = {"system", "user", "assistant", input.substr(0, 4)};
  std::vector<Message> messages;
  for (size_t at = 0; at + 1 < input.size() && messages.size() < 8; at += 5) {
    messages.push_back({roles[data[at] % 4], input.substr(at + 1, 4)});
  }
  for (const std::string_view text : templates) {
    const ChatFamily* family = find_chat_family(text);
    if (family == nullptr) __builtin_trap();
    const Result<ChatPrompt> prompt = render_chat(*family, "<s>", messages);
    if (!prompt.ok()) continue;
    for (const TextRange range : prompt->contents) {
      if (range.begin > range.end || range.end > prompt->text.size()) __builtin_trap();
    }
    for (const Message& message : messages) {
      const bool trims = family->trims_content;
      if (!trims && prompt->text.find(message.content) == std::string::npos) __builtin_trap();
    }
  }
  return 0;
}
