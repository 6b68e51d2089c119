// Progress on stderr, and Ctrl-C.
#include "cli/progress.hpp"

#include <signal.h>
#include <unistd.h>

#include <atomic>
#include <cmath>
#include <cstdio>

namespace cli {

namespace {

constexpr double line_every_s = 2;   // into a pipe; what takes less time says nothing

// The tool is a process of its own, so it may have state: what the signal handler reaches, when the
// work is expected to end, and what was shown last.
std::atomic<soma_cancel*> the_cancel{nullptr};
std::atomic<double> the_end_s{-1};   // on the clock of seconds_now; negative: not known
std::string last_phase, last_shown;
double last_line_s = 0;
bool line_open = false;

void on_signal(int) { soma_cancel_request(the_cancel.load()); }

// "3 min 20 s": its two largest units.
std::string duration_text(double seconds) {
  const auto whole = std::max(static_cast<long>(std::ceil(seconds)), 1L);
  const std::pair<long, const char*> units[] = {{86'400, " d"}, {3600, " h"}, {60, " min"},
                                                {1, " s"}};
  for (size_t i = 0; i < std::size(units); ++i) {
    const auto [length, name] = units[i];
    if (whole < length) continue;
    std::string text = std::to_string(whole / length) + name;
    if (i + 1 == std::size(units)) return text;
    const auto [next_length, next_name] = units[i + 1];
    const long rest = whole % length / next_length;
    return rest == 0 ? text : text + " " + std::to_string(rest) + next_name;
  }
  return {};
}

std::string left_text(double now_s) {
  const double end_s = the_end_s.load();
  if (end_s < now_s) return {};    // not known, or known to be wrong
  return ", about " + duration_text(end_s - now_s) + " left";
}

int32_t on_tick(void*, const char* phase, size_t phase_length, uint64_t done, uint64_t total) {
  const std::string name(phase, phase_length);
  // Decoding shows itself by its text.
  if (total == 0 || name == "decode") return SOMA_CONTINUE;
  const double now_s = seconds_now();
  if (name != last_phase) last_line_s = now_s;
  last_phase = name;
  const int percent = static_cast<int>(done * 100 / total);
  const std::string shown = std::to_string(percent) + " %" + left_text(now_s);
  if (isatty(STDERR_FILENO)) {
    if (line_open && shown == last_shown) return SOMA_CONTINUE;
    std::string bar(static_cast<size_t>(percent) / 4, '#');
    bar.resize(25, '.');
    std::fprintf(stderr, "\r%-8s [%s] %s\033[K", name.c_str(), bar.c_str(), shown.c_str());
    last_shown = shown;
    line_open = true;
  } else if (now_s - last_line_s >= line_every_s) {
    std::fprintf(stderr, "%s %s\n", name.c_str(), shown.c_str());
    last_line_s = now_s;
  }
  return SOMA_CONTINUE;
}

}  // namespace

Cancel make_cancel(const Runtime& runtime, bool show_progress) {
  Cancel cancel;
  check([&](soma_error** error) { return soma_cancel_create(runtime, cancel.out(), error); });
  if (show_progress) {
    check([&](soma_error** error) {
      return soma_cancel_set_tick(cancel, on_tick, nullptr, nullptr, error);
    });
  }
  // The handler may run as late as at exit: it keeps a reference of its own.
  soma_cancel_retain(cancel);
  the_cancel = cancel;
  struct sigaction action = {};
  action.sa_handler = on_signal;
  action.sa_flags = static_cast<int>(SA_RESETHAND);  // a second Ctrl-C ends the process at once
  sigaction(SIGINT, &action, nullptr);
  sigaction(SIGTERM, &action, nullptr);
  return cancel;
}

void expect_end(int64_t from_now_ns) {
  the_end_s = from_now_ns < 0 ? -1 : seconds_now() + 1e-9 * static_cast<double>(from_now_ns);
}

void clear_progress() {
  if (!line_open) return;
  std::fprintf(stderr, "\r\033[K");
  line_open = false;
}

}  // namespace cli
