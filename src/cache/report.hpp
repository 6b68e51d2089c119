// What a cache knows of how long things take, and what there is to know about it, as JSON.
#pragma once

#include "cache/cache.hpp"

namespace soma {

// {"ops": {name: µs, …}}: of each op, the median of all its entries. cache_store.
Result<std::string> measured_json(CacheStore& store);

// {"path", "hits", "misses", "skipped", "failed_writes", "last_failure", "memory": {…}, "disk":
// {…}}; "path" and "disk" are null if it is in memory only. Looks through its folder. cache_store.
Result<std::string> cache_facts_json(Cache& cache);

}  // namespace soma
