// soma_journal_create_hosted, soma_journal_reply_*: journals that the host keeps.
//
// The host is asked by functions of a table and answers in a reply object, which is closed when its
// function returns. What it gives is passed on at once; a failure that comes of that is kept here
// and not in the host's hands (journal/hosted.cpp).
#include <algorithm>
#include <cstring>

#include "abi/callback.hpp"
#include "abi/guard.hpp"
#include "abi/journal.hpp"
#include "abi/runtime.hpp"
#include "abi/text_argument.hpp"
#include "base/text.hpp"
#include "journal/hosted.hpp"
#include "plan/label.hpp"

using namespace soma;
using namespace soma::wall;

struct soma_journal_reply final : Object {
  static constexpr Tag kind = Tag::JournalReply;
  soma_journal_reply(const soma_runtime* owner, EntryKeeper::Take the_take, void* the_user)
      : Object(kind, owner), take(the_take), user(the_user) {}

  EntryKeeper::Take take;               // nullptr: nothing is to be given, or all is over
  void* const user;
  bool is_over = false;                 // the host's function has returned
  std::optional<std::string> failure;
  Reason reason = Reason::journal_store;
};

namespace {

// What a table of the first level has; the struct has no holes, so a size says which members.
constexpr size_t first_level_bytes = offsetof(soma_journal_store, unlock) + sizeof(void*);
static_assert(sizeof(soma_journal_store) == first_level_bytes);
constexpr size_t table_bytes_max = 1024;

Reason reason_of(soma_code code) {
  if (code == SOMA_RESOURCE_EXHAUSTED) return Reason::journal_full;
  if (code == SOMA_ALREADY_EXISTS) return Reason::journal_locked;
  return Reason::journal_store;
}

class HostKeeper final : public EntryKeeper {
 public:
  HostKeeper(const soma_runtime* runtime, const soma_journal_store& host, UserData user)
      : runtime_(runtime), host_(host), user_(std::move(user)) {}

  Status load(std::string_view run, Take take, void* user) override {
    return ask("load", take, user, [&](soma_journal_reply* reply) {
      return host_.load(user_.get(), run.data(), run.size(), reply);
    });
  }

  Status append(std::string_view run, u64 number, std::string_view entry) override {
    return ask("append", nullptr, nullptr, [&](soma_journal_reply* reply) {
      return host_.append(user_.get(), run.data(), run.size(), number, entry.data(), entry.size(),
                          reply);
    });
  }

  Result<std::vector<std::string>> runs() override {
    if (!host_.list) return missing("list");
    Names names;
    Status listed = ask("list", Names::take, &names, [&](soma_journal_reply* reply) {
      return host_.list(user_.get(), reply);
    });
    if (names.is_out_of_memory) throw std::bad_alloc();
    if (!listed.ok()) return std::move(listed).error();
    return std::move(names.all);
  }

  Status remove(std::string_view run) override {
    if (!host_.remove) return missing("remove");
    return ask("remove", nullptr, nullptr, [&](soma_journal_reply* reply) {
      return host_.remove(user_.get(), run.data(), run.size(), reply);
    });
  }

  Status lock(std::string_view run) override {
    if (!host_.lock) return {};
    return ask("lock", nullptr, nullptr, [&](soma_journal_reply* reply) {
      return host_.lock(user_.get(), run.data(), run.size(), reply);
    });
  }

  void unlock(std::string_view run) override {
    if (!host_.unlock) return;
    try {
      host_.unlock(user_.get(), run.data(), run.size());
    } catch (...) {  // nobody can be told
    }
  }

 private:
  struct Names {
    std::vector<std::string> all;
    bool is_out_of_memory = false;

    static bool take(void* self, std::string_view name) {
      auto& names = *static_cast<Names*>(self);
      try {
        names.all.emplace_back(name);
      } catch (const std::bad_alloc&) {
        names.is_out_of_memory = true;
      }
      return !names.is_out_of_memory && names.all.size() <= HostedJournals::runs_max;
    }
  };

