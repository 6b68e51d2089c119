// Errors as exceptions, owners of handles, and the objects that all others need: options, runtimes,
// cancel objects. soma.hpp is the first page.
#ifndef SOMA_BASE_HPP
#define SOMA_BASE_HPP

#include <cstddef>
#include <cstdint>
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
  // "" if there is none of that key.
  std::string detail(std::string_view key) const {
    for (const auto& [name, text] : details_) {
      if (name == key) return text;
    }
    return "";
  }
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

}  // namespace soma

#endif
