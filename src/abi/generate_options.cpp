// Reads options that say how to generate.
#include "abi/generate_options.hpp"

namespace soma::wall {

// The table of options keeps each within its field's range.
Sampling sampling_option(const Settings& settings) {
  Sampling sampling;
  sampling.temperature = static_cast<float>(settings.number("temperature"));
  sampling.top_k = static_cast<i32>(settings.integer("top_k"));
  sampling.top_p = static_cast<float>(settings.number("top_p"));
  sampling.min_p = static_cast<float>(settings.number("min_p"));
  sampling.repetition_penalty = static_cast<float>(settings.number("repetition_penalty"));
  sampling.penalty_window = static_cast<i32>(settings.integer("penalty_window"));
  sampling.seed = static_cast<u64>(settings.integer("seed"));
  sampling.stream = static_cast<u64>(settings.integer("stream"));
  return sampling;
}

GenerateOptions generate_option(const Settings& settings) {
  GenerateOptions wanted;
  wanted.sampling = sampling_option(settings);
  wanted.tokens_max = settings.integer("tokens");
  wanted.ignore_end = settings.truth("ignore_end");
  return wanted;
}

}  // namespace soma::wall
