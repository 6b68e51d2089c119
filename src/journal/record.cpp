// The names of a record's kinds, and what a run may be called.
#include "journal/record.hpp"

#include <time.h>

#include <algorithm>
#include <array>

#include "base/text.hpp"

namespace soma {

namespace {

constexpr size_t run_id_bytes_max = 200;

// In the order of the enumerators. The names stand in files: they may be added to, never changed.
constexpr std::array<std::string_view, 7> kind_names = {
    "intent", "result", "failure", "suspension", "answer", "output", "end"};

// U+0000 to U+001F, U+007F, and U+0080 to U+009F, which some terminals obey as well.
bool has_control_character(std::string_view text) {
  for (size_t i = 0; i < text.size(); ++i) {
    const auto byte = static_cast<u8>(text[i]);
    if (byte < 0x20 || byte == 0x7F) return true;
    if (byte == 0xC2 && i + 1 < text.size() && static_cast<u8>(text[i + 1]) < 0xA0) return true;
  }
  return false;
}

}  // namespace

std::string place_text(const Site& site) {
  return text("{}#{}.{}", site.path, site.turn, site.index);
}

std::string site_text(const Site& site) {
  return text("{} (turn {}, effect {})", quoted(site.path, 256), site.turn, site.index);
}

i64 wall_clock_ns() {
  timespec now = {};
  clock_gettime(CLOCK_REALTIME, &now);
  return i64{now.tv_sec} * 1'000'000'000 + now.tv_nsec;
}

std::string_view record_kind_name(Record::Kind kind) {
  return kind_names[static_cast<size_t>(kind)];
}

std::optional<Record::Kind> record_kind_by_name(std::string_view name) {
  const auto* const found = std::find(kind_names.begin(), kind_names.end(), name);
  if (found == kind_names.end()) return std::nullopt;
  return static_cast<Record::Kind>(found - kind_names.begin());
}

Status check_run_id(std::string_view run) {
  if (run.empty() || run.size() > run_id_bytes_max) {
    return fail(Reason::journal_run_id, "a run's id has 1 to {} bytes, {} has {}; give another",
                run_id_bytes_max, quoted(run), run.size());
  }
  if (find_invalid_utf8(run) != std::string_view::npos || has_control_character(run)) {
    return fail(Reason::journal_run_id,
                "a run's id is UTF-8 without control characters, {} is not; give another",
                quoted(run, run_id_bytes_max));
  }
  return {};
}

}  // namespace soma
