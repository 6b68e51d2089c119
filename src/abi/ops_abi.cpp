// soma_ops_*, soma_call_*: the code behind nodes, and whether they may start programs.
#include "abi/ops.hpp"

#include "abi/blob.hpp"
#include "abi/call.hpp"
#include "abi/generate_node.hpp"
#include "abi/guard.hpp"
#include "abi/runtime.hpp"
#include "abi/text_argument.hpp"
#include "base/json_writer.hpp"
#include "base/text.hpp"
#include "plan/label.hpp"
#include "run/builtins.hpp"
#include "run/exec.hpp"
#include "run/flow.hpp"
#include "value/describe.hpp"
#include "value/value_json.hpp"

using namespace soma;
using namespace soma::wall;

namespace {

void end_slot(void* slot) {
  soma_call& call = *static_cast<soma_call*>(slot);
  call.runtime->calls->give_back(call);
}

// For a strand that has none, or whose slot is used up: that one stays with the runtime.
[[gnu::noinline, gnu::cold]] Status call_with_another(void* user, NodeCall& node) {
  const soma_runtime& runtime = *static_cast<const Host<soma_node_fn>*>(user)->runtime;
  node.keepsake() = {&runtime.calls->borrow(), end_slot};
  return call_host(user, node);
}

Result<std::vector<std::string>> environment_of(const Value& variables) {
  const auto refusal = [](std::string_view got) {
    return fail(Reason::value_kind,
                "environment is a map of texts by the names of variables, got {}", got);
  };
  std::vector<std::string> environment;
  if (variables.is_null()) return environment;
  if (!variables.is(ValueKind::Map)) return refusal(describe(variables));
  for (const Member& variable : variables.map()) {
    const bool is_name = !variable.key.empty() && variable.key.find('=') == std::string::npos;
    if (!is_name) return refusal("the name " + quoted(variable.key));
    if (!variable.value.is(ValueKind::Text)) {
      return refusal(text("as {} {}", quoted(variable.key), describe(variable.value)));
    }
    environment.push_back(variable.key + "=" + variable.value.text());
  }
  return environment;
}

// Of a node's call, or of its vjp's.
template <typename Call>
std::string facts(const Call& call) {
  const PlanNode& node = call.node();
  JsonWriter json;
  json.object().field("id", node.id).field("path", call.path()).key("passes").array();
  for (const u64 pass : call.passes()) json.value(pass);
  json.close().field("op", node.op_name()).field("device", node.device()).key("config");
  // The compiler and the reader of plans have seen that it has a JSON form.
  if (!write_value(json, node.config()).ok()) json.value(nullptr);
  json.close();
  return std::move(json).take();
}

}  // namespace

// As short as can be: most nodes ask for nothing, and then a call costs little beside the
// host's function.
Status wall::call_host(void* user, NodeCall& node) {
  auto* const slot = static_cast<soma_call*>(node.keepsake().data);
  if (!slot || slot->is_used_up()) [[unlikely]] return call_with_another(user, node);
  const auto& op = *static_cast<const Host<soma_node_fn>*>(user);
  struct Ending {
    soma_call& call;
    ~Ending() { call.end(); }       // also if the function throws
  } here{*slot};
  const i32 answer = op.function(op.user.get(), slot->begin(node));
  if (answer == SOMA_CONTINUE && !slot->has_more) [[likely]] return {};
  return said_by_host(answer, slot->failure);
}

soma_code soma_ops_create(const soma_runtime* runtime, soma_ops** out,
                          soma_error** error) noexcept {
  return produce(runtime, out, error, [&]() -> Result<Ref<soma_ops>> {
    Ref<soma_ops> ops = make<soma_ops>(runtime);
    SOMA_TRY(add_builtins(ops->ops));
    return ops;
  });
}

soma_code soma_ops_add(soma_ops* ops, const char* name, size_t name_length, uint32_t version,
                       int32_t thread, int32_t waits, soma_node_fn function, void* user,
                       soma_destroy_fn destroy, soma_error** error) noexcept {
  UserData data(user, destroy);
  return perform(ops, error, [&]() -> Status {
    SOMA_ASSIGN(const std::string_view text, text_argument("name", name, name_length));
    if (!function) return null_argument("function");
    if (waits != 0 && waits != 1) {
      return fail(Reason::argument_range, "waits is 0 or 1, got {}", waits);
    }
    if (thread != SOMA_THREAD_ANY && thread != SOMA_THREAD_CALLER) {
      return fail(Reason::argument_range,
                  "thread is SOMA_THREAD_CALLER (1) or SOMA_THREAD_ANY (2), got {}", thread);
    }
    SOMA_TRY(check_open(*ops));
    NodeOp op;
    op.name = text;
    op.version = version;
    op.forward = call_host;
    op.caller_only = thread == SOMA_THREAD_CALLER;
    op.waits = waits != 0;
    return add_host(*ops, function, std::move(data), std::move(op));
  });
}

