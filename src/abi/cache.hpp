// The cache object.
#pragma once

#include "abi/runtime.hpp"
#include "cache/cache.hpp"

struct soma_cache final : soma::wall::Object {
  static constexpr soma::wall::Tag kind = soma::wall::Tag::Cache;
  soma_cache(const soma_runtime* owner, std::unique_ptr<soma::Cache> made)
      : Object(kind, owner), cache(std::move(made)) {}

  const std::unique_ptr<soma::Cache> cache;   // any thread may use it at any time
};
