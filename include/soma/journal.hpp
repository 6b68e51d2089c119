// Journals: where runs are remembered, which may be a class of your own.
#ifndef SOMA_JOURNAL_HPP
#define SOMA_JOURNAL_HPP

#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <functional>
#include <memory>
#include <new>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>

#include "soma/graph.hpp"

namespace soma {

// Keeps a row of entries for each run, wherever you like: soma/journal.h says what each function
// must do, and on which threads it is called. What one throws is why the run fails. An entry that
// is there already, and a lock that another has, are std::system_error of std::errc::file_exists;
// of no_space_on_device and of std::bad_alloc the reason is "journal.full".
class journal_store {
 public:
  // Takes one entry, or one run's id. False: no more are wanted.
  using take = std::function<bool(std::string_view bytes)>;

  virtual ~journal_store() = default;
  virtual void load(std::string_view run, const take& give) = 0;
  virtual void append(std::string_view run, std::uint64_t number, std::string_view entry) = 0;
  // Only journal::list and journal::remove need these two.
  virtual void list(const take& give) = 0;
  virtual void remove(std::string_view run) = 0;
  // Without these, that a run is started once is yours to see to.
  virtual void lock(std::string_view) {}
  virtual void unlock(std::string_view) noexcept {}
};

class journal : public detail::handle<soma_journal, soma_journal_retain, soma_journal_release> {
 public:
  // In a folder; in memory; in a store of yours.
  journal(const runtime& owner, std::string_view folder)
      : handle(made(soma_journal_open, owner.get(), folder.data(), folder.size())) {}
  explicit journal(const runtime& owner) : handle(made(soma_journal_create, owner.get())) {}
  journal(const runtime& owner, std::shared_ptr<journal_store> store)
      : handle(hosted(owner, std::move(store))) {}

  std::string list() const { return detail::text(soma_journal_list, get()); }
  std::string show(std::string_view run) const {
    return detail::text(soma_journal_show, get(), run.data(), run.size());
  }
  // At the only place where the run waits, or at `path`.
  void answer(std::string_view run, const value& content, std::string_view path = {}) const {
    detail::call(soma_journal_answer, get(), run.data(), run.size(),
                 path.empty() ? nullptr : path.data(), path.size(), content.get());
  }
  void remove(std::string_view run) const {
    detail::call(soma_journal_remove, get(), run.data(), run.size());
  }

 private:
  using shared = std::shared_ptr<journal_store>;

  static soma_journal* hosted(const runtime& owner, shared store) {
    soma_journal_store table = {};
    table.struct_size = sizeof table;
    table.load = store ? load : nullptr;  // without a store it is refused
    table.append = append;
    table.list = list_runs;
    table.remove = remove_run;
    table.lock = lock;
    table.unlock = unlock;
    void* const user = new shared(std::move(store));  // the library drops it, also if this fails
    return made(soma_journal_create_hosted, owner.get(), &table, user, &drop);
  }
  static journal_store& of(void* user) { return **static_cast<shared*>(user); }
  static void drop(void* user) { delete static_cast<shared*>(user); }

  static std::int32_t load(void* user, const char* run, std::size_t length,
                           soma_journal_reply* reply) {
    return answered(reply, [&] { of(user).load({run, length}, giver(reply)); });
  }
  static std::int32_t append(void* user, const char* run, std::size_t length,
                             std::uint64_t number, const void* entry, std::size_t size,
                             soma_journal_reply* reply) {
    return answered(reply, [&] {
      of(user).append({run, length}, number, {static_cast<const char*>(entry), size});
    });
  }
  static std::int32_t list_runs(void* user, soma_journal_reply* reply) {
    return answered(reply, [&] { of(user).list(giver(reply)); });
  }
  static std::int32_t remove_run(void* user, const char* run, std::size_t length,
                                 soma_journal_reply* reply) {
    return answered(reply, [&] { of(user).remove({run, length}); });
  }
  static std::int32_t lock(void* user, const char* run, std::size_t length,
                           soma_journal_reply* reply) {
    return answered(reply, [&] { of(user).lock({run, length}); });
  }
  static void unlock(void* user, const char* run, std::size_t length) {
    of(user).unlock({run, length});
  }

  static journal_store::take giver(soma_journal_reply* reply) {
    return [reply](std::string_view bytes) {
      return soma_journal_reply_add(reply, bytes.data(), bytes.size()) != 0;
    };
  }

  template <typename Body>
  static std::int32_t answered(soma_journal_reply* reply, const Body& body) {
    try {
      body();
      return SOMA_CONTINUE;
    } catch (const std::bad_alloc&) {
      fail(reply, SOMA_RESOURCE_EXHAUSTED, "out of memory");
    } catch (const std::system_error& problem) {
      fail(reply, code_of(problem.code()), problem.what());
    } catch (const std::exception& problem) {
      fail(reply, SOMA_UNAVAILABLE, problem.what());
    } catch (...) {
      fail(reply, SOMA_UNAVAILABLE, "an exception that is no std::exception");
    }
    return SOMA_STOP;
  }
  static soma_code code_of(const std::error_code& problem) {
    if (problem == std::errc::file_exists) return SOMA_ALREADY_EXISTS;
    const bool is_full = problem == std::errc::no_space_on_device || problem.value() == EDQUOT;
    return is_full ? SOMA_RESOURCE_EXHAUSTED : SOMA_UNAVAILABLE;
  }
  // A message that can't be taken leaves the reply failed all the same.
  static void fail(soma_journal_reply* reply, soma_code code, const char* why) {
    (void)!soma_journal_reply_fail(reply, code, why, SOMA_NUL, nullptr);
  }
};

}  // namespace soma

#endif
