// The options' table, and values that keep to it.
#include "abi/options.hpp"

#include <charconv>
#include <cmath>
#include <stdexcept>

#include "base/text.hpp"

namespace soma::wall {

namespace {

constexpr OptionInfo table[] = {
#define SOMA_INT(of, name, standard, low, high, version, sentence)                          \
  {.kind = OptionKind::of, .key = name, .type = OptionType::Int, .default_int = standard,  \
   .minimum_int = low, .maximum_int = high, .since = version, .text = sentence},
#define SOMA_BOOL(of, name, standard, version, sentence)                                    \
  {.kind = OptionKind::of, .key = name, .type = OptionType::Bool, .default_int = standard, \
   .maximum_int = 1, .since = version, .text = sentence},
#define SOMA_DOUBLE(of, name, standard, low, high, version, sentence)                      \
  {.kind = OptionKind::of, .key = name, .type = OptionType::Double,                        \
   .default_double = standard, .minimum_double = low, .maximum_double = high,              \
   .since = version, .text = sentence},
#define SOMA_TEXT(of, name, standard, choice, version, sentence)                           \
  {.kind = OptionKind::of, .key = name, .type = OptionType::Text,                          \
   .default_text = standard, .choices = choice, .since = version, .text = sentence},
#include "abi/options_table.inc"
#undef SOMA_INT
#undef SOMA_BOOL
#undef SOMA_DOUBLE
#undef SOMA_TEXT
};

constexpr std::pair<OptionKind, std::string_view> kinds[] = {
    {OptionKind::Runtime, "runtime"},   {OptionKind::Model, "model"},
    {OptionKind::Session, "session"},   {OptionKind::Generate, "generate"},
    {OptionKind::Plan, "plan"},         {OptionKind::Compile, "compile"},
    {OptionKind::Run, "run"},          {OptionKind::Cache, "cache"},
    {OptionKind::PlanCache, "plan_cache"},
};

std::string_view type_name(OptionType type) {
  switch (type) {
    case OptionType::Int: return "int";
    case OptionType::Bool: return "bool";
    case OptionType::Double: return "double";
    case OptionType::Text: return "text";
  }
  return "";
}

std::string_view type_name(const OptionValue& value) {
  constexpr std::string_view names[] = {"int", "double", "text"};
  return names[value.index()];
}

bool is_choice(std::string_view choices, std::string_view value) {
  if (choices.empty()) return true;
  while (true) {
    const size_t end = choices.find('|');
    if (choices.substr(0, end) == value) return true;
    if (end == std::string_view::npos) return false;
    choices.remove_prefix(end + 1);
  }
}

std::string full_name(const OptionInfo& info) {
  return soma::text("{}.{}", option_kind_name(info.kind), info.key);
}

template <typename T>
Result<OptionValue> parse_number(const OptionInfo& info, std::string_view text) {
  T number{};
  const char* end = text.data() + text.size();
  const std::from_chars_result result = std::from_chars(text.data(), end, number);
  if (result.ec == std::errc::result_out_of_range) {
    return fail(Reason::option_range, "the option {} can't hold {}", full_name(info),
                quoted(text));
  }
  if (result.ec != std::errc() || result.ptr != end) {
    return fail(Reason::option_type, "the option {} takes a number ({}), got {}", full_name(info),
                type_name(info.type), quoted(text));
  }
  return OptionValue(number);
}

}  // namespace

std::span<const OptionInfo> option_table() { return table; }

std::string_view option_kind_name(OptionKind kind) {
  return kinds[static_cast<size_t>(kind)].second;
}

std::optional<OptionKind> option_kind_by_name(std::string_view name) {
  for (const auto& [kind, known] : kinds) {
    if (known == name) return kind;
  }
  return std::nullopt;
}

OptionValue default_of(const OptionInfo& info) {
  switch (info.type) {
    case OptionType::Int:
    case OptionType::Bool: return info.default_int;
    case OptionType::Double: return info.default_double;
    case OptionType::Text: return std::string(info.default_text);
  }
  return i64{0};
}

Status check_option(const OptionInfo& info, const OptionValue& value) {
  if (value.index() != default_of(info).index()) {
    return fail(Reason::option_type, "the option {} is of type {}, got a value of type {}",
                full_name(info), type_name(info.type), type_name(value));
  }
  if (const i64* number = std::get_if<i64>(&value)) {
    if (*number >= info.minimum_int && *number <= info.maximum_int) return {};
    return fail(Reason::option_range, "the option {} is from {} to {}, got {}", full_name(info),
                info.minimum_int, info.maximum_int, *number);
  }
  if (const double* number = std::get_if<double>(&value)) {
    if (*number >= info.minimum_double && *number <= info.maximum_double) return {};
    return fail(Reason::option_range, "the option {} is from {} to {}, got {}", full_name(info),
                info.minimum_double, info.maximum_double, *number);
  }
  const std::string& word = std::get<std::string>(value);
  if (is_choice(info.choices, word)) return {};
  return fail(Reason::option_range, "the option {} is one of {}, got {}", full_name(info),
              info.choices, quoted(word));
}

Result<OptionValue> parse_option(const OptionInfo& info, std::string_view text) {
  switch (info.type) {
    case OptionType::Int: return parse_number<i64>(info, text);
    case OptionType::Double: return parse_number<double>(info, text);
    case OptionType::Text: return OptionValue(std::string(text));
    case OptionType::Bool: break;
  }
  if (text == "true" || text == "1") return OptionValue(i64{1});
  if (text == "false" || text == "0") return OptionValue(i64{0});
  return fail(Reason::option_type, "the option {} is true or false, got {}", full_name(info),
              quoted(text));
}

Result<Settings> Settings::of(const soma_options* options, OptionKind kind) {
  SOMA_TRY(check_maybe(options));
  if (options && options->of != kind) {
    return fail(Reason::argument_handle, "expected options of kind {}, got kind {}",
                option_kind_name(kind), option_kind_name(options->of));
  }
  return Settings(options, kind);
}

OptionValue Settings::value(std::string_view key) const {
  if (options_) {
    for (const soma_options::Entry& entry : options_->entries) {
      if (entry.info->key == key) return entry.value;
    }
  }
  for (const OptionInfo& info : table) {
    if (info.kind == kind_ && info.key == key) return default_of(info);
  }
  throw std::logic_error("an option is read that the table does not have");
}

}  // namespace soma::wall

using namespace soma;
using namespace soma::wall;

soma_options::soma_options(OptionKind kind_of) : Object(kind), of(kind_of) {
  for (const OptionInfo& info : table) {
    if (info.kind == of) entries.push_back({&info, default_of(info)});
  }
}

Result<size_t> soma_options::find(std::string_view key) const {
  std::string known;
  for (size_t i = 0; i < entries.size(); ++i) {
    if (entries[i].info->key == key) return i;
    known += known.empty() ? "" : ", ";
    known += entries[i].info->key;
  }
  return fail(Reason::option_unknown, "options of kind {} have no key {}; their keys are: {}",
              option_kind_name(of), quoted(key), known);
}

Status soma_options::set(std::string_view key, OptionValue value) {
  SOMA_ASSIGN(const size_t index, find(key));
  const OptionInfo& info = *entries[index].info;
  SOMA_TRY(check_option(info, value));
  entries[index].value = std::move(value);
  return {};
}
