// libsoma for C++17: soma.h with owners in place of references, exceptions in place of codes, and
// containers in place of pointers. It adds nothing; soma.h is the manual, and for what is not
// wrapped here (log sink, allocator, steps of several sequences, …) get() gives the C handle.
//
// Header only, over soma.h alone: programs depend on the C ABI and on no C++ ABI. Objects are
// cheap to copy (one reference more). A failing call throws soma::error. Callbacks may throw: it
// stops the call, and what a token callback throws comes out of generate.
#ifndef SOMA_SOMA_HPP
#define SOMA_SOMA_HPP

#include <cstddef>
#include <cstdint>
#include <exception>
#include <functional>
#include <limits>
#include <memory>
#include <stdexcept>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "soma/soma.h"

namespace soma {

// What a soma_error says.
class error : public std::runtime_error {
 public:
  explicit error(const soma_error* taken)
      : std::runtime_error(soma_error_message(taken, nullptr)),
        code_(soma_error_code(taken)),
        reason_(soma_error_reason(taken, nullptr)) {
    for (std::size_t i = 0; i < soma_error_detail_count(taken); ++i) {
      details_.emplace_back(soma_error_detail_key(taken, i, nullptr),
                            soma_error_detail_value(taken, i, nullptr));
    }
    for (std::size_t i = 0; i < soma_error_other_count(taken); ++i) {
      others_.emplace_back(soma_error_message(soma_error_other(taken, i), nullptr));
    }
  }
  soma_code code() const { return code_; }
  const std::string& reason() const { return reason_; }
  const std::vector<std::pair<std::string, std::string>>& details() const { return details_; }
  // Messages of all further problems that the same call found.
  const std::vector<std::string>& others() const { return others_; }

 private:
  soma_code code_;
  std::string reason_;
  std::vector<std::pair<std::string, std::string>> details_;
  std::vector<std::string> others_;
};

namespace detail {

inline void check(soma_code code, const soma_error* failure) {
  const std::unique_ptr<const soma_error, decltype(&soma_error_release)> owner(failure,
                                                                               soma_error_release);
  if (code != SOMA_OK) throw error(failure);
}

// Calls function(arguments…, &error).
template <typename Function, typename... Arguments>
void call(Function function, Arguments... arguments) {
  soma_error* failure = nullptr;
  const soma_code code = function(arguments..., &failure);
  check(code, failure);
}

// Owns one reference. `Retain` and `Release` are the type's own functions.
template <typename T, void (*Retain)(const T*), void (*Release)(const T*)>
class handle {
 public:
  handle() = default;
  explicit handle(T* taken) : raw_(taken) {}
  handle(const handle& other) : raw_(other.raw_) { Retain(raw_); }
  handle(handle&& other) noexcept : raw_(std::exchange(other.raw_, nullptr)) {}
  handle& operator=(handle other) noexcept {
    std::swap(raw_, other.raw_);
    return *this;
  }
  ~handle() { Release(raw_); }

  T* get() const { return raw_; }
  explicit operator bool() const { return raw_ != nullptr; }

 protected:
  // Makes an object by function(arguments…, &out, &error).
  template <typename Function, typename... Arguments>
  static T* made(Function function, Arguments... arguments) {
    T* out = nullptr;
    call(function, arguments..., &out);
    return out;
  }

 private:
  T* raw_ = nullptr;
};

template <typename Function, typename... Arguments>
std::string text(Function function, Arguments... arguments) {
  soma_blob* blob = nullptr;
  call(function, arguments..., &blob);
  const std::unique_ptr<const soma_blob, decltype(&soma_blob_release)> owner(blob,
                                                                             soma_blob_release);
  return {static_cast<const char*>(soma_blob_data(blob)), soma_blob_size(blob)};
}

template <typename Function, typename... Arguments>
std::vector<std::int32_t> numbers(Function function, Arguments... arguments) {
  soma_blob* blob = nullptr;
  call(function, arguments..., &blob);
  const std::unique_ptr<const soma_blob, decltype(&soma_blob_release)> owner(blob,
                                                                             soma_blob_release);
  const auto* first = static_cast<const std::int32_t*>(soma_blob_data(blob));
  return {first, first + soma_blob_size(blob) / sizeof *first};
}

}  // namespace detail

class options : public detail::handle<soma_options, soma_options_retain, soma_options_release> {
 public:
  options() = default;  // all defaults
  explicit options(std::string_view kind)
      : handle(made(soma_options_create, kind.data(), kind.size())) {}

  // Any integer type, and bool; values beyond int64_t are refused as out of range.
  template <typename T, std::enable_if_t<std::is_integral_v<T>, int> = 0>
  options& set(std::string_view key, T value) {
    constexpr auto most = (std::numeric_limits<std::int64_t>::max)();
    const bool fits = static_cast<std::uint64_t>(value) <= std::uint64_t{most} ||
                      std::is_signed_v<T>;
    detail::call(soma_options_set_int, get(), key.data(), key.size(),
                 fits ? static_cast<std::int64_t>(value) : most);
    return *this;
  }
  options& set(std::string_view key, double value) {
    detail::call(soma_options_set_double, get(), key.data(), key.size(), value);
    return *this;
  }
  options& set(std::string_view key, std::string_view value) {
    detail::call(soma_options_set_text, get(), key.data(), key.size(), value.data(), value.size());
    return *this;
  }
  options& set(std::string_view key, const char* value) {
    return set(key, std::string_view(value));
  }
  std::vector<std::string> describe() const {
    std::vector<std::string> keys;
    for (std::size_t i = 0; i < soma_options_count(get()); ++i) {
      keys.push_back(detail::text(soma_options_describe, get(), i));
    }
    return keys;
  }
};

class runtime : public detail::handle<soma_runtime, soma_runtime_retain, soma_runtime_release> {
 public:
  explicit runtime(const options& settings = {})
      : handle(made(soma_runtime_create, SOMA_HEADER_ABI, settings.get())) {}
  std::string facts() const { return detail::text(soma_runtime_facts, get()); }
};

// Copies are the same wish: keep one, pass one to the call. Throw from a tick, or return false, to
// stop the call.
class cancel : public detail::handle<soma_cancel, soma_cancel_retain, soma_cancel_release> {
 public:
  using tick = std::function<bool(std::string_view phase, std::uint64_t done, std::uint64_t total)>;

  cancel() = default;  // nothing stops the call
  explicit cancel(const runtime& owner) : handle(made(soma_cancel_create, owner.get())) {}
  void request() const { soma_cancel_request(get()); }
  void set_deadline(std::int64_t from_now_ns) const {
    detail::call(soma_cancel_set_deadline, get(), from_now_ns);
  }
  void reset() { detail::call(soma_cancel_reset, get()); }
  void on_tick(tick function) {
    auto* kept = new tick(std::move(function));
    detail::call(soma_cancel_set_tick, get(), &call_tick, static_cast<void*>(kept), &drop_tick);
  }

 private:
  static std::int32_t call_tick(void* user, const char* phase, std::size_t length,
                                std::uint64_t done, std::uint64_t total) {
    try {
      const bool goes_on = (*static_cast<tick*>(user))({phase, length}, done, total);
      return goes_on ? SOMA_CONTINUE : SOMA_STOP;
    } catch (...) {
      return SOMA_STOP;
    }
  }
  static void drop_tick(void* user) { delete static_cast<tick*>(user); }
};

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
