// What a host's function gets in a turn of its step, and what its handlers get.
#pragma once

#include "abi/callback.hpp"
#include "abi/value.hpp"
#include "run/step_run.hpp"

// Whoever keeps the pointer after the turn finds that it is over: `call` is nullptr then.
struct soma_step final : soma::wall::Object {
  static constexpr soma::wall::Tag kind = soma::wall::Tag::Step;
  soma_step(const soma_runtime* owner, soma::StepCall& the_call)
      : Object(kind, owner), call(&the_call), turn(the_call.turn()) {}

  enum class Next : soma::u8 { Nothing, Done, Await, Spawn, Suspend, HandOver };

  soma::StepCall* call;
  const soma::u32 turn;
  soma::wall::Ref<soma_value> input, history;  // made when they are asked for
  Next next = Next::Nothing;
  soma::Value value;                           // Done, Suspend, HandOver
  std::string target;
  std::vector<soma::EffectRequest> requests;
  std::vector<soma::ChildRequest> children;
  bool wants_first = false;
  std::optional<std::string> failure;
};

struct soma_effect final : soma::wall::Object {
  static constexpr soma::wall::Tag kind = soma::wall::Tag::Effect;
  soma_effect(const soma_runtime* owner, soma::Effect& the_effect)
      : Object(kind, owner),
        payload(soma::wall::make<soma_value>(owner, the_effect.payload())),
        effect(the_effect) {
    effect.retain();
  }
  ~soma_effect() { effect.release(); }

  const soma::wall::Ref<soma_value> payload;
  soma::Effect& effect;
};
