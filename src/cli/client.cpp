// Failures as text, and the few facts a verb asks of the system.
#include "cli/client.hpp"

#include <time.h>

#include <fstream>

namespace cli {

namespace {

std::string detail(const soma_error* error, std::string_view key) {
  for (size_t i = 0; i < soma_error_detail_count(error); ++i) {
    if (soma_error_detail_key(error, i, nullptr) == key) {
      return soma_error_detail_value(error, i, nullptr);
    }
  }
  return {};
}

void describe(const soma_error* error, std::string& out) {
  out += printable(soma_error_message(error, nullptr));
  out += " [";
  out += soma_error_reason(error, nullptr);
  out += "]";
  // A run's error says of which node it is, and where that was.
  if (const std::string path = detail(error, "path"), node = detail(error, "node");
      !path.empty() && !node.empty()) {
    out += "\n  node " + printable(node) + ", path " + printable(path);
  }
  for (size_t i = 0; i < soma_error_other_count(error); ++i) {
    out += "\n  ";
    describe(soma_error_other(error, i), out);
  }
}

}  // namespace

void throw_failure(soma_code code, soma_error* error) {
  Failure failure{code, {}};
  if (error == nullptr) {
    failure.text = soma_code_name(code);
  } else {
    describe(error, failure.text);
    failure.reason = soma_error_reason(error, nullptr);
  }
  soma_error_release(error);
  throw failure;
}

std::string printable(std::string_view text) {
  std::string out;
  for (size_t i = 0; i < text.size(); ++i) {
    const unsigned byte = static_cast<unsigned char>(text[i]);
    const unsigned next = i + 1 < text.size() ? static_cast<unsigned char>(text[i + 1]) : 0;
    const bool is_wide = byte == 0xC2 && next >= 0x80 && next < 0xA0;  // U+0080 to U+009F
    if (byte >= 0x20 && byte != 0x7F && !is_wide) {
      out += text[i];
      continue;
    }
    char escaped[8];
    std::snprintf(escaped, sizeof escaped, "\\u%04x", is_wide ? next : byte);
    out += escaped;
    i += is_wide ? 1 : 0;
  }
  return out;
}

Options make_options(const char* kind) {
  Options options;
  check([&](soma_error** error) {
    return soma_options_create(kind, SOMA_NUL, options.out(), error);
  });
  return options;
}

void set(const Options& options, const char* key, const std::string& value) {
  check([&](soma_error** error) {
    return soma_options_parse(options, key, SOMA_NUL, value.data(), value.size(), error);
  });
}

double seconds_now() {
  timespec at = {};
  clock_gettime(CLOCK_MONOTONIC, &at);
  return static_cast<double>(at.tv_sec) + 1e-9 * static_cast<double>(at.tv_nsec);
}

// From /proc: what getrusage says includes the process that started this one, before it did.
uint64_t peak_memory_bytes() {
  std::ifstream status("/proc/self/status");
  for (std::string word; status >> word;) {
    uint64_t kib = 0;
    if (word == "VmHWM:" && status >> kib) return kib * 1024;
  }
  return 0;
}

}  // namespace cli
