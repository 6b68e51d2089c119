// Proves that processes get their input and yield their output, end in time and leave nothing
// behind, however they end, and that the host's own children and signals are left alone.
#include <sys/resource.h>
#include <sys/wait.h>

#include <dirent.h>

#include <atomic>
#include <cerrno>

#include "base/clock.hpp"
#include "unit/base/failing_memory.hpp"
#include "unit/process/told.hpp"

namespace soma {

namespace {

using fixture::Folder;
using fixture::Gate;
using fixture::output;
using fixture::request;
using fixture::run;
using fixture::shell;
using fixture::some_environment;
using fixture::Told;
using fixture::Watcher;

constexpr i64 ms = 1'000'000;

ProcessRequest within(i64 timeout_ns, ProcessRequest request) {
  request.timeout_ns = timeout_ns;
  return request;
}

std::string_view reason(const Result<ProcessEnd>& end) { return end.ok() ? "" : end.error().id(); }

size_t open_descriptors() {
  DIR* folder = ::opendir("/proc/self/fd");
  size_t count = 0;
  while (::readdir(folder) != nullptr) ++count;
  ::closedir(folder);
  return count;
}

// Of this process, running or waiting to be reaped.
bool has_children() {
  siginfo_t info = {};
  return ::waitid(P_ALL, 0, &info, WEXITED | WNOHANG | WNOWAIT) == 0;
}

bool can_be_read(int fd) {
  pollfd polled = {fd, POLLIN, 0};
  return ::poll(&polled, 1, fixture::patience_ms) == 1;
}

// At most so many descriptors may be open; as before at the end.
class DescriptorLimit {
 public:
  explicit DescriptorLimit(rlim_t limit) {
    ::getrlimit(RLIMIT_NOFILE, &before_);
    const rlimit now = {limit, before_.rlim_max};
    REQUIRE(::setrlimit(RLIMIT_NOFILE, &now) == 0);
  }
  ~DescriptorLimit() { ::setrlimit(RLIMIT_NOFILE, &before_); }
  DescriptorLimit(const DescriptorLimit&) = delete;
  DescriptorLimit& operator=(const DescriptorLimit&) = delete;

