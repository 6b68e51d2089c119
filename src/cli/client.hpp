// What every verb needs of libsoma: handles that release themselves, failures that end a verb.
#pragma once

#include <soma/soma.h>

#include <cstdio>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "cli/json.hpp"

namespace cli {

// Exit codes: spec of the tool. A verb that returns normally has done its job.
enum Exit { kDone = 0, kFailed = 1, kUsage = 2, kSuspended = 3, kCancelled = 130 };

// Thrown to end the tool with a code of its own, when all has been said.
struct Leave {
  Exit code;
};

template <typename T, void (*Release)(const T*)>
class Handle {
 public:
  Handle() = default;
  Handle(Handle&& other) noexcept : raw_(std::exchange(other.raw_, nullptr)) {}
  Handle& operator=(Handle&& other) noexcept {
    std::swap(raw_, other.raw_);
    return *this;
  }
  ~Handle() { Release(raw_); }
  operator T*() const { return raw_; }
  T** out() { return &raw_; }

 private:
  T* raw_ = nullptr;
};

using Blob = Handle<soma_blob, soma_blob_release>;
using Options = Handle<soma_options, soma_options_release>;
using Runtime = Handle<soma_runtime, soma_runtime_release>;
using Model = Handle<soma_model, soma_model_release>;
using Session = Handle<soma_session, soma_session_release>;
using Sequence = Handle<soma_sequence, soma_sequence_release>;
using Circuit = Handle<soma_circuit, soma_circuit_release>;
using FusionPlan = Handle<soma_fusion_plan, soma_fusion_plan_release>;
using BufferPlan = Handle<soma_buffer_plan, soma_buffer_plan_release>;
using Program = Handle<soma_program, soma_program_release>;
using Tensor = Handle<soma_tensor, soma_tensor_release>;
using Cancel = Handle<soma_cancel, soma_cancel_release>;
using Value = Handle<soma_value, soma_value_release>;
using Graph = Handle<soma_graph, soma_graph_release>;
using Plan = Handle<soma_plan, soma_plan_release>;
using Ops = Handle<soma_ops, soma_ops_release>;
using Cache = Handle<soma_cache, soma_cache_release>;
using Run = Handle<soma_run, soma_run_release>;
using Journal = Handle<soma_journal, soma_journal_release>;

struct CloseFile {
  void operator()(FILE* file) const { std::fclose(file); }
};
using File = std::unique_ptr<FILE, CloseFile>;

// Thrown by check(); main() prints it and turns the code into an exit code.
struct Failure {
  soma_code code;
  std::string text;   // message, reason id, the node and all further problems, a line each
  std::string reason = {};
};

// check([&](soma_error** error) { return soma_…(…, error); });
void throw_failure(soma_code code, soma_error* error);
template <typename Call>
void check(Call call) {
  soma_error* error = nullptr;
  const soma_code code = call(&error);
  if (code != SOMA_OK) throw_failure(code, error);
}

// check_blob([&](soma_blob** out, soma_error** error) { … }): the blob's bytes as text.
template <typename Call>
std::string blob_text(Call call) {
  Blob blob;
  check([&](soma_error** error) { return call(blob.out(), error); });
  return {static_cast<const char*>(soma_blob_data(blob)), soma_blob_size(blob)};
}
template <typename Call>
std::vector<int32_t> blob_tokens(Call call) {
  Blob blob;
  check([&](soma_error** error) { return call(blob.out(), error); });
  const int32_t* data = static_cast<const int32_t*>(soma_blob_data(blob));
  return {data, data + soma_blob_size(blob) / sizeof(int32_t)};
}
template <typename Call>
Json blob_json(Call call) {
  return Json::parse(blob_text(call));
}

Options make_options(const char* kind);
void set(const Options& options, const char* key, const std::string& value);

// For lines: what a document says must not command a terminal. Control characters become \u001b.
std::string printable(std::string_view text);

double seconds_now();            // monotonic
uint64_t peak_memory_bytes();    // the most this process ever had resident

}  // namespace cli
