// Runs: the functions behind nodes, steps and their effects, and plans that are executed.
#ifndef SOMA_RUN_HPP
#define SOMA_RUN_HPP

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <functional>
#include <memory>
#include <mutex>
#include <new>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "soma/graph.hpp"
#include "soma/journal.hpp"
#include "soma/model.hpp"

namespace soma {

// What a node's function gets; valid until it returns.
class call {
 public:
  call(soma_call* raw, const runtime& owner) : raw_(raw), owner_(owner) {}
  call(const call&) = delete;
  call& operator=(const call&) = delete;

  soma_call* get() const { return raw_; }
  const runtime& owner() const { return owner_; }
  value input() const { return lent(soma_call_input(raw_)); }
  // In a vjp: what the node yielded, and the gradient of that.
  value yielded() const { return lent(soma_call_yielded(raw_)); }
  value gradient() const { return lent(soma_call_gradient(raw_)); }
  // Of a node with a stream mode: which chunk this is for, and what the call before has left.
  struct part {
    std::uint64_t index = 0, count = 1;
    bool is_last() const { return index + 1 == count; }
  };
  part chunk() const {
    part out;
    detail::call(soma_call_chunk, raw_, &out.index, &out.count);
    return out;
  }
  value state() const { return lent(soma_call_state(raw_)); }
  void set_state(const value& kept) { detail::call(soma_call_set_state, raw_, kept.get()); }
  // A value of the call's runtime.
  template <typename T>
  value of(const T& content) const {
    return value::of(owner_, content);
  }
  std::string facts() const { return detail::text(soma_call_facts, raw_); }
  bool goes_on() const { return soma_call_goes_on(raw_) != 0; }

 private:
  static value lent(const soma_value* read) {
    if (!read) throw std::bad_alloc();
    soma_value_retain(read);
    return value(const_cast<soma_value*>(read));
  }
  soma_call* raw_;
  const runtime& owner_;
};

// What a step's function gets in one turn; valid until it returns.
class turn {
 public:
  turn(soma_step* raw, const runtime& owner) : raw_(raw), owner_(owner) {}
  turn(const turn&) = delete;
  turn& operator=(const turn&) = delete;

  soma_step* get() const { return raw_; }
  const runtime& owner() const { return owner_; }
  std::uint32_t number() const { return soma_step_turn(raw_); }  // counted from 0
  value input() const { return lent(soma_step_input(raw_)); }
  // A list with a list for each turn before; of the last one, its list.
  value history() const { return lent(soma_step_history(raw_)); }
  value results() const {
    const value all = history();
    return all.at(all.size() - 1);
  }
  template <typename T>
  value of(const T& content) const {
    return value::of(owner_, content);
  }
  std::string facts() const { return detail::text(soma_step_facts, raw_); }
  bool goes_on() const { return soma_step_goes_on(raw_) != 0; }

  // What comes next; of these, the last kind counts.
  void done(const value& yielded = {}) { detail::call(soma_step_done, raw_, yielded.get()); }
  void await(std::string_view effect, const value& payload = {}, std::int32_t in_doubt = 0) {
    detail::call(soma_step_await, raw_, effect.data(), effect.size(), payload.get(), in_doubt);
  }
  void spawn(std::string_view label, std::string_view op, const value& input = {},
             const value& config = {}, std::uint32_t version = 1) {
    detail::call(soma_step_spawn, raw_, label.data(), label.size(), op.data(), op.size(), version,
                 config.get(), input.get());
  }
  void want_first() { detail::call(soma_step_want_first, raw_); }
  void suspend(const value& reason = {}) {
    detail::call(soma_step_suspend, raw_, reason.get());
  }
  void hand_over(std::string_view target, const value& passed = {}) {
    detail::call(soma_step_hand_over, raw_, target.data(), target.size(), passed.get());
  }

 private:
  static value lent(const soma_value* read) {
    if (!read) throw std::bad_alloc();
    soma_value_retain(read);
    return value(const_cast<soma_value*>(read));
  }
  soma_step* raw_;
  const runtime& owner_;
};

// What a handler performs; who completes it later keeps it.
class effect : public detail::handle<soma_effect, soma_effect_retain, soma_effect_release> {
 public:
  effect(soma_effect* raw, const runtime& owner) : handle(raw), owner_(owner) {}

