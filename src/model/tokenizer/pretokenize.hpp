// Cuts text into the pieces that byte-pair encoding works on, by a model family's patterns.
#pragma once

#include "base/core.hpp"

struct pcre2_real_code_8;  // PCRE2's own names: its header stays out of ours
struct pcre2_real_match_context_8;
struct pcre2_real_match_data_8;

namespace soma {

// How the models of one family cut text, by its name in tokenizer.ggml.pre.
struct CuttingRule {
  std::string_view name;
  // Applied one after another: each pattern cuts every piece that the one before left.
  std::span<const std::string_view> patterns;
  bool whole_piece_first = false;  // a piece that is a token is not built by merges
  bool adds_begin_token = false;   // what the file's silence about it means
  bool newer_digits = false;       // numbers of Unicode 17 are split off, not only those of 16
};
// The rule of this name, or nullptr.
const CuttingRule* find_cutting_rule(std::string_view name);
std::string cutting_rule_names();  // for messages: "a, b, c"

// Compiled patterns. Immutable: many threads may cut with one at once.
class Pretokenizer {
 public:
  // internal for a pattern that doesn't compile; out_of_memory.
  static Result<Pretokenizer> compile(const CuttingRule& rule);

 private:
  friend class Cutter;
  struct Release {
    void operator()(pcre2_real_code_8* code) const;
  };
  std::vector<std::unique_ptr<pcre2_real_code_8, Release>> stages_;
  bool newer_digits_ = false;
};

// The working memory of one call on one thread.
class Cutter {
 public:
  // The pretokenizer must live as long. out_of_memory.
  static Result<Cutter> make(const Pretokenizer& pretokenizer);

  // Appends views of the pieces of `text` to `pieces`; together they are all of it. `text` must be
  // valid UTF-8: that is not checked again. tokenizer_limit when a pattern takes more than a
  // fixed number of steps a byte.
  Status cut(std::string_view text, std::vector<std::string_view>& pieces);

 private:
  struct Release {
    void operator()(pcre2_real_match_context_8* context) const;
    void operator()(pcre2_real_match_data_8* data) const;
  };
  explicit Cutter(const Pretokenizer& pretokenizer) : pretokenizer_(&pretokenizer) {}
  Status cut_stage(size_t stage, std::string_view text, std::vector<std::string_view>& pieces);

  const Pretokenizer* pretokenizer_;
  std::unique_ptr<pcre2_real_match_context_8, Release> context_;
  std::unique_ptr<pcre2_real_match_data_8, Release> match_;
};

}  // namespace soma
