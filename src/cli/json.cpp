// The tool's JSON, on cJSON.
#include "cli/json.hpp"

#include <cjson/cJSON.h>

#include <cstdlib>
#include <new>
#include <utility>

#include "cli/client.hpp"

namespace cli {

namespace {

cJSON* made(cJSON* node) {
  if (node == nullptr) throw std::bad_alloc();
  return node;
}

std::string printed(const cJSON* node) {
  char* line = cJSON_PrintUnformatted(node);
  if (line == nullptr) throw std::bad_alloc();
  std::string out(line);
  cJSON_free(line);
  return out;
}

}  // namespace

JsonView JsonView::at(const char* key) const {
  return JsonView(cJSON_GetObjectItemCaseSensitive(node_, key));
}

JsonView JsonView::first() const {
  const bool has_parts = cJSON_IsArray(node_) || cJSON_IsObject(node_);
  return JsonView(has_parts ? node_->child : nullptr);
}

JsonView JsonView::next() const { return JsonView(node_ == nullptr ? nullptr : node_->next); }

std::string JsonView::key() const {
  return node_ == nullptr || node_->string == nullptr ? "" : node_->string;
}

std::string JsonView::text() const { return cJSON_IsString(node_) ? node_->valuestring : ""; }
double JsonView::number() const { return cJSON_IsNumber(node_) ? node_->valuedouble : 0; }
std::string JsonView::print() const { return node_ == nullptr ? "null" : printed(node_); }

Json Json::object() { return Json(made(cJSON_CreateObject())); }

Json Json::parse(const std::string& text) {
  cJSON* root = cJSON_ParseWithLength(text.data(), text.size());
  if (root == nullptr) throw Failure{SOMA_INTERNAL, "libsoma returned JSON that does not parse"};
  return Json(root);
}

Json::Json(Json&& other) noexcept : root_(std::exchange(other.root_, nullptr)) {}

Json& Json::operator=(Json&& other) noexcept {
  std::swap(root_, other.root_);
  return *this;
}

Json::~Json() { cJSON_Delete(root_); }

double Json::number(const char* key) const {
  const cJSON* member = cJSON_GetObjectItemCaseSensitive(root_, key);
  return cJSON_IsNumber(member) ? member->valuedouble : 0;
}

std::string Json::text(const char* key) const {
  const cJSON* member = cJSON_GetObjectItemCaseSensitive(root_, key);
  return cJSON_IsString(member) ? member->valuestring : "";
}

std::vector<int32_t> Json::integers(const char* key) const {
  std::vector<int32_t> out;
  const cJSON* element = nullptr;
  cJSON_ArrayForEach(element, cJSON_GetObjectItemCaseSensitive(root_, key)) {
    out.push_back(static_cast<int32_t>(element->valuedouble));
  }
  return out;
}

Json Json::object(const char* key) const {
  const cJSON* member = cJSON_GetObjectItemCaseSensitive(root_, key);
  return Json(made(member == nullptr ? cJSON_CreateObject() : cJSON_Duplicate(member, true)));
}

Json& Json::add(const char* key, double value) {
  made(cJSON_AddNumberToObject(root_, key, value));
  return *this;
}

Json& Json::add(const char* key, bool value) {
  made(cJSON_AddBoolToObject(root_, key, value));
  return *this;
}

Json& Json::add(const char* key, std::string_view value) {
  made(cJSON_AddStringToObject(root_, key, std::string(value).c_str()));
  return *this;
}

Json& Json::add(const char* key, const std::vector<int32_t>& values) {
  // Of no values cJSON makes no array.
  cJSON* array = made(values.empty()
                          ? cJSON_CreateArray()
                          : cJSON_CreateIntArray(values.data(), static_cast<int>(values.size())));
  cJSON_AddItemToObject(root_, key, array);
  return *this;
}

Json& Json::add(const char* key, Json value) {
  cJSON_AddItemToObject(root_, key, std::exchange(value.root_, nullptr));
  return *this;
}

std::string Json::print() const { return printed(root_); }

std::string indented(const std::string& text) {
  cJSON* root = made(cJSON_ParseWithLength(text.data(), text.size()));
  char* lines = cJSON_Print(root);
  cJSON_Delete(root);
  if (lines == nullptr) throw std::bad_alloc();
  std::string out(lines);
  cJSON_free(lines);
  return out;
}

}  // namespace cli
