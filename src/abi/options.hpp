// Options: the one table of keys, the object that holds values for them, and the reading of it.
#pragma once

#include "abi/callback.hpp"

namespace soma::wall {

enum class OptionKind : u8 {
  Runtime,
  Model,
  Session,
  Generate,
  Plan,
  Compile,
  Run,
  Cache,
  PlanCache,
};
enum class OptionType : u8 { Int, Bool, Double, Text };

using OptionValue = std::variant<i64, double, std::string>;  // Bool: an i64, 0 or 1

// One row of options_table.inc.
struct OptionInfo {
  OptionKind kind = OptionKind::Runtime;
  std::string_view key = {};
  OptionType type = OptionType::Int;
  i64 default_int = 0, minimum_int = 0, maximum_int = 0;
  double default_double = 0, minimum_double = 0, maximum_double = 0;
  std::string_view default_text = {};
  std::string_view choices = {};  // separated by |; none: any text
  std::string_view since = {};
  std::string_view text = {};
};
std::span<const OptionInfo> option_table();
std::string_view option_kind_name(OptionKind kind);
std::optional<OptionKind> option_kind_by_name(std::string_view name);
OptionValue default_of(const OptionInfo& info);
// option_type, option_range; the message says what is allowed.
Status check_option(const OptionInfo& info, const OptionValue& value);
// option_type, option_range; "4096", "0.8", "true", "fast".
Result<OptionValue> parse_option(const OptionInfo& info, std::string_view text);

// A host's functions, shared by options and the runtimes made with them.
struct HostAllocator final : Object {
  static constexpr Tag kind = Tag::HostAllocator;
  HostAllocator(soma_alloc_fn alloc_in, soma_free_fn free_in, UserData data_in)
      : Object(kind), alloc(alloc_in), free(free_in), data(std::move(data_in)) {}
  soma_alloc_fn alloc;
  soma_free_fn free;
  UserData data;
};
struct HostPool final : Object {
  static constexpr Tag kind = Tag::HostPool;
  HostPool(soma_submit_fn submit_in, i32 parallelism_in, UserData data_in)
      : Object(kind), submit(submit_in), parallelism(parallelism_in), data(std::move(data_in)) {}
  soma_submit_fn submit;
  i32 parallelism;
  UserData data;
};
struct HostLog final : Object {
  static constexpr Tag kind = Tag::HostLog;
  HostLog(u64 mask_in, soma_log_fn log_in, UserData data_in)
      : Object(kind), mask(mask_in), log(log_in), data(std::move(data_in)) {}
  u64 mask;
  soma_log_fn log;
  UserData data;
};

}  // namespace soma::wall

// Lives from malloc: it exists before any runtime does.
struct soma_options final : soma::wall::Object {
  static constexpr soma::wall::Tag kind = soma::wall::Tag::Options;
  explicit soma_options(soma::wall::OptionKind of);

  struct Entry {
    const soma::wall::OptionInfo* info;
    soma::wall::OptionValue value;
  };
  // Which entry; option_unknown names the keys there are.
  soma::Result<size_t> find(std::string_view key) const;
  soma::Status set(std::string_view key, soma::wall::OptionValue value);

  const soma::wall::OptionKind of;
  std::vector<Entry> entries;
  soma::wall::Ref<soma::wall::HostAllocator> allocator;
  soma::wall::Ref<soma::wall::HostLog> log;
  soma::wall::Ref<soma::wall::HostPool> pool;
};

namespace soma::wall {

// The options argument of a call: an object of the right kind, or NULL for all defaults.
class Settings {
 public:
  static Result<Settings> of(const soma_options* options, OptionKind kind);

  i64 integer(std::string_view key) const { return std::get<i64>(value(key)); }
  bool truth(std::string_view key) const { return integer(key) != 0; }
  double number(std::string_view key) const { return std::get<double>(value(key)); }
  std::string text(std::string_view key) const { return std::get<std::string>(value(key)); }

 private:
  Settings(const soma_options* options, OptionKind kind) : options_(options), kind_(kind) {}
  OptionValue value(std::string_view key) const;

  const soma_options* options_;
  OptionKind kind_;
};

}  // namespace soma::wall
