// soma version: which libsoma this is, and what it can do here.
#include <cstdio>
#include <memory>

#include "cli/client.hpp"
#include "cli/verbs.hpp"

namespace cli {

void add_version(CLI::App& app) {
  auto json = std::make_shared<bool>(false);
  CLI::App* sub = app.add_subcommand("version", "Print the version and what this build can do");
  sub->add_flag("--json", *json, "as one JSON object");
  sub->callback([json] {
    const std::string info = blob_text(soma_build_info);
    if (*json) {
      std::printf("%s\n", info.c_str());
    } else {
      std::printf("soma %s, ABI %u.%u\n", soma_version_string(), soma_abi_version() >> 16,
                  soma_abi_version() & 0xffff);
    }
  });
}

}  // namespace cli
