// Collects a run's events and writes them as a trace.
//
// A path, as "refine[3]/judge", stands for one call of a node, so it finds the bar that a later
// event ends. A bar that nothing ended (the run was stopped within it) ends with the trace. Which
// nodes a node reads, the plan says; an arrow comes from the last time that such a node ran.
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

Trace::Trace(const std::string& path, const Plan& plan) : file_(std::fopen(path.c_str(), "wb")) {
  if (!file_) {
    throw Failure{SOMA_UNAVAILABLE, path + " can't be written: " + std::strerror(errno)};
  }
  const Json document = blob_json(
      [&](soma_blob** blob, soma_error** error) { return soma_plan_document(plan, blob, error); });
  for (JsonView node = document.view().at("nodes").first(); node; node = node.next()) {
    std::vector<std::string>& sources = sources_[node.at("id").text()];
    for (JsonView from = node.at("from").first(); from; from = from.next()) {
      const JsonView named = from.at("node");  // of an edge that names ports
      sources.push_back(named ? named.text() : from.text());
    }
  }
}

void Trace::note(const std::string& event) { note(Json::parse(event).view()); }

void Trace::note(JsonView event) {
  last_ns_ = event.at("at_ns").number();
  if (first_ns_ < 0) first_ns_ = last_ns_;
  const std::string kind = event.at("event").text(), path = event.at("path").text();
  if (kind == "node_started") {
    begin_bar(event, path);
  } else if (kind == "chunk_started" || kind == "chunk_finished") {
    note_chunk(event, path);
  } else if (kind == "cache_hit" || kind == "cache_miss" || kind == "node_skipped") {
    const auto found = open_.find(path);
    if (found == open_.end()) return;
    bars_[found->second].cache = kind;
    bars_[found->second].key = event.at("key").text();
  } else if (kind == "node_finished" || kind == "node_failed") {
    const auto found = open_.find(path);
    if (found == open_.end()) return;
    bars_[found->second].end_ns = last_ns_;
    bars_[found->second].error = event.at("code").text();
    last_[bars_[found->second].node] = found->second;
    open_.erase(found);
  }
}

// A node in a stream has a bar for each chunk, on whatever thread that is; the first is the one
// that the node began with.
void Trace::note_chunk(JsonView event, const std::string& path) {
  const bool begins = event.at("event").text() == "chunk_started";
  if (begins && open_.find(path) == open_.end()) begin_bar(event, path);
  const auto found = open_.find(path);
  if (found == open_.end()) return;
  Bar& bar = bars_[found->second];
  bar.chunk = event.at("chunk").print() + "/" + event.at("chunks").print();
  if (begins) return;
  bar.end_ns = last_ns_;
  last_[bar.node] = found->second;
  open_.erase(found);
}

void Trace::begin_bar(JsonView event, const std::string& path) {
  const std::string node = event.at("node").text();
  for (const std::string& source : sources_[node]) {
    const auto ran = last_.find(source);
    if (ran != last_.end()) arrows_.push_back({ran->second, bars_.size()});
  }
  open_[path] = bars_.size();
  const auto thread = static_cast<unsigned>(event.at("thread").number());
  bars_.push_back({node, path, thread, last_ns_, -1, "", "", "", ""});
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
  for (const Bar& bar : bars_) write_bar(bar);
  for (size_t i = 0; i < arrows_.size(); ++i) write_arrow(arrows_[i], i);
  std::fprintf(file, "\n]}\n");
  return std::fflush(file) == 0 && std::ferror(file) == 0;
}

void Trace::write_bar(const Bar& bar) {
  const double end_ns = bar.end_ns < 0 ? last_ns_ : bar.end_ns;
  std::fprintf(file_.get(),
               ",\n{\"ph\":\"X\",\"cat\":\"node\",\"name\":%s,\"pid\":1,\"tid\":%u,\"ts\":%.3f,"
               "\"dur\":%.3f,\"args\":{\"path\":%s",
               quoted(bar.node).c_str(), bar.thread, micros(bar.begin_ns),
               (end_ns - bar.begin_ns) / 1000, quoted(bar.path).c_str());
  if (!bar.error.empty()) std::fprintf(file_.get(), ",\"error\":%s", quoted(bar.error).c_str());
  if (!bar.cache.empty()) {       // both are words of the library's
    std::fprintf(file_.get(), ",\"cache\":\"%s\",\"key\":\"%s\"", bar.cache.c_str(),
                 bar.key.c_str());
  }
  if (!bar.chunk.empty()) std::fprintf(file_.get(), ",\"chunk\":\"%s\"", bar.chunk.c_str());
  if (bar.end_ns < 0) std::fprintf(file_.get(), ",\"unfinished\":true");
  std::fprintf(file_.get(), "}}");
}

// From the end of one bar to the beginning of the other, as the viewers bind such pairs to bars.
void Trace::write_arrow(const Arrow& arrow, size_t number) {
  const Bar &from = bars_[arrow.from], &to = bars_[arrow.to];
  std::fprintf(file_.get(),
               ",\n{\"ph\":\"s\",\"cat\":\"value\",\"name\":\"value\",\"id\":%zu,\"pid\":1,"
               "\"tid\":%u,\"ts\":%.3f},\n{\"ph\":\"f\",\"bp\":\"e\",\"cat\":\"value\","
               "\"name\":\"value\",\"id\":%zu,\"pid\":1,\"tid\":%u,\"ts\":%.3f}",
               number, from.thread, micros(from.end_ns), number, to.thread, micros(to.begin_ns));
}

}  // namespace cli
