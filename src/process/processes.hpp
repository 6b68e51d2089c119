// Programs that run beside the library, for which no thread of it waits.
#pragma once

#include <list>
#include <mutex>

#include "base/memory.hpp"
#include "base/thread.hpp"
#include "process/process.hpp"

namespace soma {

struct ProcessRequest {
  using Variable = std::pair<std::string, std::string>;
  std::vector<std::string> argv;        // the first is looked up in PATH, unless it has a slash
  std::vector<Variable> variables;      // besides, or in place of, those of the environment
  std::string folder;                   // where it runs; empty: where this process runs
  std::string input;                    // for its stdin
  i64 timeout_ns = Process::never_ns;
};

// Both on a thread of Processes, and must not throw.
struct ProcessListener {
  void* user = nullptr;
  // Asked now and then; once it says no the process is stopped. nullptr: always wanted.
  bool (*is_wanted)(void* user) = nullptr;
  // Told once, whatever happens: exec_start, exec_timeout, exec_output, cancelled, out_of_memory;
  // exec_status, if nobody knows how it ended.
  void (*ended)(void* user, Result<ProcessEnd> end) = nullptr;
};

class Processes {
 public:
  static constexpr size_t at_once_max = 1024;
  static constexpr i64 look_every_ns = 50'000'000;  // whether they are wanted

  // `environment`: "NAME=value", what every program is given; PATH is taken from it.
  explicit Processes(std::vector<std::string> environment);
  Processes(const Processes&) = delete;
  Processes& operator=(const Processes&) = delete;
  // Stops what still runs, and returns when all have been told.
  ~Processes();

  // From any thread. So many run at the same time as half of the descriptors that this process may
  // open allow, at most at_once_max; the others wait for their turn. An error, exec_start or
  // bad_alloc: nobody is told.
  Status start(ProcessRequest request, ProcessListener listener);

 private:
  // A request, from its beginning to its end.
  struct Job {
    ProcessRequest request;
    ProcessListener listener;
    std::optional<Error> no_memory;  // made while there was some
    std::optional<Process> process;  // once it has a place
    bool lost_memory = false;
  };
  using Jobs = std::list<Job>;
  struct Watched;

  Status begin_service();
  void ring();

  // ---- On the thread
  static void serve(void* self);
  bool take_requests();
  bool attend(Job& job, i64 now_ns);
  std::optional<Result<ProcessEnd>> begin(Job& job, i64 now_ns);
  std::optional<Result<ProcessEnd>> go_on(Job& job, i64 now_ns) const;
  static void lose_memory(Job& job, i64 now_ns);
  bool is_wanted(const Job& job) const;
  Command command_of(const ProcessRequest& request) const;
  void watch();

  const std::vector<std::string> environment_;
  Memory* const memory_ = current_memory();
  Descriptor bell_;                // an eventfd, for who wants something of the thread
  Thread thread_;

  std::mutex mutex_;               // guards:
  bool has_service_ = false, is_closing_ = false;
  Jobs requests_;

  // ---- The thread's
  size_t places_ = 1, running_ = 0;
  bool is_ending_ = false;
  Jobs jobs_;                      // in the order of their requests: those that run are the first
  std::unique_ptr<Watched> watched_;
};

}  // namespace soma
