// Binds a program to weights and checks everything that could make a launch touch memory that is
// not its own: a program may come from a file.
#include "backend/cpu/bind.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "backend/cpu/kernels/packed.hpp"
#include "backend/cpu/launch/input.hpp"
#include "base/float_environment.hpp"

namespace soma::cpu {

void Checker::equal(std::string_view what, i64 got, i64 expected) {
  if (got == expected) return;
  problems_.add(fail(Reason::program_binding, "launch of '{}' in group {}: {} is {}, expected {}",
                     launch_.kernel, launch_.group, what, got, expected));
}

void Checker::multiple(std::string_view what, i64 got, i64 of) {
  if (of > 0 && got % of == 0) return;
  problems_.add(fail(Reason::program_binding,
                     "launch of '{}' in group {}: {} is {}, which is no multiple of {}",
                     launch_.kernel, launch_.group, what, got, of));
}

void Checker::at_most(std::string_view what, i64 got, i64 limit) {
  if (got <= limit) return;
  problems_.add(fail(Reason::program_binding,
                     "launch of '{}' in group {}: {} is {}, at most {} fit",
                     launch_.kernel, launch_.group, what, got, limit));
}

void Checker::integer_codes(const PackedMatrix* w) {
  if (is_integer(w->kind)) return;
  problems_.add(fail(Reason::program_binding,
                     "launch of '{}' in group {}: int8 activations can't be multiplied with float "
                     "weights",
                     launch_.kernel, launch_.group));
}

void Checker::grid(i64 extent, i64 unit) {
  equal("the grid's extent", launch_.grid.extent, extent);
  equal("the grid's unit", launch_.grid.unit, unit);
}

namespace {

constexpr double dimension_max = 1 << 20;

bool accepted(Accepts accepts, Format format) {
  switch (accepts) {
    case Accepts::F32: return format == Format::F32;
    case Accepts::Int8: return int8_terms(format) != 0;
    case Accepts::Activations: return format == Format::F32 || int8_terms(format) != 0;
    case Accepts::I32: return format == Format::I32;
    case Accepts::Any: return true;
  }
  return false;
}

// Binds one launch; what it finds wrong goes to `problems`.
class LaunchBinder {
 public:
  LaunchBinder(const Program& program, const CpuWeights& weights, const Launch& launch,
               Problems& problems)
      : program_(program), weights_(weights), launch_(launch), problems_(problems) {}

  void bind(BoundProgram& bound) {
    const LaunchKind* kind = find_kind(launch_.kernel);
    if (kind == nullptr) {
      problems_.add(fail(Reason::kernel_missing, "the CPU backend has no kernel '{}' (group {})",
                         launch_.kernel, launch_.group));
      return;
    }
    const size_t before = problems_.count();
    operands_.prepare = kind->prepare;
    operands_.kv_heads = program_.kv_heads;
    operands_.head_dim = program_.head_dim;
    for (const ArgSpec& spec : kind->args) bind_argument(spec);
    for (const Arg& arg : launch_.args) {
      auto named = [&](const ArgSpec& spec) { return spec.name == arg.name; };
      if (std::none_of(kind->args.begin(), kind->args.end(), named)) {
        wrong("there is no argument '{}'", arg.name);
      }
    }
    check_grid(*kind);
    if (problems_.count() != before) return;
    Checker checker(launch_, problems_);
    kind->check(operands_, checker);
    if (problems_.count() != before) return;
    bind_rope(*kind, bound);
    bound.launches.push_back({kind, operands_, launch_.grid, launch_.barrier_before});
  }

 private:
  template <typename... Args>
  void wrong(fmt::format_string<Args...> pattern, Args&&... args) {
    const std::string what = fmt::vformat(pattern, fmt::make_format_args(args...));
    problems_.add(fail(Reason::program_binding, "launch of '{}' in group {}: {}", launch_.kernel,
                       launch_.group, what));
  }

  void bind_argument(const ArgSpec& spec) {
    const Arg* arg = launch_.find(spec.name);
    if (arg == nullptr) return wrong("argument '{}' is missing", spec.name);
    switch (spec.role) {
      case Role::X: return bind_edge(*arg, spec, false, operands_.x);
      case Role::Y: return bind_edge(*arg, spec, false, operands_.y);
      case Role::Out: return bind_edge(*arg, spec, true, operands_.out);
      case Role::W0: return bind_matrix(*arg, operands_.w[0]);
      case Role::W1: return bind_matrix(*arg, operands_.w[1]);
      case Role::W2: return bind_matrix(*arg, operands_.w[2]);
      case Role::Norm: return bind_vector(*arg);
      case Role::Kv: return bind_state(*arg);
      case Role::Terms: return bind_whole(*arg, 2, operands_.terms);
      case Role::Heads: return bind_whole(*arg, dimension_max, operands_.heads);
      case Role::KvHeads: return bind_whole(*arg, dimension_max, operands_.kv_heads);
      case Role::HeadDim: return bind_whole(*arg, dimension_max, operands_.head_dim);
      case Role::Dims: return bind_whole(*arg, dimension_max, operands_.dims);
      case Role::Adjacent: return bind_flag(*arg, operands_.adjacent);
      case Role::Base: return bind_real(*arg, 1, 1e12, operands_.base);
      case Role::Epsilon: return bind_float(*arg, 0, 1, operands_.epsilon);
      case Role::Scale: return bind_float(*arg, 0, 1e6, operands_.scale);
    }
  }

