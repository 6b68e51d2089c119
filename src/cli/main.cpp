// The tool: a client of soma.h like any other. Exit codes: 0 done, 1 failed and said why, 2 usage,
// 3 suspended and said how to answer, 130 cancelled.
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdio>
#include <exception>

#include "cli/client.hpp"
#include "cli/progress.hpp"
#include "cli/verbs.hpp"

namespace {

// A flag without a value is left out, not given as ""; only what a model reads may be empty.
void refuse_empty_values(CLI::App& app) {
  for (CLI::Option* option : app.get_options()) {
    if (option->check_lname("prompt") || option->check_lname("system")) continue;
    if (option->check_name("TEXT") || option->get_items_expected_max() == 0) continue;
    option->check([](const std::string& value) {
      return value.empty() ? std::string("the value is empty; leave the flag out instead") : "";
    });
  }
  for (CLI::App* verb : app.get_subcommands(nullptr)) refuse_empty_values(*verb);
}

int parse(CLI::App& app, int argc, char** argv) {
  try {
    app.parse(argc, argv);
    return cli::kDone;
  } catch (const CLI::ParseError& error) {
    const bool has_verb = !app.get_subcommands().empty();
    if (argc > 1 && argv[1][0] != '-' && !has_verb) {
      std::fprintf(stderr, "soma: there is no verb '%s'; soma --help lists them\n", argv[1]);
      return cli::kUsage;
    }
    const int code = app.exit(error);   // prints help or the complaint
    return code == 0 ? cli::kDone : cli::kUsage;
  } catch (const cli::Leave& leave) {
    return leave.code;
  } catch (const cli::Failure& failure) {
    cli::clear_progress();
    std::fflush(stdout);
    std::fprintf(stderr, "soma: %s\n", failure.text.c_str());
    // A flag's value that the library refuses is wrong usage like one that the tool refuses.
    if (failure.reason.starts_with("option.")) return cli::kUsage;
    if (failure.reason == "run.suspended") return cli::kSuspended;
    return failure.code == SOMA_CANCELLED ? cli::kCancelled : cli::kFailed;
  } catch (const std::exception& error) {
    cli::clear_progress();
    std::fprintf(stderr, "soma: %s\n", error.what());
    return cli::kFailed;
  }
}

// A reader of a pipe that has read enough is no news; a full disk or a closed output is.
int output_was_lost() {
  struct stat status = {};
  if (fstat(STDOUT_FILENO, &status) != 0 || !S_ISFIFO(status.st_mode)) {
    std::fprintf(stderr, "soma: standard output can't be written\n");
  }
  return cli::kFailed;
}

}  // namespace

int main(int argc, char** argv) {
  signal(SIGPIPE, SIG_IGN);
  CLI::App app("libsoma's tool: plan and run graphs of work; run, measure and explain models",
               "soma");
  app.require_subcommand(1);
  app.set_version_flag("--version", std::string("soma ") + soma_version_string());
  cli::add_plan(app);
  cli::add_run(app);
  cli::add_cache(app);
  cli::add_diff(app);
  cli::add_journal(app);
  cli::add_generate(app);
  cli::add_tokenize(app);
  cli::add_logits(app);
  cli::add_model(app);
  cli::add_explain(app);
  cli::add_bench(app);
  cli::add_version(app);
  refuse_empty_values(app);
  const int code = parse(app, argc, argv);
  const bool lost = std::fflush(stdout) != 0 || std::ferror(stdout) != 0;
  return lost && code == cli::kDone ? output_was_lost() : code;
}
