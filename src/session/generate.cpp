// Generating text: prefill, then one token after another, each chosen inside the step before it.
#include <algorithm>

#include "base/clock.hpp"
#include "session/state.hpp"

namespace soma {

namespace {

constexpr double seconds_of_ns = 1e-9;
constexpr i64 reserved_max = 4096;  // tokens: a longer text grows into its memory
constexpr size_t reserved_bytes_of_token = 6;

double since(i64 start_ns) { return static_cast<double>(now_ns() - start_ns) * seconds_of_ns; }

}  // namespace

Result<GenerateResult> generate(Sequence& sequence, std::span<const TokenId> prompt,
                                const GenerateOptions& options, OnToken on_token,
                                Session::Progress progress, const Cancel* cancel) {
  if (options.tokens_max < 0) {
    return fail(Reason::option_range, "the number of tokens to generate is {}, expected 0 or more",
                options.tokens_max);
  }
  Sequence::State& state = *sequence.state_;
  const Tokenizer& tokenizer = state.session.model.tokenizer();
  const i64 context = state.session.facts.context;
  const i64 start_ns = now_ns();
  GenerateResult result;
  const auto likely = static_cast<size_t>(std::min({options.tokens_max, context, reserved_max}));
  result.tokens.reserve(likely);
  result.text.reserve(likely * reserved_bytes_of_token);

  Sequence::State::Wish wish = {
      .sampling = &options.sampling, .cancel = cancel, .progress = progress};
  SOMA_ASSIGN(TokenId token, state.append(prompt, wish));
  result.prefill_s = since(start_ns);
  wish.progress = {};

  TextStream stream;
  while (options.tokens_max > 0) {
    SOMA_TRY(state.check_chosen(token));
    result.tokens.push_back(token);
    const bool ends = !options.ignore_end && tokenizer.ends_generation(token);
    const bool full = state.length() == context;
    const bool more = !ends && !full && static_cast<i64>(result.tokens.size()) < options.tokens_max;
    if (!more) result.finish = ends ? Finish::End : full ? Finish::ContextFull : Finish::Length;
    SOMA_ASSIGN(const std::string piece, tokenizer.piece(token, false));
    std::string text = stream.push(piece);
    if (!more) text += stream.finish();
    result.text += text;
    if (result.tokens.size() == 1) result.first_token_s = since(start_ns);
    if (on_token.call != nullptr && !on_token.call(on_token.user, token, text)) {
      result.finish = Finish::Stopped;
      result.text += stream.finish();
      break;
    }
    if (!more) break;
    SOMA_ASSIGN(token, state.append({&token, 1}, wish));
  }
  result.decode_s = since(start_ns) - result.prefill_s;
  return result;
}

}  // namespace soma