  bool is_kind(const Arg& arg, ArgKind kind) {
    if (arg.kind == kind) return true;
    wrong("argument '{}' is of another kind than the kernel takes", arg.name);
    return false;
  }

  void bind_edge(const Arg& arg, const ArgSpec& spec, bool written, Matrix& matrix) {
    if (!is_kind(arg, ArgKind::Edge)) return;
    if (!accepted(spec.accepts, arg.format)) {
      return wrong("argument '{}' can't be {}", arg.name, format_info(arg.format).name);
    }
    if (arg.written != written) {
      wrong("argument '{}' is {}", arg.name, written ? "not written" : "written, not read");
    }
    matrix = {.buffer = arg.buffer,
              .rows = arg.rows,
              .terms = int8_terms(arg.format),
              .offset = arg.offset,
              .row_bytes = static_cast<i64>(arg.row_bytes),
              .width = static_cast<i64>(arg.width)};
    const std::optional<u64> needed = row_bytes(arg.format, arg.width);
    if (!needed || arg.width == 0 || arg.row_bytes < *needed || arg.row_bytes > (u64{1} << 40)) {
      return wrong("argument '{}' has rows of {} bytes for {} elements of {}", arg.name,
                   arg.row_bytes, arg.width, format_info(arg.format).name);
    }
    if (arg.offset % 4 != 0 || arg.row_bytes % 4 != 0) {
      wrong("argument '{}' is not aligned to 4 bytes", arg.name);
    }
    check_place(arg, *needed);
  }

  // All rows that a step can have must lie within the buffer.
  void check_place(const Arg& arg, u64 needed) {
    u64 room = 0;
    u64 rows = program_.request.rows_max;
    switch (arg.buffer) {
      case ModelBuffer::None: room = program_.arena_bytes; break;
      case ModelBuffer::Hidden: room = program_.hidden_bytes; break;
      case ModelBuffer::Logits:
        if (arg.row_bytes != program_.logits_row_bytes) {
          wrong("argument '{}' has rows of {} bytes, the logits buffer of {}", arg.name,
                arg.row_bytes, program_.logits_row_bytes);
        }
        room = program_.logits_row_bytes;
        rows = 1;
        break;
      case ModelBuffer::Tokens: room = needed = sizeof(i32); rows = 1; break;
    }
    const std::optional<u64> before = checked_mul(rows - 1, arg.row_bytes);
    const std::optional<u64> all = before ? checked_add(*before, needed) : std::nullopt;
    const std::optional<u64> end = all ? checked_add(*all, arg.offset) : std::nullopt;
    if (!end || *end > room) {
      wrong("argument '{}' needs bytes beyond the {} of its buffer", arg.name, room);
    }
  }

  const PackedWeight* find_weight(const Arg& arg) {
    if (!is_kind(arg, ArgKind::Weight)) return nullptr;
    if (arg.index >= program_.weights.size()) {
      wrong("argument '{}' is weight {} of {}", arg.name, arg.index, program_.weights.size());
      return nullptr;
    }
    const WeightRef& ref = program_.weights[arg.index];
    const PackedWeight* weight = weights_.find(ref.tensor);
    if (weight == nullptr) {
      wrong("tensor '{}' was not packed", ref.tensor);
    } else if (weight->ref != ref) {
      wrong("tensor '{}' was packed as {} × {} of {}, the program wants {} × {} of {}", ref.tensor,
            weight->ref.rows, weight->ref.columns, format_info(weight->ref.format).name, ref.rows,
            ref.columns, format_info(ref.format).name);
      return nullptr;
    }
    return weight;
  }

  void bind_matrix(const Arg& arg, const PackedMatrix*& matrix) {
    const PackedWeight* weight = find_weight(arg);
    if (weight == nullptr) return;
    if (weight->matrix.data == nullptr) {
      return wrong("argument '{}' is a vector, the kernel takes a matrix", arg.name);
    }
    matrix = &weight->matrix;
  }

  void bind_vector(const Arg& arg) {
    const PackedWeight* weight = find_weight(arg);
    if (weight == nullptr) return;
    if (weight->vector == nullptr) {
      return wrong("argument '{}' is a matrix, the kernel takes a vector", arg.name);
    }
    operands_.norm = weight->vector;
    operands_.norm_width = static_cast<i64>(weight->ref.columns);
  }

