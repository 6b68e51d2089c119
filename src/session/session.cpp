// Makes a model ready to run: two programs, one set of packed weights, a pool of KV blocks.
#include "session/session.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "backend/cpu/cpu_backend.hpp"
#include "base/problems.hpp"
#include "session/state.hpp"

namespace soma {

namespace {

constexpr i64 default_context_max = 4096;
constexpr i64 context_limit = i64{1} << 24;  // whatever a file claims: positions are 32-bit
constexpr i64 sequences_limit = 4096;
constexpr i64 prefill_rows_limit = 8192;

Error out_of_range(std::string_view option, i64 got, i64 low, i64 high) {
  return fail(Reason::option_range, "option {} is {}, expected {} to {}", option, got, low, high)
      .with("option", option);
}

Status check_options(const SessionOptions& options, const Model& model) {
  Problems problems;
  auto within = [&](std::string_view option, i64 value, i64 low, i64 high) {
    if (value < low || value > high) problems.add(out_of_range(option, value, low, high));
  };
  within("context", options.context, 0, std::min(model.parameters().context, context_limit));
  within("sequences", options.sequences, 1, sequences_limit);
  within("prefill_rows", options.prefill_rows, 1, prefill_rows_limit);
  return std::move(problems).status();
}

// One mode's program, from the circuit to the flat list of launches.
Result<Program> make_program(const Circuit& circuit, const FusionRules& rules,
                             const KernelCatalogue& catalogue, const PlanRequest& request) {
  SOMA_ASSIGN(const FusionPlan plan, fuse(circuit, rules, catalogue, request));
  SOMA_ASSIGN(const Layout layout, lay_out(circuit, plan));
  SOMA_ASSIGN(const BufferPlan buffers, place(circuit, plan, layout));
  SOMA_TRY(verify_storage(circuit, plan, layout, buffers));
  return compile_program(circuit, plan, layout, buffers);
}

// The tensors of both programs, each once, and where the file has them.
Result<std::vector<WeightSource>> find_sources(const Model& model, const Program& first,
                                               const Program& second) {
  std::vector<WeightSource> sources;
  for (const Program* program : {&first, &second}) {
    for (const WeightRef& ref : program->weights) {
      auto same = [&](const WeightSource& source) { return source.ref == ref; };
      if (std::any_of(sources.begin(), sources.end(), same)) continue;
      const gguf::Tensor* tensor = model.file().find_tensor(ref.tensor);
      if (tensor == nullptr) {
        return fail(Reason::model_tensor_missing, "the file has no tensor '{}'", ref.tensor)
            .with("tensor", ref.tensor);
      }
      sources.push_back({ref, tensor->bytes});
    }
  }
  return sources;
}

// What a decoded token reads: all of every matrix, but of the embedding's table one row, unless
// the head reads the same tensor.
u64 weight_bytes_read(const Program& program) {
  std::vector<bool> whole(program.weights.size());
  u64 bytes = 0;
  auto row = [&](u32 index) {
    return row_bytes(program.weights[index].format, program.weights[index].columns).value_or(0);
  };
  for (const Launch& launch : program.launches) {
    for (const Arg& arg : launch.args) {
      if (arg.kind != ArgKind::Weight) continue;
      if (launch.kernel == "embed") bytes += row(arg.index);
      else whole[arg.index] = true;
    }
  }
  for (u32 i = 0; i < program.weights.size(); ++i) {
    if (whole[i]) bytes += row(i) * program.weights[i].rows;
  }
  return bytes;
}

}  // namespace

Status check_sampling(const Sampling& sampling) {
  Problems problems;
  auto within = [&](std::string_view option, double value, double low, double high) {
    if (value >= low && value <= high) return;
    problems.add(fail(Reason::option_range, "option {} is {}, expected {} to {}", option, value,
                      low, high)
                     .with("option", option));
  };
  constexpr double most = std::numeric_limits<float>::max();
  within("temperature", sampling.temperature, 0, most);
  within("top_k", sampling.top_k, 0, std::numeric_limits<i32>::max());
  within("top_p", sampling.top_p, 0, 1);
  within("min_p", sampling.min_p, 0, 1);
  within("repetition_penalty", sampling.repetition_penalty, std::numeric_limits<float>::min(),
         most);
  within("penalty_window", sampling.penalty_window, 0, std::numeric_limits<i32>::max());
  return std::move(problems).status();
}

Result<std::unique_ptr<Session>> Session::create(const Model& model, Team& team,
                                                 const SessionOptions& options, Progress progress,
                                                 const Cancel* cancel) {
  SOMA_TRY(check_options(options, model));
  auto state = std::make_unique<State>(model);
  SOMA_ASSIGN(state->backend, cpu::make_backend(team, options.isa, options.amx));
  const KernelCatalogue& catalogue = state->backend->caps().catalogue;
  const auto rows_max = static_cast<u64>(options.prefill_rows);

  SOMA_ASSIGN(const FusionRules rules, FusionRules::parse(embedded_rules()));
  SOMA_ASSIGN(const Circuit circuit, resolve_precision(model.circuit(), options.policy));
  SOMA_ASSIGN(state->decode_program,
              make_program(circuit, rules, catalogue, {Mode::Decode, 1, options.policy}));
  SOMA_ASSIGN(state->prefill_program,
              make_program(circuit, rules, catalogue, {Mode::Prefill, rows_max, options.policy}));
  // From here on it is known what will run, on which tensors, in how much memory.

  SOMA_ASSIGN(const std::vector<WeightSource> sources,
              find_sources(model, state->decode_program, state->prefill_program));
  SOMA_ASSIGN(state->weights, state->backend->pack(sources, &model.bytes(),
                                                   {progress.call, progress.user}, cancel));

  SOMA_TRY(state->allocate(options));
  return std::unique_ptr<Session>(new Session(std::move(state)));
}

Status Session::State::allocate(const SessionOptions& options) {
  const HyperParameters& parameters = model.parameters();
  facts.context = options.context != 0 ? options.context
                                       : std::min(parameters.context, default_context_max);
  facts.kv_blocks = options.sequences * blocks_of(facts.context);
  if (facts.kv_blocks > std::numeric_limits<i32>::max()) {
    return fail(Reason::option_range, "{} sequences of {} positions are more than {} KV blocks",
                options.sequences, facts.context, std::numeric_limits<i32>::max());
  }
  const Program& program = decode_program;
  SOMA_ASSIGN(kv, backend->allocate_kv({program.layers, program.kv_heads, program.head_dim,
                                        facts.kv_blocks, program.kv_format}));
  SOMA_ASSIGN(decode, backend->bind(decode_program, *weights));
  SOMA_ASSIGN(prefill, backend->bind(prefill_program, *weights));

  blocks = KvBlocks(static_cast<u32>(facts.kv_blocks));
  const auto rows = static_cast<size_t>(options.prefill_rows);
  positions.resize(rows);
  block_rows.resize(rows);
  logit_rows.resize(rows);
  chosen.resize(rows);

  facts.kernel_set = backend->caps().kernel_set;
  facts.weight_bytes = weights->bytes();
  facts.kv_bytes = kv->bytes();
  for (const Program* each : {&decode_program, &prefill_program}) {
    facts.arena_bytes += each->arena_bytes + each->hidden_bytes;
  }
  facts.scratch_bytes = decode->memory_bytes() + prefill->memory_bytes() - facts.arena_bytes;
  facts.decode_launches = decode_program.launches.size();
  facts.prefill_launches = prefill_program.launches.size();
  facts.decode_weight_bytes = weight_bytes_read(decode_program);
  return {};
}

Session::Session(std::unique_ptr<State> state) : state_(std::move(state)) {}
Session::~Session() = default;

const Model& Session::model() const { return state_->model; }

const SessionFacts& Session::facts() const { return state_->facts; }

const Program& Session::program(Mode mode) const {
  return mode == Mode::Decode ? state_->decode_program : state_->prefill_program;
}

Result<std::unique_ptr<Sequence>> Session::start() {
  return std::unique_ptr<Sequence>(
      new Sequence(std::make_unique<Sequence::State>(*state_)));
}

}  // namespace soma
