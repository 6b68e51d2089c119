// soma_runtime_*: the root object.
#include "abi/runtime.hpp"

#include "abi/blob.hpp"
#include "abi/cancel.hpp"
#include "abi/guard.hpp"
#include "abi/text_argument.hpp"
#include "base/bandwidth.hpp"
#include "base/cpu_features.hpp"
#include "base/json_writer.hpp"
#include "base/text.hpp"

using namespace soma;
using namespace soma::wall;

namespace {

std::string_view amx_state(const soma_runtime& runtime) {
  if (runtime.backend->caps().kernel_set == "amx_int8") return "granted";
  if (!runtime.amx) return "never";
  return probe_cpu().amx_int8 ? "refused" : "absent";
}

std::string facts(const soma_runtime& runtime) {
  JsonWriter json;
  json.object()
      .field("threads", runtime.team->threads())
      .field("kernel_set", runtime.backend->caps().kernel_set)
      .field("processor", probe_cpu().brand)
      .field("amx", amx_state(runtime))
      .field("memory_bytes", runtime.memory.allocated.bytes.load())
      .field("memory_peak_bytes", runtime.memory.allocated.peak_bytes.load())
      .field("mapped_bytes", runtime.memory.mapped.bytes.load())
      .field("mapped_peak_bytes", runtime.memory.mapped.peak_bytes.load())
      .close();
  return std::move(json).take();
}

std::string describe(const Bandwidth& bandwidth, i32 threads) {
  JsonWriter json;
  json.object()
      .field("bytes_per_s", bandwidth.bytes_per_s)
      .field("bytes", bandwidth.bytes)
      .field("rounds", bandwidth.rounds)
      .field("threads", threads)
      .close();
  return std::move(json).take();
}

}  // namespace

soma_code soma_runtime_create(uint32_t header_abi, const soma_options* options, soma_runtime** out,
                              soma_error** error) noexcept {
  return produce(no_root, out, error, [&]() -> Result<Ref<soma_runtime>> {
    const u32 library_abi = soma_abi_version();
    if (header_abi >> 16 != library_abi >> 16) {
      return fail(Reason::abi_incompatible,
                  "the program was compiled for ABI {}.{}, this library has {}.{}; generations "
                  "must be equal",
                  header_abi >> 16, header_abi & 0xffff, library_abi >> 16, library_abi & 0xffff);
    }
    SOMA_ASSIGN(const Settings settings, Settings::of(options, OptionKind::Runtime));
    Ref<soma_runtime> runtime = make<soma_runtime>(options);
    // An error that starting left in the runtime's memory must not outlive it.
    const Status started = runtime->start(settings);
    if (!started.ok()) return copy_of(started.error());
    return runtime;
  });
}

soma_code soma_runtime_facts(const soma_runtime* runtime, soma_blob** out,
                             soma_error** error) noexcept {
  return produce(runtime, out, error, [&]() -> Result<Ref<soma_blob>> {
    return make_blob(runtime, facts(*runtime));
  });
}

soma_code soma_runtime_measure(const soma_runtime* runtime, const char* kind, size_t kind_length,
                               soma_cancel* cancel, soma_blob** out,
                               soma_error** error) noexcept {
  return produce(runtime, out, error, [&]() -> Result<Ref<soma_blob>> {
    SOMA_ASSIGN(const std::string_view name, text_argument("kind", kind, kind_length));
    SOMA_TRY(check_maybe(cancel));
    if (name != "read_bandwidth") {
      return fail(Reason::argument_range, "the measures are: read_bandwidth; got {}",
                  quoted(name));
    }
    BlockingCall call;
    SOMA_TRY(call.begin(runtime, cancel, "measure"));
    SOMA_ASSIGN(const Bandwidth bandwidth, measure_read_bandwidth(*runtime->team, call.cancel()));
    return make_blob(runtime, describe(bandwidth, runtime->team->threads()));
  });
}

void soma_runtime_retain(const soma_runtime* runtime) noexcept { retain(runtime); }
void soma_runtime_release(const soma_runtime* runtime) noexcept { release(runtime); }
