// What programs that prove the C++ wrapper share.
#ifndef SOMA_TESTS_WRAPPER_HPP
#define SOMA_TESTS_WRAPPER_HPP

#include <soma/soma.hpp>

#include <cstdio>

namespace {

int passed = 0, failed = 0;

void check(bool holds, const char* what, const char* file, int line) {
  ++(holds ? passed : failed);
  if (!holds) std::fprintf(stderr, "FAIL %s:%d: %s\n", file, line, what);
}
#define CHECK(condition) check(condition, #condition, __FILE__, __LINE__)

// The reason of the soma::error that a call throws, or "" if it throws none.
template <typename Call>
std::string reason_of(Call call) {
  try {
    call();
  } catch (const soma::error& error) {
    return error.reason();
  }
  return "";
}

int summary() {
  std::printf("%d passed, %d failed\n", passed, failed);
  return failed != 0;
}

}  // namespace

#endif