  const runtime& owner() const { return owner_; }
  std::string_view name() const { return said(soma_effect_name); }
  std::string_view key() const { return said(soma_effect_key); }
  value payload() const {
    const soma_value* asked = soma_effect_payload(get());
    soma_value_retain(asked);
    return value(const_cast<soma_value*>(asked));
  }
  bool is_retry() const { return soma_effect_is_retry(get()) != 0; }
  bool is_wanted() const { return soma_effect_is_wanted(get()) != 0; }
  void complete(const value& result = {}) const {
    detail::call(soma_effect_complete, get(), result.get());
  }
  void fail(std::string_view message) const {
    detail::call(soma_effect_fail, get(), message.data(), message.size());
  }

 private:
  std::string_view said(const char* (*text)(const soma_effect*, std::size_t*)) const {
    std::size_t length = 0;
    const char* const first = text(get(), &length);
    return {first, length};
  }
  runtime owner_;
};

namespace detail {

// What the functions and the observer of one run threw.
class thrown {
 public:
  void by_node(std::string path, std::exception_ptr exception) {
    const std::lock_guard<std::mutex> held(guard_);
    nodes_.emplace_back(std::move(path), std::move(exception));
  }
  void by_observer(std::exception_ptr exception) {
    const std::lock_guard<std::mutex> held(guard_);
    if (!observer_) observer_ = std::move(exception);
  }
  // An execution has ended: in the node at `path`, or well. A path stands for one call of it.
  std::exception_ptr take(const std::string& path) {
    const std::lock_guard<std::mutex> held(guard_);
    std::exception_ptr found = path.empty() ? observer_ : nullptr;
    for (auto& [where, exception] : nodes_) {
      if (where == path) found = exception;
    }
    nodes_.clear();
    observer_ = nullptr;
    return found;
  }

 private:
  std::mutex guard_;
  std::vector<std::pair<std::string, std::exception_ptr>> nodes_;  // by path
  std::exception_ptr observer_;                                    // the first
};

}  // namespace detail

struct op_settings {
  std::uint32_t version = 0;  // 0: any that has no function of its own
  std::int32_t thread = SOMA_THREAD_ANY;
  bool waits = false;
};

// Functions, steps and handlers of effects by name, beside the built-in ops. They may throw: the
// node fails, and what a function or a step threw comes out of the run itself. Each run binds them
// for itself, which is how it knows its own.
class ops {
 public:
  using function = std::function<value(call&)>;
  using step = std::function<void(turn&)>;
  using handler = std::function<void(const effect&)>;

  ops& add(std::string_view name, function code, const op_settings& how = {}) {
    entries_.push_back(
        {std::string(name), std::make_shared<const function>(std::move(code)), how});
    return *this;
  }
  // Of an op that is added under this version, or a built-in one (of version 1): makes of the
  // gradient of what a node yielded that of what it read.
  ops& add_vjp(std::string_view name, function code, std::uint32_t version = 0) {
    vjps_.push_back({std::string(name), std::make_shared<const function>(std::move(code)),
                     {version}});
    return *this;
  }
  // The same that makes the state of nodes, of what they read.
  ops& add_prepare(std::string_view name, function code, std::uint32_t version = 0) {
    prepares_.push_back({std::string(name), std::make_shared<const function>(std::move(code)),
                         {version}});
    return *this;
  }
  // Adds gradients that the library can't add; its call's input is a list of two.
  ops& set_gradient_sum(function code) {
    gradient_sum_ = std::make_shared<const function>(std::move(code));
    return *this;
  }
  ops& add_step(std::string_view name, step code, std::uint32_t version = 0) {
    steps_.push_back({std::string(name), std::make_shared<const step>(std::move(code)), version});
    return *this;
  }
  ops& add_handler(std::string_view name, std::int32_t in_doubt, handler code) {
    handlers_.push_back(
        {std::string(name), std::make_shared<const handler>(std::move(code)), in_doubt});
    return *this;
  }
  // Gives nodes of kind program whose model is that text a session: soma_ops_add_session.
  ops& add_session(std::string_view model, const session& on) {
    sessions_.emplace_back(std::string(model), on);
    return *this;
  }
  // Lets "std.exec" start programs: soma_ops_allow_processes.
  using environment = std::vector<std::pair<std::string, std::string>>;
  ops& allow_processes(environment variables, std::string_view folder = {}) {
    processes_ = {std::move(variables), std::string(folder)};
    return *this;
  }

