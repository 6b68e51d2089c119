// soma_journal_*, and what connects runs with journals.
#include "abi/blob.hpp"
#include "abi/cancel.hpp"
#include "abi/guard.hpp"
#include "abi/run.hpp"
#include "abi/text_argument.hpp"
#include "journal/folder.hpp"
#include "journal/memory_store.hpp"
#include "run/recording.hpp"
#include "value/exact_json.hpp"

using namespace soma;
using namespace soma::wall;

namespace {

Result<std::string_view> maybe_text(std::string_view name, const char* text, size_t length) {
  if (!text) return std::string_view();
  return text_argument(name, text, length);
}

struct Answer {
  std::string_view path;
  std::string content;
};

Result<Answer> answer_argument(const soma_runtime* runtime, const char* path, size_t path_length,
                               const soma_value* value) {
  Answer answer;
  SOMA_ASSIGN(answer.path, maybe_text("path", path, path_length));
  SOMA_ASSIGN(const Value given, value_argument(runtime, value));
  SOMA_ASSIGN(Record record, answer_record({std::string(answer.path), 0, 0}, given));
  answer.content = std::move(record.content);
  return answer;
}

Status give(const Answer& answer, const soma_journal& journal, std::string_view run) {
  SOMA_ASSIGN(std::unique_ptr<JournalStore> store, journal.runs->existing(run));
  SOMA_ASSIGN(const std::unique_ptr<Journal> open, Journal::open(std::move(store)));
  return answer_journal(*open, answer.path, answer.content);
}

}  // namespace

soma_code soma_journal_open(const soma_runtime* runtime, const char* folder, size_t folder_length,
                            soma_journal** out, soma_error** error) noexcept {
  return produce(runtime, out, error, [&]() -> Result<Ref<soma_journal>> {
    SOMA_ASSIGN(const std::string_view path, text_argument("folder", folder, folder_length));
    SOMA_ASSIGN(JournalFolder made, JournalFolder::make(std::string(path)));
    return make<soma_journal>(runtime, std::make_unique<JournalFolder>(std::move(made)));
  });
}

soma_code soma_journal_create(const soma_runtime* runtime, soma_journal** out,
                              soma_error** error) noexcept {
  return produce(runtime, out, error, [&]() -> Result<Ref<soma_journal>> {
    return make<soma_journal>(runtime, std::make_unique<MemoryJournals>());
  });
}

soma_code soma_run_set_journal(soma_run* run, const soma_journal* journal, const char* id,
                               size_t id_length, soma_error** error) noexcept {
  return perform(run, error, [&]() -> Status {
    Claim claim;
    SOMA_TRY(claim.take(run->in_call, Tag::Run));
    if (run->started) {
      return fail(Reason::busy, "the run has begun already: finish it before it gets a journal");
    }
    if (!journal) {
      run->journal = {};
      return {};
    }
    SOMA_TRY(check_within(run->runtime, journal));
    SOMA_ASSIGN(const std::string_view text, text_argument("id", id, id_length));
    SOMA_TRY(check_run_id(text));
    if (run->plan_digest.empty()) run->plan_digest = run->plan->plan.digest();
    run->id = text;
    run->journal = Ref<soma_journal>::share(journal);
    return {};
  });
}

soma_code soma_journal_list(const soma_journal* journal, soma_blob** out,
                            soma_error** error) noexcept {
  return produce(journal, out, error, [&]() -> Result<Ref<soma_blob>> {
    SOMA_ASSIGN(const std::vector<JournalSummary> runs, journal->runs->list());
    return make_blob(journal->runtime, summaries_json(runs));
  });
}

soma_code soma_journal_show(const soma_journal* journal, const char* run, size_t run_length,
                            soma_blob** out, soma_error** error) noexcept {
  return produce(journal, out, error, [&]() -> Result<Ref<soma_blob>> {
    SOMA_ASSIGN(const std::string_view id, text_argument("run", run, run_length));
    SOMA_ASSIGN(std::unique_ptr<JournalStore> store, journal->runs->existing(id));
    SOMA_ASSIGN(const std::unique_ptr<Journal> open, Journal::open(std::move(store)));
    return make_blob(journal->runtime, journal_lines(*open));
  });
}

soma_code soma_journal_answer(const soma_journal* journal, const char* run, size_t run_length,
                              const char* path, size_t path_length, const soma_value* value,
                              soma_error** error) noexcept {
  return perform(journal, error, [&]() -> Status {
    SOMA_ASSIGN(const std::string_view id, text_argument("run", run, run_length));
    SOMA_ASSIGN(const Answer answer,
                answer_argument(journal->runtime, path, path_length, value));
    return give(answer, *journal, id);
  });
}

soma_code soma_run_answer(soma_run* run, const char* path, size_t path_length,
                          const soma_value* value, soma_error** error) noexcept {
  return perform(run, error, [&]() -> Status {
    Claim claim;
    SOMA_TRY(claim.take(run->in_call, Tag::Run));
    SOMA_ASSIGN(const Answer answer, answer_argument(run->runtime, path, path_length, value));
    if (!run->journal) {
      return fail(Reason::journal_not_found,
                  "the run has no journal: soma_run_set_journal gives it one");
    }
    return give(answer, *run->journal, run->id);
  });
}

soma_code soma_journal_remove(const soma_journal* journal, const char* run, size_t run_length,
                              soma_error** error) noexcept {
  return perform(journal, error, [&]() -> Status {
    SOMA_ASSIGN(const std::string_view id, text_argument("run", run, run_length));
    return journal->runs->remove(id);
  });
}

void soma_journal_retain(const soma_journal* journal) noexcept { retain(journal); }
void soma_journal_release(const soma_journal* journal) noexcept { release(journal); }
