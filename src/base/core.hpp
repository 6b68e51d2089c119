// The vocabulary every file of the library shares: numbers, text, errors, results.
//
// An Error is made once, where the cause is known, through `fail`, with a reason from the one table
// (base/diagnostic.inc) and a message that says what, where, expected, got and what now. It then
// only gains context on its way up. A Result<T> carries either a value or an Error and cannot be
// ignored. Exceptions are for bugs and for exhausted memory; they end in abi/guard.hpp.
#pragma once

#include <fmt/core.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

namespace soma {

using i8 = std::int8_t;
using u8 = std::uint8_t;
using u16 = std::uint16_t;
using i32 = std::int32_t;
using u32 = std::uint32_t;
using i64 = std::int64_t;
using u64 = std::uint64_t;

// The canonical codes; the same numbers as SOMA_* in soma.h (abi/ asserts it).
enum class Code : i32 {
  Ok = 0,
  Cancelled = 1,
  Unknown = 2,
  InvalidArgument = 3,
  DeadlineExceeded = 4,
  NotFound = 5,
  AlreadyExists = 6,
  PermissionDenied = 7,
  ResourceExhausted = 8,
  FailedPrecondition = 9,
  Aborted = 10,
  OutOfRange = 11,
  Unimplemented = 12,
  Internal = 13,
  Unavailable = 14,
  DataLoss = 15,
  Unauthenticated = 16,
  Incompatible = 18,
};

// Every way the library fails, by name: one line of base/diagnostic.inc each.
enum class Reason : u16 {
#define SOMA_REASON(name, id, code, text) name,
#include "base/diagnostic.inc"
#undef SOMA_REASON
};

struct ReasonInfo {
  std::string_view id;    // stable, dotted: "gguf.truncated"
  Code code;              // what a caller should do about it
  std::string_view text;  // one sentence for the manual
};
const ReasonInfo& reason_info(Reason reason);
std::span<const ReasonInfo> reason_table();
std::string_view code_name(Code code);  // "INVALID_ARGUMENT"

struct Detail {
  std::string key;    // "tensor", "offset", "expected", "got", …
  std::string value;
};

// What went wrong. Moves only; the payload is immutable once it reaches the wall.
class Error {
 public:
  Error(Reason reason, std::string message);

  Reason reason() const { return payload_->reason; }
  Code code() const { return reason_info(payload_->reason).code; }
  std::string_view id() const { return reason_info(payload_->reason).id; }
  const std::string& message() const { return payload_->message; }
  const std::vector<Detail>& details() const { return payload_->details; }
  // All further problems that the same call found: nothing is lost behind the first.
  const std::vector<Error>& others() const { return payload_->others; }

  Error& with(std::string_view key, std::string_view value) &;
  Error&& with(std::string_view key, std::string_view value) &&;
  Error&& with(std::string_view key, i64 value) &&;
  Error& add(Error other) &;
  // "opening model.gguf: " put before the message, on the way up.
  Error&& context(std::string_view where) &&;

 private:
  struct Payload {
    Reason reason;
    std::string message;
    std::vector<Detail> details;
    std::vector<Error> others;
  };
  std::unique_ptr<Payload> payload_;
};

// fail(Reason::gguf_truncated, "…{}", …) makes an Error from a {fmt} pattern.
template <typename... Args>
[[nodiscard]] Error fail(Reason reason, fmt::format_string<Args...> pattern, Args&&... args) {
  return Error(reason, fmt::vformat(pattern, fmt::make_format_args(args...)));
}

// A value or an Error.
template <typename T>
class [[nodiscard]] Result {
 public:
  Result(T value) : state_(std::in_place_index<0>, std::move(value)) {}
  Result(Error error) : state_(std::in_place_index<1>, std::move(error)) {}

  bool ok() const { return state_.index() == 0; }
  explicit operator bool() const { return ok(); }
  T& value() & { return std::get<0>(state_); }
  const T& value() const& { return std::get<0>(state_); }
  T&& value() && { return std::get<0>(std::move(state_)); }
  T* operator->() { return &std::get<0>(state_); }
  const T* operator->() const { return &std::get<0>(state_); }
  T& operator*() & { return std::get<0>(state_); }
  const T& operator*() const& { return std::get<0>(state_); }
  T&& operator*() && { return std::get<0>(std::move(state_)); }
  Error& error() & { return std::get<1>(state_); }
  const Error& error() const& { return std::get<1>(state_); }
  Error&& error() && { return std::get<1>(std::move(state_)); }

 private:
  std::variant<T, Error> state_;
};

// Success, or an Error.
class [[nodiscard]] Status {
 public:
  Status() = default;
  Status(Error error) : error_(std::move(error)) {}

  bool ok() const { return !error_.has_value(); }
  explicit operator bool() const { return ok(); }
  Error& error() & { return *error_; }
  const Error& error() const& { return *error_; }
  Error&& error() && { return *std::move(error_); }

 private:
  std::optional<Error> error_;
};

#define SOMA_CONCAT_(a, b) a##b
#define SOMA_CONCAT(a, b) SOMA_CONCAT_(a, b)

// SOMA_TRY(check(x));             returns the error of a Status or Result, if it is one.
#define SOMA_TRY(expression)                                \
  do {                                                      \
    auto soma_try_result = (expression);                    \
    if (!soma_try_result.ok()) {                            \
      return std::move(soma_try_result).error();            \
    }                                                       \
  } while (false)

// SOMA_ASSIGN(Reader reader, open(path));   declares (or assigns) the value, or returns the error.
#define SOMA_ASSIGN(declaration, expression) \
  SOMA_ASSIGN_(declaration, expression, SOMA_CONCAT(soma_assign_result_, __LINE__))
#define SOMA_ASSIGN_(declaration, expression, result) \
  auto result = (expression);                         \
  if (!result.ok()) {                                 \
    return std::move(result).error();                 \
  }                                                   \
  declaration = std::move(result).value()

// text("{} of {}", a, b): a string from a {fmt} pattern.
template <typename... Args>
[[nodiscard]] std::string text(fmt::format_string<Args...> pattern, Args&&... args) {
  return fmt::vformat(pattern, fmt::make_format_args(args...));
}

// a * b and a + b, or nothing when they do not fit: sizes from files go through these.
inline std::optional<u64> checked_mul(u64 a, u64 b) {
  u64 out = 0;
  if (__builtin_mul_overflow(a, b, &out)) return std::nullopt;
  return out;
}
inline std::optional<u64> checked_add(u64 a, u64 b) {
  u64 out = 0;
  if (__builtin_add_overflow(a, b, &out)) return std::nullopt;
  return out;
}

}  // namespace soma
