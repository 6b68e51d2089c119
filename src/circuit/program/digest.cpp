// What a program does, as one short text.
#include "circuit/program/digest.hpp"

#include "base/hash.hpp"

namespace soma {

namespace {

void add(Digest& digest, const Arg& arg) {
  digest.text(arg.name).number(static_cast<u64>(arg.kind));
  switch (arg.kind) {
    case ArgKind::Edge:
      digest.number(static_cast<u64>(arg.buffer)).number(arg.offset).number(arg.row_bytes);
      digest.number(static_cast<u64>(arg.format)).number(static_cast<u64>(arg.rows));
      digest.number(arg.width).number(arg.written ? 1 : 0);
      return;
    case ArgKind::Weight: digest.number(arg.index); return;
    case ArgKind::State: digest.number(arg.index).number(arg.written ? 1 : 0); return;
    case ArgKind::Number: digest.real(arg.number); return;
  }
}

void add(Digest& digest, const Launch& launch) {
  digest.text(launch.kernel).number(static_cast<u64>(launch.grid.kind));
  digest.number(static_cast<u64>(launch.grid.rows)).number(launch.grid.extent);
  digest.number(launch.grid.unit).number(launch.barrier_before ? 1 : 0);
  digest.number(launch.args.size());
  for (const Arg& arg : launch.args) add(digest, arg);
}

}  // namespace

std::string program_digest(const Program& program) {
  Digest digest;
  digest.text("soma program, schema 1").number(program.request.rows_max);
  digest.number(program.arena_bytes).number(program.hidden_bytes);
  digest.number(program.logits_row_bytes).number(static_cast<u64>(program.layers));
  digest.number(static_cast<u64>(program.kv_heads)).number(static_cast<u64>(program.head_dim));
  digest.number(static_cast<u64>(program.kv_format)).number(program.weights.size());
  for (const WeightRef& weight : program.weights) {
    digest.text(weight.tensor).number(static_cast<u64>(weight.format));
    digest.number(weight.rows).number(weight.columns);
  }
  digest.number(program.launches.size());
  for (const Launch& launch : program.launches) add(digest, launch);
  return digest.hex();
}

}  // namespace soma
