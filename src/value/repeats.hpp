// Finds the texts that stand twice in a long list.
#pragma once

#include <algorithm>

#include "base/hash.hpp"
#include "value/name.hpp"

namespace soma {

template <typename TextOf>
std::vector<u32> compare_all(u32 count, TextOf text_of) {
  std::vector<u32> repeats;
  for (u32 i = 1; i < count; ++i) {
    u32 first = 0;
    while (text_of(first) != text_of(i)) ++first;  // at i at last
    if (first < i) repeats.push_back(i);
  }
  return repeats;
}

// Of texts text_of(0) up to text_of(count - 1), views or names: the numbers of those that equal an
// earlier one, ascending.
//
// Most long lists were numbered by whoever made them, so that each text is longer than the one
// before, or as long and greater: then none stands twice, which one walk shows.
// A table of a million texts misses the processor's caches at every step. So of others, hashes are
// made first, sorted into buckets by their upper bits, and each bucket is looked through with a
// table that stays close. Texts are only compared where their hashes are equal. Linear: nobody can
// foresee the hashes.
template <typename TextOf>
std::vector<u32> find_repeats(u32 count, TextOf text_of) {
  u32 ascending = 1;
  while (ascending < count && comes_after(text_of(ascending), text_of(ascending - 1))) ++ascending;
  if (ascending >= count) return {};
  constexpr u32 compared_max = 8;                  // so few are compared with each other
  if (count <= compared_max) return compare_all(count, text_of);
  constexpr u32 bucket_bits = 11, none = ~u32{0};  // about as many texts in a bucket
  u32 bits = 0;
  while (bits < 12 && count >> (bucket_bits + bits) != 0) ++bits;
  const auto bucket_of = [bits](u32 hash) { return bits > 0 ? hash >> (32 - bits) : 0; };
  const TextHash hash_of;
  std::vector<u32> hashes(count);
  std::vector<u32> first((size_t{1} << bits) + 1, 0);  // by bucket
  for (u32 i = 0; i < count; ++i) {
    hashes[i] = static_cast<u32>(hash_of(text_of(i)));
    ++first[bucket_of(hashes[i]) + 1];
  }
  u32 largest = 0;
  for (size_t i = 1; i < first.size(); ++i) {
    largest = std::max(largest, first[i]);
    first[i] += first[i - 1];
  }
  std::vector<u32> sorted(count), next(first.begin(), first.end() - 1);
  for (u32 i = 0; i < count; ++i) sorted[next[bucket_of(hashes[i])]++] = i;

  size_t size = 16;
  while (size < 2 * size_t{largest}) size *= 2;
  std::vector<u32> table(size), repeats;
  for (size_t bucket = 0; bucket + 1 < first.size(); ++bucket) {
    std::fill(table.begin(), table.end(), none);
    for (u32 at = first[bucket]; at < first[bucket + 1]; ++at) {
      const u32 number = sorted[at], hash = hashes[number];
      size_t slot = hash & (size - 1);
      for (; table[slot] != none; slot = (slot + 1) & (size - 1)) {
        if (hashes[table[slot]] == hash && text_of(table[slot]) == text_of(number)) break;
      }
      if (table[slot] == none) table[slot] = number;
      else repeats.push_back(number);
    }
  }
  std::sort(repeats.begin(), repeats.end());
  return repeats;
}

}  // namespace soma
