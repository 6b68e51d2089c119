// The model object.
#pragma once

#include "abi/runtime.hpp"
#include "model/model.hpp"

struct soma_model final : soma::wall::Object {
  static constexpr soma::wall::Tag kind = soma::wall::Tag::Model;
  soma_model(const soma_runtime* owner, soma::Model opened)
      : Object(kind, owner), model(std::move(opened)) {}

  const soma::Model model;
};

namespace soma::wall {

std::string model_facts(const Model& model);
std::string model_tensors(const Model& model);

}  // namespace soma::wall
