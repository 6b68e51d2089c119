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

namespace {

// Bytes of the character at `at` if it is one for controls, or for the direction of writing.
size_t control_length(std::string_view text, size_t at) {
  const auto byte = [&](size_t i) -> unsigned {
    return i < text.size() ? static_cast<unsigned char>(text[i]) : 0;
  };
  const unsigned lead = byte(at), second = byte(at + 1);
  if (lead < 0x20 || lead == 0x7F) return 1;
  if (lead == 0xC2) return second >= 0x80 && second < 0xA0 ? 2 : 0;  // U+0080 to U+009F
  if (lead == 0xD8) return second == 0x9C ? 2 : 0;                   // U+061C
  const unsigned tail = second << 8 | byte(at + 2);
  const bool is_direction = tail == 0x808E || tail == 0x808F ||  // U+200E, U+200F; U+202A and on
                            (tail >= 0x80AA && tail <= 0x80AE) ||
                            (tail >= 0x81A6 && tail <= 0x81A9);  // U+2066 to U+2069
  return lead == 0xE2 && is_direction ? 3 : 0;
}

}  // namespace

std::string printable(std::string_view text) {
  std::string out;
  for (size_t i = 0; i < text.size(); ++i) {
    const size_t control = control_length(text, i);
    if (control == 0) {
      out += text[i];
      continue;
    }
    unsigned point = static_cast<unsigned char>(text[i]) &
                     (control == 1 ? 0x7FU : control == 2 ? 0x1FU : 0x0FU);
    for (size_t more = 1; more < control; ++more) {
      point = point << 6 | (static_cast<unsigned char>(text[++i]) & 0x3FU);
    }
    char escaped[8];
    std::snprintf(escaped, sizeof escaped, "\\u%04x", point);
    out += escaped;
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
