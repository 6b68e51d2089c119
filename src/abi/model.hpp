// The model object.
#pragma once

#include <mutex>

#include "abi/runtime.hpp"
#include "base/hash.hpp"
#include "model/model.hpp"

struct soma_model final : soma::wall::Object {
  static constexpr soma::wall::Tag kind = soma::wall::Tag::Model;
  soma_model(const soma_runtime* owner, soma::Model opened)
      : Object(kind, owner), model(std::move(opened)) {}

  // BLAKE2b-256 of the file. Reads all of it when it is first asked for.
  soma::DigestBytes content_digest() const;

  const soma::Model model;

 private:
  mutable std::mutex digesting_;           // guards:
  mutable std::optional<soma::DigestBytes> content_digest_;
};

namespace soma::wall {

std::string model_facts(const Model& model);
std::string model_tensors(const Model& model);

}  // namespace soma::wall
