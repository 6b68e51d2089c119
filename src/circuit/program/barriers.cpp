// Says before which launches all earlier work must be done.
//
// Problem: threads run a launch's units without order, and one may begin the next launch while
// another is still in this one. That is welcome where the two have nothing to do with each other.
// Idea: keep what the launches since the last barrier read and wrote, as byte ranges of buffers and
// as the KV states of layers. A launch needs a barrier if it reads what one of them wrote, or
// writes what one of them read or wrote. A barrier empties the list. Weights and the step's tables
// are only ever read.
// Two launches that are both cut by rows and touch only their own rows could go without, if every
// backend gave a row to the same thread in both. That would bind the backends' freedom to claim
// rows as they come, for launches that the rules fuse anyway; so there is no such exception.
// Cost: launches times what is in flight, which is little.
#include "circuit/program/barriers.hpp"

#include <algorithm>

namespace soma {

namespace {

// Bytes of a buffer, or, with `state`, the whole KV state of a layer.
struct Access {
  bool state = false;
  ModelBuffer buffer = ModelBuffer::None;
  u64 begin = 0, end = 0;
  bool written = false;
};

Access access_of(const Arg& arg, u64 rows_max) {
  if (arg.kind == ArgKind::State) {
    return {true, ModelBuffer::None, arg.index, u64{arg.index} + 1, arg.written};
  }
  return {false, arg.buffer, arg.offset, arg.offset + arg.row_bytes * rows_max, arg.written};
}

bool conflict(const Access& a, const Access& b) {
  return (a.written || b.written) && a.state == b.state && a.buffer == b.buffer &&
         a.begin < b.end && b.begin < a.end;
}

}  // namespace

void set_barriers(Program& program) {
  std::vector<Access> in_flight;
  for (Launch& launch : program.launches) {
    std::vector<Access> accesses;
    for (const Arg& arg : launch.args) {
      if (arg.kind != ArgKind::Edge && arg.kind != ArgKind::State) continue;
      accesses.push_back(access_of(arg, program.request.rows_max));
    }
    launch.barrier_before = std::any_of(accesses.begin(), accesses.end(), [&](const Access& mine) {
      return std::any_of(in_flight.begin(), in_flight.end(),
                         [&mine](const Access& other) { return conflict(mine, other); });
    });
    if (launch.barrier_before) in_flight.clear();
    in_flight.insert(in_flight.end(), accesses.begin(), accesses.end());
  }
}

}  // namespace soma