 private:
  friend class run;
  using bound = detail::handle<soma_ops, soma_ops_retain, soma_ops_release>;
  struct entry {
    std::string name;
    std::shared_ptr<const function> code;
    op_settings how;
  };
  struct step_entry {
    std::string name;
    std::shared_ptr<const step> code;
    std::uint32_t version;
  };
  struct handler_entry {
    std::string name;
    std::shared_ptr<const handler> code;
    std::int32_t in_doubt;
  };
  template <typename Function>
  struct host {
    std::shared_ptr<const Function> code;
    runtime owner;
    std::shared_ptr<detail::thrown> thrown;
  };
  template <typename Function>
  static void drop(void* user) {
    delete static_cast<host<Function>*>(user);
  }

  bound bind(const runtime& owner, const std::shared_ptr<detail::thrown>& thrown) const {
    soma_ops* out = nullptr;
    detail::call(soma_ops_create, owner.get(), &out);
    bound all(out);
    for (const entry& one : entries_) {
      auto* kept = new host<function>{one.code, owner, thrown};
      detail::call(soma_ops_add, out, one.name.data(), one.name.size(), one.how.version,
                   one.how.thread, one.how.waits ? 1 : 0, *one.code ? &call_function : nullptr,
                   static_cast<void*>(kept), &drop<function>);
    }
    add_parts(soma_ops_add_prepare, out, owner, thrown, prepares_);
    add_parts(soma_ops_add_vjp, out, owner, thrown, vjps_);
    if (gradient_sum_) {
      auto* kept = new host<function>{gradient_sum_, owner, thrown};
      detail::call(soma_ops_set_gradient_sum, out, *gradient_sum_ ? &call_function : nullptr,
                   static_cast<void*>(kept), &drop<function>);
    }
    for (const step_entry& one : steps_) {
      auto* kept = new host<step>{one.code, owner, thrown};
      detail::call(soma_ops_add_step, out, one.name.data(), one.name.size(), one.version,
                   *one.code ? &take_turn : nullptr, static_cast<void*>(kept), &drop<step>);
    }
    for (const handler_entry& one : handlers_) {
      auto* kept = new host<handler>{one.code, owner, thrown};
      detail::call(soma_ops_add_handler, out, one.name.data(), one.name.size(), one.in_doubt,
                   *one.code ? &perform : nullptr, static_cast<void*>(kept), &drop<handler>);
    }
    for (const auto& [model, on] : sessions_) {
      detail::call(soma_ops_add_session, out, model.data(), model.size(), on.get());
    }
    if (processes_) allow(owner, out);
    return all;
  }

  template <typename Add>
  static void add_parts(Add add, soma_ops* out, const runtime& owner,
                        const std::shared_ptr<detail::thrown>& thrown,
                        const std::vector<entry>& parts) {
    for (const entry& one : parts) {
      auto* kept = new host<function>{one.code, owner, thrown};
      detail::call(add, out, one.name.data(), one.name.size(), one.how.version,
                   *one.code ? &call_function : nullptr, static_cast<void*>(kept),
                   &drop<function>);
    }
  }

  void allow(const runtime& owner, soma_ops* out) const {
    std::vector<value::member> variables;
    for (const auto& [name, content] : processes_->variables) {
      variables.emplace_back(name, value::of(owner, content));
    }
    const std::string& folder = processes_->folder;
    detail::call(soma_ops_allow_processes, out, value::map(owner, variables).get(), folder.data(),
                 folder.size());
  }

  static std::int32_t call_function(void* user, soma_call* raw) {
    const auto* self = static_cast<const host<function>*>(user);
    call at_hand(raw, self->owner);
    try {
      const value made = (*self->code)(at_hand);
      if (made) detail::call(soma_call_set_output, raw, made.get());
      return SOMA_CONTINUE;
    } catch (const std::exception& exception) {
      fail(*self, at_hand, soma_call_fail, exception.what());
    } catch (...) {
      fail(*self, at_hand, soma_call_fail, unknown);
    }
    return SOMA_STOP;
  }

