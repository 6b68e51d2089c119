// Models: files, sessions, and sequences of tokens that run on them.
#ifndef SOMA_MODEL_HPP
#define SOMA_MODEL_HPP

#include <cstddef>
#include <cstdint>
#include <exception>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "soma/base.hpp"

namespace soma {

class tensor : public detail::handle<soma_tensor, soma_tensor_retain, soma_tensor_release> {
 public:
  using handle::handle;
  const float* data() const { return static_cast<const float*>(soma_tensor_data(get())); }
  std::vector<std::int64_t> shape() const {
    const std::int64_t* first = soma_tensor_shape(get());
    return {first, first + soma_tensor_rank(get())};
  }
};

struct message {
  std::string role, content;
};

class model : public detail::handle<soma_model, soma_model_retain, soma_model_release> {
 public:
  model(const runtime& owner, std::string_view path, const options& settings = {},
        const cancel& stop = {})
      : handle(made(soma_model_open, owner.get(), path.data(), path.size(), settings.get(),
                    stop.get())) {}
  std::string facts() const { return detail::text(soma_model_facts, get()); }
  std::string tensors() const { return detail::text(soma_model_tensors, get()); }
  bool ends(std::int32_t token) const { return soma_model_ends(get(), token) != 0; }
  std::vector<std::int32_t> tokenize(std::string_view text,
                                     std::uint64_t flags = SOMA_TEXT_SPECIAL) const {
    return detail::numbers(soma_model_tokenize, get(), text.data(), text.size(), flags);
  }
  std::string detokenize(const std::vector<std::int32_t>& tokens, std::uint64_t flags = 0) const {
    return detail::text(soma_model_detokenize, get(), tokens.data(), tokens.size(), flags);
  }
  // A conversation as a prompt; what a content says is ordinary text.
  std::vector<std::int32_t> chat_tokens(const std::vector<message>& messages) const {
    const columns of(messages);
    return detail::numbers(soma_model_chat_tokens, get(), of.roles.data(), of.role_lengths.data(),
                           of.contents.data(), of.content_lengths.data(), messages.size());
  }
  std::string chat(const std::vector<message>& messages) const {
    const columns of(messages);
    return detail::text(soma_model_chat, get(), of.roles.data(), of.role_lengths.data(),
                        of.contents.data(), of.content_lengths.data(), messages.size());
  }

 private:
  struct columns {
    std::vector<const char*> roles, contents;
    std::vector<std::size_t> role_lengths, content_lengths;
    explicit columns(const std::vector<message>& messages) {
      for (const message& one : messages) {
        roles.push_back(one.role.data());
        role_lengths.push_back(one.role.size());
        contents.push_back(one.content.data());
        content_lengths.push_back(one.content.size());
      }
    }
  };
};

class session : public detail::handle<soma_session, soma_session_retain, soma_session_release> {
 public:
  explicit session(const model& of, const options& settings = {}, const cancel& stop = {})
      : handle(made(soma_session_create, of.get(), settings.get(), stop.get())) {}
  std::string facts() const { return detail::text(soma_session_facts, get()); }
};

class sequence
    : public detail::handle<soma_sequence, soma_sequence_retain, soma_sequence_release> {
 public:
  using tokens = std::vector<std::int32_t>;
  // Gets each token and its text; returns false to end.
  using on_token = std::function<bool(std::int32_t token, std::string_view text)>;

  explicit sequence(const session& on) : handle(made(soma_sequence_create, on.get())) {}
  std::int64_t length() const { return soma_sequence_length(get()); }
  tokens held() { return detail::numbers(soma_sequence_tokens, get()); }
  void prefill(const tokens& added, std::int32_t logits = SOMA_LOGITS_LAST,
               const cancel& stop = {}) {
    detail::call(soma_sequence_prefill, get(), added.data(), added.size(), logits, stop.get());
  }
  void decode(std::int32_t token, const cancel& stop = {}) {
    soma_sequence* self = get();
    detail::call(soma_sequence_decode, &self, &token, std::size_t{1}, stop.get());
  }
  std::int32_t sample(const options& settings = {}) {
    std::int32_t token = 0;
    detail::call(soma_sequence_sample, get(), settings.get(), &token);
    return token;
  }
  tensor logits() {
    soma_tensor* out = nullptr;
    detail::call(soma_sequence_logits, get(), &out);
    return tensor(out);
  }
  void truncate(std::int64_t length) { detail::call(soma_sequence_truncate, get(), length); }
  sequence fork() { return sequence(made(soma_sequence_fork, get())); }
  // The result as JSON; what on_token throws is thrown.
  std::string generate(const tokens& prompt, const options& settings = {},
                       on_token function = {}, const cancel& stop = {}) {
    host one{std::move(function), nullptr};
    soma_blob* blob = nullptr;
    soma_error* failure = nullptr;
    const soma_code code = soma_sequence_generate(
        get(), prompt.data(), prompt.size(), settings.get(), one.function ? &call_host : nullptr,
        &one, nullptr, stop.get(), &blob, &failure);
    if (one.thrown) {
      soma_error_release(failure);
      std::rethrow_exception(one.thrown);
    }
    const std::unique_ptr<const soma_blob, decltype(&soma_blob_release)> owner(blob,
                                                                               soma_blob_release);
    detail::check(code, failure);
    return {static_cast<const char*>(soma_blob_data(blob)), soma_blob_size(blob)};
  }

 private:
  using handle::handle;
  struct host {
    on_token function;
    std::exception_ptr thrown;
  };
  static std::int32_t call_host(void* user, std::int32_t token, const char* text,
                                std::size_t length) {
    auto* self = static_cast<host*>(user);
    try {
      return self->function(token, {text, length}) ? SOMA_CONTINUE : SOMA_STOP;
    } catch (...) {
      self->thrown = std::current_exception();
      return 0;
    }
  }
};

}  // namespace soma

#endif