  void bind_state(const Arg& arg) {
    if (!is_kind(arg, ArgKind::State)) return;
    if (arg.index >= static_cast<u64>(program_.layers)) {
      return wrong("argument '{}' is layer {} of {}", arg.name, arg.index, program_.layers);
    }
    operands_.layer = static_cast<i32>(arg.index);
  }

  void bind_real(const Arg& arg, double low, double high, double& out) {
    if (!is_kind(arg, ArgKind::Number)) return;
    if (!(arg.number >= low && arg.number <= high)) {
      return wrong("argument '{}' is {}, which is not in {} to {}", arg.name, arg.number, low,
                   high);
    }
    out = arg.number;
  }
  void bind_float(const Arg& arg, double low, double high, float& out) {
    double value = 0;
    bind_real(arg, low, high, value);
    out = static_cast<float>(value);
  }
  void bind_flag(const Arg& arg, bool& out) {
    double value = 0;
    bind_real(arg, 0, 1, value);
    out = value != 0;
  }
  void bind_whole(const Arg& arg, double high, i64& out) {
    double value = 1;
    bind_real(arg, 1, high, value);
    if (value != std::floor(value)) return wrong("argument '{}' is not whole", arg.name);
    out = static_cast<i64>(value);
  }

  void check_grid(const LaunchKind& kind) {
    const Grid& grid = launch_.grid;
    if (grid.kind != kind.grid) wrong("its grid is of another kind than the kernel's");
    if (grid.extent == 0 || grid.unit == 0) wrong("its grid is empty");
    for (const ArgSpec& spec : kind.args) {
      const Arg* arg = launch_.find(spec.name);
      if (arg == nullptr || arg->kind != ArgKind::Edge) continue;
      const bool gathered = kind.gathers && spec.role == Role::X;
      if (arg->rows != (gathered ? RowsOf::Step : grid.rows)) {
        wrong("argument '{}' has other rows than the grid", arg->name);
      }
    }
  }

  void bind_rope(const LaunchKind& kind, BoundProgram& bound) {
    auto rotates = [](const ArgSpec& spec) { return spec.role == Role::Base; };
    if (std::none_of(kind.args.begin(), kind.args.end(), rotates)) return;
    for (size_t i = 0; i < bound.ropes.size(); ++i) {
      if (bound.ropes[i].serves(operands_.base, operands_.dims, operands_.adjacent)) {
        operands_.rope = static_cast<u32>(i);
        return;
      }
    }
    operands_.rope = static_cast<u32>(bound.ropes.size());
    bound.ropes.emplace_back(operands_.base, operands_.dims, operands_.adjacent);
  }

  const Program& program_;
  const CpuWeights& weights_;
  const Launch& launch_;
  Problems& problems_;
  Operands operands_;
};

// What the members' scratch must hold.
void measure(BoundProgram& bound) {
  i64 share_max = 1;
  i64 vocabulary = std::numeric_limits<i32>::max();
  for (const BoundLaunch& launch : bound.launches) {
    const Operands& o = launch.operands;
    bound.width_max = std::max({bound.width_max, o.x.width, o.out.width});
    for (const PackedMatrix* w : o.w) {
      if (w != nullptr) bound.input_width_max = std::max(bound.input_width_max, w->columns);
    }
    if (o.prepare != Prepare::No) {
      const i64 row_bytes = prepared_row_bytes(o.x.width, o.terms);
      bound.prepared_bytes = std::max(bound.prepared_bytes, bound.rows_max * row_bytes);
    }
    if (launch.kind->grid == GridKind::RowHeads) {
      share_max = std::max(share_max, o.heads / o.kv_heads);
    }
    if (launch.kind->name == "embed") vocabulary = std::min(vocabulary, o.w[0]->rows);
    if (launch.kind->name == "sample") {
      bound.sampled_width = std::max(bound.sampled_width, o.x.width);
    }
  }
  bound.vocabulary = vocabulary;
  bound.span_rows = std::clamp<i64>(task_queries_max / share_max, 1, span_rows_max);
  bound.queries_max = bound.span_rows * share_max;
}

}  // namespace

Result<BoundProgram> bind_program(const Program& program, const CpuWeights& weights) {
  const DefaultFloats floats;  // for the rope tables
  Problems problems;
  BoundProgram bound;
  bound.rows_max = static_cast<i64>(program.request.rows_max);
  if (program.request.rows_max == 0 || program.request.rows_max > (u64{1} << 20)) {
    return fail(Reason::program_binding, "the program is for {} rows, 1 to {} are possible",
                program.request.rows_max, u64{1} << 20);
  }
  for (const Launch& launch : program.launches) {
    LaunchBinder(program, weights, launch, problems).bind(bound);
  }
  SOMA_TRY(std::move(problems).status());
  measure(bound);
  return bound;
}

}  // namespace soma::cpu
