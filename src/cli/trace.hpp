// What a run did, as a trace that Chrome's and Perfetto's viewers show: a row for each thread, a
// bar for each time that a node ran, an arrow for each value that one node had from another.
#pragma once

#include <mutex>
#include <unordered_map>

#include "cli/client.hpp"

namespace cli {

class Trace {
 public:
  // Makes the file at once: one that can't be made is said before anything runs.
  Trace(const std::string& path, const Plan& plan);
  Trace(const Trace&) = delete;
  Trace& operator=(const Trace&) = delete;

  void note(const soma_event& event);  // on any thread
  bool write();                // false: the file did not take it

 private:
  // An event, but for what a trace does not show.
  struct Note {
    int64_t at_ns = 0;
    uint64_t number = 0, count = 0;
    int32_t kind = 0;
    uint32_t node = 0, thread = 0;
    uint32_t path = 0, text = 0;    // of the texts; 0: the path is the id, there is no text
  };
  // What one thread has noted, in its order.
  struct Notes {
    std::vector<Note> all;
    std::vector<std::string> texts = {""};
    uint32_t keep(const char* text, size_t length);
  };

  struct Bar {
    uint32_t node = 0, thread = 0;
    std::string path;
    int64_t begin_ns = 0, end_ns = -1;
    std::string error;              // a reason
    std::string cache, key;         // what became of it: an event's name
    std::string chunk;              // of a stream: "3/8"
  };

  struct Arrow {
    size_t from, to;                // bars
  };

  Notes& own_notes();
  void read_notes();
  void read(const Note& note, const Notes& of);
  void read_chunk(const Note& note, const std::string& path);
  void begin_bar(const Note& note, const std::string& path);
  void end_bar(const Note& note, const std::string& path, const std::string& error);
  void write_bar(const Bar& bar);
  void write_arrow(const Arrow& arrow, size_t number);
  double micros(int64_t at_ns) const { return static_cast<double>(at_ns - first_ns_) / 1000; }

  File file_;
  std::mutex mutex_;                // guards the list, not what is in it
  std::vector<std::unique_ptr<Notes>> notes_;
  std::vector<std::string> ids_;    // of nodes, in the plan's order
  std::vector<std::vector<uint32_t>> sources_;  // what each reads
  std::vector<Bar> bars_;
  std::unordered_map<std::string, size_t> open_;  // bars without an end, by path
  std::unordered_map<uint32_t, size_t> last_;     // bars with one: the last of each node
  std::vector<Arrow> arrows_;
  int64_t first_ns_ = -1, last_ns_ = 0;
};

}  // namespace cli
