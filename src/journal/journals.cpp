// Looks at journals on behalf of people: how runs stand, what their records say, and answers.
#include "journal/journals.hpp"

#include <chrono>

#include "base/json.hpp"
#include "base/json_writer.hpp"
#include "base/text.hpp"
#include "value/value_json.hpp"

namespace soma {

namespace {

using State = JournalSummary::State;

Status fill(JournalSummary& summary, std::unique_ptr<JournalStore> store) {
  SOMA_ASSIGN(const std::unique_ptr<Journal> journal, Journal::open(std::move(store)));
  summary.identity = journal->identity();
  if (!journal->result()) summary.waiting = journal->waiting();
  journal->each(
      [](void* user, const Record& record) {
        auto& target = *static_cast<JournalSummary*>(user);
        ++target.records;
        target.last_ns = record.at_ns;
      },
      &summary);
  summary.state = journal->result()          ? State::Ended
                  : !summary.waiting.empty() ? State::Waiting
                                             : State::Broken;
  return {};
}

// RFC 3339, in UTC.
std::string time_text(i64 since_1970_ns) {
  constexpr i64 ns_per_ms = 1'000'000;
  using std::chrono::milliseconds;
  const std::chrono::sys_time<milliseconds> at(milliseconds(since_1970_ns / ns_per_ms));
  const auto day = std::chrono::floor<std::chrono::days>(at);
  const std::chrono::year_month_day date(day);
  const std::chrono::hh_mm_ss time(at - day);
  return text("{:04}-{:02}-{:02}T{:02}:{:02}:{:02}.{:03}Z", static_cast<int>(date.year()),
              static_cast<unsigned>(date.month()), static_cast<unsigned>(date.day()),
              time.hours().count(), time.minutes().count(), time.seconds().count(),
              time.subseconds().count());
}

// Contents are JSON, unless something else than this library wrote them.
void write_content(JsonWriter& json, std::string_view content) {
  const Result<Json> document = Json::parse(content);
  if (!document.ok() || !write_value(json, value_of(document->root())).ok()) json.value(content);
}

struct Lines {
  std::string out;
  u64 number = 0;
};

void add_line(void* user, const Record& record) {
  auto& lines = *static_cast<Lines*>(user);
  JsonWriter json;
  json.object().field("number", ++lines.number).field("kind", record_kind_name(record.kind));
  json.field("path", record.site.path).field("turn", record.site.turn);
  json.field("index", record.site.index).field("effect", record.effect);
  json.field("digest", record.digest).key("content");
  write_content(json, record.content);
  json.field("at", time_text(record.at_ns)).close();
  lines.out += std::move(json).take() + "\n";
}

Error not_waiting(std::string_view path, std::span<const Record> waiting) {
  std::string list;
  for (const Record& record : waiting) {
    if (!list.empty()) list += ", ";
    list += quoted(place_text(record.site), 256);
  }
  return fail(Reason::journal_not_waiting,
              "{}; the run waits at {}",
              path.empty() ? "the run does not wait at one place only: say which"
                           : text("nothing waits for an answer at {}", quoted(path, 256)),
              list.empty() ? "no place" : list);
}

}  // namespace

std::string_view journal_state_name(State state) {
  switch (state) {
    case State::InUse: return "in_use";
    case State::Broken: return "broken";
    case State::Waiting: return "waiting";
    case State::Ended: return "ended";
    case State::Unreadable: return "unreadable";
  }
  return "";
}

JournalSummary summary_of(std::string_view run, Result<std::unique_ptr<JournalStore>> store) {
  JournalSummary found;
  found.identity.run = run;
  const Status filled =
      store.ok() ? fill(found, *std::move(store)) : Status(std::move(store).error());
  if (filled.ok()) return found;
  const bool in_use = filled.error().reason() == Reason::journal_locked;
  found.state = in_use ? State::InUse : State::Unreadable;
  found.problem = in_use ? std::string() : filled.error().message();
  return found;
}

Status answer_journal(Journal& journal, std::string_view path, const std::string& content) {
  const std::vector<Record> waiting = journal.waiting();
  const Record* asked = nullptr;
  for (const Record& record : waiting) {
    const bool is_meant = path.empty() || record.site.path == path ||
                          place_text(record.site) == path;
    if (!is_meant) continue;
    if (asked) return not_waiting({}, waiting);
    asked = &record;
  }
  if (!asked) return not_waiting(path, waiting);
  Record answer;
  answer.kind = Record::Kind::Answer;
  answer.site = asked->site;
  answer.content = content;
  answer.at_ns = wall_clock_ns();
  std::vector<Record> one;
  one.push_back(std::move(answer));
  return journal.append(std::move(one));
}

std::string journal_lines(const Journal& journal) {
  const RunIdentity& identity = journal.identity();
  JsonWriter json;
  json.object().field("run", identity.run).field("plan", identity.plan);
  json.field("input", identity.input).close();
  Lines lines;
  lines.out = std::move(json).take() + "\n";
  journal.each(add_line, &lines);
  return std::move(lines.out);
}

std::string summaries_json(std::span<const JournalSummary> runs) {
  JsonWriter json;
  json.array();
  for (const JournalSummary& run : runs) {
    json.object().field("run", run.identity.run).field("state", journal_state_name(run.state));
    if (!run.problem.empty()) json.field("problem", run.problem);
    json.field("plan", run.identity.plan).field("input", run.identity.input);
    json.field("records", run.records);
    if (run.records > 0) json.field("last", time_text(run.last_ns));
    json.key("waiting").array();
    for (const Record& record : run.waiting) {
      json.object().field("place", place_text(record.site)).field("path", record.site.path);
      json.field("turn", record.site.turn).field("index", record.site.index).key("reason");
      write_content(json, record.content);
      json.close();
    }
    json.close().close();
  }
  json.close();
  return std::move(json).take();
}

}  // namespace soma
