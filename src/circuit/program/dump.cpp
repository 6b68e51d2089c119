// Programs as text: one line a launch.
#include <algorithm>

#include "base/columns.hpp"
#include "circuit/program/launch.hpp"

namespace soma {

namespace {

std::string grid_text(const Grid& grid) {
  const std::string_view rows = grid.rows == RowsOf::Step ? "n" : "m";
  switch (grid.kind) {
    case GridKind::Rows: return text("{} rows", rows);
    case GridKind::Columns:
      return text("{} cols / {}{}", grid.extent, grid.unit,
                  grid.rows == RowsOf::Step ? "" : " of m");
    case GridKind::RowHeads: return text("{} x {} heads", rows, grid.extent);
    case GridKind::Single: return "1";
  }
  return "?";
}

std::string arg_text(const Arg& arg) {
  switch (arg.kind) {
    case ArgKind::Edge: {
      std::string place(buffer_name(arg.buffer));
      if (arg.buffer == ModelBuffer::None) place += text("+{}", arg.offset);
      return text("{}{}={}:{}[{}]", arg.written ? "-> " : "", arg.name, place,
                  format_info(arg.format).name, arg.width);
    }
    case ArgKind::Weight: return text("{}=#{}", arg.name, arg.index);
    case ArgKind::State:
      return text("{}{}=layer {}", arg.written ? "-> " : "", arg.name, arg.index);
    case ArgKind::Number: return text("{}={}", arg.name, short_number(arg.number));
  }
  return "?";
}

std::string args_text(const Launch& launch) {
  std::string out;
  for (const Arg& arg : launch.args) out += (out.empty() ? "" : " ") + arg_text(arg);
  return out;
}

u64 weight_bytes(const WeightRef& weight) {
  return row_bytes(weight.format, weight.columns).value_or(0) * weight.rows;
}

}  // namespace

const Arg* Launch::find(std::string_view name) const {
  const auto found =
      std::find_if(args.begin(), args.end(), [name](const Arg& arg) { return arg.name == name; });
  return found == args.end() ? nullptr : &*found;
}

std::string Program::dump() const {
  Columns table("rllll");
  table.row({"launch", "kernel", "grid", "waits", "arguments"});
  u64 barriers = 0;
  for (size_t i = 0; i < launches.size(); ++i) {
    const Launch& launch = launches[i];
    barriers += launch.barrier_before;
    table.row({text("{}", i), launch.kernel, grid_text(launch.grid),
               launch.barrier_before ? "barrier" : "", args_text(launch)});
  }
  Columns weight_table("rlrll");
  u64 bytes = 0;
  for (size_t i = 0; i < weights.size(); ++i) {
    const WeightRef& weight = weights[i];
    bytes += weight_bytes(weight);
    weight_table.row({text("#{}", i), text("{} x {}", weight.rows, weight.columns),
                      human_bytes(weight_bytes(weight)),
                      std::string(format_info(weight.format).name), weight.tensor});
  }
  return text(
      "program for up to {} rows (n: rows of the step, m: rows that want logits), policy "
      "{}\n{}weights\n{}{} launches, {} barriers; {} weights of {}; arena {}, hidden {}; "
      "KV {} layers x {} heads x {} in {}\nplan {}\ndigest {}\n",
      request.rows_max, policy_name(request.policy), table.str(), weight_table.str(),
      launches.size(), barriers, weights.size(), human_bytes(bytes), human_bytes(arena_bytes),
      human_bytes(hidden_bytes), layers, kv_heads, head_dim, format_info(kv_format).name,
      plan_digest, digest);
}

}  // namespace soma
