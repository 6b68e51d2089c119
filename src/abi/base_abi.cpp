// Versions, what the library was built with, and what it has.
#include <fmt/core.h>
#define PCRE2_CODE_UNIT_WIDTH 8  // its header insists, though only its version is read
#include <pcre2.h>
#include <sqlite3.h>

#include "abi/blob.hpp"
#include "abi/guard.hpp"
#include "abi/options.hpp"
#include "abi/text_argument.hpp"
#include "backend/cpu/cpu_backend.hpp"
#include "base/json_writer.hpp"
#include "base/version.hpp"
#include "value/format.hpp"

using namespace soma;
using namespace soma::wall;

namespace {

constexpr std::string_view functions[] = {
#include "abi/functions.inc"
};

std::string abi_text() {
  return text("{}.{}", SOMA_HEADER_ABI >> 16, SOMA_HEADER_ABI & 0xffff);
}

void write_formats(JsonWriter& json) {
  json.key("formats").array();
  for (u8 i = 0; i < static_cast<u8>(Format::Other); ++i) {
    const FormatInfo& info = format_info(static_cast<Format>(i));
    json.object()
        .field("name", info.name)
        .field("weight", info.on_weight)
        .field("edge", info.on_edge)
        .field("kv", info.on_kv)
        .close();
  }
  json.close();
}

std::string describe_build() {
  JsonWriter json;
  json.object()
      .field("version", SOMA_VERSION_STRING)
      .field("abi", abi_text())
#ifdef __clang__
      .field("compiler", "clang " __clang_version__)
#else
      .field("compiler", "gcc " __VERSION__)
#endif
      .key("kernel_sets")
      .array();
  for (const cpu::SetInfo& set : cpu::kernel_sets()) {
    json.object().field("name", set.name).field("available", set.available).close();
  }
  json.close();
  write_formats(json);
  json.key("libraries")
      .object()
      .field("pcre2", text("{}.{}", PCRE2_MAJOR, PCRE2_MINOR))
      .field("fmt", text("{}.{}.{}", FMT_VERSION / 10000, FMT_VERSION / 100 % 100,
                         FMT_VERSION % 100))
      .field("sqlite", SQLITE_VERSION)
      .close()
      .close();
  return std::move(json).take();
}

// What follows `prefix` in `name`, if that is how it starts.
std::optional<std::string_view> after(std::string_view name, std::string_view prefix) {
  if (!name.starts_with(prefix)) return std::nullopt;
  return name.substr(prefix.size());
}

bool has_option(std::string_view name) {
  for (const OptionInfo& info : option_table()) {
    const std::optional<std::string_view> rest = after(name, option_kind_name(info.kind));
    if (rest && rest->starts_with('.') && rest->substr(1) == info.key) return true;
  }
  return false;
}

bool has_kernels(std::string_view name) {
  for (const cpu::SetInfo& set : cpu::kernel_sets()) {
    if (set.name == name) return true;
  }
  return false;
}

bool has(std::string_view name) {
  if (const auto rest = after(name, "option.")) return has_option(*rest);
  if (const auto rest = after(name, "kernels.")) return has_kernels(*rest);
  if (const auto rest = after(name, "format.")) {
    const std::optional<Format> format = format_by_name(*rest);
    return format && format_info(*format).on_weight;
  }
  for (const std::string_view function : functions) {
    if (function == name) return true;
  }
  return false;
}

}  // namespace

uint32_t soma_abi_version() noexcept { return SOMA_HEADER_ABI; }

const char* soma_version_string() noexcept { return SOMA_VERSION_STRING; }

soma_code soma_build_info(soma_blob** out, soma_error** error) noexcept {
  return produce(no_root, out, error,
                 [&]() -> Result<Ref<soma_blob>> { return make_blob(nullptr, describe_build()); });
}

int32_t soma_has(const char* name, size_t name_length) noexcept {
  try {
    const MemoryScope outside(nullptr);
    const Result<std::string_view> checked = text_argument("name", name, name_length);
    return checked.ok() && has(*checked) ? 1 : 0;
  } catch (...) {
    return 0;
  }
}

const char* soma_code_name(soma_code code) noexcept {
  return code_name(static_cast<Code>(code)).data();
}
