// soma_ops_add_step, soma_ops_add_handler, soma_step_*, soma_effect_*: steps and their effects.
//
// What a turn says is gathered in its step object, and handed to the run when the function returns:
// so the host names effects and children one by one, and all of them begin together.
#include "abi/step.hpp"

#include "abi/blob.hpp"
#include "abi/guard.hpp"
#include "abi/ops.hpp"
#include "abi/text_argument.hpp"
#include "base/json_writer.hpp"
#include "plan/label.hpp"
#include "value/value_json.hpp"

using namespace soma;
using namespace soma::wall;

namespace {

// ---- Turns

void say_next(soma_step& step, StepCall& call) {
  switch (step.next) {
    case soma_step::Next::Nothing: call.done(Value()); break;
    case soma_step::Next::Done: call.done(std::move(step.value)); break;
    case soma_step::Next::Await: call.await(std::move(step.requests)); break;
    case soma_step::Next::Spawn:
      call.spawn(std::move(step.children), step.wants_first ? ChildJoin::First : ChildJoin::All);
      break;
    case soma_step::Next::Suspend: call.suspend(std::move(step.value)); break;
    case soma_step::Next::HandOver:
      call.hand_over(std::move(step.target), std::move(step.value));
      break;
  }
}

Status poll_host(void* user, StepCall& call) {
  const auto& op = *static_cast<const Host<soma_step_fn>*>(user);
  const Ref<soma_step> step = make<soma_step>(op.runtime, call);
  const i32 answer = op.function(op.user.get(), step.get());
  step->call = nullptr;
  SOMA_TRY(said_by_host(answer, step->failure));
  say_next(*step, call);
  return {};
}

void perform_host(void* user, Effect& effect) {
  const auto& handler = *static_cast<const Host<soma_effect_fn>*>(user);
  const Ref<soma_effect> handle = make<soma_effect>(handler.runtime, effect);
  handler.function(handler.user.get(), handle.get());
}

Result<InDoubt> in_doubt_argument(i32 number) {
  switch (number) {
    case SOMA_IN_DOUBT_FAIL: return InDoubt::Fail;
    case SOMA_IN_DOUBT_RETRY: return InDoubt::Retry;
    case SOMA_IN_DOUBT_ASK: return InDoubt::Ask;
  }
  return fail(Reason::argument_range,
              "in_doubt is SOMA_IN_DOUBT_FAIL (1), _RETRY (2) or _ASK (3), got {}", number);
}

Status over() {
  return fail(Reason::argument_range, "the step's turn is over: its function has returned");
}

// For functions that say what comes next: `body(step)` in a turn that is not over.
template <typename Body>
soma_code say(soma_step* step, soma_error** error, soma_step::Next next, Body&& body) noexcept {
  return perform(step, error, [&]() -> Status {
    if (!step->call) return over();
    SOMA_TRY(body());
    step->next = next;
    return {};
  });
}

// Made when it is first asked for, by `content()`.
template <typename Content>
const soma_value* lend(soma_step* step, Ref<soma_value> soma_step::*place,
                       Content&& content) noexcept {
  if (!is_valid(step) || is_forked(*step) || !step->call) return nullptr;
  try {
    const MemoryScope inside(call_memory(*step));
    Ref<soma_value>& value = step->*place;
    if (!value) value = make<soma_value>(step->runtime, content());
    return value.get();
  } catch (...) {
    return nullptr;
  }
}

Value history_of(const StepCall& call) {
  std::vector<Value> turns;
  for (const std::vector<Value>& results : call.history()) turns.push_back(Value::list(results));
  return Value::list(std::move(turns));
}

std::string facts(const StepCall& call) {
  const PlanNode& node = call.node();
  JsonWriter json;
  json.object().field("id", node.id).field("path", call.path()).field("op", node.op_name());
  json.field("turn", call.turn()).key("config");
  // The compiler and the reader of plans have seen to it; a child's settings may have none.
  const Result<std::string> config = value_json(node.config());
  if (!config.ok() || !write_value(json, node.config()).ok()) json.value(nullptr);
  json.close();
  return std::move(json).take();
}

const char* lend_text(const soma_effect* effect, const std::string* text, size_t* length) noexcept {
  const bool is_there = is_valid(effect);
  if (length) *length = is_there ? text->size() : 0;
  return is_there ? text->c_str() : "";
}

}  // namespace

