// soma_model_*: model files, and text to tokens and back.
#include "abi/model.hpp"

#include "abi/blob.hpp"
#include "abi/cancel.hpp"
#include "abi/guard.hpp"
#include "abi/text_argument.hpp"
#include "base/text.hpp"

using namespace soma;
using namespace soma::wall;

namespace {

Status check_flags(u64 flags) {
  constexpr u64 known = SOMA_TEXT_SPECIAL | SOMA_TEXT_BEGIN;
  if ((flags & ~known) == 0) return {};
  return fail(Reason::argument_range, "the flags {:#x} have bits that mean nothing here", flags);
}

Result<Message> message_argument(const char* role, size_t role_length, const char* content,
                                 size_t content_length) {
  SOMA_ASSIGN(const std::string_view role_text, text_argument("roles", role, role_length));
  SOMA_ASSIGN(const std::string_view content_text,
              text_argument("contents", content, content_length));
  return Message{role_text, content_text};
}

Result<std::vector<Message>> messages_argument(const char* const* roles,
                                               const size_t* role_lengths,
                                               const char* const* contents,
                                               const size_t* content_lengths, size_t count) {
  SOMA_TRY(check_array("roles", roles, count, sizeof *roles));
  SOMA_TRY(check_array("contents", contents, count, sizeof *contents));
  std::vector<Message> messages;
  for (size_t i = 0; i < count; ++i) {
    SOMA_ASSIGN(const Message message,
                message_argument(roles[i], role_lengths ? role_lengths[i] : SOMA_NUL, contents[i],
                                 content_lengths ? content_lengths[i] : SOMA_NUL));
    messages.push_back(message);
  }
  return messages;
}

}  // namespace

DigestBytes soma_model::content_digest() const {
  const std::lock_guard lock(digesting_);
  if (!content_digest_) {
    const FileBytes& file = model.bytes();
    const std::span<const u8> bytes = file.bytes();
    ContentDigest digest;
    digest.feed({reinterpret_cast<const char*>(bytes.data()), bytes.size()});
    content_digest_ = digest.bytes();
    file.discard(bytes);  // sessions have copies; what else is read comes back
  }
  return *content_digest_;
}

soma_code soma_model_open(const soma_runtime* runtime, const char* path, size_t path_length,
                          const soma_options* options, soma_cancel* cancel, soma_model** out,
                          soma_error** error) noexcept {
  return produce(runtime, out, error, [&]() -> Result<Ref<soma_model>> {
    SOMA_ASSIGN(const std::string_view name, text_argument("path", path, path_length));
    SOMA_ASSIGN(const Settings settings, Settings::of(options, OptionKind::Model));
    BlockingCall call;
    SOMA_TRY(call.begin(runtime, cancel, "open"));
    const LoadMode mode = settings.text("load") == "read" ? LoadMode::Read : LoadMode::Map;
    SOMA_ASSIGN(Model model, Model::open(std::string(name), mode));
    if (call.cancel()) SOMA_TRY(call.cancel()->check());
    if (runtime->wants_log(SOMA_LOG_INFO)) {
      runtime->log(SOMA_LOG_INFO,
                   text("model: opened {}, {}, {} bytes", quoted(name, 256),
                        model.parameters().architecture, model.bytes().bytes().size()));
    }
    return make<soma_model>(runtime, std::move(model));
  });
}

soma_code soma_model_facts(const soma_model* model, soma_blob** out, soma_error** error) noexcept {
  return produce(model, out, error, [&]() -> Result<Ref<soma_blob>> {
    return make_blob(model->runtime, model_facts(model->model));
  });
}

soma_code soma_model_tensors(const soma_model* model, soma_blob** out,
                             soma_error** error) noexcept {
  return produce(model, out, error, [&]() -> Result<Ref<soma_blob>> {
    return make_blob(model->runtime, model_tensors(model->model));
  });
}

soma_code soma_model_tokenize(const soma_model* model, const char* text, size_t text_length,
                              uint64_t flags, soma_blob** out, soma_error** error) noexcept {
  return produce(model, out, error, [&]() -> Result<Ref<soma_blob>> {
    SOMA_ASSIGN(const std::string_view input, text_argument("text", text, text_length));
    SOMA_TRY(check_flags(flags));
    const Tokenizer& tokenizer = model->model.tokenizer();
    SOMA_ASSIGN(std::vector<TokenId> tokens,
                tokenizer.encode(input, (flags & SOMA_TEXT_SPECIAL) != 0));
    if ((flags & SOMA_TEXT_BEGIN) != 0 && tokenizer.adds_begin_token()) {
      tokens.insert(tokens.begin(), tokenizer.begin_token());
    }
    return make_blob(model->runtime, tokens);
  });
}

soma_code soma_model_detokenize(const soma_model* model, const int32_t* tokens, size_t count,
                                uint64_t flags, soma_blob** out, soma_error** error) noexcept {
  return produce(model, out, error, [&]() -> Result<Ref<soma_blob>> {
    SOMA_TRY(check_array("tokens", tokens, count, sizeof *tokens));
    SOMA_TRY(check_flags(flags));
    TextStream stream;
    std::string whole;
    for (const TokenId token : std::span(tokens, count)) {
      SOMA_ASSIGN(const std::string piece,
                  model->model.tokenizer().piece(token, (flags & SOMA_TEXT_SPECIAL) != 0));
      whole += stream.push(piece);
    }
    whole += stream.finish();
    return make_blob(model->runtime, std::move(whole));
  });
}

soma_code soma_model_piece(const soma_model* model, int32_t token, uint64_t flags, soma_blob** out,
                           soma_error** error) noexcept {
  return produce(model, out, error, [&]() -> Result<Ref<soma_blob>> {
    SOMA_TRY(check_flags(flags));
    SOMA_ASSIGN(std::string piece,
                model->model.tokenizer().piece(token, (flags & SOMA_TEXT_SPECIAL) != 0));
    return make_blob(model->runtime, std::move(piece));
  });
}

int32_t soma_model_ends(const soma_model* model, int32_t token) noexcept {
  return is_valid(model) && model->model.tokenizer().ends_generation(token) ? 1 : 0;
}

soma_code soma_model_chat(const soma_model* model, const char* const* roles,
                          const size_t* role_lengths, const char* const* contents,
                          const size_t* content_lengths, size_t count, soma_blob** out,
                          soma_error** error) noexcept {
  return produce(model, out, error, [&]() -> Result<Ref<soma_blob>> {
    SOMA_ASSIGN(const std::vector<Message> messages,
                messages_argument(roles, role_lengths, contents, content_lengths, count));
    SOMA_ASSIGN(std::string prompt, model->model.tokenizer().chat(messages));
    return make_blob(model->runtime, std::move(prompt));
  });
}

soma_code soma_model_chat_tokens(const soma_model* model, const char* const* roles,
                                 const size_t* role_lengths, const char* const* contents,
                                 const size_t* content_lengths, size_t count, soma_blob** out,
                                 soma_error** error) noexcept {
  return produce(model, out, error, [&]() -> Result<Ref<soma_blob>> {
    SOMA_ASSIGN(const std::vector<Message> messages,
                messages_argument(roles, role_lengths, contents, content_lengths, count));
    SOMA_ASSIGN(const std::vector<TokenId> tokens, model->model.tokenizer().encode_chat(messages));
    return make_blob(model->runtime, tokens);
  });
}

void soma_model_retain(const soma_model* model) noexcept { retain(model); }
void soma_model_release(const soma_model* model) noexcept { release(model); }
