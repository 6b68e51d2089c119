// Caches as the verbs run, explain and cache take them: folders.
#pragma once

#include "cli/client.hpp"

namespace cli {

Cache open_cache(const Runtime& runtime, const std::string& folder);  // made if it is missing
// Whoever asks about a folder that is not there has mistyped its name.
Cache open_existing_cache(const Runtime& runtime, const std::string& folder);

}  // namespace cli