soma_code soma_ops_add_step(soma_ops* ops, const char* name, size_t name_length, uint32_t version,
                            soma_step_fn function, void* user, soma_destroy_fn destroy,
                            soma_error** error) noexcept {
  UserData data(user, destroy);
  return perform(ops, error, [&]() -> Status {
    SOMA_ASSIGN(const std::string_view text, text_argument("name", name, name_length));
    if (!function) return null_argument("function");
    SOMA_TRY(check_open(*ops));
    NodeOp op;
    op.name = text;
    op.version = version;
    op.poll = poll_host;
    return add_host(*ops, function, std::move(data), std::move(op));
  });
}

soma_code soma_ops_add_handler(soma_ops* ops, const char* effect, size_t effect_length,
                               int32_t in_doubt, soma_effect_fn perform_it, void* user,
                               soma_destroy_fn destroy, soma_error** error) noexcept {
  UserData data(user, destroy);
  return perform(ops, error, [&]() -> Status {
    SOMA_ASSIGN(const std::string_view name, text_argument("effect", effect, effect_length));
    if (!perform_it) return null_argument("perform");
    SOMA_ASSIGN(const InDoubt policy, in_doubt_argument(in_doubt));
    SOMA_TRY(check_open(*ops));
    EffectHandler handler;
    handler.name = name;
    handler.perform = perform_host;
    handler.in_doubt = policy;
    return add_host(*ops, perform_it, std::move(data), std::move(handler));
  });
}

// ---- What a turn sees

const soma_value* soma_step_input(soma_step* step) noexcept {
  return lend(step, &soma_step::input, [step] { return step->call->input(); });
}

uint32_t soma_step_turn(soma_step* step) noexcept { return is_valid(step) ? step->turn : 0; }

const soma_value* soma_step_history(soma_step* step) noexcept {
  return lend(step, &soma_step::history, [step] { return history_of(*step->call); });
}

soma_code soma_step_facts(soma_step* step, soma_blob** out, soma_error** error) noexcept {
  return produce(step, out, error, [&]() -> Result<Ref<soma_blob>> {
    if (!step->call) return over().error();
    return make_blob(step->runtime, facts(*step->call));
  });
}

int32_t soma_step_goes_on(soma_step* step) noexcept {
  if (!is_valid(step) || !step->call) return 0;
  try {
    const MemoryScope inside(call_memory(*step));
    return step->call->check().ok() ? 1 : 0;
  } catch (...) {
    return 0;
  }
}

// ---- What it says

soma_code soma_step_done(soma_step* step, const soma_value* value, soma_error** error) noexcept {
  return say(step, error, soma_step::Next::Done, [&]() -> Status {
    SOMA_ASSIGN(step->value, value_argument(step->runtime, value));
    return {};
  });
}

soma_code soma_step_await(soma_step* step, const char* effect, size_t effect_length,
                          const soma_value* payload, int32_t in_doubt,
                          soma_error** error) noexcept {
  return say(step, error, soma_step::Next::Await, [&]() -> Status {
    SOMA_ASSIGN(const std::string_view name, text_argument("effect", effect, effect_length));
    SOMA_ASSIGN(Value content, value_argument(step->runtime, payload));
    std::optional<InDoubt> policy;
    if (in_doubt != 0) {
      SOMA_ASSIGN(policy, in_doubt_argument(in_doubt));
    }
    if (step->next != soma_step::Next::Await) step->requests.clear();
    step->requests.push_back({std::string(name), std::move(content), policy});
    return {};
  });
}

