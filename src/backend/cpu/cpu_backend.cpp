// Chooses a kernel set, describes the backend, and makes its parts.
#include "backend/cpu/cpu_backend.hpp"

#include <algorithm>
#include <array>

#include "backend/cpu/executable.hpp"
#include "base/cpu_features.hpp"

namespace soma::cpu {

namespace {

constexpr double launch_ns = 300;     // a claim, a prologue and a barrier between two threads
constexpr double bytes_per_ns = 20;   // second- and third-level cache, one thread

struct Set {
  std::string_view name;
  const KernelSet* kernels;
  bool granted;  // by the processor and, as far as that can be seen without asking, the system
  bool tiles;    // needs the permission that belongs to the process
};

// From the plainest to the fastest.
std::array<Set, 4> sets() {
  const CpuFeatures features = probe_cpu();
  return {{
      {"scalar", scalar_kernels, true, false},
      {"avx2", avx2_kernels, features.avx2, false},
      {"avx512_vnni", avx512_vnni_kernels, features.avx512_vnni, false},
      {"amx_int8", amx_int8_kernels, features.amx_int8, true},
  }};
}

Result<const KernelSet*> choose(std::string_view isa, bool amx) {
  const std::array<Set, 4> all = sets();
  if (isa == "auto") {
    for (auto set = all.rbegin(); set != all.rend(); ++set) {
      if (set->kernels == nullptr || !set->granted) continue;
      if (set->tiles && !(amx && request_amx())) continue;
      return set->kernels;
    }
  }
  for (const Set& set : all) {
    if (set.name != isa) continue;
    const bool forbidden = set.tiles && !amx;
    if (forbidden || set.kernels == nullptr || !set.granted || (set.tiles && !request_amx())) {
      return fail(Reason::isa_unavailable, "kernel set '{}' can't run here: {}", isa,
                  forbidden                ? "its tiles are not to be asked for (amx = never)"
                  : set.kernels == nullptr ? "this build does not have it"
                  : set.granted            ? "the system refuses the tile state"
                                           : "the processor lacks it or the system hides it");
    }
    return set.kernels;
  }
  return fail(Reason::argument_range,
              "there is no kernel set '{}'; there are auto, scalar, avx2, avx512_vnni, amx_int8",
              isa);
}

class CpuBackend final : public Backend {
 public:
  CpuBackend(Team& team, const KernelSet& kernels) : team_(team), kernels_(kernels) {
    caps_.name = "cpu";
    caps_.kernel_set = kernels.name;
    for (const LaunchKind& kind : launch_kinds()) caps_.catalogue.kernels.emplace_back(kind.name);
    std::sort(caps_.catalogue.kernels.begin(), caps_.catalogue.kernels.end());
    caps_.catalogue.launch_ns = launch_ns;
    caps_.catalogue.bytes_per_ns = bytes_per_ns;
  }

  const BackendCaps& caps() const override { return caps_; }

  Result<std::unique_ptr<Weights>> pack(std::span<const WeightSource> sources,
                                        const FileBytes* file, Progress progress,
                                        const Cancel* cancel) override {
    SOMA_ASSIGN(std::unique_ptr<Weights> weights,
                CpuWeights::pack(team_, sources, file, progress, cancel));
    return weights;
  }

  Result<std::unique_ptr<KvMemory>> allocate_kv(const KvGeometry& geometry) override {
    SOMA_ASSIGN(std::unique_ptr<KvMemory> kv, CpuKv::create(geometry));
    return kv;
  }

  Result<std::unique_ptr<Executable>> bind(const Program& program,
                                           const Weights& weights) override {
    SOMA_ASSIGN(std::unique_ptr<Executable> executable,
                CpuExecutable::create(program, static_cast<const CpuWeights&>(weights), team_,
                                      kernels_));
    return executable;
  }

 private:
  Team& team_;
  const KernelSet& kernels_;
  BackendCaps caps_;
};

}  // namespace

Result<std::unique_ptr<Backend>> make_backend(Team& team, std::string_view isa, bool amx) {
  SOMA_ASSIGN(const KernelSet* kernels, choose(isa, amx));
  return std::unique_ptr<Backend>(new CpuBackend(team, *kernels));
}

std::vector<SetInfo> kernel_sets() {
  std::vector<SetInfo> infos;
  for (const Set& set : sets()) {
    infos.push_back({set.name, set.kernels != nullptr && set.granted});
  }
  return infos;
}

}  // namespace soma::cpu
