// A GGUF file, parsed and checked: metadata by key, tensors by name, bytes left where they are.
//
// The file is untrusted. Every count, length, offset and product is checked before use, nothing is
// allocated by a number the file claims, and a bad file gives one clear error with its offset.
// The format is described in format.md beside this file.
#pragma once

#include "base/core.hpp"
#include "value/format.hpp"

namespace soma::gguf {

// What a file may claim at most; beyond it the error is gguf_limit. Real files stay far below. The
// bytes that are left in the file bound every count and length as well.
inline constexpr u64 max_key_bytes = 65535;
inline constexpr u64 max_name_bytes = 64;  // of a tensor
inline constexpr u64 max_text_bytes = u64{1} << 30;
inline constexpr u64 max_array_elements = u64{1} << 30;
inline constexpr u64 max_entries = u64{1} << 16;
inline constexpr u64 max_tensors = u64{1} << 16;
inline constexpr u64 max_rank = 4;
inline constexpr u64 max_data_bytes = u64{1} << 62;
inline constexpr u64 min_alignment = 8;
inline constexpr u64 max_alignment = u64{1} << 16;

// Value types of the format, by their numbers in the file.
enum class Type : u32 {
  U8 = 0, I8 = 1, U16 = 2, I16 = 3, U32 = 4, I32 = 5, F32 = 6, Bool = 7,
  Text = 8, Array = 9, U64 = 10, I64 = 11, F64 = 12,
};
std::string_view type_name(Type type);
bool is_integer(Type type);  // U8 … I64; not Bool

// One metadata value. Scalars are widened; texts and arrays are views into the file's bytes.
struct Value {
  Type type = Type::U8;
  u64 integer = 0;          // unsigned and bool; signed types keep their two's complement
  double number = 0;        // f32 and f64
  std::string_view text;    // Text
  Type element = Type::U8;  // Array: the elements' type …
  u64 count = 0;            // … and number
  std::span<const u8> packed;  // Array: the elements' bytes as in the file, whole and checked
};

// Walks a packed array of texts (already checked): calls visit(index, text) for each.
template <typename Visit>
void for_each_text(const Value& array, Visit visit);

// The name of a tensor type by its number in the file: "q4_1", "iq4_nl"; of types that no longer
// exist too; "type 99" is not known, the name is then empty.
std::string_view tensor_type_name(u32 file_type);

struct Tensor {
  std::string_view name;
  Format format = Format::Other;
  u32 file_type = 0;            // the number in the file, for messages about Format::Other
  u32 rank = 0;                 // 1..4
  u64 dims[4] = {1, 1, 1, 1};   // innermost first: dims[0] is the row's width
  u64 offset = 0;               // from the file's start
  std::span<const u8> bytes;    // within the file, whole, for Format::Other too
};

struct Entry {
  std::string_view key;
  Value value;
  u64 offset = 0;  // where the entry starts in the file
};

// Views into bytes that the caller keeps alive and unchanged.
class File {
 public:
  // gguf_magic … gguf_alignment, each with the byte's offset, what was expected and what is there.
  // Linear in the metadata's bytes; tensor data is not read.
  static Result<File> parse(std::span<const u8> bytes);

  u32 version() const { return version_; }
  u64 alignment() const { return alignment_; }
  std::span<const Entry> entries() const { return entries_; }
  std::span<const Tensor> tensors() const { return tensors_; }
  const Value* find(std::string_view key) const;            // nullptr if absent; O(log n)
  const Tensor* find_tensor(std::string_view name) const;   // nullptr if absent; O(log n)

 private:
  u32 version_ = 0;
  u64 alignment_ = 32;
  std::vector<Entry> entries_;
  std::vector<Tensor> tensors_;
  std::vector<u32> entry_order_;   // indices sorted by key
  std::vector<u32> tensor_order_;  // indices sorted by name
};

template <typename Visit>
void for_each_text(const Value& array, Visit visit) {
  const u8* at = array.packed.data();
  for (u64 i = 0; i < array.count; ++i) {
    u64 length = 0;
    __builtin_memcpy(&length, at, sizeof length);
    visit(i, std::string_view(reinterpret_cast<const char*>(at + sizeof length), length));
    at += sizeof length + length;
  }
}

}  // namespace soma::gguf
