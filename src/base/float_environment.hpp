// The floating-point environment in which results are defined.
#pragma once

#include <cfenv>

namespace soma {

// While it lives, this thread rounds to nearest, keeps subnormal numbers and traps nothing,
// whatever its host has set (audio and game engines like to flush subnormals to zero); then all is
// as it was, the flags too. Threads inherit the environment of who creates them, so helpers need
// one as well. Cost: some hundred cycles.
class DefaultFloats {
 public:
  DefaultFloats() {
    std::fegetenv(&host_);
    std::fesetenv(FE_DFL_ENV);
  }
  ~DefaultFloats() { std::fesetenv(&host_); }
  DefaultFloats(const DefaultFloats&) = delete;
  DefaultFloats& operator=(const DefaultFloats&) = delete;

 private:
  std::fenv_t host_;
};

}  // namespace soma
