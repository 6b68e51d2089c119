// Feeds bytes to the reader of the binary form of plans: as they are, and as a frame with a sound
// head and checksum around it, which no mutation would find. What is read comes back the same.
#include "base/compress.hpp"
#include "plan/binary.hpp"

extern "C" int LLVMFuzzerTestOneInput(const unsigned char* data, size_t size) {
  using namespace soma;
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  const auto check = [](std::string_view binary) {
    const Result<std::string> document = plan_binary_document(binary);
    const Result<Plan> plan = parse_plan(binary);
    if (!document.ok()) {
      if (document.error().message().empty()) __builtin_trap();
      if (is_plan_binary(binary) && plan.ok()) __builtin_trap();
      return;
    }
    if (plan.ok() != Plan::parse(*document).ok()) __builtin_trap();
    if (!plan.ok()) return;
    const Result<std::string> again = plan_binary(*plan);
    if (!again.ok() || plan_binary_document(*again).value() != plan->document()) __builtin_trap();
  };
  check(bytes);
  if (size < 3) return 0;
  // The size that is claimed: of up to 16 MiB, so that some claims are right.
  const u64 claimed = data[0] | static_cast<u64>(data[1]) << 8 | static_cast<u64>(data[2]) << 16;
  check(plan_binary_around(bytes.substr(3), claimed));
  // A document that a mutation can reach.
  const Result<std::string> frame = compress(bytes);
  if (!frame.ok() || decompress(*frame, size).value() != bytes) __builtin_trap();
  check(plan_binary_around(*frame, size));
  return 0;
}
