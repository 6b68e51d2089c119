// Asks the processor (CPUID), the system (XCR0) and the kernel (tile permission) what may be used.
#include "base/cpu_features.hpp"

#if defined(__x86_64__)
#include <cpuid.h>
#endif
#if defined(__x86_64__) && defined(__linux__)
#include <sys/syscall.h>
#include <unistd.h>
#endif

namespace soma {

#if defined(__x86_64__)

namespace {

struct Leaf {
  u32 a = 0, b = 0, c = 0, d = 0;
};

// All zeros where the processor has no such leaf.
Leaf leaf(u32 number, u32 sub = 0) {
  Leaf out;
  if (!__get_cpuid_count(number, sub, &out.a, &out.b, &out.c, &out.d)) return Leaf{};
  return out;
}

bool bit(u32 word, u32 index) { return (word >> index & 1) != 0; }

// Which register states the system saves; only to be asked where OSXSAVE is set.
u64 enabled_states() {
  u32 low = 0;
  u32 high = 0;
  __asm__("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
  return u64{high} << 32 | low;
}

// The brand text: three leaves of 16 characters, padded by spaces or zeros at either end.
std::string brand_text() {
  std::string text;
  for (u32 number = 0x80000002; number <= 0x80000004; ++number) {
    const Leaf part = leaf(number);
    for (u32 word : {part.a, part.b, part.c, part.d}) {
      for (u32 shift = 0; shift < 32; shift += 8) {
        const char c = static_cast<char>(word >> shift & 0xff);
        if (c != '\0') text += c;
      }
    }
  }
  const size_t begin = text.find_first_not_of(' ');
  if (begin == std::string::npos) return "";
  return text.substr(begin, text.find_last_not_of(' ') - begin + 1);
}

}  // namespace

CpuFeatures probe_cpu() {
  CpuFeatures out;
  out.brand = brand_text();
  const Leaf basic = leaf(1);
  const Leaf extended = leaf(7);
  const bool osxsave = bit(basic.c, 27);
  if (!osxsave) return out;
  const u64 states = enabled_states();
  constexpr u64 vectors = 0x6;     // xmm, ymm
  constexpr u64 wide = 0xe6;       // and masks, the upper halves of zmm0-15, zmm16-31
  constexpr u64 tiles = 0x60000;   // tile configuration and data

  const bool fma = bit(basic.c, 12);
  const bool avx = bit(basic.c, 28);
  const bool f16c = bit(basic.c, 29);
  out.avx2 = (states & vectors) == vectors && avx && fma && f16c && bit(extended.b, 5);

  const bool foundation = bit(extended.b, 16);
  const bool dq = bit(extended.b, 17);
  const bool bw = bit(extended.b, 30);
  const bool vl = bit(extended.b, 31);
  const bool vnni = bit(extended.c, 11);
  out.avx512_vnni =
      out.avx2 && (states & wide) == wide && foundation && dq && bw && vl && vnni;

  const bool amx_tile = bit(extended.d, 24);
  const bool amx_int8 = bit(extended.d, 25);
  out.amx_int8 = out.avx512_vnni && (states & tiles) == tiles && amx_tile && amx_int8;
  return out;
}

bool request_amx() {
#if defined(__linux__)
  constexpr long request_permission = 0x1023;  // ARCH_REQ_XCOMP_PERM
  constexpr long tile_data = 18;
  return syscall(SYS_arch_prctl, request_permission, tile_data) == 0;
#else
  return false;
#endif
}

#else

CpuFeatures probe_cpu() { return CpuFeatures{}; }
bool request_amx() { return false; }

#endif

}  // namespace soma
