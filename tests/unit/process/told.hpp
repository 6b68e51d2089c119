// What tests of processes share: who is told how one ended, and how a process and a test meet.
#pragma once

#include <doctest/doctest.h>

#include <condition_variable>
#include <cstdlib>
#include <mutex>
#include <thread>

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/syscall.h>

#include "process/processes.hpp"
#include "unit/folder.hpp"

namespace soma::fixture {

inline constexpr int patience_ms = 20'000;

// Is told how a process ended, and waits for that.
class Told {
 public:
  // `asks`: it is asked whether it wants the process.
  ProcessListener listener(bool asks = false) { return {this, asks ? is_wanted : nullptr, ended}; }
  void unwant() { is_wanted_.store(false); }
  // Fails the test, if nothing comes.
  Result<ProcessEnd>& end() {
    std::unique_lock lock(mutex_);
    const auto patience = std::chrono::milliseconds(patience_ms);
    REQUIRE(told_.wait_for(lock, patience, [this] { return end_.has_value(); }));
    CHECK(times_ == 1);
    return *end_;
  }

 private:
  static bool is_wanted(void* self) { return static_cast<Told*>(self)->is_wanted_.load(); }
  static void ended(void* self, Result<ProcessEnd> end) {
    Told& told = *static_cast<Told*>(self);
    const std::lock_guard lock(told.mutex_);
    told.end_.emplace(std::move(end));
    ++told.times_;
    told.told_.notify_all();
  }

  std::atomic<bool> is_wanted_{true};
  std::mutex mutex_;
  std::condition_variable told_;
  std::optional<Result<ProcessEnd>> end_;
  int times_ = 0;
};

inline std::vector<std::string> some_environment() {
  return {"PATH=/usr/bin:/bin", "HOME=/nowhere"};
}

inline ProcessRequest request(std::vector<std::string> argv, std::string input = "") {
  ProcessRequest made;
  made.argv = std::move(argv);
  made.input = std::move(input);
  return made;
}
inline ProcessRequest shell(std::string script, std::string input = "") {
  return request({"sh", "-c", std::move(script)}, std::move(input));
}

inline Result<ProcessEnd> run(Processes& processes, ProcessRequest request) {
  Told told;
  REQUIRE(processes.start(std::move(request), told.listener()).ok());
  return std::move(told.end());
}
inline Result<ProcessEnd> run(ProcessRequest request) {
  Processes processes(some_environment());
  return run(processes, std::move(request));
}
// What it writes, if all is well.
inline std::string output(ProcessRequest request) {
  Result<ProcessEnd> end = run(std::move(request));
  if (!end.ok()) return end.error().message();
  CHECK(end->errors == "");
  CHECK(end->status == 0);
  CHECK(end->signal == 0);
  return end->output;
}

// A folder with programs in it.
class Folder : public TestFolder {
 public:
  std::string file(std::string_view name) const { return *this / name; }
  std::string file(std::string_view name, std::string_view content, mode_t mode) const {
    std::string made = file(name);
    const Descriptor opened(::open(made.c_str(), O_CREAT | O_WRONLY | O_CLOEXEC, 0600));
    REQUIRE(::write(opened.fd(), content.data(), content.size()) ==
            static_cast<ssize_t>(content.size()));
    REQUIRE(::fchmod(opened.fd(), mode) == 0);
    return made;
  }
};

// A named pipe by which processes say that they have come so far, or wait until they may go on.
class Gate {
 public:
  Gate(Folder& folder, std::string_view name) : path_(folder.file(name)) {
    REQUIRE(::mkfifo(path_.c_str(), 0600) == 0);
    pipe_ = Descriptor(::open(path_.c_str(), O_RDWR | O_CLOEXEC | O_NONBLOCK));
    REQUIRE(pipe_.is_open());
  }
  const std::string& path() const { return path_; }
  bool has_some(int within_ms) {
    pollfd polled = {pipe_.fd(), POLLIN, 0};
    return ::poll(&polled, 1, within_ms) == 1;
  }
  // As many lines as are asked for.
  std::string read_lines(size_t lines) {
    std::string read;
    while (lines > 0) {
      REQUIRE(has_some(patience_ms));
      char letter = 0;
      REQUIRE(::read(pipe_.fd(), &letter, 1) == 1);
      read += letter;
      lines -= letter == '\n';
    }
    return read;
  }
  void write(std::string_view text) {
    REQUIRE(::write(pipe_.fd(), text.data(), text.size()) == static_cast<ssize_t>(text.size()));
  }

 private:
  const std::string path_;
  Descriptor pipe_;
};

// Somebody else's process, by its number.
class Watcher {
 public:
  explicit Watcher(pid_t id)
      : id_(id), process_(static_cast<int>(::syscall(SYS_pidfd_open, id, 0))) {}
  bool has_ended(int within_ms) {
    if (!process_.is_open()) return true;
    pollfd polled = {process_.fd(), POLLIN, 0};
    return ::poll(&polled, 1, within_ms) == 1;
  }
  void kill() { ::kill(id_, SIGKILL); }

 private:
  const pid_t id_;
  Descriptor process_;
};

}  // namespace soma::fixture
