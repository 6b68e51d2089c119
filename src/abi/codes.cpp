// Ties the core's numbers to the interface's; wrong ones don't compile.
#include "base/core.hpp"
#include "soma/soma.h"

namespace soma::wall {

static_assert(static_cast<soma_code>(Code::Ok) == SOMA_OK);
static_assert(static_cast<soma_code>(Code::Cancelled) == SOMA_CANCELLED);
static_assert(static_cast<soma_code>(Code::Unknown) == SOMA_UNKNOWN);
static_assert(static_cast<soma_code>(Code::InvalidArgument) == SOMA_INVALID_ARGUMENT);
static_assert(static_cast<soma_code>(Code::DeadlineExceeded) == SOMA_DEADLINE_EXCEEDED);
static_assert(static_cast<soma_code>(Code::NotFound) == SOMA_NOT_FOUND);
static_assert(static_cast<soma_code>(Code::AlreadyExists) == SOMA_ALREADY_EXISTS);
static_assert(static_cast<soma_code>(Code::PermissionDenied) == SOMA_PERMISSION_DENIED);
static_assert(static_cast<soma_code>(Code::ResourceExhausted) == SOMA_RESOURCE_EXHAUSTED);
static_assert(static_cast<soma_code>(Code::FailedPrecondition) == SOMA_FAILED_PRECONDITION);
static_assert(static_cast<soma_code>(Code::Aborted) == SOMA_ABORTED);
static_assert(static_cast<soma_code>(Code::OutOfRange) == SOMA_OUT_OF_RANGE);
static_assert(static_cast<soma_code>(Code::Unimplemented) == SOMA_UNIMPLEMENTED);
static_assert(static_cast<soma_code>(Code::Internal) == SOMA_INTERNAL);
static_assert(static_cast<soma_code>(Code::Unavailable) == SOMA_UNAVAILABLE);
static_assert(static_cast<soma_code>(Code::DataLoss) == SOMA_DATA_LOSS);
static_assert(static_cast<soma_code>(Code::Unauthenticated) == SOMA_UNAUTHENTICATED);
static_assert(static_cast<soma_code>(Code::Incompatible) == SOMA_INCOMPATIBLE);

}  // namespace soma::wall
