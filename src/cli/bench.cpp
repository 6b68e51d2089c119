// soma bench: prefill and decode speed on this machine, beside what its memory can deliver.
#include <algorithm>
#include <cstdio>
#include <memory>

#include "cli/engine.hpp"
#include "cli/verbs.hpp"

namespace cli {

namespace {

struct BenchVerb {
  EngineFlags engine;
  int prompt = 512, tokens = 128, rounds = 3;
  bool json = false;
};

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  const size_t middle = values.size() / 2;
  return values.size() % 2 == 1 ? values[middle] : (values[middle - 1] + values[middle]) / 2;
}

// Ids that differ, without a meaning: speed does not depend on which they are.
std::vector<int32_t> some_tokens(size_t count, double vocabulary) {
  std::vector<int32_t> tokens(count);
  uint64_t state = 1;
  for (int32_t& token : tokens) {
    state = state * 6364136223846793005ULL + 1442695040888963407ULL;
    token = static_cast<int32_t>((state >> 33) % static_cast<uint64_t>(vocabulary));
  }
  return tokens;
}

double prefill_rate(const Engine& engine, const std::vector<int32_t>& tokens) {
  const Sequence sequence = make_sequence(engine.session);
  const double start = seconds_now();
  check([&](soma_error** error) {
    return soma_sequence_prefill(sequence, tokens.data(), tokens.size(), SOMA_LOGITS_LAST,
                                 engine.cancel, error);
  });
  return static_cast<double>(tokens.size()) / (seconds_now() - start);
}

double decode_rate(const Engine& engine, const std::vector<int32_t>& tokens) {
  const Sequence sequence = make_sequence(engine.session);
  soma_sequence* raw = sequence;
  const double start = seconds_now();
  for (const int32_t& token : tokens) {
    check([&](soma_error** error) {
      return soma_sequence_decode(&raw, &token, 1, engine.cancel, error);
    });
  }
  return static_cast<double>(tokens.size()) / (seconds_now() - start);
}

double read_bytes_per_s(const Engine& engine) {
  const Json measured = blob_json([&](soma_blob** out, soma_error** error) {
    return soma_runtime_measure(engine.runtime, "read_bandwidth", SOMA_NUL, engine.cancel, out,
                                error);
  });
  return measured.number("bytes_per_s");
}

void run(BenchVerb verb) {
  if (verb.engine.context.empty()) {
    verb.engine.context = std::to_string(std::max(verb.prompt, verb.tokens));
  }
  const Engine engine = make_engine(verb.engine, false);
  const Json facts = blob_json([&](soma_blob** out, soma_error** error) {
    return soma_session_facts(engine.session, out, error);
  });
  const Json model = blob_json([&](soma_blob** out, soma_error** error) {
    return soma_model_facts(engine.model, out, error);
  });
  const double vocabulary = model.object("tokenizer").number("vocabulary");
  const std::vector<int32_t> prompt = some_tokens(static_cast<size_t>(verb.prompt), vocabulary);
  const std::vector<int32_t> decoded = some_tokens(static_cast<size_t>(verb.tokens), vocabulary);
  std::vector<double> prefill, decode, read;
  uint64_t peak_bytes = 0;
  prefill_rate(engine, {prompt.begin(), prompt.begin() + 1});  // faults the pages in
  for (int round = 0; round < verb.rounds; ++round) {
    prefill.push_back(prefill_rate(engine, prompt));
    decode.push_back(decode_rate(engine, decoded));
    if (round == 0) peak_bytes = peak_memory_bytes();  // without the block that reading is timed on
    read.push_back(read_bytes_per_s(engine));
  }
  const double token_bytes = facts.number("decode_read_bytes");
  const double share = median(decode) * token_bytes / median(read);
  Json out = Json::object();
  out.add("kernel_set", facts.text("kernel_set")).add("threads", facts.number("threads"));
  out.add("load_s", engine.load_s).add("prefill_tok_s", median(prefill));
  out.add("decode_tok_s", median(decode)).add("read_gb_s", median(read) / 1e9);
  out.add("decode_bytes_per_token", token_bytes).add("decode_read_share", share);
  out.add("peak_bytes", static_cast<double>(peak_bytes));
  if (verb.json) {
    std::printf("%s\n", out.print().c_str());
    return;
  }
  std::printf("%s, %.0f threads: load %.3f s, prefill %d %.0f tok/s, decode %d %.0f tok/s, "
              "%.0f %% of the %.1f GB/s that reading reaches, peak %.1f MiB\n",
              out.text("kernel_set").c_str(), out.number("threads"), engine.load_s, verb.prompt,
              median(prefill), verb.tokens, median(decode), 100 * share, median(read) / 1e9,
              out.number("peak_bytes") / 1048576);
}

}  // namespace

void add_bench(CLI::App& app) {
  auto verb = std::make_shared<BenchVerb>();
  CLI::App* sub = app.add_subcommand("bench", "Measure prefill, decode and read bandwidth");
  add_engine_flags(*sub, verb->engine, true);
  const CLI::Range positive(1, 1 << 20);
  sub->add_option("-p,--prompt", verb->prompt, "tokens to prefill")->check(positive);
  sub->add_option("-n,--tokens", verb->tokens, "tokens to decode")->check(positive);
  sub->add_option("-r,--rounds", verb->rounds, "rounds; medians are printed")->check(positive);
  sub->add_flag("--json", verb->json, "print one JSON object");
  sub->callback([verb] { run(*verb); });
}

}  // namespace cli
