// Making a runtime, seeing forks, passing on log records.
#include "abi/runtime.hpp"

#include <sched.h>
#include <sys/mman.h>
#include <unistd.h>

#include "abi/call.hpp"
#include "backend/cpu/cpu_backend.hpp"

using namespace soma;
using namespace soma::wall;

namespace {

constexpr i32 threads_limit = 1024;
constexpr size_t page_bytes = 4096;

// Processors that the system lets this process use.
i32 granted_processors() {
  cpu_set_t set;
  CPU_ZERO(&set);
  if (sched_getaffinity(0, sizeof set, &set) == 0) return std::max(1, CPU_COUNT(&set));
  return static_cast<i32>(std::max(1L, sysconf(_SC_NPROCESSORS_ONLN)));
}

// The host's functions have the interface's types; the core's Allocator is the same but for that.
Allocator allocator_of(const HostAllocator* host) {
  if (!host) return {};
  return {host->alloc, host->free, host->data.get()};
}

Result<std::unique_ptr<Pool>> make_pool(const HostPool* host, i32 threads) {
  if (!host) return Pool::create(threads);
  return Pool::create(Pool::Host{host->data.get(), host->submit, host->parallelism});
}

}  // namespace

namespace soma::wall {

ProcessMark::ProcessMark() : process_(getpid()) {
  constexpr int flags = MAP_PRIVATE | MAP_ANONYMOUS;
  void* page = mmap(nullptr, page_bytes, PROT_READ | PROT_WRITE, flags, -1, 0);
  if (page == MAP_FAILED) return;
  if (madvise(page, page_bytes, MADV_WIPEONFORK) != 0) {
    munmap(page, page_bytes);
    return;
  }
  page_ = new (page) std::atomic<u32>(1);
}

ProcessMark::~ProcessMark() {
  if (page_) munmap(const_cast<std::atomic<u32>*>(page_), page_bytes);
}

bool ProcessMark::is_forked() const {
  return page_ ? page_->load(std::memory_order_relaxed) == 0 : getpid() != process_;
}

}  // namespace soma::wall

soma_runtime::soma_runtime(const soma_options* options)
    : Object(kind),
      allocator(Ref<HostAllocator>::share(options ? options->allocator.get() : nullptr)),
      host_log(Ref<HostLog>::share(options ? options->log.get() : nullptr)),
      host_pool(Ref<HostPool>::share(options ? options->pool.get() : nullptr)),
      memory(allocator_of(allocator.get())) {}

soma_runtime::~soma_runtime() {
  const MemoryScope scope(&memory);
  calls.reset();
  pool.reset();
  backend.reset();
  team.reset();
}

Status soma_runtime::start(const Settings& settings) {
  const MemoryScope scope(&memory);
  const i64 asked = settings.integer("threads");
  const i32 threads =
      asked == 0 ? std::min(granted_processors(), threads_limit) : static_cast<i32>(asked);
  isa = settings.text("isa");
  amx = settings.text("amx") == "auto";
  SOMA_ASSIGN(team, Team::create(threads));
  SOMA_ASSIGN(pool, make_pool(host_pool.get(), threads));
  SOMA_ASSIGN(backend, cpu::make_backend(*team, isa, amx));
  calls = std::make_unique<CallSlots>(this);
  calls->prepare();
  if (wants_log(SOMA_LOG_INFO)) {
    log(SOMA_LOG_INFO, text("runtime: {} threads, kernel set {}", threads,
                            backend->caps().kernel_set));
  }
  return {};
}

bool soma_runtime::wants_log(std::int32_t level) const {
  return host_log && (host_log->mask & static_cast<u64>(level)) != 0;
}

void soma_runtime::log(std::int32_t level, std::string_view line) const noexcept {
  if (wants_log(level)) host_log->log(host_log->data.get(), level, line.data(), line.size());
}
