// Holds one kernel set to the scalar set, byte for byte, over shapes and extreme values.
#pragma once

#include "backend/cpu/kernels/kernels.hpp"
#include "base/core.hpp"

namespace soma::cpu {

// Numbers for tests: the same on every machine, from one multiplication and shifts.
class TestNumbers {
 public:
  explicit TestNumbers(u64 seed) : state_(seed) {}
  u64 next() {
    state_ += 0x9e3779b97f4a7c15u;
    u64 z = state_;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
  }
  i64 below(i64 limit) { return static_cast<i64>(next() % static_cast<u64>(limit)); }
  float between(float low, float high) {
    return low + (high - low) * (static_cast<float>(next() >> 40) * 0x1p-24f);
  }
  // Mostly moderate; sometimes zero, subnormal, huge, infinite or not a number.
  float extreme();

 private:
  u64 state_;
};

std::vector<float> moderate_floats(TestNumbers* numbers, i64 n, float size);

// The first index at which two results differ, or −1. What is not a number equals its like: the
// contract leaves open which of them an operation gives.
i64 first_difference(std::span<const float> got, std::span<const float> want);

// Each runs one family; `thorough` adds sizes that an emulated set is too slow for.
void check_matmul_q8a(const KernelSet& set, bool thorough);
void check_matmul_f32(const KernelSet& set, bool thorough);
void check_rows(const KernelSet& set);
void check_embed(const KernelSet& set);
void check_kv_store(const KernelSet& set);
void check_attend(const KernelSet& set, bool thorough);

// Scratch as a set asks for it, aligned, filled with garbage and followed by a guard.
class Scratch {
 public:
  explicit Scratch(i64 bytes);
  void* data() const { return data_; }
  bool intact() const;  // nothing was written past the end

 private:
  std::vector<u8> memory_;
  u8* data_;
  i64 bytes_;
};

}  // namespace soma::cpu
