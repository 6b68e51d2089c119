// Progress on stderr, and Ctrl-C.
#include "cli/progress.hpp"

#include <signal.h>
#include <unistd.h>

#include <atomic>
#include <cstdio>

namespace cli {

namespace {

// The tool is a process of its own, so it may have state: what the signal handler reaches, and
// what is on the terminal's last line.
std::atomic<soma_cancel*> the_cancel{nullptr};
std::string last_phase;
int last_percent = -1;
bool line_open = false;

void on_signal(int) { soma_cancel_request(the_cancel.load()); }

int32_t on_tick(void*, const char* phase, size_t phase_length, uint64_t done, uint64_t total) {
  const std::string name(phase, phase_length);
  // Decoding shows itself by its text.
  if (total == 0 || name == "decode") return SOMA_CONTINUE;
  const int percent = static_cast<int>(done * 100 / total);
  if (isatty(STDERR_FILENO)) {
    if (name == last_phase && percent == last_percent) return SOMA_CONTINUE;
    std::string bar(static_cast<size_t>(percent) / 4, '#');
    bar.resize(25, '.');
    std::fprintf(stderr, "\r%-8s [%s] %3d %%", name.c_str(), bar.c_str(), percent);
    line_open = true;
  } else if (name != last_phase || percent / 25 != last_percent / 25) {
    std::fprintf(stderr, "%s %d %%\n", name.c_str(), percent);
  }
  last_phase = name;
  last_percent = percent;
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

void clear_progress() {
  if (!line_open) return;
  std::fprintf(stderr, "\r\033[K");
  line_open = false;
}

}  // namespace cli
