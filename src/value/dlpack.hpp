// DLPack's exchange struct, version 1: the layout that other libraries agree on, in our own words.
#pragma once

#include "base/core.hpp"

namespace soma::dlpack {

inline constexpr u32 major_version = 1;  // another major number means another layout
inline constexpr u32 minor_version = 0;
inline constexpr i32 device_cpu = 1;
inline constexpr u8 type_int = 0, type_float = 2;
inline constexpr u64 flag_read_only = 1;

struct Device {
  i32 type;
  i32 id;
};
struct Type {
  u8 code;
  u8 bits;
  u16 lanes;
};
struct Tensor {
  void* data;
  Device device;
  i32 rank;
  Type type;
  i64* shape;
  i64* strides;  // in elements; not NULL
  u64 byte_offset;
};

}  // namespace soma::dlpack

struct DLManagedTensorVersioned {
  soma::u32 major, minor;
  void* owner;
  void (*deleter)(DLManagedTensorVersioned* self);
  soma::u64 flags;
  soma::dlpack::Tensor tensor;
};
static_assert(sizeof(DLManagedTensorVersioned) == 80);
static_assert(offsetof(DLManagedTensorVersioned, tensor) == 32);
