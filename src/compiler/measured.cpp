// Reads measured times and prints estimates.
#include "compiler/measured.hpp"

#include "base/json_writer.hpp"
#include "value/document_walk.hpp"

namespace soma {

namespace {

using document::Place;

constexpr document::Key measured_keys[] = {{"nodes"}, {"ops"}};

class MeasuredReader : private document::Walk {
 public:
  MeasuredReader() : Walk(document::in_every, true) {}

  Result<std::vector<MeasuredTime>> read(JsonView root) && {
    if (is_object(root, {})) {
      each_member<MeasuredTime::Of>(root, {}, "measured times", measured_keys,
                                    [&](MeasuredTime::Of of, JsonView times, const Place& at) {
        read_times(of, times, at);
      });
    }
    if (!problems_.none()) return std::move(problems_).take();
    return std::move(out_);
  }

 private:
  void read_times(MeasuredTime::Of of, JsonView times, const Place& at) {
    if (!is_object(times, at)) return;
    for (JsonView time = times.first(); time && !has_enough(); time = time.next()) {
      const bool is_time = time.is(JsonKind::Number) && time.number() >= 0;
      if (is_time) {
        out_.push_back({of, std::string(time.key()), time.number()});
      } else {
        mistyped({&at, time.key()}, "a number of microseconds from 0", time);
      }
    }
  }

  std::vector<MeasuredTime> out_;
};
static_assert(static_cast<int>(MeasuredTime::Of::Node) == 0 &&
              static_cast<int>(MeasuredTime::Of::Op) == 1);

}  // namespace

Result<std::vector<MeasuredTime>> parse_measured(std::string_view json) {
  if (json.empty()) return std::vector<MeasuredTime>();
  SOMA_ASSIGN(const Json parsed, Json::parse(json));
  return MeasuredReader().read(parsed.root());
}

std::string estimate_json(const Plan& plan, const PlanEstimate& estimate, u64 threads) {
  JsonWriter json;
  json.object().key("total_us");
  estimate.total_us ? json.value(*estimate.total_us) : json.value(nullptr);
  json.field("known_us", estimate.known_us)
      .field("critical_path_us", estimate.critical_path_us)
      .field("work_us", estimate.work_us)
      .field("threads", threads)
      .key("unknown")
      .array();
  for (const u32 node : estimate.unknown) json.value(plan.nodes[node].id);
  json.close().close();
  return std::move(json).take();
}

}  // namespace soma
