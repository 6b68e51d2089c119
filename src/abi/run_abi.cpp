// soma_run_*: plans made ready to run.
#include "abi/run.hpp"

#include <algorithm>

#include "abi/cache.hpp"
#include "abi/cancel.hpp"
#include "abi/guard.hpp"
#include "base/json_writer.hpp"
#include "run/recording.hpp"

using namespace soma;
using namespace soma::wall;

namespace {

std::string event_line(const soma_run& run, const Event& event) {
  JsonWriter json;
  json.object().field("event", event_name(event.kind)).field("at_ns", event.at_ns);
  if (event.node != no_node) {
    json.field("node", run.plan->plan.nodes[event.node].id).field("path", event.path);
  }
  if (event.kind == Event::Kind::PassFinished) {
    constexpr std::string_view ended[] = {"no", "by_signal", "by_bound"};
    json.field("pass", event.pass).field("ended", ended[static_cast<size_t>(event.ended)]);
  }
  if (event.chunks > 0) json.field("chunk", event.chunk).field("chunks", event.chunks);
  if (event.kind == Event::Kind::ArmChosen) json.field("arm", event.arm);
  if (!event.effect.empty()) json.field("effect", event.effect).field("turn", event.turn);
  if (!event.key.empty()) json.field("key", event.key);
  json.field("thread", event.thread).field("done", event.done).field("total", event.total);
  if (event.eta_ns) json.field("eta_ns", *event.eta_ns);
  if (event.error) {
    json.field("code", event.error->id()).field("message", event.error->message());
  }
  json.close();
  return std::move(json).take();
}

void tell(void* user, const Event& event) {
  const soma_run& run = *static_cast<const soma_run*>(user);
  // Watching must not make a run fail that would do without.
  std::string line;
  std::string_view text = R"({"event":"lost"})";
  try {
    text = line = event_line(run, event);
  } catch (const std::bad_alloc&) {
  }
  run.observe(run.observer.get(), text.data(), text.size());
}

constexpr i32 number_of(Event::Kind kind) {
  switch (kind) {
    case Event::Kind::RunStarted: return SOMA_EVENT_RUN_STARTED;
    case Event::Kind::RunFinished: return SOMA_EVENT_RUN_FINISHED;
    case Event::Kind::RunFailed: return SOMA_EVENT_RUN_FAILED;
    case Event::Kind::RunSuspended: return SOMA_EVENT_RUN_SUSPENDED;
    case Event::Kind::NodeStarted: return SOMA_EVENT_NODE_STARTED;
    case Event::Kind::NodeFinished: return SOMA_EVENT_NODE_FINISHED;
    case Event::Kind::NodeFailed: return SOMA_EVENT_NODE_FAILED;
    case Event::Kind::NodeSuspended: return SOMA_EVENT_NODE_SUSPENDED;
    case Event::Kind::EffectStarted: return SOMA_EVENT_EFFECT_STARTED;
    case Event::Kind::EffectFinished: return SOMA_EVENT_EFFECT_FINISHED;
    case Event::Kind::EffectFailed: return SOMA_EVENT_EFFECT_FAILED;
    case Event::Kind::ChunkStarted: return SOMA_EVENT_CHUNK_STARTED;
    case Event::Kind::ChunkFinished: return SOMA_EVENT_CHUNK_FINISHED;
    case Event::Kind::PassFinished: return SOMA_EVENT_PASS_FINISHED;
    case Event::Kind::ArmChosen: return SOMA_EVENT_ARM_CHOSEN;
    case Event::Kind::CacheHit: return SOMA_EVENT_CACHE_HIT;
    case Event::Kind::CacheMiss: return SOMA_EVENT_CACHE_MISS;
    case Event::Kind::NodeSkipped: return SOMA_EVENT_NODE_SKIPPED;
    case Event::Kind::CacheFailed: return SOMA_EVENT_CACHE_FAILED;
  }
  return 0;
}

void point_to(std::string_view text, const char*& begin, size_t& length) {
  begin = text.data() ? text.data() : "";
  length = text.size();
}

// All but what every event has.
void add_rest(soma_event& out, const Event& event) {
  if (event.kind == Event::Kind::PassFinished) {
    out.number = event.pass;
    out.count = static_cast<u64>(event.ended);
  }
  if (event.kind == Event::Kind::ArmChosen) out.number = event.arm;
  if (event.chunks > 0) {
    out.number = event.chunk;
    out.count = event.chunks;
  }
  if (!event.effect.empty()) out.number = event.turn;
  point_to(event.effect.empty() ? event.key : event.effect, out.name, out.name_length);
  if (!event.error) return;
  point_to(event.error->id(), out.reason, out.reason_length);
  point_to(event.error->message(), out.message, out.message_length);
}

// It comes twice a node. Each member by name: to clear a struct as a whole takes 10 ns.
void tell_probe(void* user, const Event& event) {
  const soma_run& run = *static_cast<const soma_run*>(user);
  std::string_view id = "", path = "";
  if (event.node != no_node) {
    id = run.plan->plan.nodes[event.node].id;
    path = event.path;
  }
  soma_event out = {
      .struct_size = sizeof out,
      .kind = number_of(event.kind),
      .at_ns = event.at_ns,
      .node = event.node,
      .thread = event.thread,
      .id = id.data(),
      .id_length = id.size(),
      .path = path.data(),
      .path_length = path.size(),
      .number = 0,
      .count = 0,
      .name = "",
      .name_length = 0,
      .reason = "",
      .reason_length = 0,
      .message = "",
      .message_length = 0,
  };
  const bool is_plain =
      event.kind == Event::Kind::NodeStarted || event.kind == Event::Kind::NodeFinished;
  if (!is_plain) add_rest(out, event);
  run.probe(run.probe_data.get(), &out);
}

Status check_idle(const soma_run& run) {
  if (!run.started) return {};
  return fail(Reason::busy, "the run has been started already: step it to its end, or abandon it");
}

// With the run's journal, if it has one.
Status start(soma_run& run, Value input, const Cancel* cancel) {
  if (run.journal) {
    SOMA_ASSIGN(const RunIdentity identity, run_identity(run.id, run.plan_digest, input));
    SOMA_ASSIGN(std::unique_ptr<JournalStore> store, run.journal->runs->store(run.id));
    SOMA_ASSIGN(run.open, Journal::open(std::move(store), identity));
  }
  return run.run->start(std::move(input), cancel, run.open.get());
}

// What was started is over, whether well or not, and its journal and cancel object free for others.
struct Ending {
  explicit Ending(soma_run& ended) : run(ended) {}
  ~Ending() {
    if (!is_over) return;
    run.open.reset();
    run.started.reset();
  }
  soma_run& run;
  bool is_over = true;
};

// An execution that has been asked to end, and its value as a handle.
Result<Ref<soma_value>> finish(soma_run& run) {
  SOMA_ASSIGN(Value value, run.run->finish());
  if (value.is_null()) return Ref<soma_value>::share(run.null.get());
  return make<soma_value>(run.runtime, std::move(value));
}

}  // namespace

