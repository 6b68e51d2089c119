// Serves all processes from one thread.
//
// Problem. A process takes as long as it likes, writes when it likes, and may have to be stopped.
// Whoever asked for it has something better to do than to wait, and a thread for each would be the
// same wait elsewhere. SIGCHLD, by which the system tells of ends, belongs to the host.
//
// Idea. The kernel gives descriptors for all of that: pipes, and for the process one that becomes
// readable when it ends. One thread polls them, and the clocks. It does all that concerns processes
// itself, their start included, so nothing of them is shared: others only leave requests, and ring.
// It blocks signals, as all threads of the library do, so a pipe that nobody reads is an error of
// write and no SIGPIPE of the host's.
//
// Whether a process is still wanted is asked every 50 ms, while there are any: who does not want it
// any more could say so, but would have to know it for that, and might say so while it ends.
//
// Memory. A job that needs memory where there is none is stopped, and its listener told by an error
// that was made before; lists of jobs are spliced, and what is polled has its place from the start.
// So the thread goes on whatever becomes of one job.
//
// Cost. Each round looks at every job, and so does the kernel when it polls: linear in what runs,
// of which there is a limit, and in what waits for a place.
#include "process/processes.hpp"

#include <poll.h>
#include <sys/eventfd.h>
#include <sys/resource.h>

#include <algorithm>
#include <cerrno>
#include <new>

#include "base/clock.hpp"
#include "base/file.hpp"
#include "base/text.hpp"

namespace soma {

namespace {

constexpr size_t sources = 4;  // descriptors of a process: its end, stdin, stdout, stderr

size_t places() {
  rlimit limit = {};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0) return 1;
  return std::clamp<size_t>(limit.rlim_cur / 2 / sources, 1, Processes::at_once_max);
}

Error unwanted(const std::string& program) {
  return fail(Reason::cancelled, "nobody wants what program {} would yield any more",
              quoted(program));
}

// -1: without end.
int milliseconds_until(i64 at_ns, i64 now) {
  constexpr i64 ns_per_ms = 1'000'000;
  if (at_ns == Process::never_ns) return -1;
  const i64 left_ns = std::max<i64>(at_ns - now, 0);
  return static_cast<int>(std::min<i64>(left_ns / ns_per_ms + 1, INT32_MAX));
}

}  // namespace

struct Processes::Watched {
  std::vector<pollfd> polled;  // the bell, then `sources` of each job in `jobs`
  std::vector<Job*> jobs;

  void make_room(size_t places) {
    polled.reserve(1 + places * sources);
    jobs.reserve(places);
  }
  void begin(int bell) {
    polled.clear();
    jobs.clear();
    polled.push_back({bell, POLLIN, 0});
  }
  void add(Job& job) {
    jobs.push_back(&job);
    polled.push_back({job.process->end_fd(), POLLIN, 0});
    polled.push_back({job.process->input_fd(), POLLOUT, 0});
    polled.push_back({job.process->output_fd(), POLLIN, 0});
    polled.push_back({job.process->errors_fd(), POLLIN, 0});
  }
  // False: nothing can be told.
  bool await(int timeout_ms) { return ::poll(polled.data(), polled.size(), timeout_ms) >= 0; }
  void note(size_t at, i64 now) {
    Process& process = *jobs[at]->process;
    const pollfd* of = &polled[1 + at * sources];
    if (of[1].revents != 0) process.write_input();
    if (of[2].revents != 0) process.read_output(now);
    if (of[3].revents != 0) process.read_errors();
    if (of[0].revents != 0) process.note_end(now);
  }
};

// ---- For everybody

Processes::Processes(std::vector<std::string> environment)
    : environment_(std::move(environment)) {}

Processes::~Processes() {
  {
    const std::lock_guard lock(mutex_);
    is_closing_ = true;
  }
  ring();
  thread_.join();
}

void Processes::ring() {
  const u64 once = 1;
  if (bell_.is_open()) static_cast<void>(!::write(bell_.fd(), &once, sizeof(once)));
}

Status Processes::start(ProcessRequest request, ProcessListener listener) {
  Jobs one(1);
  if (request.argv.empty()) request.argv.emplace_back();
  one.front().no_memory =
      fail(Reason::out_of_memory, "there is no memory for what program {} yields",
           quoted(request.argv[0]));
  one.front().request = std::move(request);
  one.front().listener = listener;
  {
    const std::lock_guard lock(mutex_);
    SOMA_TRY(begin_service());
    requests_.splice(requests_.end(), one);
  }
  ring();
  return {};
}

