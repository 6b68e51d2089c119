// Reads an architecture's keys of a GGUF file and collects all that is wrong with them.
#pragma once

#include "base/problems.hpp"
#include "model/gguf/gguf.hpp"

namespace soma {

// After a problem the value that comes back is the lowest of its range: later checks that build on
// it stay defined, and finish() reports.
class KeyReader {
 public:
  // Keys are asked for without the prefix ("block_count"); the file has them with it ("llama.").
  KeyReader(const gguf::File& file, std::string_view prefix) : file_(file), prefix_(prefix) {}

  i64 whole(std::string_view key, i64 low, i64 high);            // model_key_missing if absent
  i64 whole_or(std::string_view key, i64 otherwise, i64 low, i64 high);
  double real(std::string_view key, double low, double high);    // model_key_missing if absent
  double real_or(std::string_view key, double otherwise, double low, double high);

  // A key that would change the computation in a way that is not built: refused by name unless it
  // is absent or has the value that changes nothing.
  void must_be(std::string_view key, double neutral);
  void must_be(std::string_view key, std::string_view neutral);

  // Two values contradict each other: model_parameter. Only the first counts, and only while every
  // key by itself is sound: what comes after would not be the file's fault.
  void contradiction(std::string_view what);

  bool has(std::string_view key) const { return find(key) != nullptr; }
  Status finish() && { return std::move(problems_).status(); }

 private:
  const gguf::Value* find(std::string_view key) const;
  void missing(std::string_view key);
  void mistyped(std::string_view key, std::string_view expected, const gguf::Value& value);

  const gguf::File& file_;
  std::string prefix_;
  Problems problems_;
};

}  // namespace soma
