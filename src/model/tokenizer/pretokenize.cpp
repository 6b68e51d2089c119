// Cuts text into the pieces that byte-pair encoding works on, by a model family's patterns.
//
// The patterns are facts about the models: a family was trained on text cut in this way, so its
// tokens are right only for the same cuts. They are applied by PCRE2, with stand-ins for the
// characters that its Unicode judges differently.
//
// Cost: every pattern takes its pieces from left to right and never looks further than the white
// space it stands in, so steps are linear in the text. That is enforced, not trusted: PCRE2 gets a
// budget of steps for each match. The text is checked to be UTF-8 once by the caller; PCRE2, which
// would check all the rest again at every match, is told not to.
#include "model/tokenizer/pretokenize.hpp"

#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>

#include <algorithm>
#include <limits>
#include <new>

#include "model/tokenizer/stand_ins.hpp"

namespace soma {

// ---- The families

namespace {

// Every number is a piece of its own.
constexpr std::string_view single_digits = R"(\p{N}|\P{N}+)";

// Contractions; then words, numbers and the rest, each with the one space before it; white space,
// whose last character is left to what comes behind.
constexpr std::string_view gpt2 =
    R"('s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+)";

// Contractions in either case; words with any one sign before them; numbers in groups of up to
// three, or one by one; signs with the line ends behind them; line ends with the white space before
// them; white space as above.
constexpr std::string_view llama3 =
    R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}|)"
    R"( ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)";
constexpr std::string_view qwen2 =
    R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}|)"
    R"( ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)";

constexpr std::string_view gpt2_patterns[] = {gpt2};
constexpr std::string_view llama3_patterns[] = {llama3};
constexpr std::string_view qwen2_patterns[] = {qwen2};
constexpr std::string_view smollm_patterns[] = {single_digits, gpt2};

constexpr CuttingRule rules[] = {
    {.name = "gpt-2", .patterns = gpt2_patterns},
    {.name = "llama-bpe",
     .patterns = llama3_patterns,
     .whole_piece_first = true,
     .adds_begin_token = true},
    {.name = "qwen2", .patterns = qwen2_patterns},
    {.name = "smollm", .patterns = smollm_patterns, .newer_digits = true},
};

}  // namespace

const CuttingRule* find_cutting_rule(std::string_view name) {
  const auto rule = std::find_if(std::begin(rules), std::end(rules),
                                 [&](const CuttingRule& row) { return row.name == name; });
  return rule == std::end(rules) ? nullptr : rule;
}

std::string cutting_rule_names() {
  std::string names;
  for (const CuttingRule& rule : rules) {
    if (!names.empty()) names += ", ";
    names += rule.name;
  }
  return names;
}

// ---- PCRE2

namespace {

// PCRE2 takes its memory from the library's operator new, so that the host's allocator serves it.
// It is C: an exception must not cross it, and it reports a null pointer as exhausted memory.
void* allocate(size_t size, void*) {
  try {
    return ::operator new(size);
  } catch (const std::bad_alloc&) {
    return nullptr;
  }
}
void release(void* block, void*) { ::operator delete(block); }

template <auto free_function>
struct Freed {
  template <typename T>
  void operator()(T* object) const { free_function(object); }
};
using General = std::unique_ptr<pcre2_general_context, Freed<pcre2_general_context_free>>;
using Compile = std::unique_ptr<pcre2_compile_context, Freed<pcre2_compile_context_free>>;

Error exhausted() { return fail(Reason::out_of_memory, "no memory to cut text into pieces"); }

}  // namespace

void Pretokenizer::Release::operator()(pcre2_code* code) const { pcre2_code_free(code); }
void Cutter::Release::operator()(pcre2_match_context* context) const {
  pcre2_match_context_free(context);
}
void Cutter::Release::operator()(pcre2_match_data* data) const { pcre2_match_data_free(data); }

