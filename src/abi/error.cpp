// Turns the core's errors, and exceptions, into codes and error objects.
#include "abi/error.hpp"

#include <exception>
#include <new>

#include "abi/guard.hpp"
#include "base/json_writer.hpp"

namespace soma::wall {

namespace {

// There must be an error for the case that there is no memory for one.
constinit const soma_error exhausted{"memory.exhausted", Code::ResourceExhausted,
                                     "the allocator had no memory left"};

soma_code give(const soma_error& made, soma_error** out) {
  const auto code = static_cast<soma_code>(made.code);
  if (out) *out = const_cast<soma_error*>(&made);
  return code;
}

}  // namespace

MadeError::MadeError(const Error& error, const soma_error* part_of)
    : soma_error("", error.code(), {}),
      store{error.message(), error.details(), {}} {
  id = error.id();
  message = store.message;
  content = &store;
  whole = part_of;
  for (const Error& other : error.others()) {
    store.others.push_back(std::make_unique<const MadeError>(other, part_of ? part_of : this));
  }
}

soma_code report(const Error& error, soma_error** out) noexcept {
  if (!out) return static_cast<soma_code>(error.code());
  try {
    const MemoryScope outside(nullptr);
    return give(*new MadeError(error), out);
  } catch (...) {
    return give(exhausted, out);
  }
}

soma_code report_exception(soma_error** out) noexcept {
  try {
    throw;
  } catch (const std::bad_alloc&) {
    return give(exhausted, out);
  } catch (const std::exception& exception) {
    try {
      return report(fail(Reason::internal, "an exception reached the wall: {}", exception.what()),
                    out);
    } catch (...) {
      return give(exhausted, out);
    }
  } catch (...) {
    try {
      return report(fail(Reason::internal, "something that is no exception reached the wall"),
                    out);
    } catch (...) {
      return give(exhausted, out);
    }
  }
}

Status admit(const Object& root) {
  if (!is_forked(root)) return {};
  return fail(Reason::forked,
              "the process was forked after the runtime was made; the child can't use the "
              "parent's objects and must make its own");
}

Error copy_of(const Error& error) {
  Error copy(error.reason(), error.message());
  for (const Detail& detail : error.details()) copy.with(detail.key, detail.value);
  for (const Error& other : error.others()) copy.add(copy_of(other));
  return copy;
}

Error null_argument(std::string_view name) {
  return fail(Reason::argument_null, "the argument {} is NULL", name);
}

std::string error_json(const soma_error& error) {
  JsonWriter json;
  const auto write = [&json](const auto& self, const soma_error& one) -> void {
    json.object()
        .field("code", static_cast<soma_code>(one.code))
        .field("name", code_name(one.code))
        .field("reason", one.id)
        .field("message", one.message);
    json.key("details").array();
    if (one.content) {
      for (const Detail& detail : one.content->details) {
        json.object().field("key", detail.key).field("value", detail.value).close();
      }
    }
    json.close().key("others").array();
    if (one.content) {
      for (const auto& other : one.content->others) self(self, *other);
    }
    json.close().close();
  };
  write(write, error);
  return std::move(json).take();
}

}  // namespace soma::wall
