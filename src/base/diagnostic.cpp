// The reasons' table and the class that carries them.
#include "base/core.hpp"

namespace soma {

namespace {

constexpr ReasonInfo reasons[] = {
#define SOMA_REASON(name, id, code, text) {id, Code::code, text},
#include "base/diagnostic.inc"
#undef SOMA_REASON
};

}  // namespace

const ReasonInfo& reason_info(Reason reason) { return reasons[static_cast<size_t>(reason)]; }

std::span<const ReasonInfo> reason_table() { return reasons; }

std::string_view code_name(Code code) {
  switch (code) {
    case Code::Ok: return "OK";
    case Code::Cancelled: return "CANCELLED";
    case Code::Unknown: return "UNKNOWN";
    case Code::InvalidArgument: return "INVALID_ARGUMENT";
    case Code::DeadlineExceeded: return "DEADLINE_EXCEEDED";
    case Code::NotFound: return "NOT_FOUND";
    case Code::AlreadyExists: return "ALREADY_EXISTS";
    case Code::PermissionDenied: return "PERMISSION_DENIED";
    case Code::ResourceExhausted: return "RESOURCE_EXHAUSTED";
    case Code::FailedPrecondition: return "FAILED_PRECONDITION";
    case Code::Aborted: return "ABORTED";
    case Code::OutOfRange: return "OUT_OF_RANGE";
    case Code::Unimplemented: return "UNIMPLEMENTED";
    case Code::Internal: return "INTERNAL";
    case Code::Unavailable: return "UNAVAILABLE";
    case Code::DataLoss: return "DATA_LOSS";
    case Code::Unauthenticated: return "UNAUTHENTICATED";
    case Code::Incompatible: return "INCOMPATIBLE";
  }
  return "UNKNOWN";
}

Error::Error(Reason reason, std::string message)
    : payload_(std::make_unique<Payload>(Payload{reason, std::move(message), {}, {}})) {}

Error& Error::with(std::string_view key, std::string_view value) & {
  payload_->details.push_back({std::string(key), std::string(value)});
  return *this;
}

Error&& Error::with(std::string_view key, std::string_view value) && {
  return std::move(this->with(key, value));
}

Error&& Error::with(std::string_view key, i64 value) && {
  return std::move(this->with(key, std::string_view(text("{}", value))));
}

Error& Error::add(Error other) & {
  payload_->others.push_back(std::move(other));
  return *this;
}

Error&& Error::context(std::string_view where) && {
  payload_->message = text("{}: {}", where, payload_->message);
  return std::move(*this);
}

}  // namespace soma