soma_code soma_step_spawn(soma_step* step, const char* label, size_t label_length, const char* op,
                          size_t op_length, uint32_t version, const soma_value* config,
                          const soma_value* input, soma_error** error) noexcept {
  return say(step, error, soma_step::Next::Spawn, [&]() -> Status {
    ChildRequest child;
    SOMA_ASSIGN(const std::string_view name, text_argument("label", label, label_length));
    SOMA_ASSIGN(const std::string_view code, text_argument("op", op, op_length));
    SOMA_ASSIGN(child.config, value_argument(step->runtime, config));
    SOMA_ASSIGN(child.input, value_argument(step->runtime, input));
    child.label = name;
    child.op = code;
    child.op_version = version;
    if (step->next != soma_step::Next::Spawn) step->children.clear();
    step->children.push_back(std::move(child));
    return {};
  });
}

soma_code soma_step_want_first(soma_step* step, soma_error** error) noexcept {
  return perform(step, error, [&]() -> Status {
    if (!step->call) return over();
    step->wants_first = true;
    return {};
  });
}

soma_code soma_step_suspend(soma_step* step, const soma_value* reason,
                            soma_error** error) noexcept {
  return say(step, error, soma_step::Next::Suspend, [&]() -> Status {
    SOMA_ASSIGN(step->value, value_argument(step->runtime, reason));
    return {};
  });
}

soma_code soma_step_hand_over(soma_step* step, const char* target, size_t target_length,
                              const soma_value* value, soma_error** error) noexcept {
  return say(step, error, soma_step::Next::HandOver, [&]() -> Status {
    SOMA_ASSIGN(const std::string_view name, text_argument("target", target, target_length));
    SOMA_ASSIGN(step->value, value_argument(step->runtime, value));
    step->target = name;
    return {};
  });
}

soma_code soma_step_fail(soma_step* step, const char* message, size_t message_length,
                         soma_error** error) noexcept {
  return perform(step, error, [&]() -> Status {
    if (!step->call) return over();
    SOMA_ASSIGN(const std::string_view text, text_argument("message", message, message_length));
    step->failure = std::string(text);
    return {};
  });
}

// ---- Effects

const char* soma_effect_name(const soma_effect* effect, size_t* length) noexcept {
  return lend_text(effect, is_valid(effect) ? &effect->effect.name() : nullptr, length);
}

const char* soma_effect_key(const soma_effect* effect, size_t* length) noexcept {
  return lend_text(effect, is_valid(effect) ? &effect->effect.key() : nullptr, length);
}

const soma_value* soma_effect_payload(const soma_effect* effect) noexcept {
  return is_valid(effect) ? effect->payload.get() : nullptr;
}

int32_t soma_effect_is_retry(const soma_effect* effect) noexcept {
  return is_valid(effect) && effect->effect.is_retry() ? 1 : 0;
}

int32_t soma_effect_is_wanted(const soma_effect* effect) noexcept {
  return is_valid(effect) && effect->effect.is_wanted() ? 1 : 0;
}

soma_code soma_effect_complete(const soma_effect* effect, const soma_value* result,
                               soma_error** error) noexcept {
  return perform(effect, error, [&]() -> Status {
    SOMA_ASSIGN(Value value, value_argument(effect->runtime, result));
    effect->effect.complete(std::move(value));
    return {};
  });
}

soma_code soma_effect_fail(const soma_effect* effect, const char* message, size_t message_length,
                           soma_error** error) noexcept {
  return perform(effect, error, [&]() -> Status {
    SOMA_ASSIGN(const std::string_view text, text_argument("message", message, message_length));
    effect->effect.fail(Error(Reason::run_node_failed, printable(text)));
    return {};
  });
}

void soma_effect_retain(const soma_effect* effect) noexcept { retain(effect); }
void soma_effect_release(const soma_effect* effect) noexcept { release(effect); }
