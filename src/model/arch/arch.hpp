// The model families: how each one's metadata becomes hyper-parameters and its circuit.
#pragma once

#include "model/model.hpp"

namespace soma {

// One family. Both functions are pure: the file's metadata and tensor table in, a value out.
struct Family {
  std::string_view name;  // the value of general.architecture

  // model_key_missing, model_key_type, model_parameter, model_unsupported: all there are, in one
  // error.
  Result<HyperParameters> (*read)(const gguf::File& file);

  // Binds every tensor on the way. model_tensor_*, model_unsupported: all there are, in one error.
  Result<Circuit> (*build)(const HyperParameters& parameters, const gguf::File& file);
};

std::span<const Family> families();

Result<HyperParameters> read_llama(const gguf::File& file);
Result<Circuit> build_llama(const HyperParameters& parameters, const gguf::File& file);

}  // namespace soma