soma_code soma_ops_add_session(soma_ops* ops, const char* model, size_t model_length,
                               const soma_session* session, soma_error** error) noexcept {
  return perform(ops, error, [&]() -> Status {
    SOMA_ASSIGN(const std::string_view name, text_argument("model", model, model_length));
    SOMA_TRY(check_within(ops->runtime, session));
    SOMA_TRY(check_open(*ops));
    return add_generating(ops->ops, name, *session);
  });
}

soma_code soma_ops_allow_processes(soma_ops* ops, const soma_value* environment, const char* folder,
                                   size_t folder_length, soma_error** error) noexcept {
  return perform(ops, error, [&]() -> Status {
    ExecOptions options;
    SOMA_ASSIGN(const Value variables, value_argument(ops->runtime, environment));
    SOMA_ASSIGN(options.environment, environment_of(variables));
    SOMA_ASSIGN(const std::string_view text, text_argument("folder", folder, folder_length));
    options.folder = text;
    SOMA_TRY(check_open(*ops));
    return add_exec(ops->ops, std::move(options));
  });
}

const soma_value* soma_call_input(soma_call* handle) noexcept {
  return show(handle, [](soma_call& call) -> const soma_value* {
    if (!call.input) call.input = make<soma_value>(call.runtime, call.read());
    return call.input.get();
  });
}

const soma_value* soma_call_state(soma_call* handle) noexcept {
  return show(handle, [](soma_call& call) -> const soma_value* {
    call.state = make<soma_value>(call.runtime,
                                  call.gradient ? call.gradient->state() : call.node->state());
    return call.state.get();
  });
}

soma_code soma_call_set_state(soma_call* handle, const soma_value* value,
                              soma_error** error) noexcept {
  soma_call* const call = soma_call::of(handle);
  return perform(call, error, [&]() -> Status {
    SOMA_TRY(check_within(call->runtime, value));
    if (call->node) return call->node->set_state(value->value);
    return fail(Reason::run_input, "a vjp leaves no state: it is called without chunks");
  });
}

soma_code soma_call_chunk(soma_call* handle, uint64_t* index, uint64_t* count,
                          soma_error** error) noexcept {
  soma_call* const call = soma_call::of(handle);
  return perform(call, error, [&]() -> Status {
    const Chunk whole, &chunk = call->node ? call->node->chunk() : whole;
    if (index) *index = chunk.index;
    if (count) *count = chunk.count;
    return {};
  });
}

soma_code soma_call_set_output(soma_call* handle, const soma_value* value,
                               soma_error** error) noexcept {
  soma_call* const call = soma_call::of(handle);
  return perform(call, error, [&]() -> Status {
    SOMA_TRY(check_within(call->runtime, value));
    call->output() = value->value;
    return {};
  });
}

soma_code soma_call_fail(soma_call* handle, const char* message, size_t message_length,
                         soma_error** error) noexcept {
  soma_call* const call = soma_call::of(handle);
  return perform(call, error, [&]() -> Status {
    SOMA_ASSIGN(const std::string_view text, text_argument("message", message, message_length));
    call->has_more = true;
    call->failure = std::string(text);
    return {};
  });
}

soma_code soma_call_facts(soma_call* handle, soma_blob** out, soma_error** error) noexcept {
  soma_call* const call = soma_call::of(handle);
  return produce(call, out, error, [&]() -> Result<Ref<soma_blob>> {
    if (!call->gradient) return make_blob(call->runtime, facts(*call->node));
    if (call->gradient->has_node()) return make_blob(call->runtime, facts(*call->gradient));
    return fail(Reason::argument_handle,
                "the call adds gradients of the run's input, and is of no node");
  });
}

int32_t soma_call_goes_on(soma_call* handle) noexcept {
  soma_call* const call = soma_call::of(handle);
  if (!is_valid(call)) return 0;
  try {
    const MemoryScope inside(call_memory(*call));
    return call->check().ok() ? 1 : 0;
  } catch (...) {
    return 0;
  }
}

void soma_ops_retain(const soma_ops* ops) noexcept { retain(ops); }
void soma_ops_release(const soma_ops* ops) noexcept { release(ops); }
