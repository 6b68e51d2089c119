// A process while it runs: what goes into it, what comes out of it, and how it is ended.
#pragma once

#include "process/launch.hpp"

namespace soma {

// How a process ended by itself.
struct ProcessEnd {
  i32 status = 0;       // what it ended with
  i32 signal = 0;       // or which signal ended it: then not 0
  std::string output;   // all of what it wrote to stdout
  std::string errors;   // the end of what it wrote to stderr
};

// The end of what went to stderr, as a text that commands no terminal.
std::string shown_errors(std::string_view errors);

// Decides by what it is told has happened, and at what time; never waits. On one thread.
class Process {
 public:
  static constexpr size_t output_max = size_t{64} << 20;
  static constexpr size_t errors_kept_max = 4096;
  // For what it has begun and left behind: to write the rest, once it has ended.
  static constexpr i64 grace_ns = 100'000'000;
  // To end, once it is asked to; then it is killed.
  static constexpr i64 patience_ns = 2'000'000'000;
  // To be gone, once it is killed: the system may be busy with it.
  static constexpr i64 last_patience_ns = 10'000'000'000;
  static constexpr i64 never_ns = INT64_MAX;

  // `timeout_ns`: how long it may run; never_ns: as long as it likes.
  Process(Launched launched, std::string name, std::string input, i64 timeout_ns, i64 now_ns);

  // What to watch; -1: nothing any more.
  int end_fd() const { return has_ended_ ? -1 : launched_.process.fd(); }
  int input_fd() const { return launched_.input.fd(); }    // until it can be written to
  int output_fd() const { return launched_.output.fd(); }  // until there is something to read
  int errors_fd() const { return launched_.errors.fd(); }
  void write_input();
  void read_output(i64 now_ns);
  void read_errors();
  void note_end(i64 now_ns);

  // Has it end, because of `why`, if there is memory to say why. The first reason counts.
  void stop(std::optional<Error> why, i64 now_ns);
  bool is_stopping() const { return is_stopping_; }
  // To be told what time it is, at the latest then.
  i64 look_at_ns() const;
  void look(i64 now_ns);

  bool is_over() const;
  // Once, when it is over: why it was stopped, with the end of its stderr as a detail, or how it
  // ended. exec_status, if nobody knows.
  Result<ProcessEnd> take_end();

 private:
  void signal_group(int number) const;
  Result<ProcessEnd> reap() const;

  Launched launched_;
  const std::string name_;
  std::string input_;
  size_t written_ = 0;
  std::string output_, errors_;
  std::optional<Error> why_;
  bool is_stopping_ = false, was_killed_ = false, has_ended_ = false, is_left_ = false;
  i64 stop_at_ns_ = never_ns;
  i64 kill_at_ns_ = never_ns;
  i64 leave_at_ns_ = never_ns;  // then it is over, whoever still has its pipes
};

}  // namespace soma
