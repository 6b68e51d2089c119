// The code of nodes of kind program whose task is to generate.
#pragma once

#include "abi/session.hpp"
#include "run/ops.hpp"

namespace soma::wall {

// Makes programs of that model generate on the session, which the ops then keep alive.
Status add_generating(Ops& ops, std::string_view model, const soma_session& session);

}  // namespace soma::wall
