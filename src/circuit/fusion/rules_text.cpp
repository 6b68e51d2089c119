// The rule file that is part of the library. The build makes the literal from FUSIONS.toml.
#include "circuit/fusion/plan.hpp"

namespace soma {

std::string_view embedded_rules() {
  static constexpr std::string_view literal =
#include "circuit/fusion/FUSIONS.toml.inc"
      ;
  return literal.substr(1);  // the literal begins with a newline that is not the file's
}

}  // namespace soma
