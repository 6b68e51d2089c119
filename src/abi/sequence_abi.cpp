// soma_sequence_*: tokens that run on a session.
#include "abi/blob.hpp"
#include "abi/cancel.hpp"
#include "abi/generate_options.hpp"
#include "abi/guard.hpp"
#include "abi/session.hpp"
#include "abi/text_argument.hpp"
#include "base/json_writer.hpp"

using namespace soma;
using namespace soma::wall;

namespace {

// A call on a sequence: alone on it, not in a tick, and keeping it alive. At its end the length is
// there for all threads to see, and a tensor that the sequence no longer reads is let go.
class SequenceCall {
 public:
  Status begin(soma_sequence* sequence) {
    SOMA_TRY(refuse_in_tick(sequence->runtime));
    SOMA_TRY(claim_.take(sequence->in_call, soma_sequence::kind));
    sequence_ = Ref<soma_sequence>::share(sequence);
    return {};
  }
  ~SequenceCall() {
    if (!sequence_) return;
    sequence_->length.store(sequence_->sequence->length());
    if (sequence_->logits && !still_reads(*sequence_->sequence, *sequence_->logits)) {
      sequence_->logits = Ref<soma_tensor>();
    }
  }
  SequenceCall() = default;
  SequenceCall(SequenceCall&&) = default;
  SequenceCall& operator=(SequenceCall&&) = delete;

  Sequence& core() const { return *sequence_->sequence; }

 private:
  static bool still_reads(const Sequence& sequence, const soma_tensor& tensor) {
    if (sequence.logit_rows() == 0) return false;
    const Result<std::span<const float>> logits = sequence.logits();
    return logits.ok() && logits->data() == tensor.data.get();
  }

  Ref<soma_sequence> sequence_;
  Claim claim_;  // after the reference, so that it is dropped first
};

Status check_tokens(const i32* tokens, size_t count) {
  SOMA_TRY(check_array("tokens", tokens, count, sizeof *tokens));
  if (count != 0) return {};
  return fail(Reason::argument_range, "at least one token is needed, got none");
}

// What generate's two callbacks need.
struct Generation {
  const BlockingCall& call;
  soma_token_fn on_token;
  void* user;
  u64 prompt = 0, tokens_max = 0;  // for the tick
  u64 generated = 0;
  bool failed = false;             // on_token returned neither SOMA_CONTINUE nor SOMA_STOP
};

bool prefilled(void* user, u64 done, u64 total) {
  return static_cast<Generation*>(user)->call.report("prefill", done, total);
}

bool generated(void* user, TokenId token, std::string_view text) {
  auto& generation = *static_cast<Generation*>(user);
  ++generation.generated;
  if (const Cancel* cancel = generation.call.cancel()) {
    cancel->report("decode", generation.generated, generation.tokens_max);
  }
  if (!generation.on_token) return true;
  const i32 answer = generation.on_token(generation.user, token, text.data(), text.size());
  generation.failed = answer != SOMA_CONTINUE && answer != SOMA_STOP;
  return answer == SOMA_CONTINUE;
}

std::string_view finish_name(Finish finish) {
  switch (finish) {
    case Finish::End: return "end";
    case Finish::Length: return "length";
    case Finish::Stopped: return "stopped";
    case Finish::ContextFull: return "context_full";
  }
  return "";
}

std::string describe(const GenerateResult& result, size_t prompt_length) {
  JsonWriter json;
  json.object().key("tokens").array();
  for (const TokenId token : result.tokens) json.value(token);
  json.close()
      .field("text", result.text)
      .field("finish", finish_name(result.finish))
      .field("prompt_length", prompt_length)
      .field("prefill_s", result.prefill_s)
      .field("decode_s", result.decode_s)
      .field("first_token_s", result.first_token_s)
      .close();
  return std::move(json).take();
}

// The sequences of one decode step: different ones, all of one session.
Status begin_all(std::vector<SequenceCall>& calls, soma_sequence* const* sequences, size_t count) {
  for (size_t i = 0; i < count; ++i) {
    SOMA_TRY(check(sequences[i]));
    if (sequences[i]->session.get() != sequences[0]->session.get()) {
      return fail(Reason::argument_range, "sequences 0 and {} are of different sessions", i);
    }
    calls.emplace_back();
    SOMA_TRY(calls.back().begin(sequences[i]));
  }
  return {};
}

// Today's programs serve one sequence a decode step, so the steps follow one another. All or none:
// those that have been done are taken back if a later one fails.
Status decode_all(std::vector<SequenceCall>& calls, const i32* tokens, const BlockingCall& call) {
  for (size_t i = 0; i < calls.size(); ++i) {
    Status status = calls[i].core().decode(tokens[i], call.cancel());
    if (status.ok()) continue;
    for (size_t done = 0; done < i; ++done) {
      Sequence& sequence = calls[done].core();
      SOMA_TRY(sequence.truncate(sequence.length() - 1));
    }
    return call.reason(std::move(status).error().with("index", static_cast<i64>(i)));
  }
  return {};
}

}  // namespace

