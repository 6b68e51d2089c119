// A model file opened and understood: hyper-parameters, tensors, tokenizer. Immutable; its tensors
// stay where the file put them (mapped), and sessions pack their own copies from them.
#pragma once

#include "base/core.hpp"
#include "base/file.hpp"
#include "circuit/circuit.hpp"
#include "model/gguf/gguf.hpp"
#include "model/tokenizer/tokenizer.hpp"

namespace soma {

// What every decoder family needs to be told about itself.
struct HyperParameters {
  std::string architecture;   // "llama"
  std::string name;           // general.name, may be empty
  i64 layers = 0;
  i64 hidden = 0;             // width of the residual stream
  i64 feed_forward = 0;
  i64 heads = 0;
  i64 kv_heads = 0;
  i64 head_dim = 0;
  i64 vocabulary = 0;
  i64 context = 0;            // positions the model was trained for
  double norm_epsilon = 0;
  double rope_base = 10000;
  i64 rope_dims = 0;          // rotated columns of a head, from its start
  bool rope_adjacent = true;  // pairs (2i, 2i+1); else halves (i, i + rope_dims/2)
  bool tied_head = false;     // the head reads the token embedding
};

class Model {
 public:
  // Opens, parses, and makes every check that can be made before weights are packed: structure,
  // architecture, hyper-parameters, tensors (names, shapes, formats), tokenizer. All problems of
  // one kind are collected into one error.
  static Result<Model> open(const std::string& path, LoadMode mode);
  static Result<Model> parse(FileBytes bytes);  // the same for a file that is in memory

  const HyperParameters& parameters() const { return parameters_; }
  const gguf::File& file() const { return file_; }
  const FileBytes& bytes() const { return bytes_; }
  const Tokenizer& tokenizer() const { return *tokenizer_; }
  // The family's circuit; weight nodes are bound to the file's tensor names and formats.
  const Circuit& circuit() const { return circuit_; }

 private:
  Model(FileBytes bytes, gguf::File file);
  FileBytes bytes_;
  gguf::File file_;
  HyperParameters parameters_;
  std::optional<Tokenizer> tokenizer_;
  Circuit circuit_;
};

}  // namespace soma
