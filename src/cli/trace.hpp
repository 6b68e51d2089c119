// What a run did, as a trace that Chrome's and Perfetto's viewers show: a row for each thread, a
// bar for each time that a node ran, an arrow for each value that one node had from another.
#pragma once

#include <unordered_map>

#include "cli/client.hpp"

namespace cli {

class Trace {
 public:
  // Makes the file at once: one that can't be made is said before anything runs.
  Trace(const std::string& path, const Plan& plan);
  Trace(const Trace&) = delete;
  Trace& operator=(const Trace&) = delete;

  void note(const std::string& event);  // one line of JSON
  bool write();                // false: the file did not take it

 private:
  struct Bar {
    std::string node, path;
    unsigned thread = 0;
    double begin_ns = 0, end_ns = -1;
    std::string error;              // a reason
    std::string cache, key;         // what became of it: an event's name
    std::string chunk;              // of a stream: "3/8"
  };

  struct Arrow {
    size_t from, to;                // bars
  };

  void note(JsonView event);
  void note_chunk(JsonView event, const std::string& path);
  void begin_bar(JsonView event, const std::string& path);
  void write_bar(const Bar& bar);
  void write_arrow(const Arrow& arrow, size_t number);
  double micros(double at_ns) const { return (at_ns - first_ns_) / 1000; }

  File file_;
  std::vector<Bar> bars_;
  std::unordered_map<std::string, size_t> open_;  // bars without an end, by path
  std::unordered_map<std::string, size_t> last_;  // bars with one: the last of each node
  std::unordered_map<std::string, std::vector<std::string>> sources_;  // by node
  std::vector<Arrow> arrows_;
  double first_ns_ = -1, last_ns_ = 0;
};

}  // namespace cli
