// How one kind of launch is run on the CPU: what a step, a bound launch and a member of the team
// look like to it, and the table from the catalogue's names to functions.
//
// A launch's work is cut into units (circuit/program/launch.hpp: Grid). `run` does a contiguous
// range of them on one thread, out of the leaves of the kernel set. Before its first range of a
// launch that says so, a member prepares the input for itself (the norm of a few rows, say): that
// is cheaper than to wait for somebody who does it for all.
#pragma once

#include "base/problems.hpp"
#include "backend/cpu/kernels/kernels.hpp"
#include "backend/cpu/kv.hpp"
#include "backend/cpu/weights.hpp"
#include "circuit/program/launch.hpp"
#include "circuit/program/step_batch.hpp"

namespace soma::cpu {

// A matrix of the program: where its rows lie, relative to a base that is known in the step.
struct Matrix {
  ModelBuffer buffer = ModelBuffer::None;
  RowsOf rows = RowsOf::Step;
  i32 terms = 0;  // int8 rows that stand for one row; 0: f32
  u64 offset = 0;
  i64 row_bytes = 0;
  i64 width = 0;
};

// What a launch wants done to its input `x` first.
enum class Prepare : u8 { No, Norm, GatherNorm };

// A launch's arguments, found by name once, when the program is bound. Kinds use what they need.
struct Operands {
  Matrix x, y, out;                  // first and second input, result
  Prepare prepare = Prepare::No;
  const PackedMatrix* w[3] = {};
  const float* norm = nullptr;
  i64 norm_width = 0;
  i64 terms = 0;                     // int8 rows that stand for a prepared one; 0: f32
  i32 layer = 0;                     // of the KV state
  i64 heads = 0, kv_heads = 0, head_dim = 0, dims = 0;
  bool adjacent = false;
  u32 rope = 0;                      // which of the step's rope tables
  double base = 0;
  float epsilon = 0, scale = 0;

  bool multiplies_int8() const { return (prepare == Prepare::No ? x.terms : terms) != 0; }
};

// Neighbouring rows of one sequence, which attention takes together.
struct RowSpan {
  u32 first = 0, rows = 0;
};

// The same for all launches of a step.
struct Step {
  const StepBatch* batch = nullptr;
  const CpuKv* kv = nullptr;
  u8* bases[4] = {};                     // by ModelBuffer; None: the arena
  const float* const* rope_tables = nullptr;  // [rope] -> rows × dims floats (rope_table.hpp)
  const RowSpan* span_of_row = nullptr;  // [rows]

  i64 rows(RowsOf of) const { return of == RowsOf::Step ? batch->rows : batch->logit_rows; }
  u8* row(const Matrix& matrix, i64 row) const {
    return bases[static_cast<size_t>(matrix.buffer)] + matrix.offset + row * matrix.row_bytes;
  }
  float* floats(const Matrix& matrix, i64 r) const {
    return reinterpret_cast<float*>(row(matrix, r));
  }
  const u32* block_table(i64 row) const {
    return batch->block_tables + u64{batch->block_row[row]} * batch->block_stride;
  }
};

// What a member of the team has for itself. Sizes: bind.cpp.
struct alignas(64) Member {
  const KernelSet* kernels = nullptr;
  u8* leaf = nullptr;      // scratch of the matmul and attend leaves
  float* tile = nullptr;   // results on their way from one leaf to the next: tile_floats
  float* terms = nullptr;  // products of the rows of q8a2 before they are added: tile_floats
  u8* prepared = nullptr;  // the launch's prepared input: rows of prepared_row_bytes()
  float* row = nullptr;    // one row of the widest matrix, as f32
  u8* codes = nullptr;     // … and as q8a or q8a2
};

// Results of matrix products stay within a core's second-level cache until they are used.
constexpr i64 tile_floats = 32768;
// How many rows one call of a matmul leaf takes at most: enough to make unpacking cheap.
constexpr i64 leaf_rows_max = 256;
// Rows that attention takes as one task, and how many queries that may be.
constexpr i64 span_rows_max = 16;
constexpr i64 task_queries_max = 64;

// Names an operand in a kind's list of arguments.
enum class Role : u8 {
  X, Y, Out, W0, W1, W2, Norm, Kv,
  Epsilon, Terms, Heads, KvHeads, HeadDim, Base, Dims, Adjacent, Scale,
};
enum class Accepts : u8 { F32, Int8, Activations, I32, Any };  // Activations: F32 or Int8
struct ArgSpec {
  std::string_view name;
  Role role;
  Accepts accepts = Accepts::Any;  // of edges
};

// Compares a bound launch's shapes with what its kind needs, collecting what differs.
class Checker {
 public:
  Checker(const Launch& launch, Problems& problems) : launch_(launch), problems_(problems) {}
  void equal(std::string_view what, i64 got, i64 expected);
  void multiple(std::string_view what, i64 got, i64 of);
  void at_most(std::string_view what, i64 got, i64 limit);
  void integer_codes(const PackedMatrix* w);  // what an int8 input can be multiplied with
  // The grid's extent and unit, as `run` understands them.
  void grid(i64 extent, i64 unit);

 private:
  const Launch& launch_;
  Problems& problems_;
};

struct LaunchKind {
  std::string_view name;
  std::span<const ArgSpec> args;
  GridKind grid = GridKind::Rows;
  bool gathers = false;             // x has the step's rows, the others those that want logits
  Prepare prepare = Prepare::No;
  void (*check)(const Operands& o, Checker& checker) = nullptr;
  void (*run)(const Operands& o, const Step& step, const Member& member, i64 begin,
              i64 end) = nullptr;
};

std::span<const LaunchKind> launch_kinds();  // the backend's catalogue
const LaunchKind* find_kind(std::string_view name);

}  // namespace soma::cpu