 private:
  rlimit before_ = {};
};

}  // namespace

// ---- Streams

TEST_CASE("status, stdout and stderr") {
  Result<ProcessEnd> end = run(shell("cat; echo err >&2; exit 3", "in"));
  REQUIRE(end.ok());
  CHECK(end->status == 3);
  CHECK(end->signal == 0);
  CHECK(end->output == "in");
  CHECK(end->errors == "err\n");
  end = run(shell("kill -USR1 $$"));
  REQUIRE(end.ok());
  CHECK(end->signal == SIGUSR1);
  CHECK(output(request({"true"})) == "");
}

TEST_CASE("input and output larger than pipes, at the same time") {
  std::string much;
  for (u32 line = 0; much.size() < (size_t{8} << 20); ++line) much += text("{}\n", line);
  CHECK(output(request({"cat"}, much)) == much);
}

std::atomic<int> pipe_signals{0};

TEST_CASE("who closes stdin early gets no more, and the host no signal") {
  const auto before = ::signal(SIGPIPE, [](int) { ++pipe_signals; });
  const std::string much(size_t{4} << 20, 'x');
  CHECK(output(shell("exec <&-; echo enough", much)) == "enough\n");
  CHECK(output(shell("head -c 3; echo", much)) == "xxx\n");
  CHECK(output(request({"true"}, much)) == "");
  ::signal(SIGPIPE, before);
  CHECK(pipe_signals == 0);
}

TEST_CASE("of stderr the end is kept") {
  const Result<ProcessEnd> end = run(shell("yes x | head -c 1000000 >&2; echo last >&2; exit 1"));
  REQUIRE(end.ok());
  CHECK(end->errors.size() == Process::errors_kept_max);
  CHECK(end->errors.ends_with("x\nlast\n"));
  CHECK(shown_errors("a\x1b[2J\xff\n\n") == "'a\\x1b[2J\\xff'");
}

TEST_CASE("more output than a value holds ends it") {
  const Result<ProcessEnd> end = run(shell("echo much >&2; exec yes"));
  REQUIRE(reason(end) == "exec.output");
  CHECK(end.error().details().back().value == "'much'");
  Result<ProcessEnd> most = run(shell(text("yes | head -c {}", Process::output_max)));
  REQUIRE(most.ok());
  CHECK(most->output.size() == Process::output_max);
}

// ---- Ends

TEST_CASE("the time it has") {
  const i64 begun_ns = now_ns();
  const Result<ProcessEnd> end =
      run(within(50 * ms, shell("echo waiting >&2; exec sleep 1000")));
  REQUIRE(reason(end) == "exec.timeout");
  CHECK(now_ns() - begun_ns >= 50 * ms);
  CHECK(end.error().message().starts_with("program 'sh' did not end in the time it has"));
  CHECK(reason(run(within(20'000 * ms, request({"true"})))) == "");
}

TEST_CASE("who ignores being asked to end is killed, with what it has begun") {
  Folder folder;
  Gate gate(folder, "gate");
  Processes processes(some_environment());
  Told told;
  REQUIRE(processes.start(shell(text("trap '' TERM; sleep 1000 & echo $! > {}; while :; do wait; "
                                     "done",
                                     gate.path())),
                          told.listener(true))
              .ok());
  Watcher begun(std::stoi(gate.read_lines(1)));
  const i64 asked_ns = now_ns();
  told.unwant();
  CHECK(reason(told.end()) == "cancelled");
  CHECK(now_ns() - asked_ns >= Process::patience_ns);
  CHECK(begun.has_ended(fixture::patience_ms));
}

TEST_CASE("what it has begun is asked to end too, and has time to") {
  Folder folder;
  Gate gate(folder, "gate");
  Processes processes(some_environment());
  Told told;
  constexpr std::string_view script =
      "(trap 'echo asked > {0}; exit' TERM; echo here > {0}; while :; do sleep 1; done) & wait";
  REQUIRE(processes.start(shell(text(script, gate.path())), told.listener(true)).ok());
  CHECK(gate.read_lines(1) == "here\n");
  told.unwant();
  CHECK(gate.read_lines(1) == "asked\n");
  CHECK(reason(told.end()) == "cancelled");
}

TEST_CASE("what it leaves behind may hold its stdout, and goes on") {
  const Result<ProcessEnd> end = run(shell("sleep 1000 & echo $!"));
  REQUIRE(end.ok());
  Watcher left(std::stoi(end->output));
  CHECK_FALSE(left.has_ended(0));
  left.kill();
}

TEST_CASE("what it leaves behind may write for a while") {
  for (const bool comes_in_time : {true, false}) {
    Folder folder;
    Gate gate(folder, "gate");
    const std::string script = text("(read go < {}; echo late) & echo early", gate.path());
    Result<Launched> launched = launch({{"sh", "-c", script}, some_environment(), ""});
    REQUIRE(launched.ok());
    Process process(*std::move(launched), "sh", "", Process::never_ns, 0);
    REQUIRE(can_be_read(process.end_fd()));
    process.read_output(0);
    process.note_end(0);
    process.look(Process::grace_ns - 1);
    CHECK_FALSE(process.is_over());
    if (!comes_in_time) process.look(Process::grace_ns);
    gate.write("\n");
    while (comes_in_time && process.output_fd() >= 0) {
      REQUIRE(can_be_read(process.output_fd()));
      process.read_output(0);
    }
    while (comes_in_time && process.errors_fd() >= 0) {
      REQUIRE(can_be_read(process.errors_fd()));
      process.read_errors();
    }
    REQUIRE(process.is_over());
    CHECK(process.take_end().value().output == (comes_in_time ? "early\nlate\n" : "early\n"));
  }
}

TEST_CASE("with the processes all of them end, and who waited for a place is told") {
  const DescriptorLimit limit(64);
  std::vector<std::unique_ptr<Told>> all;
  {
    Processes processes(some_environment());
    for (u32 i = 0; i < 40; ++i) {
      all.push_back(std::make_unique<Told>());
      REQUIRE(processes.start(request({"sleep", "1000"}), all.back()->listener(true)).ok());
    }
    all.back()->unwant();  // which can't have had a place yet
    CHECK(reason(all.back()->end()) == "cancelled");
  }
  for (const auto& told : all) CHECK(reason(told->end()) == "cancelled");
  CHECK_FALSE(has_children());
}

// ---- Many

TEST_CASE("five hundred at the same time") {
  constexpr u32 count = 500;
  const DescriptorLimit limit(count * 4 * 2 + 64);
  Folder folder;
  Gate here(folder, "here"), go(folder, "go");
  Processes processes(some_environment());
  std::vector<std::unique_ptr<Told>> all;
  const std::string script = "echo here > \"$1\"; read go < \"$2\"; cat";
  for (u32 i = 0; i < count; ++i) {
    all.push_back(std::make_unique<Told>());
    ProcessRequest one =
        request({"sh", "-c", script, "sh", here.path(), go.path()}, text("{}", i));
    REQUIRE(processes.start(std::move(one), all.back()->listener()).ok());
  }
  here.read_lines(count);  // all run, and none goes on before the next line
  go.write(std::string(count, '\n'));
  for (u32 i = 0; i < count; ++i) CHECK(all[i]->end().value().output == text("{}", i));
}

TEST_CASE("more than there is room for wait for their turn") {
  const DescriptorLimit limit(64);
  Processes processes(some_environment());
  std::vector<std::unique_ptr<Told>> all;
  for (u32 i = 0; i < 100; ++i) {
    all.push_back(std::make_unique<Told>());
    const ProcessListener listener = all.back()->listener(i % 2 == 0);
    REQUIRE(processes.start(request({"cat"}, text("{}", i)), listener).ok());
  }
  for (u32 i = 0; i < 100; ++i) CHECK(all[i]->end().value().output == text("{}", i));
}

TEST_CASE("nothing is left: no descriptor, no process") {
  const size_t before = open_descriptors();
  {
    Processes processes(some_environment());
    for (u32 round = 0; round < 20; ++round) {
      CHECK(run(processes, request({"cat"}, "x")).ok());
      CHECK_FALSE(run(processes, request({"no-such-program"})).ok());
      CHECK_FALSE(run(processes, within(ms, request({"sleep", "1000"}))).ok());
      CHECK(run(processes, shell("exec >&- 2>&-; exit 1")).value().status == 1);
    }
    CHECK(open_descriptors() == before + 1);  // the bell
  }
  CHECK(open_descriptors() == before);
  CHECK_FALSE(has_children());
}

// ---- The host

TEST_CASE("children of the host's are the host's") {
  const pid_t child = ::fork();
  if (child == 0) ::_exit(7);
  CHECK(run(request({"cat"}, "x")).ok());
  int status = 0;
  CHECK(::waitpid(child, &status, 0) == child);
  CHECK(WEXITSTATUS(status) == 7);
}

TEST_CASE("a host that ignores SIGCHLD takes the answer, and is told so") {
  const auto before = ::signal(SIGCHLD, SIG_IGN);
  const Result<ProcessEnd> end = run(shell("echo fine"));
  const Result<ProcessEnd> late = run(within(20 * ms, request({"sleep", "1000"})));
  const Result<ProcessEnd> none = run(request({"no-such-program"}));
  ::signal(SIGCHLD, before);
  REQUIRE(reason(end) == "exec.status");
  CHECK(end.error().message().find("ignores SIGCHLD") != std::string::npos);
  CHECK(reason(late) == "exec.timeout");
  CHECK(reason(none) == "exec.start");
}

TEST_CASE("a host that waits for any child may take the answer, and nothing hangs") {
  Processes processes(some_environment());
  for (u32 round = 0; round < 50; ++round) {
    Told told;
    REQUIRE(processes.start(request({"cat"}, "x"), told.listener()).ok());
    std::thread reaper([] {
      int status = 0;
      while (::waitpid(-1, &status, 0) > 0) {
      }
    });
    const Result<ProcessEnd>& end = told.end();
    const bool is_sound = end.ok() ? end->output == "x" : end.error().id() == "exec.status";
    CHECK(is_sound);
    reaper.join();
  }
}

TEST_SUITE_BEGIN("own new");

TEST_CASE("memory that runs out anywhere is said, and nothing is left") {
  const int failures = fixture::run_out_of_memory([] {
    Told told;
    Processes processes(some_environment());
    ProcessRequest asked = shell("cat; echo err >&2", std::string(100'000, 'x'));
    const Status started = processes.start(std::move(asked), told.listener());
    if (!started.ok()) throw std::bad_alloc();
    Result<ProcessEnd>& end = told.end();
    if (reason(end) == "memory.exhausted") throw std::bad_alloc();
    CHECK(end.value().output.size() == 100'000);
  });
  CHECK(failures > 20);
  CHECK_FALSE(has_children());
}

TEST_SUITE_END();

// ---- What can't be ended

TEST_CASE("what does not even end when it is killed is left to itself") {
  int ends[2] = {-1, -1};
  REQUIRE(::pipe2(ends, O_CLOEXEC) == 0);
  const Descriptor its_own(ends[1]);  // stays open
  Launched launched;
  launched.id = 1 << 30;              // there are no such processes
  launched.process = Descriptor(::open("/dev/null", O_RDONLY | O_CLOEXEC));
  launched.output = Descriptor(ends[0]);
  Process process(std::move(launched), "stubborn", "", Process::never_ns, 0);
  CHECK(process.look_at_ns() == Process::never_ns);
  process.stop(fail(Reason::cancelled, "enough"), 0);
  CHECK(process.look_at_ns() == Process::patience_ns);
  process.look(Process::patience_ns);
  CHECK_FALSE(process.is_over());
  const i64 last_ns = Process::patience_ns + Process::last_patience_ns;
  CHECK(process.look_at_ns() == last_ns);
  process.look(last_ns);
  CHECK(process.is_over());
  CHECK(process.take_end().error().message() == "enough");
}

}  // namespace soma
