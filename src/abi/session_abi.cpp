// soma_session_*: models made ready to run.
#include "abi/session.hpp"

#include "abi/blob.hpp"
#include "abi/cancel.hpp"
#include "abi/guard.hpp"
#include "abi/fusion_plan.hpp"
#include "abi/plan_options.hpp"
#include "abi/text_argument.hpp"
#include "base/json_writer.hpp"
#include "base/text.hpp"

using namespace soma;
using namespace soma::wall;

namespace {

std::string facts(const soma_session& session) {
  const SessionFacts& facts = session.session->facts();
  JsonWriter json;
  json.object()
      .field("context", facts.context)
      .field("policy", policy_name(session.policy))
      .field("kernel_set", facts.kernel_set)
      .field("threads", session.runtime->team->threads())
      .field("weight_bytes", facts.weight_bytes)
      .field("kv_bytes", facts.kv_bytes)
      .field("kv_blocks", facts.kv_blocks)
      .field("arena_bytes", facts.arena_bytes)
      .field("scratch_bytes", facts.scratch_bytes)
      .field("decode_launches", facts.decode_launches)
      .field("prefill_launches", facts.prefill_launches)
      .field("decode_read_bytes", facts.decode_weight_bytes)
      .field("decode_program", session.session->program(Mode::Decode).digest)
      .field("prefill_program", session.session->program(Mode::Prefill).digest)
      .close();
  return std::move(json).take();
}

void log_session(const soma_runtime& runtime, const SessionFacts& facts) {
  if (!runtime.wants_log(SOMA_LOG_INFO)) return;
  runtime.log(SOMA_LOG_INFO, text("session: kernel set {}, weights {} MiB, KV memory {} MiB for "
                                  "contexts of {}, {} launches a token",
                                  facts.kernel_set, facts.weight_bytes >> 20, facts.kv_bytes >> 20,
                                  facts.context, facts.decode_launches));
}

}  // namespace

soma_code soma_session_create(const soma_model* model, const soma_options* options,
                              soma_cancel* cancel, soma_session** out,
                              soma_error** error) noexcept {
  return produce(model, out, error, [&]() -> Result<Ref<soma_session>> {
    SOMA_ASSIGN(const Settings settings, Settings::of(options, OptionKind::Session));
    const soma_runtime& runtime = *model->runtime;
    BlockingCall call;
    SOMA_TRY(call.begin(&runtime, cancel, "pack"));
    SessionOptions wanted;
    wanted.context = settings.integer("context");
    wanted.sequences = settings.integer("sequences");
    wanted.prefill_rows = settings.integer("prefill_rows");
    wanted.policy = policy_option(settings);
    wanted.isa = runtime.isa;
    wanted.amx = runtime.amx;
    const auto packed = [](void* user, u64 done, u64 total) {
      return static_cast<const BlockingCall*>(user)->report("pack", done, total);
    };
    auto made = Session::create(model->model, *runtime.team, wanted, {packed, &call},
                                call.cancel());
    if (!made.ok()) return call.reason(std::move(made).error());
    log_session(runtime, (*made)->facts());
    return make<soma_session>(model, std::move(made).value(), wanted.policy);
  });
}

soma_code soma_session_facts(const soma_session* session, soma_blob** out,
                             soma_error** error) noexcept {
  return produce(session, out, error, [&]() -> Result<Ref<soma_blob>> {
    return make_blob(session->runtime, facts(*session));
  });
}

soma_code soma_session_program(const soma_session* session, const char* mode, size_t mode_length,
                               soma_program** out, soma_error** error) noexcept {
  return produce(session, out, error, [&]() -> Result<Ref<soma_program>> {
    SOMA_ASSIGN(const std::string_view name, text_argument("mode", mode, mode_length));
    const std::optional<Mode> known = mode_by_name(name);
    if (known == Mode::Decode || known == Mode::Prefill) {
      return make<soma_program>(session->runtime, session->session->program(*known));
    }
    return fail(Reason::argument_range, "a session has programs for decode and prefill, got {}",
                quoted(name));
  });
}

void soma_session_retain(const soma_session* session) noexcept { retain(session); }
void soma_session_release(const soma_session* session) noexcept { release(session); }