soma_code soma_sequence_create(const soma_session* session, soma_sequence** out,
                               soma_error** error) noexcept {
  return produce(session, out, error, [&]() -> Result<Ref<soma_sequence>> {
    SOMA_TRY(refuse_in_tick(session->runtime));
    SOMA_ASSIGN(std::unique_ptr<Sequence> sequence, session->session->start());
    return make<soma_sequence>(session, std::move(sequence));
  });
}

int64_t soma_sequence_length(const soma_sequence* sequence) noexcept {
  return is_valid(sequence) ? sequence->length.load() : -1;
}

soma_code soma_sequence_tokens(soma_sequence* sequence, soma_blob** out,
                               soma_error** error) noexcept {
  return produce(sequence, out, error, [&]() -> Result<Ref<soma_blob>> {
    SequenceCall call;
    SOMA_TRY(call.begin(sequence));
    return make_blob(sequence->runtime, sequence->sequence->tokens());
  });
}

soma_code soma_sequence_prefill(soma_sequence* sequence, const int32_t* tokens, size_t count,
                                int32_t logits, soma_cancel* cancel, soma_error** error) noexcept {
  return perform(sequence, error, [&]() -> Status {
    SOMA_TRY(check_tokens(tokens, count));
    if (logits != SOMA_LOGITS_LAST && logits != SOMA_LOGITS_ALL) {
      return fail(Reason::argument_range, "logits is 1 (last) or 2 (all), got {}", logits);
    }
    SequenceCall own;
    BlockingCall call;
    SOMA_TRY(own.begin(sequence));
    SOMA_TRY(call.begin(sequence->runtime, cancel, "prefill"));
    const auto prefilled = [](void* user, u64 done, u64 total) {
      return static_cast<const BlockingCall*>(user)->report("prefill", done, total);
    };
    Status status = own.core().prefill(
        std::span(tokens, count), logits == SOMA_LOGITS_ALL ? LogitsOf::All : LogitsOf::Last,
        call.cancel(), {prefilled, &call});
    if (!status.ok()) return call.reason(std::move(status).error());
    return {};
  });
}

soma_code soma_sequence_decode(soma_sequence* const* sequences, const int32_t* tokens,
                               size_t count, soma_cancel* cancel, soma_error** error) noexcept {
  const soma_sequence* first = sequences && count != 0 ? sequences[0] : nullptr;
  return perform(first, error, [&]() -> Status {
    SOMA_TRY(check_tokens(tokens, count));
    std::vector<SequenceCall> calls;
    BlockingCall call;
    SOMA_TRY(begin_all(calls, sequences, count));
    SOMA_TRY(call.begin(first->runtime, cancel, "decode"));
    return decode_all(calls, tokens, call);
  });
}