  static std::int32_t take_turn(void* user, soma_step* raw) {
    const auto* self = static_cast<const host<step>*>(user);
    turn at_hand(raw, self->owner);
    try {
      (*self->code)(at_hand);
      return SOMA_CONTINUE;
    } catch (const std::exception& exception) {
      fail(*self, at_hand, soma_step_fail, exception.what());
    } catch (...) {
      fail(*self, at_hand, soma_step_fail, unknown);
    }
    return SOMA_STOP;
  }

  static void perform(void* user, soma_effect* raw) {
    const auto* self = static_cast<const host<handler>*>(user);
    soma_effect_retain(raw);
    const effect asked(raw, self->owner);
    const auto fail = [raw](const char* message) {
      if (soma_effect_fail(raw, message, SOMA_NUL, nullptr) == SOMA_OK) return;
      (void)!soma_effect_fail(raw, not_utf8, SOMA_NUL, nullptr);
    };
    try {
      (*self->code)(asked);
    } catch (const std::exception& exception) {
      fail(exception.what());
    } catch (...) {
      fail(unknown);
    }
  }

  static constexpr const char* unknown = "an exception that is no std::exception";
  static constexpr const char* not_utf8 = "its text is not UTF-8";

  // Within a catch clause.
  template <typename Host, typename AtHand, typename Fail>
  static void fail(const Host& self, const AtHand& at_hand, Fail say, const char* message) {
    try {
      const value facts = value::parse(self.owner, at_hand.facts());
      self.thrown->by_node(facts.at("path").text(), std::current_exception());
    } catch (...) {
      // No memory left to keep it: the run still fails, with what can be said.
    }
    if (say(at_hand.get(), message, SOMA_NUL, nullptr) != SOMA_OK) {
      (void)!say(at_hand.get(), not_utf8, SOMA_NUL, nullptr);
    }
  }

  std::vector<entry> entries_, prepares_, vjps_;
  std::shared_ptr<const function> gradient_sum_;
  std::vector<step_entry> steps_;
  std::vector<handler_entry> handlers_;
  std::vector<std::pair<std::string, session>> sessions_;  // by model
  struct processes {
    environment variables;
    std::string folder;
  };
  std::optional<processes> processes_;
};

// What nodes yielded, for later runs: in memory, or in a folder as well.
class cache : public detail::handle<soma_cache, soma_cache_retain, soma_cache_release> {
 public:
  cache() = default;  // none
  explicit cache(const runtime& owner, const options& settings = {})
      : handle(made(soma_cache_create, owner.get(), settings.get())) {}
  cache(const runtime& owner, std::string_view folder, const options& settings = {})
      : handle(made(soma_cache_open, owner.get(), folder.data(), folder.size(), settings.get())) {}

  // As JSON: what cache.h says.
  std::string facts() const { return detail::text(soma_cache_facts, get()); }
  std::string measured() const { return detail::text(soma_cache_measured, get()); }
  std::string verify(const cancel& stop = {}) const {
    return detail::text(soma_cache_verify, get(), stop.get());
  }
  std::string sweep(std::uint64_t bytes_max) const {
    return detail::text(soma_cache_sweep, get(), bytes_max);
  }
  void pin(std::string_view key, bool is_pinned = true) const {
    detail::call(soma_cache_pin, get(), key.data(), key.size(), is_pinned ? 1 : 0);
  }
};

class run : public detail::handle<soma_run, soma_run_retain, soma_run_release> {
 public:
  // Gets each event as a line of JSON.
  using observer = std::function<void(std::string_view event)>;

  explicit run(const plan& of, const ops& code = {}, const options& settings = {})
      : run(of, code, settings, std::make_shared<detail::thrown>()) {}

