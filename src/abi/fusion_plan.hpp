// The stations between a model and its program: circuit, fusion plan, buffer plan, program. Each
// object holds copies of what it needs, so that what it was made from may go.
#pragma once

#include "abi/runtime.hpp"
#include "circuit/program/launch.hpp"

struct soma_circuit final : soma::wall::Object {
  static constexpr soma::wall::Tag kind = soma::wall::Tag::Circuit;
  soma_circuit(const soma_runtime* owner, soma::Circuit made)
      : Object(kind, owner), circuit(std::move(made)) {}

  const soma::Circuit circuit;
};

struct soma_fusion_plan final : soma::wall::Object {
  static constexpr soma::wall::Tag kind = soma::wall::Tag::FusionPlan;
  soma_fusion_plan(const soma_runtime* owner, soma::Circuit resolved, soma::FusionPlan made)
      : Object(kind, owner), circuit(std::move(resolved)), plan(std::move(made)) {}

  const soma::Circuit circuit;  // with the policy's activation formats explicit
  const soma::FusionPlan plan;
};

struct soma_buffer_plan final : soma::wall::Object {
  static constexpr soma::wall::Tag kind = soma::wall::Tag::BufferPlan;
  soma_buffer_plan(const soma_fusion_plan& of, soma::Layout laid_out, soma::BufferPlan placed)
      : Object(kind, of.runtime),
        circuit(of.circuit),
        plan(of.plan),
        layout(std::move(laid_out)),
        buffers(std::move(placed)) {}

  const soma::Circuit circuit;
  const soma::FusionPlan plan;
  const soma::Layout layout;
  const soma::BufferPlan buffers;
};

struct soma_program final : soma::wall::Object {
  static constexpr soma::wall::Tag kind = soma::wall::Tag::Program;
  soma_program(const soma_runtime* owner, soma::Program made)
      : Object(kind, owner), program(std::move(made)) {}

  const soma::Program program;
};
