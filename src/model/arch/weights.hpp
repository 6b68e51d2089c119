// Looks up an architecture's tensors in a file, and collects all that is wrong with them.
#pragma once

#include "base/problems.hpp"
#include "circuit/circuit.hpp"
#include "model/gguf/gguf.hpp"

namespace soma {

// Each call names a tensor that the architecture needs and gives the reference that a circuit node
// takes, with the format that the file has. A tensor with a problem gives a reference all the same,
// so that all are found before finish() reports them.
class WeightBinder {
 public:
  explicit WeightBinder(const gguf::File& file);

  WeightRef vector(std::string name, i64 width);               // f32
  WeightRef matrix(std::string name, i64 rows, i64 columns);   // any format that has kernels
  bool has(std::string_view name) const { return file_.find_tensor(name) != nullptr; }
  // model_unsupported, saying why, if the file has the tensor.
  void refuse(std::string_view name, std::string_view why);

  // Tensors that nobody asked for are problems too.
  Status finish() &&;

 private:
  WeightRef bind(std::string name, i64 rows, i64 columns, bool is_vector);
  // Whether the tensor is there; marks it as known.
  const gguf::Tensor* take(std::string_view name);

  const gguf::File& file_;
  std::vector<bool> known_;  // by the tensor's index in the file
  Problems problems_;
};

}  // namespace soma
