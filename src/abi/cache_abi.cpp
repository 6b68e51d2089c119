// soma_cache_*: what nodes yielded, kept for later runs.
#include "abi/cache.hpp"

#include "abi/blob.hpp"
#include "abi/cancel.hpp"
#include "abi/guard.hpp"
#include "abi/text_argument.hpp"
#include "base/json_writer.hpp"
#include "cache/report.hpp"

using namespace soma;
using namespace soma::wall;

namespace {

Result<CacheLimits> limits_of(const soma_options* options) {
  SOMA_ASSIGN(const Settings settings, Settings::of(options, OptionKind::Cache));
  return CacheLimits{static_cast<u64>(settings.integer("memory_bytes")),
                     static_cast<u64>(settings.integer("disk_bytes"))};
}

std::string swept_json(const CacheSwept& swept) {
  JsonWriter json;
  json.object()
      .field("entries", swept.entries)
      .field("bytes", swept.bytes)
      .field("left_overs", swept.left_overs)
      .close();
  return std::move(json).take();
}

std::string check_json(const CacheCheck& check) {
  JsonWriter json;
  json.object()
      .field("entries", check.entries)
      .field("bytes", check.bytes)
      .field("damaged", check.damaged)
      .field("foreign", check.foreign)
      .field("unreadable", check.unreadable)
      .close();
  return std::move(json).take();
}

}  // namespace

soma_code soma_cache_create(const soma_runtime* runtime, const soma_options* options,
                            soma_cache** out, soma_error** error) noexcept {
  return produce(runtime, out, error, [&]() -> Result<Ref<soma_cache>> {
    SOMA_ASSIGN(const CacheLimits limits, limits_of(options));
    return make<soma_cache>(runtime, std::make_unique<Cache>(limits));
  });
}

soma_code soma_cache_open(const soma_runtime* runtime, const char* path, size_t path_length,
                          const soma_options* options, soma_cache** out,
                          soma_error** error) noexcept {
  return produce(runtime, out, error, [&]() -> Result<Ref<soma_cache>> {
    SOMA_ASSIGN(const std::string_view folder, text_argument("path", path, path_length));
    SOMA_ASSIGN(const CacheLimits limits, limits_of(options));
    SOMA_ASSIGN(std::unique_ptr<Cache> cache, Cache::open(std::string(folder), limits));
    return make<soma_cache>(runtime, std::move(cache));
  });
}

soma_code soma_cache_facts(const soma_cache* cache, soma_blob** out,
                           soma_error** error) noexcept {
  return produce(cache, out, error, [&]() -> Result<Ref<soma_blob>> {
    SOMA_ASSIGN(std::string json, cache_facts_json(*cache->cache));
    return make_blob(cache->runtime, std::move(json));
  });
}

soma_code soma_cache_verify(const soma_cache* cache, soma_cancel* cancel, soma_blob** out,
                            soma_error** error) noexcept {
  return produce(cache, out, error, [&]() -> Result<Ref<soma_blob>> {
    BlockingCall call;
    SOMA_TRY(call.begin(cache->runtime, cancel, "verify"));
    SOMA_ASSIGN(const CacheCheck check, cache->cache->store().verify(call.cancel()));
    return make_blob(cache->runtime, check_json(check));
  });
}

soma_code soma_cache_sweep(const soma_cache* cache, uint64_t bytes_max, soma_blob** out,
                           soma_error** error) noexcept {
  return produce(cache, out, error, [&]() -> Result<Ref<soma_blob>> {
    SOMA_ASSIGN(const CacheSwept swept, cache->cache->sweep(bytes_max));
    return make_blob(cache->runtime, swept_json(swept));
  });
}

soma_code soma_cache_pin(const soma_cache* cache, const char* key, size_t key_length,
                         int32_t is_pinned, soma_error** error) noexcept {
  return perform(cache, error, [&]() -> Status {
    SOMA_ASSIGN(const std::string_view digits, text_argument("key", key, key_length));
    SOMA_ASSIGN(const CacheKey wanted, CacheKey::parse(digits));
    if (is_pinned != 0 && is_pinned != 1) {
      return fail(Reason::argument_range, "is_pinned is 0 or 1, got {}", is_pinned);
    }
    CacheStore& store = cache->cache->store();
    return is_pinned == 1 ? store.pin(wanted) : store.unpin(wanted);
  });
}

soma_code soma_cache_measured(const soma_cache* cache, soma_blob** out,
                              soma_error** error) noexcept {
  return produce(cache, out, error, [&]() -> Result<Ref<soma_blob>> {
    SOMA_ASSIGN(std::string json, measured_json(cache->cache->store()));
    return make_blob(cache->runtime, std::move(json));
  });
}

void soma_cache_retain(const soma_cache* cache) noexcept { retain(cache); }
void soma_cache_release(const soma_cache* cache) noexcept { release(cache); }