soma_code soma_run_create(const soma_plan* plan, const soma_ops* ops, const soma_options* options,
                          soma_run** out, soma_error** error) noexcept {
  return produce(plan, out, error, [&]() -> Result<Ref<soma_run>> {
    SOMA_TRY(check_within(plan->runtime, ops));
    SOMA_ASSIGN(const Settings settings, Settings::of(options, OptionKind::Run));
    RunOptions wanted;
    wanted.remote_inline = settings.text("remote") == "inline";
    wanted.pool = plan->runtime->pool.get();
    wanted.threads = static_cast<i32>(settings.integer("threads"));
    wanted.launch =
        settings.text("launch") == "always" ? LaunchMode::Always : LaunchMode::Adaptive;
    Ref<soma_run> made = make<soma_run>(plan, ops);
    SOMA_ASSIGN(made->run, Run::create(plan->plan, ops->ops, wanted));
    ops->in_use.store(true, std::memory_order_release);
    return made;
  });
}

soma_code soma_run_execute(soma_run* run, const soma_value* input, soma_cancel* cancel,
                           soma_value** out, soma_error** error) noexcept {
  return produce(run, out, error, [&]() -> Result<Ref<soma_value>> {
    Claim claim;
    SOMA_TRY(claim.take(run->in_call, Tag::Run));
    SOMA_TRY(check_idle(*run));
    SOMA_ASSIGN(Value value, value_argument(run->runtime, input));
    BlockingCall call;
    SOMA_TRY(call.begin(run->runtime, cancel, "run"));
    const Ending ending(*run);
    SOMA_TRY(start(*run, std::move(value), call.cancel()));
    return finish(*run);
  });
}

