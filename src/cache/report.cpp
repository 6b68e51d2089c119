// Prints what a cache knows.
#include "cache/report.hpp"

#include <algorithm>
#include <map>

#include "base/json_writer.hpp"

namespace soma {

namespace {

void write_use(JsonWriter& json, const CacheUse& use) {
  json.object()
      .field("entries", use.entries)
      .field("bytes", use.bytes)
      .field("bytes_max", use.bytes_max)
      .field("pinned", use.pinned)
      .field("evicted", use.evicted)
      .field("damaged", use.damaged)
      .close();
}

}  // namespace

Result<std::string> measured_json(CacheStore& store) {
  using Times = std::map<std::string, std::vector<i64>, std::less<>>;
  Times times;
  SOMA_TRY(store.each([](void* user, const CacheRecord& record) {
    if (!record.alias && !record.op.empty() && record.took_ns >= 0) {
      (*static_cast<Times*>(user))[record.op].push_back(record.took_ns);
    }
  }, &times));
  JsonWriter json;
  json.object().key("ops").object();
  for (auto& [op, of_op] : times) {
    const auto middle = of_op.begin() + static_cast<std::ptrdiff_t>((of_op.size() - 1) / 2);
    std::nth_element(of_op.begin(), middle, of_op.end());
    json.field(op, static_cast<double>(*middle) / 1000);
  }
  json.close().close();
  return std::move(json).take();
}

Result<std::string> cache_facts_json(Cache& cache) {
  SOMA_ASSIGN(const CacheUse in_memory, cache.memory_use());
  std::optional<CacheUse> on_disk;
  if (cache.has_disk()) {
    SOMA_ASSIGN(on_disk, cache.store().use());
  }
  const CacheCounts counts = cache.counts();
  JsonWriter json;
  json.object().key("path");
  cache.has_disk() ? json.value(cache.path()) : json.value(nullptr);
  json.field("hits", counts.hits)
      .field("misses", counts.misses)
      .field("skipped", counts.skipped)
      .field("failed_writes", counts.failed_writes)
      .field("last_failure", cache.last_failure())
      .key("memory");
  write_use(json, in_memory);
  json.key("disk");
  if (on_disk) write_use(json, *on_disk);
  else json.value(nullptr);
  json.close();
  return std::move(json).take();
}

}  // namespace soma
