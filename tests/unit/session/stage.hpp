// A model, a team and a session on them: what the tests of this folder play on.
#pragma once

#include <doctest/doctest.h>

#include <cstdlib>
#include <cstring>

#include "session/session.hpp"

namespace soma::test {

inline std::string tiny_path(const std::string& format) {
  const char* folder = std::getenv("SOMA_TINY_DIR");
  REQUIRE_MESSAGE(folder != nullptr, "SOMA_TINY_DIR names the folder of the tiny models");
  return std::string(folder) + "/tiny-" + format + ".gguf";
}

inline std::string real_path() {
  const char* path = std::getenv("SOMA_TEST_MODEL");
  REQUIRE_MESSAGE(path != nullptr, "SOMA_TEST_MODEL names the model file");
  return path;
}

template <typename T>
T must(Result<T> result) {
  REQUIRE_MESSAGE(result.ok(), (result.ok() ? std::string() : result.error().message()));
  return std::move(result).value();
}
inline void must(Status status) {
  REQUIRE_MESSAGE(status.ok(), (status.ok() ? std::string() : status.error().message()));
}

struct Stage {
  std::unique_ptr<Team> team;
  std::unique_ptr<Model> model;
  std::unique_ptr<Session> session;

  explicit Stage(const std::string& path, const SessionOptions& options = {}, i32 threads = 1)
      : team(must(Team::create(threads))),
        model(std::make_unique<Model>(must(Model::open(path, LoadMode::Map)))),
        session(must(Session::create(*model, *team, options, {}, nullptr))) {}

  std::unique_ptr<Sequence> start() { return must(session->start()); }
};

inline SessionOptions small_options() {
  SessionOptions options;
  options.context = 100;
  options.sequences = 2;
  options.prefill_rows = 24;
  return options;
}

// Ordinary tokens of the tiny models.
inline std::vector<TokenId> tiny_tokens(size_t count) {
  std::vector<TokenId> out;
  for (size_t i = 0; i < count; ++i) out.push_back(static_cast<TokenId>(3 + i * 37 % 290));
  return out;
}

// All rows' logits of an append, copied.
inline std::vector<float> logits_of(const Sequence& sequence) {
  const std::span<const float> all = must(sequence.logits());
  return {all.begin(), all.end()};
}

inline bool same_bytes(std::span<const float> a, std::span<const float> b) {
  return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size_bytes()) == 0;
}

}  // namespace soma::test
