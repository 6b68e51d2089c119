// Names, checks and counts of handles.
#include "abi/handle.hpp"

#include "abi/runtime.hpp"

namespace soma::wall {

std::string_view tag_name(Tag tag) {
  switch (tag) {
    case Tag::Blob: return "blob";
    case Tag::Error: return "error";
    case Tag::Options: return "options";
    case Tag::Runtime: return "runtime";
    case Tag::Cancel: return "cancel";
    case Tag::Tensor: return "tensor";
    case Tag::Model: return "model";
    case Tag::Circuit: return "circuit";
    case Tag::FusionPlan: return "fusion_plan";
    case Tag::BufferPlan: return "buffer_plan";
    case Tag::Program: return "program";
    case Tag::Session: return "session";
    case Tag::Sequence: return "sequence";
    case Tag::Value: return "value";
    case Tag::Graph: return "graph";
    case Tag::Plan: return "plan";
    case Tag::Ops: return "ops";
    case Tag::Call: return "call";
    case Tag::Run: return "run";
    case Tag::Step: return "step";
    case Tag::Effect: return "effect";
    case Tag::Journal: return "journal";
    case Tag::Cache: return "cache";
    case Tag::JournalReply: return "journal_reply";
    case Tag::PlanCache: return "plan_cache";
    case Tag::HostAllocator: return "allocator";
    case Tag::HostLog: return "log";
    case Tag::HostPool: return "pool";
    case Tag::Released: return "released";
  }
  return "unknown";
}

namespace {

// A runtime is its own owner.
const soma_runtime* runtime_of(const Object& object) {
  if (object.tag == Tag::Runtime) return static_cast<const soma_runtime*>(&object);
  return object.runtime;
}

}  // namespace

Memory* home_memory(const Object& object) {
  return object.runtime ? &object.runtime->memory : nullptr;
}

Memory* call_memory(const Object& object) {
  const soma_runtime* runtime = runtime_of(object);
  return runtime ? &runtime->memory : nullptr;
}

bool is_forked(const Object& object) {
  const soma_runtime* runtime = runtime_of(object);
  return runtime && runtime->process.is_forked();
}

bool drop_object(const Object* object) {
  return const_cast<Object*>(object)->references.fetch_sub(1, std::memory_order_acq_rel) == 1;
}

void retain_runtime(const soma_runtime* runtime) { retain_object(runtime); }
void release_runtime(const soma_runtime* runtime) { release(runtime); }

Status wrong_handle(Tag expected, const Object* got) {
  if (!got) return fail(Reason::argument_null, "the {} is NULL", tag_name(expected));
  return fail(Reason::argument_handle,
              "expected a handle of type soma_{0}, got one of another type, or one that was "
              "released",
              tag_name(expected));
}

Status wrong_runtime(Tag tag) {
  return fail(Reason::argument_handle,
              "the {} is of another runtime, and runtimes share nothing: make it with this one",
              tag_name(tag));
}

Status Claim::take(std::atomic<bool>& flag, Tag tag) {
  if (flag.exchange(true, std::memory_order_acquire)) {
    return fail(Reason::busy,
                "the {} is in a call that has not returned; it serves one call at a time, also "
                "in that call's callbacks",
                tag_name(tag));
  }
  flag_ = &flag;
  return {};
}

}  // namespace soma::wall
