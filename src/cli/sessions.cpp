// Gives the models of a plan their sessions.
#include "cli/sessions.hpp"

#include "cli/document.hpp"
#include "cli/progress.hpp"

namespace cli {

namespace {

Session make_session(const Runtime& runtime, const std::string& path, const Cancel& cancel) {
  Model model;
  check([&](soma_error** error) {
    return soma_model_open(runtime, path.data(), path.size(), nullptr, cancel, model.out(), error);
  });
  Session session;
  check_in(path, [&](soma_error** error) {
    return soma_session_create(model, nullptr, cancel, session.out(), error);
  });
  return session;
}

}  // namespace

void add_sessions(const Runtime& runtime, const Plan& plan, const Ops& ops,
                  const std::string& document, const Cancel& cancel) {
  const Json facts = blob_json(
      [&](soma_blob** out, soma_error** error) { return soma_plan_facts(plan, out, error); });
  for (JsonView each = facts.view().at("models").first(); each; each = each.next()) {
    const std::string name = each.text();
    const bool is_absolute = name.starts_with('/');
    const std::string path = is_absolute ? name : folder_of(document) + name;
    const Session session = make_session(runtime, path, cancel);
    check([&](soma_error** error) {
      return soma_ops_add_session(ops, name.data(), name.size(), session, error);
    });
  }
  clear_progress();
}

}  // namespace cli
