// Keeps ops sorted by their names, and finds them.
#include "run/ops.hpp"

#include <algorithm>

#include "base/text.hpp"

namespace soma {

namespace {

using Key = std::pair<std::string_view, u32>;
Key key_of(const NodeOp& op) { return {op.name, op.version}; }

Status check_name(std::string_view whose, std::string_view name) {
  if (!name.empty() && find_invalid_utf8(name) == std::string::npos) return {};
  return fail(Reason::argument_range, "{} name is text in UTF-8 and not empty, got {}", whose,
              quoted(name));
}

void destroy_all(const std::vector<NodeOp>& ops) {
  for (const NodeOp& op : ops) {
    if (op.destroy) op.destroy(op.user);
  }
}

}  // namespace

Ops::~Ops() {
  destroy_all(ops_);
  destroy_all(programs_);
  for (const EffectHandler& handler : handlers_) {
    if (handler.destroy) handler.destroy(handler.user);
  }
}

Status Ops::add(NodeOp op) {
  SOMA_TRY(check_name("an op's", op.name));
  if (!op.forward && !op.poll) {
    return fail(Reason::argument_null, "op {} has no function", quoted(op.name));
  }
  const auto at = std::ranges::lower_bound(ops_, key_of(op), {}, key_of);
  if (at != ops_.end() && key_of(*at) == key_of(op)) {
    return fail(Reason::ops_duplicate, "op {} of version {} is registered already",
                quoted(op.name), op.version)
        .with("op", op.name);
  }
  ops_.insert(at, std::move(op));
  return {};
}

Status Ops::add(EffectHandler handler) {
  SOMA_TRY(check_name("an effect's", handler.name));
  if (!handler.perform) {
    return fail(Reason::argument_null, "effect {} has no function", quoted(handler.name));
  }
  const auto at = std::ranges::lower_bound(handlers_, handler.name, {}, &EffectHandler::name);
  if (at != handlers_.end() && at->name == handler.name) {
    return fail(Reason::ops_duplicate, "a handler of effect {} is registered already",
                quoted(handler.name))
        .with("effect", handler.name);
  }
  handlers_.insert(at, std::move(handler));
  return {};
}

Status Ops::add_program(NodeOp op) {
  SOMA_TRY(check_name("a model's", op.name));
  if (!op.forward) {
    return fail(Reason::argument_null, "model {} has no function", quoted(op.name));
  }
  const auto at = std::ranges::lower_bound(programs_, op.name, {}, &NodeOp::name);
  if (at != programs_.end() && at->name == op.name) {
    return fail(Reason::ops_duplicate, "model {} has been given code already", quoted(op.name))
        .with("model", op.name);
  }
  programs_.insert(at, std::move(op));
  return {};
}

const NodeOp* Ops::program(std::string_view model) const {
  const auto at = std::ranges::lower_bound(programs_, model, {}, &NodeOp::name);
  return at != programs_.end() && at->name == model ? &*at : nullptr;
}

const EffectHandler* Ops::handler(std::string_view name) const {
  const auto at = std::ranges::lower_bound(handlers_, name, {}, &EffectHandler::name);
  return at != handlers_.end() && at->name == name ? &*at : nullptr;
}

const NodeOp* Ops::find(std::string_view name, u32 version) const {
  for (const u32 wanted : {version, u32{0}}) {
    const auto at = std::ranges::lower_bound(ops_, Key{name, wanted}, {}, key_of);
    if (at != ops_.end() && key_of(*at) == Key{name, wanted}) return &*at;
  }
  return nullptr;
}

std::string Ops::versions(std::string_view name) const {
  std::string out;
  for (const NodeOp& op : ops_) {
    if (op.name != name) continue;
    if (!out.empty()) out += ", ";
    out += text("{}", op.version);
  }
  return out;
}

}  // namespace soma
