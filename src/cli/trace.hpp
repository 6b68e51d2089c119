// What a run did, as a trace that Chrome's and Perfetto's viewers show: a row for each thread, a
// bar for each time that a node ran.
#pragma once

#include <unordered_map>

#include "cli/client.hpp"

namespace cli {

class Trace {
 public:
  // Makes the file at once: one that can't be made is said before anything runs.
  explicit Trace(const std::string& path);
  Trace(const Trace&) = delete;
  Trace& operator=(const Trace&) = delete;

  void watch(const Run& run);  // which ends before the trace does
  bool write();                // false: the file did not take it

 private:
  struct Bar {
    std::string node, path;
    unsigned thread = 0;
    double begin_ns = 0, end_ns = -1;
    std::string error;              // a reason
  };

  static void on_event(void* self, const char* event, size_t length);
  void note(JsonView event);

  File file_;
  std::vector<Bar> bars_;
  std::unordered_map<std::string, size_t> open_;  // bars without an end, by path
  double first_ns_ = -1, last_ns_ = 0;
};

}  // namespace cli
