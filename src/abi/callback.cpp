// Keeps ticks from calling what waits for them.
#include "abi/callback.hpp"

namespace soma::wall {

namespace {
thread_local constinit TickScope* innermost = nullptr;
}

TickScope::TickScope(const soma_runtime* ticking) : runtime(ticking), outer(innermost) {
  innermost = this;
}

TickScope::~TickScope() { innermost = outer; }

Status refuse_in_tick(const soma_runtime* runtime) {
  for (const TickScope* scope = innermost; scope; scope = scope->outer) {
    if (scope->runtime == runtime) {
      return fail(Reason::busy,
                  "a tick called a function that needs the runtime, which waits for the tick to "
                  "return");
    }
  }
  return {};
}

}  // namespace soma::wall
