// Runs a step: the team is woken once, and each member walks all launches in order.
//
// Within a launch, a member takes chunks as long as there are any (claims.cpp); it waits only
// where a launch says `barrier_before`, for what was begun since the last barrier. Few rows are cut
// into two chunks a member: a core streams long stretches of weights, and a core that lags leaves
// its second chunk to others. Many rows are cut by 64 columns, since static halves would wait for
// the slower core, and a chunk is then still work enough to outweigh its claim a thousand times.
#include "backend/cpu/executable.hpp"

#include <algorithm>

#include "backend/cpu/launch/input.hpp"
#include "base/float_environment.hpp"

namespace soma::cpu {

namespace {

constexpr i64 many_rows = 16;
constexpr i64 chunks_of_member = 2;
constexpr i64 many_rows_columns = 64;

i64 ceil_div(i64 a, i64 b) { return (a + b - 1) / b; }

u64 lines(i64 count, u64 bytes) { return to_lines(static_cast<u64>(count) * bytes); }

}  // namespace

Result<std::unique_ptr<CpuExecutable>> CpuExecutable::create(const Program& program,
                                                             const CpuWeights& weights, Team& team,
                                                             const KernelSet& kernels) {
  SOMA_ASSIGN(BoundProgram bound, bind_program(program, weights));
  std::unique_ptr<CpuExecutable> executable(
      new CpuExecutable(program, std::move(bound), team, kernels));
  SOMA_TRY(executable->allocate());
  return executable;
}

CpuExecutable::CpuExecutable(const Program& program, BoundProgram bound, Team& team,
                             const KernelSet& kernels)
    : program_(program),
      bound_(std::move(bound)),
      team_(team),
      kernels_(kernels),
      members_(static_cast<size_t>(team.threads())),
      spans_(static_cast<size_t>(bound_.rows_max)),
      claims_(static_cast<i64>(bound_.launches.size()), team.threads()),
      cuts_(bound_.launches.size()) {}

Status CpuExecutable::allocate() {
  const i64 leaf_bytes =
      kernels_.scratch_bytes(bound_.input_width_max, std::min(bound_.rows_max, leaf_rows_max),
                             bound_.queries_max, program_.head_dim);
  const i64 tile_bytes = std::max<i64>(tile_floats * i64{sizeof(float)},
                                       bound_.sampled_width * i64{sizeof(u64)});
  // Members' pages apart: what one writes must not sit in a line that another reads.
  const u64 member_bytes = lines(leaf_bytes, 1) + lines(tile_bytes, 1) + lines(tile_floats, 4) +
                           lines(bound_.prepared_bytes, 1) + 2 * lines(bound_.width_max, 4);
  u64 rope_bytes = 0;
  for (const RopeTable& rope : bound_.ropes) rope_bytes += lines(rope.dims() * bound_.rows_max, 4);
  const u64 arena_bytes = to_lines(program_.arena_bytes);
  const u64 hidden_bytes = to_lines(program_.hidden_bytes);
  SOMA_ASSIGN(memory_, Mapping::create(arena_bytes + hidden_bytes + rope_bytes +
                                           member_bytes * members_.size(),
                                       "a program's arena and scratch"));
  u8* at = memory_.data();
  auto take = [&at](u64 bytes) { return std::exchange(at, at + bytes); };
  step_.bases[static_cast<size_t>(ModelBuffer::None)] = take(arena_bytes);
  step_.bases[static_cast<size_t>(ModelBuffer::Hidden)] = take(hidden_bytes);
  for (const RopeTable& rope : bound_.ropes) {
    ropes_.push_back(reinterpret_cast<float*>(take(lines(rope.dims() * bound_.rows_max, 4))));
  }
  for (Member& member : members_) {
    member.kernels = &kernels_;
    member.leaf = take(lines(leaf_bytes, 1));
    member.tile = reinterpret_cast<float*>(take(lines(tile_bytes, 1)));
    member.terms = reinterpret_cast<float*>(take(lines(tile_floats, 4)));
    member.prepared = take(lines(bound_.prepared_bytes, 1));
    member.row = reinterpret_cast<float*>(take(lines(bound_.width_max, 4)));
    member.codes = take(lines(bound_.width_max, 4));
  }
  step_.rope_tables = ropes_.data();
  step_.span_of_row = spans_.data();
  return {};
}

Status CpuExecutable::run(const StepBatch& batch, KvMemory& kv, float* logits, i32* tokens,
                          const Cancel* cancel) {
  auto& state = static_cast<CpuKv&>(kv);
  SOMA_TRY(check_batch(batch, state));
  if (batch.logit_rows != 0 && (logits == nullptr || tokens == nullptr)) {
    return fail(Reason::argument_null, "a step that makes logits needs buffers for them");
  }
  if (cancel != nullptr) SOMA_TRY(cancel->check());
  step_.batch = &batch;
  step_.kv = &state;
  step_.bases[static_cast<size_t>(ModelBuffer::Logits)] = reinterpret_cast<u8*>(logits);
  step_.bases[static_cast<size_t>(ModelBuffer::Tokens)] = reinterpret_cast<u8*>(tokens);
  cancel_ = cancel;
  const DefaultFloats floats;
  prepare_step(batch);
  team_.run([](void* user, i32 member) { static_cast<CpuExecutable*>(user)->walk(member); }, this);
  if (!claims_.stopped()) return {};
  return cancel->check();
}

Status CpuExecutable::check_batch(const StepBatch& batch, const CpuKv& kv) const {
  const KvGeometry& geometry = kv.geometry();
  if (geometry.layers != program_.layers || geometry.kv_heads != program_.kv_heads ||
      geometry.head_dim != program_.head_dim || geometry.format != program_.kv_format) {
    return fail(Reason::program_binding,
                "the KV state has {} layers, {} heads of {} in {}; "
                "the program wants {}, {}, {}, {}",
                geometry.layers, geometry.kv_heads, geometry.head_dim,
                format_info(geometry.format).name, program_.layers, program_.kv_heads,
                program_.head_dim, format_info(program_.kv_format).name);
  }
  if (batch.rows == 0 || batch.rows > bound_.rows_max) {
    return fail(Reason::program_limit, "a step of {} rows; the program takes 1 to {}", batch.rows,
                bound_.rows_max);
  }
  for (u32 row = 0; row < batch.rows; ++row) SOMA_TRY(check_row(batch, kv, row));
  for (u32 i = 0; i < batch.logit_rows; ++i) {
    const u32 row = batch.logit_row[i];
    if (row >= batch.rows || (i != 0 && row <= batch.logit_row[i - 1])) {
      return fail(Reason::argument_range, "logits row {} is row {} of the step: not ascending "
                  "within its {} rows", i, row, batch.rows);
    }
  }
  return {};
}

Status CpuExecutable::check_row(const StepBatch& batch, const CpuKv& kv, u32 row) const {
  const i32 token = batch.tokens[row];
  if (token < 0 || token >= bound_.vocabulary) {
    return fail(Reason::argument_range, "row {}: token {} is not in 0 to {}", row, token,
                bound_.vocabulary - 1);
  }
  const i32 position = batch.positions[row];
  if (position < 0 || position / kKvPositions >= static_cast<i64>(batch.block_stride)) {
    return fail(Reason::argument_range, "row {}: position {} is not within {} blocks", row,
                position, batch.block_stride);
  }
  // Rows of one table follow each other, ascending; then only the blocks since the last are new.
  i64 first = 0;
  if (row != 0 && batch.block_row[row] == batch.block_row[row - 1]) {
    if (position <= batch.positions[row - 1]) {
      return fail(Reason::argument_range, "row {}: position {} follows {} of the same sequence",
                  row, position, batch.positions[row - 1]);
    }
    first = batch.positions[row - 1] / kKvPositions;
  }
  const u32* table = batch.block_tables + u64{batch.block_row[row]} * batch.block_stride;
  for (i64 i = first; i <= position / kKvPositions; ++i) {
    if (table[i] >= static_cast<u64>(kv.geometry().blocks)) {
      return fail(Reason::argument_range, "row {}: KV block {} is not one of {}", row, table[i],
                  kv.geometry().blocks);
    }
  }
  return {};
}

void CpuExecutable::prepare_step(const StepBatch& batch) {
  for (size_t i = 0; i < ropes_.size(); ++i) {
    bound_.ropes[i].fill(batch.positions, batch.rows, ropes_[i]);
  }
  find_spans(batch);
  cut_launches(batch.rows, batch.logit_rows);
  claims_.begin();
}

void CpuExecutable::find_spans(const StepBatch& batch) {
  for (u32 first = 0; first < batch.rows;) {
    u32 end = first + 1;
    while (end < batch.rows && end - first < bound_.span_rows &&
           batch.block_row[end] == batch.block_row[first]) {
      ++end;
    }
    std::fill(&spans_[first], &spans_[first] + (end - first), RowSpan{first, end - first});
    first = end;
  }
}

void CpuExecutable::cut_launches(i64 rows, i64 logit_rows) {
  if (rows == cut_rows_ && logit_rows == cut_logit_rows_) return;
  for (size_t i = 0; i < bound_.launches.size(); ++i) {
    const BoundLaunch& launch = bound_.launches[i];
    const i64 launch_rows = launch.grid.rows == RowsOf::Step ? rows : logit_rows;
    Cut& cut = cuts_[i];
    cut.units = units(launch, launch_rows);
    cut.chunk = std::max<i64>(1, chunk_units(launch, launch_rows, cut.units));
    claims_.set_chunks(static_cast<i64>(i), static_cast<u32>(ceil_div(cut.units, cut.chunk)));
  }
  cut_rows_ = rows;
  cut_logit_rows_ = logit_rows;
}

i64 CpuExecutable::units(const BoundLaunch& launch, i64 rows) const {
  if (rows == 0) return 0;
  switch (launch.grid.kind) {
    case GridKind::Rows: return rows;
    case GridKind::Columns: return ceil_div(launch.grid.extent, launch.grid.unit);
    case GridKind::RowHeads: return rows * launch.grid.extent;
    case GridKind::Single: return 1;
  }
  return 0;
}

i64 CpuExecutable::chunk_units(const BoundLaunch& launch, i64 rows, i64 units) const {
  if (rows >= many_rows) {
    if (launch.grid.kind == GridKind::Columns) return many_rows_columns / launch.grid.unit;
    if (launch.grid.kind == GridKind::RowHeads) return bound_.queries_max;
  }
  return ceil_div(units, chunks_of_member * static_cast<i64>(members_.size()));
}

void CpuExecutable::walk(i32 member) {
  const DefaultFloats floats;
  kernels_.enter();
  const auto count = static_cast<i64>(bound_.launches.size());
  Claims::Cursor cursor = Claims::start(member);
  i64 known_done = 0;  // all launches before this one
  for (i64 launch = 0; launch < count && !claims_.stopped(); ++launch) {
    if (bound_.launches[static_cast<size_t>(launch)].barrier_before) {
      while (known_done < launch && claims_.await(known_done)) ++known_done;
      if (known_done < launch) break;
    }
    work(launch, cursor);
  }
  kernels_.leave();
}

void CpuExecutable::work(i64 launch, Claims::Cursor& cursor) {
  const BoundLaunch& bound = bound_.launches[static_cast<size_t>(launch)];
  const Cut& cut = cuts_[static_cast<size_t>(launch)];
  const Member& self = members_[static_cast<size_t>(cursor.member)];
  if (claims_.finished(launch)) return;
  bool prepared = bound.operands.prepare == Prepare::No;
  for (u32 chunk; (chunk = claims_.claim(launch, cursor)) != Claims::none;) {
    if (!prepared) prepare_input(bound.operands, step_, self);
    prepared = true;
    const i64 begin = chunk * cut.chunk;
    bound.kind->run(bound.operands, step_, self, begin, std::min(begin + cut.chunk, cut.units));
    // The caller looks for all; a chunk is work of at most a few hundred microseconds.
    if (cursor.member == 0 && cancel_ != nullptr && !cancel_->check().ok()) claims_.stop();
    if (claims_.stopped()) return;
  }
}

}  // namespace soma::cpu
