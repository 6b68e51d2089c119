// The runtime object: the account of memory, the team, the log, and the mark of its process.
#pragma once

#include "abi/options.hpp"
#include "backend/backend.hpp"
#include "base/pool.hpp"
#include "base/team.hpp"

namespace soma::wall {

// Sees a fork without asking for the process id on each call: a page that the system empties in a
// child.
class ProcessMark {
 public:
  ProcessMark();
  ~ProcessMark();
  ProcessMark(const ProcessMark&) = delete;
  ProcessMark& operator=(const ProcessMark&) = delete;
  bool is_forked() const;

 private:
  const std::atomic<u32>* page_ = nullptr;  // nullptr: the system has no such pages
  i32 process_;
};

class CallSlots;

}  // namespace soma::wall

// Lives from malloc; what it holds lives in `memory`.
struct soma_runtime final : soma::wall::Object {
  static constexpr soma::wall::Tag kind = soma::wall::Tag::Runtime;
  explicit soma_runtime(const soma_options* options);  // of kind runtime, or NULL
  ~soma_runtime();

  soma::Status start(const soma::wall::Settings& settings);
  // Drops the record unless its level is wanted. Called on the caller's thread, without locks.
  void log(std::int32_t level, std::string_view line) const noexcept;
  bool wants_log(std::int32_t level) const;

  // In this order: memory outlives what is in it, the host's allocator outlives memory.
  soma::wall::Ref<soma::wall::HostAllocator> allocator;
  soma::wall::Ref<soma::wall::HostLog> host_log;
  soma::wall::Ref<soma::wall::HostPool> host_pool;
  mutable soma::Memory memory;
  soma::wall::ProcessMark process;
  std::string isa;
  bool amx = true;
  std::unique_ptr<soma::Team> team;        // for kernels
  std::unique_ptr<soma::Pool> pool;        // for runs of graphs
  std::unique_ptr<soma::Backend> backend;  // for its catalogue; sessions make their own
  std::unique_ptr<soma::wall::CallSlots> calls;  // of host functions
};
