// Follows paths into values, and prints them.
#include "base/text.hpp"
#include "value/describe.hpp"
#include "value/predicate.hpp"

namespace soma {

const Value* Path::Step::from(const Value& value) const {
  if (!index) return value.is(ValueKind::Map) ? value.find(name) : nullptr;
  if (!value.is(ValueKind::List)) return nullptr;
  const std::span<const Value> list = value.list();
  const auto size = static_cast<i64>(list.size());
  if (*index >= size || *index < -size) return nullptr;
  return &list[static_cast<size_t>(*index < 0 ? *index + size : *index)];
}

const Value* Path::find(const Value& it) const {
  const Value* at = &it;
  for (const Step& step : steps_) {
    at = step.from(*at);
    if (!at) return nullptr;
  }
  return at;
}

Result<const Value*> Path::follow(const Value& it) const {
  const Value* at = &it;
  for (size_t i = 0; i < steps_.size(); ++i) {
    const Value* next = steps_[i].from(*at);
    if (!next) {
      const std::optional<i64>& index = steps_[i].index;
      const std::string expected = index ? text("a list with an element {}", *index)
                                         : "a map with a member " + quoted(steps_[i].name);
      return fail(Reason::run_predicate, "{}: expected {} to be {}, got {}{}", canonical(),
                  canonical(i), expected, describe(*at), index ? "" : "; has(…) asks for a member");
    }
    at = next;
  }
  return at;
}

Value Path::place(const Value& it, Value part) const {
  std::vector<const Value*> way = {&it};
  for (const Step& step : steps_) {
    way.push_back(step.from(*way.back()));
    if (!way.back()) return {};
  }
  for (size_t i = steps_.size(); i-- > 0;) {
    if (!steps_[i].index) {
      part = Value::map({{steps_[i].name, std::move(part)}});
      continue;
    }
    const std::span<const Value> list = way[i]->list();
    std::vector<Value> elements(list.size());
    elements[static_cast<size_t>(way[i + 1] - list.data())] = std::move(part);
    part = Value::list(std::move(elements));
  }
  return part;
}

std::string Path::canonical() const { return canonical(steps_.size()); }

// The first of them. A name that means something else where a path begins needs `it.` before it.
std::string Path::canonical(size_t steps) const {
  std::string out = "it";
  for (size_t i = 0; i < steps; ++i) {
    const Step& step = steps_[i];
    if (step.index) {
      append_index(out, *step.index);
    } else {
      append_member(out, step.name);
    }
  }
  if (!out.starts_with("it.")) return out;
  for (const std::string_view taken : {"it", "has", "true", "false", "null", "else", "default"}) {
    if (steps_[0].name == taken) return out;
  }
  return out.substr(3);
}

}  // namespace soma
