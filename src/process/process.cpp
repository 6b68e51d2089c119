// One process, from its start to its end.
//
// A process is over when it has ended and nobody can write to its stdout and stderr any more. What
// it has started may hold these open for longer than anybody wants to wait (a shell's background
// job): after a grace what was written by then is all there is, and the job goes on without us.
//
// It is stopped as a whole, with all that it has started and that has stayed in its group: by
// SIGTERM, then, if something still runs or holds its pipes, by SIGKILL. The group's number is its
// own as long as it has not been reaped, so that comes last. If the host reaps it (it ignores
// SIGCHLD, or waits for any child), the number may be somebody else's at once: nothing is sent to
// it any more, and nobody knows how the process ended.
//
// What can't even be killed (it runs as somebody else, or the system waits for a disk) is left to
// itself in the end: its pipes are closed, and nothing here waits for it.
#include "process/process.hpp"

#include <signal.h>
#include <sys/wait.h>

#include <algorithm>
#include <array>
#include <cerrno>

#include "base/text.hpp"

namespace soma {

namespace {

constexpr size_t chunk_bytes = 65536;  // as much as a pipe holds

// False: nothing more comes. `use` gets what there is.
template <typename Use>
bool read_some(int fd, const Use& use) {
  std::array<char, chunk_bytes> chunk;
  const ssize_t count = ::read(fd, chunk.data(), chunk.size());
  if (count < 0) return errno == EAGAIN || errno == EINTR;
  if (count > 0) use(std::string_view(chunk.data(), static_cast<size_t>(count)));
  return count > 0;
}

int wait_without_waiting(int process, siginfo_t& info, int flags) {
  int result = -1;
  do {
    result = ::waitid(P_PIDFD, static_cast<id_t>(process), &info, WEXITED | WNOHANG | flags);
  } while (result != 0 && errno == EINTR);
  return result;
}

}  // namespace

std::string shown_errors(std::string_view errors) {
  while (errors.ends_with('\n')) errors.remove_suffix(1);
  return quoted(errors, Process::errors_kept_max);
}

Process::Process(Launched launched, std::string name, std::string input, i64 timeout_ns, i64 now_ns)
    : launched_(std::move(launched)), name_(std::move(name)), input_(std::move(input)) {
  if (timeout_ns < never_ns - now_ns) stop_at_ns_ = now_ns + timeout_ns;
  if (input_.empty()) launched_.input.close();
  if (!launched_.process.is_open()) note_end(now_ns);  // and has been reaped by others
}

// ---- Streams

// Who closes its stdin early does not need the rest.
void Process::write_input() {
  const ssize_t count =
      ::write(launched_.input.fd(), input_.data() + written_, input_.size() - written_);
  if (count < 0 && (errno == EAGAIN || errno == EINTR)) return;
  written_ = count < 0 ? input_.size() : written_ + static_cast<size_t>(count);
  if (written_ < input_.size()) return;
  launched_.input.close();
  input_ = {};
}

void Process::read_output(i64 now_ns) {
  const bool goes_on = read_some(launched_.output.fd(), [this](std::string_view read) {
    if (!is_stopping_) output_ += read;
  });
  if (!goes_on) launched_.output.close();
  if (output_.size() <= output_max || is_stopping_) return;
  stop(fail(Reason::exec_output,
            "program {} wrote more than {} MiB to its stdout, which is more than a value holds: "
            "have it write to a file, and yield its name",
            quoted(name_), output_max >> 20)
           .with("program", name_),
       now_ns);
}

void Process::read_errors() {
  const bool goes_on = read_some(launched_.errors.fd(), [this](std::string_view read) {
    errors_ += read.substr(read.size() - std::min(read.size(), errors_kept_max));
    if (errors_.size() > errors_kept_max) errors_.erase(0, errors_.size() - errors_kept_max);
  });
  if (!goes_on) launched_.errors.close();
}

// ---- The end

void Process::note_end(i64 now_ns) {
  has_ended_ = true;
  stop_at_ns_ = never_ns;
  launched_.input.close();
  if (!is_stopping_ || was_killed_) leave_at_ns_ = now_ns + grace_ns;
}

void Process::stop(std::optional<Error> why, i64 now_ns) {
  if (is_stopping_) return;
  is_stopping_ = true;
  why_ = std::move(why);
  output_ = {};
  stop_at_ns_ = never_ns;
  leave_at_ns_ = never_ns;
  kill_at_ns_ = now_ns + patience_ns;
  launched_.input.close();
  signal_group(SIGTERM);
}

i64 Process::look_at_ns() const { return std::min({stop_at_ns_, kill_at_ns_, leave_at_ns_}); }

void Process::look(i64 now_ns) {
  if (now_ns >= stop_at_ns_) {
    stop(fail(Reason::exec_timeout, "program {} did not end in the time it has: give it more by "
                                    "timeout_ms, or find out what it waits for",
              quoted(name_))
             .with("program", name_),
         now_ns);
  }
  if (now_ns >= kill_at_ns_) {
    signal_group(SIGKILL);
    was_killed_ = true;
    kill_at_ns_ = never_ns;
    leave_at_ns_ = now_ns + (has_ended_ ? grace_ns : last_patience_ns);
  }
  if (now_ns >= leave_at_ns_) is_left_ = true;
}

bool Process::is_over() const {
  const bool is_quiet = !launched_.output.is_open() && !launched_.errors.is_open();
  return is_left_ || (has_ended_ && is_quiet);
}

Result<ProcessEnd> Process::take_end() {
  if (is_stopping_) signal_group(SIGKILL);  // what has closed its pipes, and stayed
  Result<ProcessEnd> end = reap();
  if (why_) return std::move(*why_).with("stderr", shown_errors(errors_));
  if (!end.ok()) return end;
  end->output = std::move(output_);
  end->errors = std::move(errors_);
  return end;
}

void Process::signal_group(int number) const {
  siginfo_t info = {};
  if (!launched_.process.is_open()) return;
  if (wait_without_waiting(launched_.process.fd(), info, WNOWAIT) == 0) {
    ::kill(-launched_.id, number);
  }
}

Result<ProcessEnd> Process::reap() const {
  siginfo_t info = {};
  const bool is_ours = launched_.process.is_open() &&
                       wait_without_waiting(launched_.process.fd(), info, 0) == 0 &&
                       info.si_pid != 0;
  if (!is_ours) {
    return fail(Reason::exec_status,
                "program {} has ended, and nobody knows how: this program ignores SIGCHLD or waits "
                "for children that are not its own, and so took the answer; it is to wait for its "
                "own by their ids",
                quoted(name_))
        .with("program", name_);
  }
  ProcessEnd end;
  (info.si_code == CLD_EXITED ? end.status : end.signal) = info.si_status;
  return end;
}

}  // namespace soma
