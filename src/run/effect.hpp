// Effects: what steps ask the world for, and who performs them.
#pragma once

#include <atomic>
#include <mutex>

#include "value/value.hpp"

namespace soma {

// What becomes of an effect that was begun before a crash, so that it may have taken place.
enum class InDoubt : u8 {
  Fail,   // the run fails: journal_in_doubt. Somebody may answer with the result, as for Ask
  Retry,  // it is performed again, with the same key
  Ask,    // the run is suspended until somebody answers with its result
};

struct EffectRequest {
  std::string name;                    // of a handler
  Value payload;
  std::optional<InDoubt> in_doubt = {};  // in place of the handler's
};

// An effect that is being performed. It belongs to the run that asked for it and to whoever
// performs it: the run may end first, and then nobody hears what came of it.
class Effect {
 public:
  // Told once what came of it, an error or a result, on whatever thread that is.
  struct Listener {
    void* user = nullptr;
    void (*ended)(void* user, Effect& effect, const Error* error, const Value& result) = nullptr;
  };
  // `number`: among those of its turn.
  static Effect* make(EffectRequest request, std::string key, u32 number, bool is_retry,
                      Listener listener);
  Effect(const Effect&) = delete;
  Effect& operator=(const Effect&) = delete;
  void retain() { references_.fetch_add(1, std::memory_order_relaxed); }
  void release();

  // ---- For who performs it
  const std::string& name() const { return request_.name; }
  const Value& payload() const { return request_.payload; }
  // The same for every attempt at this effect, and no other's: for systems that take such a key to
  // do a thing once only.
  const std::string& key() const { return key_; }
  // It was begun before, and may have taken place.
  bool is_retry() const { return is_retry_; }
  // False: the run is over, or wants to stop.
  bool is_wanted() const { return is_wanted_.load(std::memory_order_acquire); }
  // What came of it; the first of these counts. False: it was not the first.
  bool complete(Value result);
  bool fail(Error error);

  // ---- For who asked for it
  u32 number() const { return number_; }
  void abandon() { is_wanted_.store(false, std::memory_order_release); }
  // Nobody is told from here on; returns once nobody is being told.
  void forget();
  Result<Value> take_result();         // once it has ended

 private:
  Effect(EffectRequest request, std::string key, u32 number, bool is_retry, Listener listener)
      : request_(std::move(request)),
        key_(std::move(key)),
        number_(number),
        is_retry_(is_retry),
        listener_(listener) {}
  bool end(std::optional<Error> error, Value result);

  const EffectRequest request_;
  const std::string key_;
  const u32 number_;
  const bool is_retry_;
  std::atomic<u64> references_{1};
  std::atomic<bool> is_wanted_{true};
  std::mutex mutex_;                   // guards:
  Listener listener_;
  bool has_ended_ = false;
  Value result_;
  std::optional<Error> error_;
};

// Performs all effects of one name.
struct EffectHandler {
  std::string name;
  void* user = nullptr;
  void (*destroy)(void* user) = nullptr;
  // Begins it. Who completes it later retains it until then. Several at once.
  void (*perform)(void* user, Effect& effect) = nullptr;
  InDoubt in_doubt = InDoubt::Fail;
};

}  // namespace soma
