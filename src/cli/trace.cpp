// Collects a run's events and writes them as a trace.
//
// A path, as "refine[3]/judge", stands for one call of a node, so it finds the bar that a later
// event ends. A bar that nothing ended (the run was stopped within it) ends with the trace.
#include "cli/trace.hpp"

#include <errno.h>

#include <algorithm>
#include <cstring>

namespace cli {

namespace {

std::string quoted(const std::string& text) {
  Json holder = Json::object();
  holder.add("text", text);
  return holder.view().at("text").print();
}

}  // namespace

Trace::Trace(const std::string& path) : file_(std::fopen(path.c_str(), "wb")) {
  if (!file_) {
    throw Failure{SOMA_UNAVAILABLE, path + " can't be written: " + std::strerror(errno)};
  }
}

void Trace::watch(const Run& run) {
  check([&](soma_error** error) {
    return soma_run_set_observer(run, on_event, this, nullptr, error);
  });
}

// Nothing may leave it but by returning: what can't be kept is not in the trace.
void Trace::on_event(void* self, const char* event, size_t length) {
  try {
    static_cast<Trace*>(self)->note(Json::parse(std::string(event, length)).view());
  } catch (...) {
  }
}

void Trace::note(JsonView event) {
  last_ns_ = event.at("at_ns").number();
  if (first_ns_ < 0) first_ns_ = last_ns_;
  const std::string kind = event.at("event").text(), path = event.at("path").text();
  if (kind == "node_started") {
    open_[path] = bars_.size();
    bars_.push_back({event.at("node").text(), path,
                     static_cast<unsigned>(event.at("thread").number()), last_ns_, -1, ""});
  } else if (kind == "node_finished" || kind == "node_failed") {
    const auto found = open_.find(path);
    if (found == open_.end()) return;
    bars_[found->second].end_ns = last_ns_;
    bars_[found->second].error = event.at("code").text();
    open_.erase(found);
  }
}

bool Trace::write() {
  FILE* file = file_.get();
  unsigned threads = 1;
  for (const Bar& bar : bars_) threads = std::max(threads, bar.thread + 1);
  std::fprintf(file, "{\"displayTimeUnit\":\"ms\",\"traceEvents\":[\n"
                     "{\"ph\":\"M\",\"name\":\"process_name\",\"pid\":1,\"tid\":0,"
                     "\"args\":{\"name\":\"soma run\"}}");
  for (unsigned thread = 0; thread < threads; ++thread) {
    const std::string name = thread == 0 ? "caller" : "thread " + std::to_string(thread);
    std::fprintf(file, ",\n{\"ph\":\"M\",\"name\":\"thread_name\",\"pid\":1,\"tid\":%u,"
                       "\"args\":{\"name\":\"%s\"}}", thread, name.c_str());
  }
  for (const Bar& bar : bars_) {
    const double end_ns = bar.end_ns < 0 ? last_ns_ : bar.end_ns;
    std::fprintf(file,
                 ",\n{\"ph\":\"X\",\"cat\":\"node\",\"name\":%s,\"pid\":1,\"tid\":%u,\"ts\":%.3f,"
                 "\"dur\":%.3f,\"args\":{\"path\":%s",
                 quoted(bar.node).c_str(), bar.thread, (bar.begin_ns - first_ns_) / 1000,
                 (end_ns - bar.begin_ns) / 1000, quoted(bar.path).c_str());
    if (!bar.error.empty()) std::fprintf(file, ",\"error\":%s", quoted(bar.error).c_str());
    if (bar.end_ns < 0) std::fprintf(file, ",\"unfinished\":true");
    std::fprintf(file, "}}");
  }
  std::fprintf(file, "\n]}\n");
  return std::fflush(file) == 0 && std::ferror(file) == 0;
}

}  // namespace cli