  // Throws what the function of the failing node threw; else what the observer or the probe threw
  // first.
  value execute(const value& input = {}, const cancel& stop = {}) {
    soma_value* out = nullptr;
    soma_error* failure = nullptr;
    const soma_code code = soma_run_execute(get(), input.get(), stop.get(), &out, &failure);
    return ended(code, out, failure);
  }
  // To be driven by step. `stop` serves it until it ends.
  void start(const value& input = {}, const cancel& stop = {}) {
    detail::call(soma_run_start, get(), input.get(), stop.get());
  }
  // The value, once there is one; throws as execute does.
  std::optional<value> step(std::chrono::nanoseconds budget) {
    soma_value* out = nullptr;
    soma_error* failure = nullptr;
    const soma_code code =
        soma_run_step(get(), static_cast<std::int64_t>(budget.count()), &out, &failure);
    if (code == SOMA_OK && !out) return std::nullopt;
    return ended(code, out, failure);
  }
  // The gradient of the last execution's input, from that of its value: soma_run_backward. Throws
  // what the vjp of the failing node threw.
  value backward(const value& gradient, const cancel& stop = {}) {
    soma_value* out = nullptr;
    soma_error* failure = nullptr;
    const soma_code code = soma_run_backward(get(), gradient.get(), stop.get(), &out, &failure);
    return ended(code, out, failure);
  }
  // Ends what was started, in the middle and for good.
  void abandon() {
    detail::call(soma_run_abandon, get());
    thrown_->take("");
  }
  // The next executions are those of the run called `id`; and what it waits for is answered.
  void remember(const journal& where, std::string_view id) {
    detail::call(soma_run_set_journal, get(), where.get(), id.data(), id.size());
  }
  void answer(const value& content, std::string_view path = {}) {
    detail::call(soma_run_answer, get(), path.empty() ? nullptr : path.data(), path.size(),
                 content.get());
  }
  // From the next execution on; without a handle, none.
  void use(const cache& kept) { detail::call(soma_run_set_cache, get(), kept.get()); }
  // An empty function: nobody watches.
  void observe(observer function) {
    if (!function) {
      detail::call(soma_run_set_observer, get(), nullptr, nullptr, nullptr);
      return;
    }
    auto* kept = new host<observer>{std::move(function), thrown_};
    detail::call(soma_run_set_observer, get(), &call_observer, static_cast<void*>(kept),
                 &drop_host<observer>);
  }
  // Gets each event as it happens, on several threads at once. An empty function: nobody is told.
  using prober = std::function<void(const soma_event& event)>;
  void probe(prober function) {
    if (!function) {
      detail::call(soma_run_set_probe, get(), nullptr, nullptr, nullptr);
      return;
    }
    auto* kept = new host<prober>{std::move(function), thrown_};
    detail::call(soma_run_set_probe, get(), &call_probe, static_cast<void*>(kept),
                 &drop_host<prober>);
  }

 private:
  template <typename Function>
  struct host {
    Function function;
    std::shared_ptr<detail::thrown> thrown;
  };

  run(const plan& of, const ops& code, const options& settings,
      const std::shared_ptr<detail::thrown>& thrown)
      : handle(made(soma_run_create, of.get(), code.bind(of.owner(), thrown).get(),
                    settings.get())),
        thrown_(thrown) {}

  value ended(soma_code code, soma_value* out, soma_error* failure) const {
    value result(out);
    if (code == SOMA_OK) {
      if (const std::exception_ptr mine = thrown_->take("")) std::rethrow_exception(mine);
      return result;
    }
    try {
      detail::check(code, failure);
    } catch (const error& told) {
      const std::string path = told.detail("path");
      const std::exception_ptr mine = thrown_->take(path);  // of nobody: what was thrown is over
      if (mine && !path.empty()) std::rethrow_exception(mine);
      throw;
    }
    return result;
  }
  static void call_observer(void* user, const char* event, std::size_t length) {
    const auto* self = static_cast<const host<observer>*>(user);
    try {
      self->function({event, length});
    } catch (...) {
      self->thrown->by_observer(std::current_exception());
    }
  }
  static void call_probe(void* user, const soma_event* event) {
    const auto* self = static_cast<const host<prober>*>(user);
    try {
      self->function(*event);
    } catch (...) {
      self->thrown->by_observer(std::current_exception());
    }
  }
  template <typename Function>
  static void drop_host(void* user) {
    delete static_cast<host<Function>*>(user);
  }

  std::shared_ptr<detail::thrown> thrown_;
};

}  // namespace soma

#endif
