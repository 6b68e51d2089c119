// Says what distinguishes two plans, as lines of text and as JSON.
#include "base/json_writer.hpp"
#include "plan/diff.hpp"
#include "plan/label.hpp"
#include "value/value_json.hpp"

namespace soma {

namespace {

// A value on a line, of long ones the beginning.
std::string shown(const Value& value) {
  constexpr size_t bytes_max = 200;
  if (value.is_null()) return "nothing";
  std::string out = printable(value_json(value).value());  // it came from JSON
  if (out.size() <= bytes_max) return out;
  size_t end = bytes_max;
  while ((static_cast<u8>(out[end]) & 0xC0) == 0x80) --end;  // not within a character
  return out.substr(0, end) + "…";
}

void add_field(std::string& out, std::string_view whose, const PlanDiff::Field& field) {
  out += text("{} {}: {} -> {}\n", whose, field.name, shown(field.before), shown(field.after));
}

void write_fields(JsonWriter& json, const std::vector<PlanDiff::Field>& fields) {
  json.array();
  for (const PlanDiff::Field& field : fields) {
    json.object().field("field", field.name).key("before");
    static_cast<void>(write_value(json, field.before));  // it came from JSON
    static_cast<void>(write_value(json.key("after"), field.after));
    json.close();
  }
  json.close();
}

void write_placed(JsonWriter& json, const std::vector<PlanDiff::Placed>& nodes) {
  json.array();
  for (const PlanDiff::Placed& node : nodes) {
    json.object().field("id", node.id).field("place", node.place).close();
  }
  json.close();
}

}  // namespace

std::string PlanDiff::text() const {
  std::string out;
  for (const Field& field : plan) add_field(out, "plan", field);
  for (const Placed& node : removed) {
    out += soma::text("removed {}: {}\n", shown_id(node.id), node.place);
  }
  for (const Placed& node : added) {
    out += soma::text("added {}: {}\n", shown_id(node.id), node.place);
  }
  for (const Moved& node : moved) {
    out += soma::text("moved {}: {} -> {}\n", shown_id(node.id), node.before, node.after);
  }
  for (const Changed& node : changed) {
    for (const Field& field : node.fields) add_field(out, "changed " + shown_id(node.id), field);
  }
  return out;
}

std::string PlanDiff::json() const {
  JsonWriter json;
  write_fields(json.object().key("plan"), plan);
  write_placed(json.key("removed"), removed);
  write_placed(json.key("added"), added);
  json.key("moved").array();
  for (const Moved& node : moved) {
    json.object().field("id", node.id).field("before", node.before).field("after", node.after);
    json.close();
  }
  json.close().key("changed").array();
  for (const Changed& node : changed) {
    json.object().field("id", node.id);
    write_fields(json.key("fields"), node.fields);
    json.close();
  }
  json.close().close();
  return std::move(json).take();
}

}  // namespace soma
