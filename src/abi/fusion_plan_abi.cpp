// soma_fusion_plan_*, soma_buffer_plan_*: what runs together, and where values live.
#include "abi/blob.hpp"
#include "abi/guard.hpp"
#include "abi/fusion_plan.hpp"
#include "abi/plan_options.hpp"
#include "base/json_writer.hpp"

using namespace soma;
using namespace soma::wall;

namespace {

std::string facts(const FusionPlan& plan) {
  u64 absent = 0, fused = 0, materialized = 0;
  for (const EdgeState state : plan.edge_states) {
    absent += state == EdgeState::Absent;
    fused += state == EdgeState::Fused;
    materialized += state == EdgeState::Materialized;
  }
  JsonWriter json;
  json.object()
      .field("digest", plan.digest)
      .field("mode", mode_name(plan.request.mode))
      .field("rows", plan.request.rows_max)
      .field("policy", policy_name(plan.request.policy))
      .field("groups", plan.groups.size())
      .field("launches", plan.launches())
      .field("copies", plan.copies());
  json.key("edges")
      .object()
      .field("absent", absent)
      .field("fused", fused)
      .field("materialized", materialized)
      .close()
      .close();
  return std::move(json).take();
}

std::string facts(const BufferPlan& buffers) {
  JsonWriter json;
  json.object()
      .field("plan_digest", buffers.plan_digest)
      .field("slots", buffers.slots.size())
      .field("arena_bytes", buffers.arena_bytes)
      .field("lower_bound_bytes", buffers.lower_bound_bytes)
      .field("materialized_bytes", buffers.materialized_bytes)
      .field("hidden_bytes", buffers.hidden_bytes)
      .field("logits_row_bytes", buffers.logits_row_bytes)
      .close();
  return std::move(json).take();
}

}  // namespace

soma_code soma_fusion_plan_create(const soma_circuit* circuit, const soma_options* options,
                                  soma_fusion_plan** out, soma_error** error) noexcept {
  return produce(circuit, out, error, [&]() -> Result<Ref<soma_fusion_plan>> {
    SOMA_ASSIGN(const PlanOptions plan, PlanOptions::of(options));
    SOMA_ASSIGN(Circuit resolved, resolve_precision(circuit->circuit, plan.request.policy));
    SOMA_ASSIGN(FusionPlan fused,
                fuse(resolved, plan.rules, circuit->runtime->backend->caps().catalogue,
                     plan.request));
    return make<soma_fusion_plan>(circuit->runtime, std::move(resolved), std::move(fused));
  });
}

soma_code soma_fusion_plan_facts(const soma_fusion_plan* plan, soma_blob** out,
                                 soma_error** error) noexcept {
  return produce(plan, out, error, [&]() -> Result<Ref<soma_blob>> {
    return make_blob(plan->runtime, facts(plan->plan));
  });
}

soma_code soma_fusion_plan_dump(const soma_fusion_plan* plan, soma_blob** out,
                                soma_error** error) noexcept {
  return produce(plan, out, error, [&]() -> Result<Ref<soma_blob>> {
    return make_blob(plan->runtime, plan->plan.dump(plan->circuit));
  });
}

void soma_fusion_plan_retain(const soma_fusion_plan* plan) noexcept { retain(plan); }
void soma_fusion_plan_release(const soma_fusion_plan* plan) noexcept { release(plan); }

soma_code soma_buffer_plan_create(const soma_fusion_plan* plan, soma_buffer_plan** out,
                                  soma_error** error) noexcept {
  return produce(plan, out, error, [&]() -> Result<Ref<soma_buffer_plan>> {
    SOMA_ASSIGN(Layout layout, lay_out(plan->circuit, plan->plan));
    SOMA_ASSIGN(BufferPlan buffers, place(plan->circuit, plan->plan, layout));
    SOMA_TRY(verify_storage(plan->circuit, plan->plan, layout, buffers));
    return make<soma_buffer_plan>(*plan, std::move(layout), std::move(buffers));
  });
}

soma_code soma_buffer_plan_facts(const soma_buffer_plan* plan, soma_blob** out,
                                 soma_error** error) noexcept {
  return produce(plan, out, error, [&]() -> Result<Ref<soma_blob>> {
    return make_blob(plan->runtime, facts(plan->buffers));
  });
}

soma_code soma_buffer_plan_dump(const soma_buffer_plan* plan, soma_blob** out,
                                soma_error** error) noexcept {
  return produce(plan, out, error, [&]() -> Result<Ref<soma_blob>> {
    return make_blob(plan->runtime, plan->buffers.dump(plan->circuit));
  });
}

soma_code soma_buffer_plan_picture(const soma_buffer_plan* plan, soma_blob** out,
                                   soma_error** error) noexcept {
  return produce(plan, out, error, [&]() -> Result<Ref<soma_blob>> {
    return make_blob(plan->runtime, plan->buffers.picture(plan->circuit));
  });
}

void soma_buffer_plan_retain(const soma_buffer_plan* plan) noexcept { retain(plan); }
void soma_buffer_plan_release(const soma_buffer_plan* plan) noexcept { release(plan); }
