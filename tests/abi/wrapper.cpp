// Proves that soma.hpp wraps what it says: results in containers, failures as exceptions with all
// that was found, callbacks that may throw, objects that may be copied and dropped in any order.
//
// usage: wrapper MODEL
#include <soma/soma.hpp>

#include <algorithm>
#include <cstdio>
#include <optional>
#include <thread>

namespace {

int passed = 0, failed = 0;

void check(bool holds, const char* what, int line) {
  ++(holds ? passed : failed);
  if (!holds) std::fprintf(stderr, "FAIL wrapper.cpp:%d: %s\n", line, what);
}
#define CHECK(condition) check(condition, #condition, __LINE__)

// The reason of the soma::error that a call throws, or "" if it throws none.
template <typename Call>
std::string reason_of(Call call) {
  try {
    call();
  } catch (const soma::error& error) {
    return error.reason();
  }
  return "";
}

void test_options(const soma::runtime& runtime) {
  soma::options settings("generate");
  settings.set("top_k", 5u).set("tokens", 8LL).set("seed", std::size_t{7}).set("temperature", 0.5);
  settings.set("ignore_end", true).set("top_p", 1.0).set("penalty_window", short{3});
  CHECK(reason_of([&] { settings.set("tokens", UINT64_MAX); }) == "option.range");
  CHECK(reason_of([&] { settings.set("no such", 1); }) == "option.unknown");
  CHECK(!settings.describe().empty());
  CHECK(runtime.facts().find("threads") != std::string::npos);
}

void test_errors(const soma::model& model) {
  soma::options settings("session");
  settings.set("context", 100000).set("prefill_rows", 8);
  try {
    const soma::session session(model, settings);
    CHECK(false);
  } catch (const soma::error& error) {
    CHECK(error.code() == SOMA_OUT_OF_RANGE);
    CHECK(error.reason() == "option.range");
    CHECK(std::string(error.what()).find("context") != std::string::npos);
    CHECK(!error.details().empty());
  }
}

void test_generate(const soma::session& session) {
  soma::sequence sequence(session);
  const soma::sequence::tokens prompt = {5, 6, 7, 8};
  soma::options settings("generate");
  settings.set("tokens", 6).set("ignore_end", true);
  int calls = 0;
  const auto count = [&](std::int32_t, std::string_view) { return ++calls > 0; };
  const std::string whole = sequence.generate(prompt, settings, count);
  CHECK(calls == 6);
  CHECK(whole.find("\"finish\":\"length\"") != std::string::npos);
  CHECK(sequence.length() == 9);
  soma::sequence thrower(session);
  bool thrown = false;
  try {
    (void)thrower.generate(prompt, settings, [](std::int32_t, std::string_view) -> bool {
      throw std::runtime_error("mine");
    });
  } catch (const std::runtime_error& error) {
    thrown = std::string(error.what()) == "mine";
  }
  CHECK(thrown);
}

void test_steps(std::optional<soma::session>& session) {
  soma::sequence sequence(*session);
  sequence.prefill({5, 6, 7});
  soma::sequence fork = sequence.fork();
  session.reset();  // the sequences keep it
  fork.decode(8);
  const soma::tensor logits = sequence.logits();
  CHECK(logits.shape().size() == 2 && logits.shape()[0] == 1);
  const std::int32_t token = sequence.sample();
  CHECK(token >= 0 && token < logits.shape()[1]);
  const float* row = logits.data();
  CHECK(row[token] == *std::max_element(row, row + logits.shape()[1]));
  CHECK(fork.held() == (soma::sequence::tokens{5, 6, 7, 8}));
  fork.truncate(1);
  CHECK(fork.length() == 1 && sequence.length() == 3);
  CHECK(reason_of([&] { (void)fork.logits(); }) == "session.logits.absent");
}

void test_cancel(const soma::runtime& runtime, const soma::session& session) {
  const soma::cancel stop(runtime);
  soma::sequence sequence(session);
  std::thread other([stop] { stop.request(); });
  other.join();
  try {
    sequence.prefill({5, 6}, SOMA_LOGITS_LAST, stop);
    CHECK(false);
  } catch (const soma::error& error) {
    CHECK(error.code() == SOMA_CANCELLED);
  }
  CHECK(sequence.length() == 0);
}

}  // namespace

int main(int count, char** arguments) {
  if (count < 2) return 2;
  const soma::runtime runtime(soma::options("runtime").set("threads", 2));
  test_options(runtime);
  const soma::model model(runtime, arguments[1]);
  test_errors(model);
  CHECK(!model.facts().empty() && !model.tensors().empty());
  const std::vector<std::int32_t> tokens = model.tokenize("hello", 0);
  CHECK(!tokens.empty() && model.detokenize(tokens) == "hello");
  CHECK(reason_of([&] { (void)soma::model(runtime, "/no/such/file"); }) == "file.not_found");
  std::optional<soma::session> session;
  session.emplace(model, soma::options("session").set("context", 64));
  test_generate(*session);
  test_cancel(runtime, *session);
  test_steps(session);
  std::printf("%d passed, %d failed\n", passed, failed);
  return failed != 0;
}