Result<Pretokenizer> Pretokenizer::compile(const CuttingRule& rule) {
  const General general(pcre2_general_context_create(allocate, release, nullptr));
  if (!general) return exhausted();
  const Compile context(pcre2_compile_context_create(general.get()));
  if (!context) return exhausted();
  Pretokenizer pretokenizer;
  pretokenizer.newer_digits_ = rule.newer_digits;
  for (const std::string_view pattern : rule.patterns) {
    int code = 0;
    size_t offset = 0;
    // Owned before the vector grows, which may find no memory.
    std::unique_ptr<pcre2_code, Release> stage(pcre2_compile(
        reinterpret_cast<PCRE2_SPTR>(pattern.data()), pattern.size(),
        PCRE2_UTF | PCRE2_UCP | PCRE2_NEVER_BACKSLASH_C, &code, &offset, context.get()));
    if (stage) {
      pretokenizer.stages_.push_back(std::move(stage));
      continue;
    }
    if (code == PCRE2_ERROR_HEAP_FAILED) return exhausted();
    return fail(Reason::internal, "PCRE2 refuses the pattern '{}' at offset {} with error {}",
                pattern, offset, code);
  }
  return pretokenizer;
}

Result<Cutter> Cutter::make(const Pretokenizer& pretokenizer) {
  const General general(pcre2_general_context_create(allocate, release, nullptr));
  if (!general) return exhausted();
  Cutter cutter(pretokenizer);
  cutter.context_.reset(pcre2_match_context_create(general.get()));
  cutter.match_.reset(pcre2_match_data_create(1, general.get()));
  if (!cutter.context_ || !cutter.match_) return exhausted();
  // The patterns have no nested repeats: their depth and backtracking memory are small constants.
  pcre2_set_depth_limit(cutter.context_.get(), 1000);
  pcre2_set_heap_limit(cutter.context_.get(), 1024);  // KiB
  return cutter;
}

Status Cutter::cut(std::string_view text, std::vector<std::string_view>& pieces) {
  const auto replaced = with_stand_ins(text, pretokenizer_->newer_digits_);
  if (!replaced) return cut_stage(0, text, pieces);
  const size_t first = pieces.size();
  SOMA_TRY(cut_stage(0, *replaced, pieces));
  size_t at = 0;
  for (size_t i = first; i < pieces.size(); ++i) {
    pieces[i] = text.substr(at, pieces[i].size());
    at += pieces[i].size();
  }
  return {};
}

// Cuts `text` by one pattern and each piece by the patterns after it. A match sees the piece alone,
// not what surrounds it: white space before a cut is at the end of its piece.
Status Cutter::cut_stage(size_t stage, std::string_view text,
                         std::vector<std::string_view>& pieces) {
  if (stage == pretokenizer_->stages_.size()) {
    if (!text.empty()) pieces.push_back(text);
    return {};
  }
  constexpr u64 steps_max = std::numeric_limits<u32>::max();
  while (!text.empty()) {
    const u64 steps = std::min<u64>(1000 + 4 * u64{text.size()}, steps_max);
    pcre2_set_match_limit(context_.get(), static_cast<u32>(steps));
    const int code = pcre2_match(pretokenizer_->stages_[stage].get(),
                                 reinterpret_cast<PCRE2_SPTR>(text.data()), text.size(), 0,
                                 PCRE2_NO_UTF_CHECK | PCRE2_NOTEMPTY, match_.get(), context_.get());
    if (code == PCRE2_ERROR_NOMATCH) return cut_stage(stage + 1, text, pieces);
    if (code == PCRE2_ERROR_NOMEMORY) return exhausted();
    if (code < 0) {
      return fail(Reason::tokenizer_limit,
                  "cutting {} bytes of text into pieces took more than {} steps (PCRE2 error {})",
                  text.size(), steps, code);
    }
    // Copied: the next stage's matches write over them.
    const size_t begin = pcre2_get_ovector_pointer(match_.get())[0];
    const size_t end = pcre2_get_ovector_pointer(match_.get())[1];
    SOMA_TRY(cut_stage(stage + 1, text.substr(0, begin), pieces));
    SOMA_TRY(cut_stage(stage + 1, text.substr(begin, end - begin), pieces));
    text.remove_prefix(end);
  }
  return {};
}

}  // namespace soma
