// soma_options_*: options objects.
#include "abi/blob.hpp"
#include "abi/guard.hpp"
#include "abi/options.hpp"
#include "abi/text_argument.hpp"
#include "base/json_writer.hpp"
#include "base/pool.hpp"
#include "base/text.hpp"

using namespace soma;
using namespace soma::wall;

namespace {

// Reading is the same whatever the type: find the key, see that the value is of that type.
template <typename T>
Result<T> get(const soma_options* options, const char* key, size_t key_length) {
  SOMA_ASSIGN(const std::string_view name, text_argument("key", key, key_length));
  SOMA_ASSIGN(const size_t index, options->find(name));
  if (const T* value = std::get_if<T>(&options->entries[index].value)) return *value;
  return fail(Reason::option_type, "the option {}.{} is of another type",
              option_kind_name(options->of), name);
}

Status set(soma_options* options, const char* key, size_t key_length, OptionValue value) {
  SOMA_ASSIGN(const std::string_view name, text_argument("key", key, key_length));
  return options->set(name, std::move(value));
}

void write_value(JsonWriter& json, const OptionInfo& info, const OptionValue& value) {
  if (info.type == OptionType::Bool) {
    json.value(std::get<i64>(value) != 0);
    return;
  }
  std::visit([&json](const auto& content) { json.value(content); }, value);
}

void write_range(JsonWriter& json, const OptionInfo& info) {
  if (info.type == OptionType::Int) {
    json.field("minimum", info.minimum_int).field("maximum", info.maximum_int);
  } else if (info.type == OptionType::Double) {
    json.field("minimum", info.minimum_double).field("maximum", info.maximum_double);
  } else if (!info.choices.empty()) {
    json.key("choices").array();
    std::string_view rest = info.choices;
    while (true) {
      const size_t end = rest.find('|');
      json.value(rest.substr(0, end));
      if (end == std::string_view::npos) break;
      rest.remove_prefix(end + 1);
    }
    json.close();
  }
}

std::string describe(const soma_options::Entry& entry) {
  constexpr std::string_view types[] = {"int", "bool", "double", "text"};
  const OptionInfo& info = *entry.info;
  JsonWriter json;
  json.object().field("name", info.key).field("type", types[static_cast<size_t>(info.type)]);
  write_value(json.key("default"), info, default_of(info));
  write_value(json.key("value"), info, entry.value);
  write_range(json, info);
  json.field("since", info.since).field("text", info.text).close();
  return std::move(json).take();
}

Status check_runtime_kind(const soma_options* options) {
  if (options->of == OptionKind::Runtime) return {};
  return fail(Reason::argument_handle, "expected options of kind runtime, got kind {}",
              option_kind_name(options->of));
}

}  // namespace

soma_code soma_options_create(const char* kind, size_t kind_length, soma_options** out,
                              soma_error** error) noexcept {
  return produce(no_root, out, error, [&]() -> Result<Ref<soma_options>> {
    SOMA_ASSIGN(const std::string_view name, text_argument("kind", kind, kind_length));
    const std::optional<OptionKind> known = option_kind_by_name(name);
    if (known) return make<soma_options>(*known);
    return fail(Reason::option_unknown,
                "there are no options of kind {}; the kinds are runtime, model, session, generate "
                "and plan",
                quoted(name));
  });
}

soma_code soma_options_set_int(soma_options* options, const char* key, size_t key_length,
                               int64_t value, soma_error** error) noexcept {
  return perform(options, error, [&] { return set(options, key, key_length, i64{value}); });
}

soma_code soma_options_set_double(soma_options* options, const char* key, size_t key_length,
                                  double value, soma_error** error) noexcept {
  return perform(options, error, [&] { return set(options, key, key_length, value); });
}

soma_code soma_options_set_text(soma_options* options, const char* key, size_t key_length,
                                const char* value, size_t value_length,
                                soma_error** error) noexcept {
  return perform(options, error, [&]() -> Status {
    SOMA_ASSIGN(const std::string_view content, text_argument("value", value, value_length));
    return set(options, key, key_length, std::string(content));
  });
}

