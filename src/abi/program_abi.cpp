// soma_program_*: launches as data.
#include <map>

#include "abi/blob.hpp"
#include "abi/guard.hpp"
#include "abi/fusion_plan.hpp"
#include "base/json_writer.hpp"

using namespace soma;
using namespace soma::wall;

namespace {

std::string facts(const Program& program) {
  std::map<std::string_view, u64> kernels;
  u64 barriers = 0;
  for (const Launch& launch : program.launches) {
    ++kernels[launch.kernel];
    barriers += launch.barrier_before;
  }
  JsonWriter json;
  json.object()
      .field("digest", program.digest)
      .field("plan_digest", program.plan_digest)
      .field("mode", mode_name(program.request.mode))
      .field("rows", program.request.rows_max)
      .field("policy", policy_name(program.request.policy))
      .field("launches", program.launches.size())
      .field("barriers", barriers)
      .field("weights", program.weights.size());
  json.key("kernels").object();
  for (const auto& [name, count] : kernels) json.field(name, count);
  json.close()
      .field("arena_bytes", program.arena_bytes)
      .field("hidden_bytes", program.hidden_bytes)
      .field("logits_row_bytes", program.logits_row_bytes)
      .field("kv_format", format_info(program.kv_format).name)
      .close();
  return std::move(json).take();
}

}  // namespace

soma_code soma_program_create(const soma_buffer_plan* plan, soma_program** out,
                              soma_error** error) noexcept {
  return produce(plan, out, error, [&]() -> Result<Ref<soma_program>> {
    SOMA_ASSIGN(Program program,
                compile_program(plan->circuit, plan->plan, plan->layout, plan->buffers));
    return make<soma_program>(plan->runtime, std::move(program));
  });
}

soma_code soma_program_facts(const soma_program* program, soma_blob** out,
                             soma_error** error) noexcept {
  return produce(program, out, error, [&]() -> Result<Ref<soma_blob>> {
    return make_blob(program->runtime, facts(program->program));
  });
}

soma_code soma_program_dump(const soma_program* program, soma_blob** out,
                            soma_error** error) noexcept {
  return produce(program, out, error, [&]() -> Result<Ref<soma_blob>> {
    return make_blob(program->runtime, program->program.dump());
  });
}

void soma_program_retain(const soma_program* program) noexcept { retain(program); }
void soma_program_release(const soma_program* program) noexcept { release(program); }
