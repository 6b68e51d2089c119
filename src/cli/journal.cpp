// soma journal: which runs there are, what they did, and answers to those that wait.
#include <algorithm>
#include <cstdio>
#include <memory>

#include "cli/document.hpp"
#include "cli/verbs.hpp"

namespace cli {

namespace {

struct JournalVerb {
  std::string folder, run, value, path;
  bool json = false;
};

Journal open_journal(const Runtime& runtime, const std::string& folder) {
  Journal journal;
  check([&](soma_error** error) {
    return soma_journal_open(runtime, folder.data(), folder.size(), journal.out(), error);
  });
  return journal;
}

void list(const JournalVerb& verb) {
  const Runtime runtime = make_plain_runtime();
  const Journal journal = open_journal(runtime, verb.folder);
  const std::string json = blob_text([&](soma_blob** out, soma_error** error) {
    return soma_journal_list(journal, out, error);
  });
  if (verb.json) {
    std::printf("%s\n", json.c_str());
    return;
  }
  const Json runs = Json::parse(json);
  for (JsonView run = runs.view().first(); run; run = run.next()) {
    std::printf("%-10s %6.0f records  %-24s  %s\n", run.at("state").text().c_str(),
                run.at("records").number(), run.at("last").text().c_str(),
                printable(run.at("run").text()).c_str());
    if (run.at("problem")) std::printf("  %s\n", printable(run.at("problem").text()).c_str());
    for (JsonView place = run.at("waiting").first(); place; place = place.next()) {
      std::printf("  waits at %s: %s\n", printable(place.at("place").text()).c_str(),
                  printable(place.at("reason").print()).c_str());
    }
  }
}

std::string records_of(const JournalVerb& verb) {
  const Runtime runtime = make_plain_runtime();
  const Journal journal = open_journal(runtime, verb.folder);
  return blob_text([&](soma_blob** out, soma_error** error) {
    return soma_journal_show(journal, verb.run.data(), verb.run.size(), out, error);
  });
}

void show(const JournalVerb& verb) { std::fputs(records_of(verb).c_str(), stdout); }

// A record as people read it: where, what, and the beginning of its content.
void print_record(JsonView record) {
  constexpr size_t shown_bytes = 160;
  std::string content = record.at("content").print();
  if (content.size() > shown_bytes) content = content.substr(0, shown_bytes) + "…";
  const std::string path = record.at("path").text();
  std::string where = path.empty() ? "the run" : path;
  if (!path.empty() && record.at("kind").text() != "output") {
    where += " turn " + record.at("turn").print() + "." + record.at("index").print();
  }
  const std::string effect = record.at("effect").text();
  std::printf("%s  %-10s %s%s%s %s\n", record.at("at").text().c_str(),
              record.at("kind").text().c_str(), printable(where).c_str(),
              effect.empty() ? "" : " ", printable(effect).c_str(), printable(content).c_str());
}

void replay(const JournalVerb& verb) {
  const std::string lines = records_of(verb);
  size_t begin = lines.find('\n') + 1;  // behind whose records these are
  for (size_t end = lines.find('\n', begin); end != lines.npos; end = lines.find('\n', begin)) {
    const Json record = Json::parse(lines.substr(begin, end - begin));
    print_record(record.view());
    begin = end + 1;
  }
}

void answer(const JournalVerb& verb) {
  const Runtime runtime = make_plain_runtime();
  const std::string text = read_text(verb.value);
  Value value;
  check_in(verb.value == "-" ? "standard input" : verb.value, [&](soma_error** error) {
    return soma_value_parse(runtime, text.data(), text.size(), value.out(), error);
  });
  const Journal journal = open_journal(runtime, verb.folder);
  check([&](soma_error** error) {
    return soma_journal_answer(journal, verb.run.data(), verb.run.size(),
                               verb.path.empty() ? nullptr : verb.path.data(), verb.path.size(),
                               value, error);
  });
}

CLI::App* add_verb(CLI::App& app, const std::shared_ptr<JournalVerb>& verb, const char* name,
                   const char* description, bool of_one_run) {
  CLI::App* sub = app.add_subcommand(name, description);
  sub->add_option("--journal", verb->folder, "the folder of the journals")
      ->required()
      ->check(CLI::ExistingDirectory);
  if (of_one_run) sub->add_option("RUN", verb->run, "a run's id")->required();
  return sub;
}

}  // namespace

void add_journal(CLI::App& app) {
  CLI::App* journal = app.add_subcommand("journal", "Look at journals of runs, and answer them");
  journal->require_subcommand(1);
  auto verb = std::make_shared<JournalVerb>();
  CLI::App* all = add_verb(*journal, verb, "list", "All runs, how they stand, where they wait",
                           false);
  all->add_flag("--json", verb->json, "as JSON");
  all->callback([verb] { list(*verb); });
  CLI::App* records = add_verb(*journal, verb, "show", "All records of a run, as lines of JSON",
                               true);
  records->add_flag("--json", verb->json, "as always");
  records->callback([verb] { show(*verb); });
  add_verb(*journal, verb, "replay", "What a run did, line by line, without doing it", true)
      ->callback([verb] { replay(*verb); });
  CLI::App* reply = add_verb(*journal, verb, "answer", "Answer what a run waits for", true);
  reply->add_option("--value", verb->value, "a file of JSON, - for stdin")->required();
  reply->add_option("--at", verb->path, "the path or place where it waits, if there are several");
  reply->callback([verb] { answer(*verb); });
}

}  // namespace cli