Status Processes::begin_service() {
  if (has_service_) return {};
  if (!watched_) watched_ = std::make_unique<Watched>();
  places_ = places();
  watched_->make_room(places_);
  if (!bell_.is_open()) bell_ = Descriptor(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  if (!bell_.is_open()) {
    return fail(Reason::exec_start,
                "no process can be served: opening an eventfd failed: {} (errno {})",
                system_text(errno), errno);
  }
  has_service_ = thread_.start("process", serve, this);
  if (has_service_) return {};
  return fail(Reason::exec_start,
              "no process can be served: the system gives no more threads; end some, or raise the "
              "limit of them");
}

// ---- The thread

void Processes::serve(void* self) {
  auto& own = *static_cast<Processes*>(self);
  const MemoryScope scope(own.memory_);
  while (own.take_requests()) {
    const i64 now = now_ns();
    for (auto at = own.jobs_.begin(); at != own.jobs_.end();) {
      at = own.attend(*at, now) ? own.jobs_.erase(at) : std::next(at);
    }
    own.watch();
  }
}

// False: that was all.
bool Processes::take_requests() {
  const std::lock_guard lock(mutex_);
  jobs_.splice(jobs_.end(), requests_);
  is_ending_ = is_closing_;
  return !is_ending_ || !jobs_.empty();
}

// True: it has ended, and its listener been told.
bool Processes::attend(Job& job, i64 now) {
  std::optional<Result<ProcessEnd>> end;
  try {
    end = job.process ? go_on(job, now) : begin(job, now);
  } catch (const std::bad_alloc&) {
    lose_memory(job, now);
    // What is over has been reaped: saying how it ended was what there was no memory for.
    if (!job.process || job.process->is_over()) end.emplace(ProcessEnd());
  }
  if (!end) return false;
  if (job.process) --running_;
  job.process.reset();  // who is told finds nothing of it left
  if (job.lost_memory) end.emplace(*std::move(job.no_memory));
  job.listener.ended(job.listener.user, *std::move(end));
  return true;
}

void Processes::lose_memory(Job& job, i64 now) {
  job.lost_memory = true;
  if (job.process) job.process->stop(std::nullopt, now);
}

bool Processes::is_wanted(const Job& job) const {
  const ProcessListener& listener = job.listener;
  return !is_ending_ && (!listener.is_wanted || listener.is_wanted(listener.user));
}

std::optional<Result<ProcessEnd>> Processes::begin(Job& job, i64 now) {
  ProcessRequest& request = job.request;
  if (!is_wanted(job)) return unwanted(request.argv[0]);
  if (running_ == places_) return std::nullopt;
  std::string name = request.argv[0];
  Result<Launched> launched = launch(command_of(request));
  if (!launched.ok()) return std::move(launched).error();
  job.process.emplace(*std::move(launched), std::move(name), std::move(request.input),
                      request.timeout_ns, now);
  ++running_;
  return std::nullopt;
}

Command Processes::command_of(const ProcessRequest& request) const {
  Command command{request.argv, {}, request.folder};
  const auto is_replaced = [&request](std::string_view variable) {
    const std::string_view name = variable.substr(0, variable.find('='));
    return std::ranges::any_of(request.variables,
                               [name](const auto& replacing) { return replacing.first == name; });
  };
  for (const std::string& variable : environment_) {
    if (!is_replaced(variable)) command.environment.push_back(variable);
  }
  for (const auto& [name, value] : request.variables) {
    command.environment.push_back(name + "=" + value);
  }
  return command;
}

std::optional<Result<ProcessEnd>> Processes::go_on(Job& job, i64 now) const {
  Process& process = *job.process;
  if (process.is_over()) return process.take_end();
  if (!process.is_stopping() && !is_wanted(job)) {
    process.stop(unwanted(job.request.argv[0]), now);
  }
  process.look(now);
  return std::nullopt;
}

// Waits until something happens, or a clock runs out.
void Processes::watch() {
  if (is_ending_ && jobs_.empty()) return;
  watched_->begin(bell_.fd());
  i64 look_at_ns = Process::never_ns;
  bool has_to_ask = false;
  for (Job& job : jobs_) {
    has_to_ask |= job.listener.is_wanted != nullptr;
    if (!job.process) continue;
    watched_->add(job);
    look_at_ns = std::min(look_at_ns, job.process->look_at_ns());
  }
  i64 now = now_ns();
  if (has_to_ask) look_at_ns = std::min(look_at_ns, now + look_every_ns);
  if (!watched_->await(milliseconds_until(look_at_ns, now))) {
    ::poll(nullptr, 0, 10);  // the system is short of memory: only the clocks go on
    return;
  }
  u64 rings = 0;
  static_cast<void>(!::read(bell_.fd(), &rings, sizeof(rings)));
  now = now_ns();
  for (size_t at = 0; at < watched_->jobs.size(); ++at) {
    try {
      watched_->note(at, now);
    } catch (const std::bad_alloc&) {
      lose_memory(*watched_->jobs[at], now);
    }
  }
}

}  // namespace soma
