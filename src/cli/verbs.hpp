// The verbs of the tool: each adds its subcommand to the parser and runs when it is chosen.
#pragma once

#include <CLI/CLI.hpp>

namespace cli {

void add_plan(CLI::App& app);
void add_run(CLI::App& app);
void add_cache(CLI::App& app);
void add_diff(CLI::App& app);
void add_journal(CLI::App& app);
void add_generate(CLI::App& app);
void add_tokenize(CLI::App& app);
void add_logits(CLI::App& app);
void add_model(CLI::App& app);
void add_explain(CLI::App& app);
void add_bench(CLI::App& app);
void add_version(CLI::App& app);

}  // namespace cli
