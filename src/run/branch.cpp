// Branches: the first arm that takes the deciding node's value is the one that runs.
#include "base/text.hpp"
#include "run/strand.hpp"
#include "run/tape.hpp"
#include "value/describe.hpp"

namespace soma {

namespace {

// {"branch": …, "value": …} picks an arm by the one and hands it the other.
const Value& handed_over(const Value& value) {
  if (!value.is(ValueKind::Map) || !value.find("branch")) return value;
  const Value* handed = value.find("value");
  return handed ? *handed : value;
}

Error no_arm(const std::string& path, std::span<const Arm> arms, const Value& value) {
  constexpr size_t listed_max = 8;
  std::string list;
  for (size_t i = 0; i < arms.size() && i < listed_max; ++i) {
    list += (i > 0 ? ", " : "") + arms[i].text();
  }
  if (arms.size() > listed_max) list += text(" and {} more", arms.size() - listed_max);
  return fail(Reason::run_no_arm,
              "branch {}: no arm takes {}; there are {}: add an arm for it, or one for all else",
              quoted(path), describe(value), list);
}

}  // namespace

Strand::Next Strand::enter_branch(const Stop& stop) {
  const Construct& branch = course().constructs()[stop.construct];
  const std::vector<Arm>& arms = run_.plan.branches[branch.detail];
  const Value& value = run_.values.slot(branch.node);
  call_.rest(branch.node);
  u32 chosen = 0;
  for (; chosen < arms.size(); ++chosen) {
    Result<bool> takes = arms[chosen].takes(value);
    if (!takes.ok()) {
      const std::string where = text("branch {}, arm {}", quoted(run_.path(branch.node)),
                                     quoted(arms[chosen].text()));
      Error error = std::move(takes).error().context(where);
      return fail_at(branch.begin, run_.at(branch.node, std::move(error)));
    }
    if (*takes) break;
  }
  if (chosen == arms.size()) {
    Error error = no_arm(run_.path(branch.node), arms, value);
    return fail_at(branch.begin, run_.at(branch.node, std::move(error)));
  }

  const Region& arm = course().region(branch.regions + chosen);
  run_.values.set_present(branch.begin, branch.end, false);
  run_.values.set_present(arm.begin, arm.end, true);
  const Value& handed = handed_over(value);
  run_.values.feed(stop.construct) = handed;
  if (run_.tape) run_.tape->note(stop.construct, {chosen, &handed != &value});
  settle((branch.end - branch.begin) - (arm.end - arm.begin));
  if (run_.is_watched()) {
    Event event;
    event.kind = Event::Kind::ArmChosen;
    event.node = branch.node;
    event.thread = thread_;
    event.arm = chosen;
    run_.notify(event);
  }
  push(arm, stop.construct, next_, course().first_stop(arm.item));
  return Next::Go;
}

}  // namespace soma