soma_code soma_sequence_sample(soma_sequence* sequence, const soma_options* options, int32_t* out,
                               soma_error** error) noexcept {
  return perform(sequence, error, [&]() -> Status {
    if (!out) return null_argument("out");
    SOMA_ASSIGN(const Settings settings, Settings::of(options, OptionKind::Generate));
    const Sampling sampling = sampling_option(settings);
    SequenceCall call;
    SOMA_TRY(call.begin(sequence));
    SOMA_ASSIGN(*out, sequence->sequence->sample(sampling));
    return {};
  });
}

soma_code soma_sequence_logits(soma_sequence* sequence, soma_tensor** out,
                               soma_error** error) noexcept {
  return produce(sequence, out, error, [&]() -> Result<Ref<soma_tensor>> {
    SequenceCall call;
    SOMA_TRY(call.begin(sequence));
    if (!sequence->logits) {
      u64 rows = 0;
      SOMA_ASSIGN(std::unique_ptr<float[]> numbers, sequence->sequence->take_logits(&rows));
      sequence->logits = make<soma_tensor>(sequence->runtime, std::move(numbers),
                                           static_cast<i64>(rows),
                                           sequence->session->model->model.parameters().vocabulary);
    }
    return Ref<soma_tensor>::share(sequence->logits.get());
  });
}

soma_code soma_sequence_truncate(soma_sequence* sequence, int64_t length,
                                 soma_error** error) noexcept {
  return perform(sequence, error, [&]() -> Status {
    SequenceCall call;
    SOMA_TRY(call.begin(sequence));
    const i64 held = sequence->sequence->length();
    if (length < 0 || length > held) {
      return fail(Reason::argument_range, "the sequence holds {} tokens, it can't be cut to {}",
                  held, length);
    }
    return call.core().truncate(length);
  });
}

soma_code soma_sequence_fork(soma_sequence* sequence, soma_sequence** out,
                             soma_error** error) noexcept {
  return produce(sequence, out, error, [&]() -> Result<Ref<soma_sequence>> {
    SequenceCall call;
    SOMA_TRY(call.begin(sequence));
    SOMA_ASSIGN(std::unique_ptr<Sequence> forked, sequence->sequence->fork());
    return make<soma_sequence>(sequence->session.get(), std::move(forked));
  });
}

soma_code soma_sequence_generate(soma_sequence* sequence, const int32_t* tokens, size_t count,
                                 const soma_options* options, soma_token_fn on_token, void* user,
                                 soma_destroy_fn destroy, soma_cancel* cancel, soma_blob** out,
                                 soma_error** error) noexcept {
  const UserData data(user, destroy);
  return produce(sequence, out, error, [&]() -> Result<Ref<soma_blob>> {
    SOMA_TRY(check_tokens(tokens, count));
    SOMA_ASSIGN(const Settings settings, Settings::of(options, OptionKind::Generate));
    const GenerateOptions wanted = generate_option(settings);
    SequenceCall own;
    BlockingCall call;
    SOMA_TRY(own.begin(sequence));
    SOMA_TRY(call.begin(sequence->runtime, cancel, "prefill"));
    Generation generation{call, on_token, data.get()};
    generation.tokens_max = static_cast<u64>(wanted.tokens_max);
    auto result = generate(own.core(), std::span(tokens, count), wanted, {generated, &generation},
                           {prefilled, &generation}, call.cancel());
    if (generation.failed) {
      return fail(Reason::callback_failed,
                  "on_token returned neither SOMA_CONTINUE nor SOMA_STOP after {} tokens",
                  generation.generated);
    }
    if (!result.ok()) return call.reason(std::move(result).error());
    return make_blob(sequence->runtime, describe(*result, count));
  });
}

void soma_sequence_retain(const soma_sequence* sequence) noexcept { retain(sequence); }
void soma_sequence_release(const soma_sequence* sequence) noexcept { release(sequence); }