  static Error missing(std::string_view name) {
    return fail(Reason::journal_store, "the host's journal can't do that: its function '{}' is "
                "NULL", name);
  }

  template <typename Function>
  Status ask(std::string_view name, Take take, void* user, Function&& function) const {
    const Ref<soma_journal_reply> reply = make<soma_journal_reply>(runtime_, take, user);
    i32 answer = SOMA_STOP;
    try {
      answer = function(reply.get());
    } catch (...) {
      reply->failure = "it threw an exception, which it must not";
    }
    reply->is_over = true;
    if (reply->failure) {
      return fail(reply->reason, "the host's journal failed to {}: {}", name,
                  printable(*reply->failure));
    }
    if (answer == SOMA_CONTINUE) return {};
    return fail(Reason::journal_store,
                "the host's journal failed to {}: its function returned {} instead of "
                "SOMA_CONTINUE, and gave no reason", name, answer);
  }

  const soma_runtime* const runtime_;   // the journal's, which keeps it alive
  const soma_journal_store host_;
  const UserData user_;
};

// The members that the host knows; the others are NULL.
Result<soma_journal_store> table_argument(const soma_journal_store* given) {
  if (!given) return null_argument("store");
  const size_t size = given->struct_size;
  if (size < first_level_bytes || size > table_bytes_max) {
    return fail(Reason::argument_struct_size,
                "struct_size is sizeof(soma_journal_store), {} or more, got {}", first_level_bytes,
                size);
  }
  const auto* bytes = reinterpret_cast<const char*>(given);
  const bool has_strange = std::any_of(bytes + sizeof *given, bytes + std::max(size, sizeof *given),
                                       [](char byte) { return byte != 0; });
  if (has_strange || given->reserved != 0) {
    return fail(Reason::argument_struct_size,
                "the table has members that this library does not know, behind its {} bytes or in "
                "'reserved': take a newer library, or leave them 0", sizeof *given);
  }
  if (!given->load) return null_argument("store->load");
  if (!given->append) return null_argument("store->append");
  if (given->lock && !given->unlock) return null_argument("store->unlock");
  if (given->unlock && !given->lock) return null_argument("store->lock");
  return *given;
}

}  // namespace

soma_code soma_journal_create_hosted(const soma_runtime* runtime, const soma_journal_store* store,
                                     void* user, soma_destroy_fn destroy, soma_journal** out,
                                     soma_error** error) noexcept {
  UserData data(user, destroy);
  return produce(runtime, out, error, [&]() -> Result<Ref<soma_journal>> {
    SOMA_ASSIGN(const soma_journal_store table, table_argument(store));
    auto keeper = std::make_unique<HostKeeper>(runtime, table, std::move(data));
    return make<soma_journal>(runtime, std::make_unique<HostedJournals>(std::move(keeper)));
  });
}

int32_t soma_journal_reply_add(soma_journal_reply* reply, const void* bytes, size_t size) noexcept {
  if (!is_valid(reply) || reply->is_over || !reply->take) return 0;
  try {
    const MemoryScope inside(call_memory(*reply));
    const Status is_array = check_array("bytes", bytes, size, 1);
    if (!is_array.ok()) {
      reply->failure.emplace();  // whether or not there is memory to say why
      reply->failure = is_array.error().message();
      return 0;
    }
    return reply->take(reply->user, {static_cast<const char*>(bytes), size}) ? 1 : 0;
  } catch (...) {
    return 0;
  }
}

soma_code soma_journal_reply_fail(soma_journal_reply* reply, soma_code code, const char* message,
                                  size_t message_length, soma_error** error) noexcept {
  return perform(reply, error, [&]() -> Status {
    if (reply->is_over) {
      return fail(Reason::argument_range, "the reply is over: the host's function has returned");
    }
    if (!reply->failure) {         // whatever is wrong with the message: it has failed
      reply->failure = "it gave no reason";
      reply->reason = reason_of(code);
    }
    SOMA_ASSIGN(const std::string_view text, text_argument("message", message, message_length));
    reply->failure = std::string(text);
    reply->reason = reason_of(code);
    return {};
  });
}
