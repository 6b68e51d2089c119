// soma run: a graph or a plan with the built-in ops and with models; its value as a line of JSON.
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <mutex>
#include <optional>

#include "cli/cache.hpp"
#include "cli/document.hpp"
#include "cli/processes.hpp"
#include "cli/progress.hpp"
#include "cli/sessions.hpp"
#include "cli/trace.hpp"
#include "cli/verbs.hpp"

namespace cli {

namespace {

struct RunVerb {
  std::string file, input, trace, cache, threads, launch, remote, journal, id;
  double timeout_s = 0;             // 0: as long as it takes
  CompileFlags compile;
  bool json = false;
};

Value read_input(const Runtime& runtime, const std::string& path) {
  Value value;
  if (path.empty()) return value;
  const std::string text = read_text(path);
  check_in(path == "-" ? "standard input" : path, [&](soma_error** error) {
    return soma_value_parse(runtime, text.data(), text.size(), value.out(), error);
  });
  return value;
}

Run make_run(const Runtime& runtime, const Plan& plan, const Cancel& cancel, const RunVerb& verb) {
  const Options options = make_options("run");
  if (!verb.launch.empty()) set(options, "launch", verb.launch);
  if (!verb.remote.empty()) set(options, "remote", verb.remote);
  Ops ops;
  check([&](soma_error** error) { return soma_ops_create(runtime, ops.out(), error); });
  allow_processes(runtime, ops, verb.file);
  add_sessions(runtime, plan, ops, verb.file, cancel);
  Run run;
  check_in(verb.file, [&](soma_error** error) {
    return soma_run_create(plan, ops, options, run.out(), error);
  });
  return run;
}

void remember(const Runtime& runtime, const Run& run, const RunVerb& verb) {
  Journal journal;
  check([&](soma_error** error) {
    return soma_journal_open(runtime, verb.journal.data(), verb.journal.size(), journal.out(),
                             error);
  });
  check([&](soma_error** error) {
    return soma_run_set_journal(run, journal, verb.id.data(), verb.id.size(), error);
  });
}

// A failure; of a run that waits, with how it goes on.
void throw_end(soma_code code, soma_error* error, const RunVerb& verb) {
  try {
    throw_failure(code, error);
  } catch (Failure& failure) {
    if (failure.reason == "deadline" && verb.timeout_s > 0) {
      failure.text += "\n  --timeout says so: give it more time";
      if (!verb.journal.empty()) failure.text += ", and go on under the same --run-id";
    }
    if (failure.reason == "run.suspended") {
      failure.text += "\n  see: soma journal list --journal " + printable(verb.journal) +
                      "\n  answer: soma journal answer " + printable(verb.id) + " --journal " +
                      printable(verb.journal) + " --value FILE";
    }
    throw;
  }
}

// What is noted of a run's events: all of them for a trace, as text those that an estimate is in.
struct Watcher {
  std::optional<Trace> trace;
  std::mutex mutex;                 // guards:
  unsigned long unkept = 0;         // values that the cache could not write
  std::string unkept_why;

  void watch(const Run& run) {
    check([&](soma_error** error) {
      return soma_run_set_probe(run, on_event, this, nullptr, error);
    });
  }
  static void show_end(const Run& run) {
    check([&](soma_error** error) {
      return soma_run_set_observer(run, on_line, nullptr, nullptr, error);
    });
  }

