// The error object of the interface, made from an Error of the core.
#pragma once

#include "abi/handle.hpp"

namespace soma::wall {
struct MadeError;
}

// Errors live from malloc, whatever runtime the failure was in. The one that stands for exhausted
// memory is a constant: nothing owns it, and retaining and releasing leave it alone.
struct soma_error : soma::wall::Object {
  static constexpr soma::wall::Tag kind = soma::wall::Tag::Error;

  struct Content {
    std::string message;
    std::vector<soma::Detail> details;
    std::vector<std::unique_ptr<const soma::wall::MadeError>> others;
  };

  constexpr soma_error(const char* reason_id, soma::Code what_to_do, std::string_view text)
      : Object(kind), id(reason_id), code(what_to_do), message(text) {}

  std::string_view id;
  soma::Code code;
  std::string_view message;          // ends with a NUL
  const Content* content = nullptr;  // nullptr: the constant
  const soma_error* whole = nullptr;  // this is a further problem of it, and it holds the count
};

namespace soma::wall {

// Everything but the constant is one of these.
struct MadeError final : soma_error {
  explicit MadeError(const Error& error, const soma_error* part_of = nullptr);
  Content store;
};

std::string error_json(const soma_error& error);

}  // namespace soma::wall