soma_code soma_options_parse(soma_options* options, const char* key, size_t key_length,
                             const char* value, size_t value_length,
                             soma_error** error) noexcept {
  return perform(options, error, [&]() -> Status {
    SOMA_ASSIGN(const std::string_view name, text_argument("key", key, key_length));
    SOMA_ASSIGN(const std::string_view content, text_argument("value", value, value_length));
    SOMA_ASSIGN(const size_t index, options->find(name));
    SOMA_ASSIGN(OptionValue parsed, parse_option(*options->entries[index].info, content));
    return options->set(name, std::move(parsed));
  });
}

soma_code soma_options_get_int(const soma_options* options, const char* key, size_t key_length,
                               int64_t* out, soma_error** error) noexcept {
  return perform(options, error, [&]() -> Status {
    if (!out) return null_argument("out");
    SOMA_ASSIGN(*out, get<i64>(options, key, key_length));
    return {};
  });
}

soma_code soma_options_get_double(const soma_options* options, const char* key, size_t key_length,
                                  double* out, soma_error** error) noexcept {
  return perform(options, error, [&]() -> Status {
    if (!out) return null_argument("out");
    SOMA_ASSIGN(*out, get<double>(options, key, key_length));
    return {};
  });
}

soma_code soma_options_get_text(const soma_options* options, const char* key, size_t key_length,
                                soma_blob** out, soma_error** error) noexcept {
  return produce(options, out, error, [&]() -> Result<Ref<soma_blob>> {
    SOMA_ASSIGN(std::string value, get<std::string>(options, key, key_length));
    return make_blob(nullptr, std::move(value));
  });
}

size_t soma_options_count(const soma_options* options) noexcept {
  return is_valid(options) ? options->entries.size() : 0;
}

soma_code soma_options_describe(const soma_options* options, size_t index, soma_blob** out,
                                soma_error** error) noexcept {
  return produce(options, out, error, [&]() -> Result<Ref<soma_blob>> {
    if (index < options->entries.size()) {
      return make_blob(nullptr, describe(options->entries[index]));
    }
    return fail(Reason::argument_range, "options of kind {} have {} keys, there is no number {}",
                option_kind_name(options->of), options->entries.size(), index);
  });
}

soma_code soma_options_set_allocator(soma_options* options, soma_alloc_fn alloc,
                                     soma_free_fn dealloc, void* user, soma_destroy_fn destroy,
                                     soma_error** error) noexcept {
  UserData data(user, destroy);
  return perform(options, error, [&]() -> Status {
    SOMA_TRY(check_runtime_kind(options));
    if ((alloc == nullptr) != (dealloc == nullptr)) {
      return null_argument(alloc ? "dealloc" : "alloc");
    }
    options->allocator = alloc ? make<HostAllocator>(alloc, dealloc, std::move(data))
                               : Ref<HostAllocator>();
    return {};
  });
}

soma_code soma_options_set_log(soma_options* options, uint64_t mask, int32_t thread,
                               soma_log_fn log, void* user, soma_destroy_fn destroy,
                               soma_error** error) noexcept {
  UserData data(user, destroy);
  return perform(options, error, [&]() -> Status {
    constexpr u64 levels = SOMA_LOG_WARNING | SOMA_LOG_INFO | SOMA_LOG_DEBUG;
    SOMA_TRY(check_runtime_kind(options));
    if ((mask & ~levels) != 0) {
      return fail(Reason::argument_range, "the mask {:#x} has bits that are no level", mask);
    }
    if (thread != SOMA_THREAD_CALLER && thread != SOMA_THREAD_ANY) {
      return fail(Reason::argument_range, "the thread mode is 1 (caller) or 2 (any), got {}",
                  thread);
    }
    options->log = log ? make<HostLog>(mask, log, std::move(data)) : Ref<HostLog>();
    return {};
  });
}

soma_code soma_options_set_pool(soma_options* options, soma_submit_fn submit, int32_t parallelism,
                                void* user, soma_destroy_fn destroy, soma_error** error) noexcept {
  UserData data(user, destroy);
  return perform(options, error, [&]() -> Status {
    SOMA_TRY(check_runtime_kind(options));
    if (parallelism < 0 || parallelism > Pool::host_parallelism_max) {
      return fail(Reason::argument_range, "parallelism is 0 to {}, got {}",
                  Pool::host_parallelism_max, parallelism);
    }
    options->pool = submit ? make<HostPool>(submit, parallelism, std::move(data)) : Ref<HostPool>();
    return {};
  });
}

void soma_options_retain(const soma_options* options) noexcept { retain(options); }
void soma_options_release(const soma_options* options) noexcept { release(options); }
