// Fuzzes all checks of a model file: any bytes become a model with a valid circuit and a tokenizer
// that takes text, or give an error.
//
// The checks look at where tensor data lie, not at what they are. So the target puts zeros behind
// every input: heads of files are whole inputs then, and no mutation is spent on weights.
#include <cstring>
#include <vector>

#include "model/model.hpp"

extern "C" int LLVMFuzzerTestOneInput(const unsigned char* data, size_t size) {
  using namespace soma;
  constexpr size_t data_bytes = 128 << 10;  // what the tiny models need
  std::vector<u8> file(size + data_bytes);
  if (size != 0) std::memcpy(file.data(), data, size);
  Result<FileBytes> bytes = FileBytes::copy(file);
  if (!bytes.ok()) return 0;
  const Result<Model> model = Model::parse(std::move(bytes).value());
  if (!model.ok()) return 0;
  if (!model->circuit().validate().ok()) __builtin_trap();
  const Result<std::vector<TokenId>> ids = model->tokenizer().encode("Hello, 12 wörlds\n\n", true);
  if (!ids.ok()) return 0;
  for (const TokenId id : *ids) {
    if (!model->tokenizer().piece(id, true).ok()) __builtin_trap();
  }
  const Message turn = {"user", "hi"};
  static_cast<void>(model->tokenizer().chat({&turn, 1}));
  return 0;
}
