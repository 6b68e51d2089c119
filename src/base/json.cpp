// Makes a tree of a document that was proven valid, by cJSON, and shows it read-only.
//
// Two things of cJSON are process-wide. Its last error is written by every parse: a mutex. Its
// allocation hooks are set under the same mutex, once, before the first parse. So every node of
// every document comes from the library's operator new, and later readers of the hooks, releasing
// outside the mutex, are ordered behind that one write: they hold a document, and a document comes
// from a parse that held the mutex after it. The operators find a block's owner in its header, so
// a document may be released on another thread and for another runtime than the one it was made
// for. Other copies of cJSON in the process have hooks of their own: ours is hidden in the library.
//
// cJSON converts numbers by strtod, which reads "1.5" as 1 where the locale's decimal point is a
// comma. The validator has read them already: cJSON gets the document with zeros in their places,
// and the numbers are put into its tree afterwards, in the same order.
#include "base/json.hpp"

#include <cjson/cJSON.h>

#include <algorithm>
#include <cmath>
#include <mutex>
#include <new>

#include "base/json_validate.hpp"

namespace soma {

namespace {

constinit std::mutex cjson_mutex;
constinit bool cjson_has_hooks = false;  // under cjson_mutex

void* allocate(size_t size) { return ::operator new(size, std::nothrow); }
void release(void* memory) { ::operator delete(memory); }

cJSON* parse_tree(std::string_view text) {
  const std::lock_guard<std::mutex> guard(cjson_mutex);
  if (!cjson_has_hooks) {
    cJSON_Hooks hooks = {allocate, release};
    cJSON_InitHooks(&hooks);
    cjson_has_hooks = true;
  }
  return cJSON_ParseWithLength(text.data(), text.size());
}

// Visits the tree in the order of the text.
void put_numbers(cJSON* root, const std::vector<double>& numbers) {
  std::vector<cJSON*> later;
  auto number = numbers.begin();
  for (cJSON* at = root; at;) {
    if (at->type == cJSON_Number) at->valuedouble = *number++;
    if (at->next) later.push_back(at->next);
    at = at->child;
    if (!at && !later.empty()) {
      at = later.back();
      later.pop_back();
    }
  }
}

}  // namespace

std::string_view json_kind_name(JsonKind kind) {
  switch (kind) {
    case JsonKind::Null: return "null";
    case JsonKind::Bool: return "bool";
    case JsonKind::Number: return "number";
    case JsonKind::Text: return "text";
    case JsonKind::Array: return "array";
    case JsonKind::Object: return "object";
  }
  return "";
}

Result<Json> Json::parse(std::string_view text, const JsonLimits& limits) {
  JsonLimits both = limits;
  both.depth_max = std::min<u32>(limits.depth_max, CJSON_NESTING_LIMIT);
  SOMA_ASSIGN(const ValidJson valid, validate_json(text, both));
  Json out(parse_tree(valid.text));
  if (!out.root_) throw std::bad_alloc();  // the text is valid: nothing else can have failed
  put_numbers(out.root_, valid.numbers);
  return out;
}

Json::Json(Json&& other) noexcept : root_(std::exchange(other.root_, nullptr)) {}

Json& Json::operator=(Json&& other) noexcept {
  std::swap(root_, other.root_);
  return *this;
}

Json::~Json() { cJSON_Delete(root_); }

JsonKind JsonView::kind() const {
  switch (node_->type) {
    case cJSON_False:
    case cJSON_True: return JsonKind::Bool;
    case cJSON_Number: return JsonKind::Number;
    case cJSON_String: return JsonKind::Text;
    case cJSON_Array: return JsonKind::Array;
    case cJSON_Object: return JsonKind::Object;
    default: return JsonKind::Null;
  }
}

bool JsonView::truth() const { return node_->type == cJSON_True; }
double JsonView::number() const { return node_->valuedouble; }
std::string_view JsonView::text() const { return node_->valuestring; }
std::string_view JsonView::key() const { return node_->string; }
JsonView JsonView::first() const { return JsonView(node_->child); }
JsonView JsonView::next() const { return JsonView(node_->next); }

std::optional<i64> JsonView::integer() const {
  const double number = node_->valuedouble;
  if (std::abs(number) > static_cast<double>(json_whole_max)) return std::nullopt;
  const auto whole = static_cast<i64>(number);
  if (static_cast<double>(whole) != number) return std::nullopt;
  return whole;
}

size_t JsonView::size() const {
  size_t out = 0;
  for (JsonView at = first(); at; at = at.next()) ++out;
  return out;
}

JsonView JsonView::member(std::string_view key) const {
  for (JsonView at = first(); at; at = at.next()) {
    if (at.key() == key) return at;
  }
  return {};
}

}  // namespace soma
