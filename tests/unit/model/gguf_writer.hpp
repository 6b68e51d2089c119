// Writes small GGUF files in memory for tests: keys of every type, tensors of every type.
//
//   GgufWriter writer;                       // version 3; GgufWriter(2) for version 2
//   writer.set("llama.block_count", u32{2}).set("tokens", std::vector<std::string>{"a", "b"});
//   writer.tensor("output_norm.weight", 0, {64});  // f32, zeros; or with bytes as last argument
//   std::vector<u8> file = writer.finish();
//   patch(file, writer.value_at("llama.block_count"), u32{99});
//
// It writes whatever it is told, right or wrong; finish() fills in what follows from the rest.
#pragma once

#include <cstring>
#include <map>
#include <string>
#include <vector>

#include "base/core.hpp"
#include "model/gguf/gguf.hpp"
#include "model/gguf/tensor_type.hpp"

namespace soma::test {

// Bytes in the order they are put.
struct ByteStream {
  std::vector<u8> bytes;

  template <typename T>
  ByteStream& put(T value) {
    const size_t at = bytes.size();
    bytes.resize(at + sizeof value);
    std::memcpy(bytes.data() + at, &value, sizeof value);
    return *this;
  }
  ByteStream& raw(const void* data, size_t size) {
    const auto* from = static_cast<const u8*>(data);
    bytes.insert(bytes.end(), from, from + size);
    return *this;
  }
  ByteStream& text(std::string_view text) {
    put(u64{text.size()});
    return raw(text.data(), text.size());
  }
  ByteStream& pad(size_t alignment) {
    bytes.resize((bytes.size() + alignment - 1) / alignment * alignment);
    return *this;
  }
};

// Overwrites what lies at `at`.
template <typename T>
void patch(std::vector<u8>& file, size_t at, T value) {
  std::memcpy(file.data() + at, &value, sizeof value);
}

namespace detail {

inline gguf::Type type_of(u8) { return gguf::Type::U8; }
inline gguf::Type type_of(i8) { return gguf::Type::I8; }
inline gguf::Type type_of(u16) { return gguf::Type::U16; }
inline gguf::Type type_of(std::int16_t) { return gguf::Type::I16; }
inline gguf::Type type_of(u32) { return gguf::Type::U32; }
inline gguf::Type type_of(i32) { return gguf::Type::I32; }
inline gguf::Type type_of(u64) { return gguf::Type::U64; }
inline gguf::Type type_of(i64) { return gguf::Type::I64; }
inline gguf::Type type_of(float) { return gguf::Type::F32; }
inline gguf::Type type_of(double) { return gguf::Type::F64; }
inline gguf::Type type_of(bool) { return gguf::Type::Bool; }

}  // namespace detail

class GgufWriter {
 public:
  explicit GgufWriter(u32 version = 3) : version_(version) {}

  // A scalar of the type of `value`; writes over an earlier value of the key.
  template <typename T>
    requires std::is_arithmetic_v<T>
  GgufWriter& set(std::string_view key, T value) {
    return set_raw(key, detail::type_of(value), ByteStream().put(value).bytes);
  }
  GgufWriter& set(std::string_view key, std::string_view value) {
    return set_raw(key, gguf::Type::Text, ByteStream().text(value).bytes);
  }
  GgufWriter& set(std::string_view key, const char* value) {
    return set(key, std::string_view(value));
  }
  template <typename T>
    requires std::is_arithmetic_v<T>
  GgufWriter& set(std::string_view key, const std::vector<T>& values) {
    ByteStream out;
    out.put(detail::type_of(T{})).put(u64{values.size()});
    for (const T value : values) out.put(value);
    return set_raw(key, gguf::Type::Array, out.bytes);
  }
  GgufWriter& set(std::string_view key, const std::vector<std::string>& values) {
    ByteStream out;
    out.put(gguf::Type::Text).put(u64{values.size()});
    for (const std::string& value : values) out.text(value);
    return set_raw(key, gguf::Type::Array, out.bytes);
  }
  // A value by its bytes; for an array these begin with element type and count.
  GgufWriter& set_raw(std::string_view key, gguf::Type type, std::vector<u8> bytes) {
    for (Entry& entry : entries_) {
      if (entry.key == key) {
        entry = {entry.key, type, std::move(bytes)};
        return *this;
      }
    }
    return append_raw(key, type, std::move(bytes));
  }
  // The same, but a key that is there already is written twice.
  GgufWriter& append_raw(std::string_view key, gguf::Type type, std::vector<u8> bytes) {
    entries_.push_back({std::string(key), type, std::move(bytes)});
    return *this;
  }
  GgufWriter& remove(std::string_view key) {
    std::erase_if(entries_, [&](const Entry& entry) { return entry.key == key; });
    return *this;
  }