soma_code soma_run_start(soma_run* run, const soma_value* input, soma_cancel* cancel,
                         soma_error** error) noexcept {
  return perform(run, error, [&]() -> Status {
    Claim claim;
    SOMA_TRY(claim.take(run->in_call, Tag::Run));
    SOMA_TRY(check_idle(*run));
    SOMA_ASSIGN(Value value, value_argument(run->runtime, input));
    Ending ending(*run);              // unless it begins
    SOMA_TRY(run->started.emplace().begin(run->runtime, cancel, "run"));
    SOMA_TRY(start(*run, std::move(value), run->started->cancel()));
    ending.is_over = false;
    return {};
  });
}

soma_code soma_run_step(soma_run* run, int64_t budget_ns, soma_value** out,
                        soma_error** error) noexcept {
  return produce(run, out, error, [&]() -> Result<Ref<soma_value>> {
    Claim claim;
    SOMA_TRY(claim.take(run->in_call, Tag::Run));
    SOMA_TRY(refuse_in_tick(run->runtime));
    if (!run->started) {
      return fail(Reason::run_not_started, "soma_run_start begins what soma_run_step goes on with");
    }
    constexpr i64 long_enough_ns = i64{1} << 62;  // a century, to which a clock can be added
    const i64 budget = std::clamp<i64>(budget_ns, 0, long_enough_ns);
    if (!run->run->step(budget)) return Ref<soma_value>();
    const Ending ending(*run);
    return finish(*run);
  });
}

soma_code soma_run_backward(soma_run* run, const soma_value* gradient, soma_cancel* cancel,
                            soma_value** out, soma_error** error) noexcept {
  return produce(run, out, error, [&]() -> Result<Ref<soma_value>> {
    Claim claim;
    SOMA_TRY(claim.take(run->in_call, Tag::Run));
    SOMA_ASSIGN(Value value, value_argument(run->runtime, gradient));
    BlockingCall call;
    SOMA_TRY(call.begin(run->runtime, cancel, "backward"));
    SOMA_ASSIGN(Value of_input, run->run->backward(std::move(value), call.cancel()));
    return make<soma_value>(run->runtime, std::move(of_input));
  });
}

soma_code soma_run_abandon(soma_run* run, soma_error** error) noexcept {
  return perform(run, error, [&]() -> Status {
    Claim claim;
    SOMA_TRY(claim.take(run->in_call, Tag::Run));
    const Ending ending(*run);
    run->run->abandon();
    return {};
  });
}

soma_code soma_run_set_observer(soma_run* run, soma_event_fn observe, void* user,
                                soma_destroy_fn destroy, soma_error** error) noexcept {
  UserData data(user, destroy);
  return perform(run, error, [&]() -> Status {
    Claim claim;
    SOMA_TRY(claim.take(run->in_call, Tag::Run));
    SOMA_TRY(run->run->observe(observe ? Observer{tell, run} : Observer{}));
    run->observe = observe;
    run->observer = std::move(data);
    return {};
  });
}

soma_code soma_run_set_probe(soma_run* run, soma_probe_fn probe, void* user,
                             soma_destroy_fn destroy, soma_error** error) noexcept {
  UserData data(user, destroy);
  return perform(run, error, [&]() -> Status {
    Claim claim;
    SOMA_TRY(claim.take(run->in_call, Tag::Run));
    SOMA_TRY(run->run->probe(probe ? Observer{tell_probe, run} : Observer{}));
    run->probe = probe;
    run->probe_data = std::move(data);
    return {};
  });
}

soma_code soma_run_set_cache(soma_run* run, const soma_cache* cache, soma_error** error) noexcept {
  return perform(run, error, [&]() -> Status {
    Claim claim;
    SOMA_TRY(claim.take(run->in_call, Tag::Run));
    if (cache) SOMA_TRY(check_within(run->runtime, cache));
    Ref<soma_cache> kept = cache ? Ref<soma_cache>::share(cache) : Ref<soma_cache>();
    SOMA_TRY(run->run->use_cache(cache ? cache->cache.get() : nullptr));
    run->cache = std::move(kept);
    return {};
  });
}

void soma_run_retain(const soma_run* run) noexcept { retain(run); }
void soma_run_release(const soma_run* run) noexcept { release(run); }
