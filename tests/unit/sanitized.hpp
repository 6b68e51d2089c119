// Whether these tests run under a sanitizer that costs tenfold in time and memory: sizes and
// numbers of rounds, which are no question of a sanitizer's, may be smaller there.
#pragma once

namespace soma::fixture {

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
inline constexpr bool is_sanitized = true;
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
inline constexpr bool is_sanitized = true;
#else
inline constexpr bool is_sanitized = false;
#endif
#else
inline constexpr bool is_sanitized = false;
#endif

}  // namespace soma::fixture