  // A tensor, after the ones before it; innermost dimension first. Without bytes it is zeros of
  // the right size.
  GgufWriter& tensor(std::string_view name, u32 file_type, std::vector<u64> dims) {
    const auto type = gguf::tensor_type(file_type);
    u64 elements = 1;
    for (const u64 dim : dims) elements *= dim;
    const u64 size = type && type->block_elements != 0
                         ? elements / type->block_elements * type->block_bytes
                         : 0;
    return tensor(name, file_type, std::move(dims), std::vector<u8>(size));
  }
  GgufWriter& tensor(std::string_view name, u32 file_type, std::vector<u64> dims,
                     std::vector<u8> bytes) {
    tensors_.push_back({std::string(name), file_type, std::move(dims), std::move(bytes)});
    return *this;
  }
  GgufWriter& remove_tensor(std::string_view name) {
    std::erase_if(tensors_, [&](const Tensor& tensor) { return tensor.name == name; });
    return *this;
  }

  // Padding between tensors; also sets general.alignment.
  GgufWriter& alignment(u32 alignment) {
    alignment_ = alignment;
    return set("general.alignment", alignment);
  }

  std::vector<u8> finish() {
    ByteStream out;
    out.raw("GGUF", 4).put(version_).put(u64{tensors_.size()}).put(u64{entries_.size()});
    for (const Entry& entry : entries_) {
      entry_at_[entry.key] = out.bytes.size();
      out.text(entry.key).put(entry.type).raw(entry.bytes.data(), entry.bytes.size());
    }
    u64 offset = 0;
    for (const Tensor& tensor : tensors_) {
      tensor_at_[tensor.name] = out.bytes.size();
      out.text(tensor.name).put(static_cast<u32>(tensor.dims.size()));
      for (const u64 dim : tensor.dims) out.put(dim);
      out.put(tensor.file_type).put(offset);
      offset = (offset + tensor.bytes.size() + alignment_ - 1) / alignment_ * alignment_;
    }
    out.pad(alignment_);
    data_at_ = out.bytes.size();
    for (const Tensor& tensor : tensors_) {
      out.raw(tensor.bytes.data(), tensor.bytes.size()).pad(alignment_);
    }
    return out.bytes;
  }

  // Where things lie in the file that finish() made.
  size_t entry_at(const std::string& key) const { return entry_at_.at(key); }
  size_t type_at(const std::string& key) const { return entry_at(key) + 8 + key.size(); }
  size_t value_at(const std::string& key) const { return type_at(key) + 4; }
  size_t tensor_at(const std::string& name) const { return tensor_at_.at(name); }
  size_t rank_at(const std::string& name) const { return tensor_at(name) + 8 + name.size(); }
  size_t dim_at(const std::string& name, u32 i) const { return rank_at(name) + 4 + 8 * i; }
  size_t data_at() const { return data_at_; }

 private:
  struct Entry {
    std::string key;
    gguf::Type type;
    std::vector<u8> bytes;
  };
  struct Tensor {
    std::string name;
    u32 file_type;
    std::vector<u64> dims;
    std::vector<u8> bytes;
  };
  u32 version_;
  u32 alignment_ = 32;
  std::vector<Entry> entries_;
  std::vector<Tensor> tensors_;
  std::map<std::string, size_t> entry_at_;
  std::map<std::string, size_t> tensor_at_;
  size_t data_at_ = 0;
};

}  // namespace soma::test
