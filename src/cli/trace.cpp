// Notes a run's events, and makes a trace of them once it is over.
//
// While the run goes on, each thread keeps what it is told as records in a buffer of its own, which
// costs a node some tens of nanoseconds. What they mean is found out afterwards, in the order of
// times: a path, as "refine[3]/judge", stands for one call of a node, so it finds the bar that a
// later event ends. A bar that nothing ended (the run was stopped within it) ends with the trace.
// Which nodes a node reads, the plan says; an arrow comes from the last time that such a node ran.
#include "cli/trace.hpp"

#include <errno.h>

#include <algorithm>
#include <cstring>

namespace cli {

namespace {

std::string in_quotes(const std::string& text) {
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
  std::unordered_map<std::string, uint32_t> numbers;
  for (JsonView node = document.view().at("nodes").first(); node; node = node.next()) {
    numbers.emplace(node.at("id").text(), static_cast<uint32_t>(ids_.size()));
    ids_.push_back(node.at("id").text());
  }
  for (JsonView node = document.view().at("nodes").first(); node; node = node.next()) {
    std::vector<uint32_t>& sources = sources_.emplace_back();
    for (JsonView from = node.at("from").first(); from; from = from.next()) {
      const JsonView named = from.at("node");  // of an edge that names ports
      sources.push_back(numbers.at(named ? named.text() : from.text()));
    }
  }
}

// ---- While the run goes on

void Trace::note(const soma_event& event) {
  Notes& notes = own_notes();
  Note note = {event.at_ns, event.number, event.count, event.kind, event.node, event.thread, 0, 0};
  const bool is_within = event.path_length != event.id_length;  // a loop or a step
  if (is_within) note.path = notes.keep(event.path, event.path_length);
  if (event.reason_length > 0) {
    note.text = notes.keep(event.reason, event.reason_length);
  } else if (event.name_length > 0) {
    note.text = notes.keep(event.name, event.name_length);
  }
  notes.all.push_back(note);
}

// A thread finds its own again without a lock. There is one trace in a process.
Trace::Notes& Trace::own_notes() {
  thread_local Notes* own = nullptr;
  if (own) return *own;
  auto made = std::make_unique<Notes>();
  const std::lock_guard<std::mutex> lock(mutex_);
  notes_.push_back(std::move(made));
  own = notes_.back().get();
  return *own;
}

// What a node's beginning and its end have in common is kept once.
uint32_t Trace::Notes::keep(const char* text, size_t length) {
  const std::string_view kept = texts.back();
  if (kept != std::string_view(text, length)) texts.emplace_back(text, length);
  return static_cast<uint32_t>(texts.size() - 1);
}

// ---- Afterwards

// By time, but what one thread noted stays in its order.
void Trace::read_notes() {
  std::vector<size_t> read(notes_.size());
  while (true) {
    size_t next = notes_.size();
    for (size_t i = 0; i < notes_.size(); ++i) {
      if (read[i] == notes_[i]->all.size()) continue;
      const bool is_first = next == notes_.size() ||
                            notes_[i]->all[read[i]].at_ns < notes_[next]->all[read[next]].at_ns;
      if (is_first) next = i;
    }
    if (next == notes_.size()) return;
    this->read(notes_[next]->all[read[next]++], *notes_[next]);
  }
}

void Trace::read(const Note& note, const Notes& of) {
  last_ns_ = std::max(last_ns_, note.at_ns);
  if (first_ns_ < 0) first_ns_ = note.at_ns;
  if (note.node >= ids_.size()) return;        // of the run itself
  const std::string& path = note.path != 0 ? of.texts[note.path] : ids_[note.node];
  const std::string& text = of.texts[note.text];
  switch (note.kind) {
    case SOMA_EVENT_NODE_STARTED: begin_bar(note, path); return;
    case SOMA_EVENT_NODE_FINISHED:
    case SOMA_EVENT_NODE_FAILED: end_bar(note, path, text); return;
    case SOMA_EVENT_CHUNK_STARTED:
    case SOMA_EVENT_CHUNK_FINISHED: read_chunk(note, path); return;
    case SOMA_EVENT_CACHE_HIT:
    case SOMA_EVENT_CACHE_MISS:
    case SOMA_EVENT_NODE_SKIPPED: {
      const auto found = open_.find(path);
      if (found == open_.end()) return;
      bars_[found->second].cache = note.kind == SOMA_EVENT_CACHE_HIT    ? "cache_hit"
                                   : note.kind == SOMA_EVENT_CACHE_MISS ? "cache_miss"
                                                                        : "node_skipped";
      bars_[found->second].key = text;
      return;
    }
    default: return;
  }
}

// A node in a stream has a bar for each chunk, on whatever thread that is; the first is the one
// that the node began with.
void Trace::read_chunk(const Note& note, const std::string& path) {
  const bool begins = note.kind == SOMA_EVENT_CHUNK_STARTED;
  if (begins && open_.find(path) == open_.end()) begin_bar(note, path);
  const auto found = open_.find(path);
  if (found == open_.end()) return;
  bars_[found->second].chunk = std::to_string(note.number) + "/" + std::to_string(note.count);
  if (!begins) end_bar(note, path, "");
}

void Trace::begin_bar(const Note& note, const std::string& path) {
  for (const uint32_t source : sources_[note.node]) {
    const auto ran = last_.find(source);
    if (ran != last_.end()) arrows_.push_back({ran->second, bars_.size()});
  }
  open_[path] = bars_.size();
  Bar& bar = bars_.emplace_back();
  bar.node = note.node;
  bar.thread = note.thread;
  bar.path = path;
  bar.begin_ns = note.at_ns;
}

void Trace::end_bar(const Note& note, const std::string& path, const std::string& error) {
  const auto found = open_.find(path);
  if (found == open_.end()) return;
  Bar& bar = bars_[found->second];
  bar.end_ns = note.at_ns;
  bar.error = error;
  last_[bar.node] = found->second;
  open_.erase(found);
}

bool Trace::write() {
  read_notes();
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
  const int64_t end_ns = bar.end_ns < 0 ? last_ns_ : bar.end_ns;
  std::fprintf(file_.get(),
               ",\n{\"ph\":\"X\",\"cat\":\"node\",\"name\":%s,\"pid\":1,\"tid\":%u,\"ts\":%.3f,"
               "\"dur\":%.3f,\"args\":{\"path\":%s",
               in_quotes(ids_[bar.node]).c_str(), bar.thread, micros(bar.begin_ns),
               static_cast<double>(end_ns - bar.begin_ns) / 1000, in_quotes(bar.path).c_str());
  if (!bar.error.empty()) std::fprintf(file_.get(), ",\"error\":%s", in_quotes(bar.error).c_str());
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
