// What programs of a document are given: the environment in which the tool runs, and a folder.
#include "cli/processes.hpp"

#include <unistd.h>

#include <set>

#include "cli/document.hpp"

namespace cli {

namespace {

// Variables that are no text, or come a second time, stay here.
Value own_environment(const Runtime& runtime) {
  std::set<std::string> names;
  std::vector<Value> texts;
  std::vector<const char*> keys;
  std::vector<const soma_value*> values;
  for (char** at = environ; *at != nullptr; ++at) {
    const std::string_view variable(*at);
    const size_t equals = variable.find('=');
    if (equals == 0 || equals == std::string_view::npos) continue;
    Value whole, text;
    const char* content = *at + equals + 1;
    if (soma_value_of_text(runtime, *at, SOMA_NUL, whole.out(), nullptr) != SOMA_OK) continue;
    check([&](soma_error** error) {
      return soma_value_of_text(runtime, content, SOMA_NUL, text.out(), error);
    });
    const auto [name, is_new] = names.emplace(variable.substr(0, equals));
    if (!is_new) continue;
    keys.push_back(name->c_str());
    values.push_back(text);
    texts.push_back(std::move(text));
  }
  Value environment;
  check([&](soma_error** error) {
    return soma_value_of_map(runtime, keys.data(), values.data(), keys.size(), environment.out(),
                             error);
  });
  return environment;
}

}  // namespace

void allow_processes(const Runtime& runtime, const Ops& ops, const std::string& document) {
  const Value environment = own_environment(runtime);
  const std::string folder = folder_of(document);
  check([&](soma_error** error) {
    return soma_ops_allow_processes(ops, environment, folder.data(), folder.size(), error);
  });
}

}  // namespace cli
