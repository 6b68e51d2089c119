// soma cache: what a folder of kept values holds, whether it is sound, and what goes or stays.
#include "cli/cache.hpp"

#include <charconv>
#include <cstdint>
#include <cstdio>
#include <memory>
#include <string>

#include "cli/document.hpp"
#include "cli/progress.hpp"
#include "cli/verbs.hpp"

namespace cli {

namespace {

struct CacheVerb {
  std::string folder, key, bytes;
  bool json = false, unpin = false;
};

// "entries 3, bytes 482, …", or the same as JSON.
void print(const CacheVerb& verb, const std::string& json) {
  if (verb.json) {
    std::printf("%s\n", json.c_str());
    return;
  }
  const Json parsed = Json::parse(json);
  bool is_first = true;
  for (JsonView member = parsed.view().first(); member; member = member.next()) {
    std::printf("%s%s %s", is_first ? "" : ", ", member.key().c_str(), member.print().c_str());
    is_first = false;
  }
  std::printf("\n");
}

void show_stats(const CacheVerb& verb) {
  const Runtime runtime = make_plain_runtime();
  const Cache cache = open_existing_cache(runtime, verb.folder);
  const Json facts = blob_json(
      [&](soma_blob** out, soma_error** error) { return soma_cache_facts(cache, out, error); });
  print(verb, facts.view().at("disk").print());
}

void verify(const CacheVerb& verb) {
  const Runtime runtime = make_plain_runtime();
  const Cancel cancel = make_cancel(runtime, true);
  const Cache cache = open_existing_cache(runtime, verb.folder);
  const std::string json = blob_text([&](soma_blob** out, soma_error** error) {
    return soma_cache_verify(cache, cancel, out, error);
  });
  print(verb, json);
  if (Json::parse(json).view().at("damaged").number() > 0) {
    throw Failure{SOMA_DATA_LOSS, verb.folder + ": damaged entries were removed"};
  }
}

// Without a bound: only what lies around that nobody will use.
void collect(const CacheVerb& verb) {
  const Runtime runtime = make_plain_runtime();
  const Cache cache = open_existing_cache(runtime, verb.folder);
  uint64_t bytes = UINT64_MAX;
  const auto [end, problem] =
      std::from_chars(verb.bytes.data(), verb.bytes.data() + verb.bytes.size(), bytes);
  if (!verb.bytes.empty() &&
      (problem != std::errc() || end != verb.bytes.data() + verb.bytes.size())) {
    throw CLI::ValidationError("--max-bytes", "this is no number of bytes");
  }
  print(verb, blob_text([&](soma_blob** out, soma_error** error) {
          return soma_cache_sweep(cache, bytes, out, error);
        }));
}

void pin(const CacheVerb& verb) {
  const Runtime runtime = make_plain_runtime();
  const Cache cache = open_existing_cache(runtime, verb.folder);
  check([&](soma_error** error) {
    return soma_cache_pin(cache, verb.key.data(), verb.key.size(), verb.unpin ? 0 : 1, error);
  });
}

}  // namespace

Cache open_cache(const Runtime& runtime, const std::string& folder) {
  Cache cache;
  check([&](soma_error** error) {
    return soma_cache_open(runtime, folder.data(), folder.size(), nullptr, cache.out(), error);
  });
  return cache;
}

Cache open_existing_cache(const Runtime& runtime, const std::string& folder) {
  const std::string mark = folder + "/soma-cache";
  if (!File(std::fopen(mark.c_str(), "rb"))) {
    throw Failure{SOMA_NOT_FOUND, folder + ": there is no cache"};
  }
  return open_cache(runtime, folder);
}

void add_cache(CLI::App& app) {
  auto verb = std::make_shared<CacheVerb>();
  CLI::App* sub = app.add_subcommand("cache", "What runs kept in a folder");
  sub->require_subcommand(1);
  const auto add = [&](const char* name, const char* text, void (*run)(const CacheVerb&)) {
    CLI::App* made = sub->add_subcommand(name, text);
    made->add_option("DIR", verb->folder, "the folder")->required();
    made->callback([verb, run] { run(*verb); });
    return made;
  };
  CLI::App* stats = add("stats", "How many entries there are, and what they take", show_stats);
  CLI::App* check = add("verify", "Read all entries and remove damaged ones", verify);
  CLI::App* gc = add("gc", "Remove what was not used for longest", collect);
  for (CLI::App* made : {stats, check, gc}) made->add_flag("--json", verb->json, "a JSON object");
  gc->add_option("--max-bytes", verb->bytes,
                 "until so much is left; without: only what broken-off writers left");
  CLI::App* one = add("pin", "Keep an entry whatever is removed", pin);
  one->add_option("KEY", verb->key, "its key: in a trace of the run, 64 digits")->required();
  one->add_flag("--unpin", verb->unpin, "let go of it");
}

}  // namespace cli