 private:
  // Nothing may leave it but by returning: what can't be kept is not in the trace.
  static void on_event(void* self, const soma_event* event) {
    try {
      static_cast<Watcher*>(self)->note(*event);
    } catch (...) {
    }
  }
  void note(const soma_event& event) {
    if (trace) trace->note(event);
    if (event.kind != SOMA_EVENT_CACHE_FAILED) return;
    const std::lock_guard<std::mutex> lock(mutex);
    ++unkept;
    unkept_why.assign(event.message, event.message_length);
  }
  // The library's own line: a key of it stands nowhere else unescaped.
  static void on_line(void*, const char* event, size_t length) {
    constexpr std::string_view key = "\"eta_ns\":";
    const size_t at = std::string_view(event, length).find(key);
    expect_end(at == std::string_view::npos ? -1 : std::atoll(event + at + key.size()));
  }
};

void warn(const Watcher& watcher) {
  if (watcher.unkept == 0) return;
  std::fprintf(stderr, "warning: %lu value%s could not be kept: %s [cache.store]\n",
               watcher.unkept, watcher.unkept == 1 ? "" : "s",
               printable(watcher.unkept_why).c_str());
}

void limit(const Cancel& cancel, double timeout_s) {
  if (timeout_s == 0) return;
  const auto ns = static_cast<int64_t>(timeout_s * 1e9);
  check([&](soma_error** error) { return soma_cancel_set_deadline(cancel, ns, error); });
}

void use_cache(const Run& run, const Cache& cache) {
  check([&](soma_error** error) { return soma_run_set_cache(run, cache, error); });
}

// An event as text costs a microsecond; of so many nodes, nobody waits for the estimate.
bool is_worth_watching(const Plan& plan) {
  constexpr double nodes_max = 10'000;
  const Json facts = blob_json(
      [&](soma_blob** out, soma_error** error) { return soma_plan_facts(plan, out, error); });
  return facts.number("nodes") <= nodes_max;
}

void execute(const RunVerb& verb) {
  if (verb.journal.empty() != verb.id.empty()) {
    throw CLI::ValidationError("--journal and --run-id belong together: give both or none");
  }
  const Runtime runtime = make_plain_runtime(verb.threads);
  const Cancel cancel = make_cancel(runtime, !verb.json);
  const Plan plan = plan_of(read_document(runtime, verb.file), verb.compile, Say::Lines);
  const Value input = read_input(runtime, verb.input);
  Watcher watcher;                  // outlives the run, which tells it
  if (!verb.trace.empty()) watcher.trace.emplace(verb.trace, plan);
  const Run run = make_run(runtime, plan, cancel, verb);
  if (!verb.journal.empty()) remember(runtime, run, verb);
  if (!verb.cache.empty()) use_cache(run, open_cache(runtime, verb.cache));
  if (watcher.trace || !verb.cache.empty()) watcher.watch(run);
  if (!verb.json && is_worth_watching(plan)) Watcher::show_end(run);
  limit(cancel, verb.timeout_s);
  Value value;
  soma_error* error = nullptr;
  const soma_code code = soma_run_execute(run, input, cancel, value.out(), &error);
  clear_progress();
  warn(watcher);
  // A trace of what failed is worth most; it comes first, but the run's failure counts.
  const bool is_traced = !watcher.trace || watcher.trace->write();
  if (code != SOMA_OK) throw_end(code, error, verb);
  const std::string json = blob_text(
      [&](soma_blob** out, soma_error** problem) { return soma_value_json(value, out, problem); });
  std::printf("%s\n", json.c_str());
  if (!is_traced) throw Failure{SOMA_UNAVAILABLE, verb.trace + " can't be written"};
}

}  // namespace

void add_run(CLI::App& app) {
  auto verb = std::make_shared<RunVerb>();
  CLI::App* sub = app.add_subcommand("run", "Run a graph or a plan, and print its value as JSON");
  sub->add_option("FILE", verb->file, "a graph document, or a plan document")->required();
  sub->add_option("--input", verb->input,
                  "a file of JSON to run it on, - for stdin; without: null");
  sub->add_option("--cache", verb->cache,
                  "a folder that keeps what cacheable nodes yield, made if it is missing");
  sub->add_option("--trace", verb->trace,
                  "write what ran when, and on which thread, for Chrome's or Perfetto's viewer");
  sub->add_option("--journal", verb->journal,
                  "a folder, made if it is missing, that remembers what the run does");
  sub->add_option("--run-id", verb->id,
                  "the run's name there: under the same one it goes on where it broke off");
  add_compile_flags(*sub, verb->compile, true);
  sub->add_option("--threads", verb->threads,
                  "threads that run nodes at the same time (as many as processors)");
  const auto is_time = [](const std::string& text) {
    const double seconds = std::atof(text.c_str());
    const bool is_good = seconds >= 1e-9 && seconds <= 1e9;  // NaN is not
    return is_good ? "" : "expected seconds, 1e-9 to 1e9, got " + text;
  };
  sub->add_option("--timeout", verb->timeout_s,
                  "stop after so many seconds, as Ctrl-C does, and the processes too")
      ->check(is_time)
      ->type_name("SECONDS");
  sub->add_option("--launch", verb->launch,
                  "always: branches have a thread each; adaptive (the default): if that pays");
  sub->add_option("--remote", verb->remote,
                  "inline: parts with a target run here; refuse (the default): they fail");
  sub->add_flag("--json", verb->json,
                "the value alone on stdout, as always, and no progress on stderr");
  sub->callback([verb] { execute(*verb); });
}

}  // namespace cli
