// The journal of one run: what was recorded at each site, and more of it.
//
//   SOMA_ASSIGN(std::unique_ptr<Journal> journal, Journal::open(std::move(store), identity));
//   SOMA_ASSIGN(Journal::Recorded found, journal->find(intent));
//   …the intent is appended, the effect performed, its result appended
//
// Any number of threads at once; at any one site, one of them.
#pragma once

#include "journal/store.hpp"

namespace soma {

class Journal {
 public:
  // A new store is bound to the identity; another's is refused: journal_other_plan, with both.
  static Result<std::unique_ptr<Journal>> open(std::unique_ptr<JournalStore> store,
                                               const RunIdentity& identity);
  // For who looks or answers and has no plan: whatever the store is bound to. journal_not_found, if
  // that is nothing.
  static Result<std::unique_ptr<Journal>> open(std::unique_ptr<JournalStore> store);
  ~Journal();                     // what was appended is written first

  // What became of an effect that is about to be asked for.
  struct Recorded {
    enum class State : u8 {
      Unknown,   // nobody has asked for it, or it failed: record the intent, then perform it
      Done,      // content: its result, or the answer, or the output
      InDoubt,   // it was begun, and nobody knows whether it took place
      Waiting,   // for an answer: a suspension, or an effect in doubt that somebody was asked about
    };
    State state = State::Unknown;
    std::string content;
  };
  // `attempted` is the Intent, Suspension or Output that would be recorded; an output's content is
  // not known yet. journal_divergence, if something else is recorded at its site: another kind,
  // effect or digest. Names both, with their content.
  Result<Recorded> find(const Record& attempted) const;
  // For a turn that asks for nothing from this site on, but `does` something else ("ends"):
  // journal_divergence, if there is a record.
  Status check_rest(const Site& from, std::string_view does) const;

  // Durable when it returns, all or none. Threads that come while one waits for the disk share the
  // next wait, so that many effects at the same time cost as much as one. journal_not_waiting, if
  // there is nothing to answer; journal_limit. What the store failed with, it and every later call.
  Status append(std::vector<Record> records);
  // The same for who can't wait: `settled` is told once, on the journal's own thread or another
  // that writes, when the records are durable, or why they are not. It must not throw, take long or
  // call the journal but for this. If this fails, nothing is told.
  struct Listener {
    void* user = nullptr;
    void (*settled)(void* user, const Error* failure) = nullptr;
  };
  Status append(std::vector<Record> records, Listener listener);

  const RunIdentity& identity() const;
  // For people: each durable record in order, under the lock.
  using Show = void (*)(void* user, const Record& record);
  void each(Show show, void* user) const;
  // How the run stands: what it yielded, if it has ended; the sites that wait for an answer.
  std::optional<std::string> result() const;
  std::vector<Record> waiting() const;

 private:
  struct State;
  explicit Journal(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace soma
