// The session and sequence objects.
#pragma once

#include "abi/model.hpp"
#include "abi/tensor.hpp"
#include "session/session.hpp"

struct soma_session final : soma::wall::Object {
  static constexpr soma::wall::Tag kind = soma::wall::Tag::Session;
  soma_session(const soma_model* of, std::unique_ptr<soma::Session> made, soma::Policy how)
      : Object(kind, of->runtime),
        model(soma::wall::Ref<soma_model>::share(of)),
        session(std::move(made)),
        policy(how) {}

  const soma::wall::Ref<soma_model> model;
  const std::unique_ptr<soma::Session> session;
  const soma::Policy policy;
};

struct soma_sequence final : soma::wall::Object {
  static constexpr soma::wall::Tag kind = soma::wall::Tag::Sequence;
  soma_sequence(const soma_session* of, std::unique_ptr<soma::Sequence> made)
      : Object(kind, of->runtime),
        session(soma::wall::Ref<soma_session>::share(of)),
        sequence(std::move(made)),
        length(sequence->length()) {}

  const soma::wall::Ref<soma_session> session;
  const std::unique_ptr<soma::Sequence> sequence;
  std::atomic<bool> in_call{false};
  std::atomic<std::int64_t> length;     // as of the last call's end, for any thread
  soma::wall::Ref<soma_tensor> logits;  // handed out, and still read by the sequence
};
