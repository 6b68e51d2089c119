// Parses and checks a GGUF file: header, entries, tensor records, then where the tensors' data lie.
//
// Problem: the file comes from strangers, and its counts, lengths and offsets steer everything that
// follows. Idea: one pass with a cursor that never passes the end; whatever a number claims is held
// against its named limit and against the bytes that are left before it is used; vectors grow by
// what was parsed, so that memory is bounded by a constant factor of the file's own size. Views
// point into the file and nothing is copied. Offsets of tensors must be the running padded sum of
// the sizes before them, as every writer lays them out: so no two can overlap.
// Cost: linear in the metadata, n log n for the order of names; tensor data is not touched.
#include <algorithm>
#include <bit>

#include "base/text.hpp"
#include "model/gguf/cursor.hpp"
#include "model/gguf/gguf.hpp"
#include "model/gguf/tensor_type.hpp"

namespace soma::gguf {

namespace {

struct TypeInfo {
  std::string_view name;
  u32 bytes;  // 0: its length is in the file
};

constexpr TypeInfo type_table[] = {
    {"u8", 1},   {"i8", 1},   {"u16", 2},  {"i16", 2},   {"u32", 4}, {"i32", 4}, {"f32", 4},
    {"bool", 1}, {"text", 0}, {"array", 0}, {"u64", 8}, {"i64", 8}, {"f64", 8},
};

const TypeInfo& type_info(Type type) { return type_table[static_cast<size_t>(type)]; }

// ---- Header

struct Header {
  u32 version = 0;
  u64 entries = 0;
  u64 tensors = 0;
};

struct Lookalike {
  std::string_view prefix;
  std::string_view what;
};

// What is often found in place of a GGUF file.
constexpr Lookalike lookalikes[] = {
    {"FUGG", "a GGUF file of big-endian byte order"},
    {"lmgg", "a model of the format before GGUF (ggml)"},
    {"fmgg", "a model of the format before GGUF (ggmf)"},
    {"tjgg", "a model of the format before GGUF (ggjt)"},
    {"PK\x03\x04", "a zip archive, as PyTorch writes"},
    {"version https://git-lfs", "a Git LFS pointer, not the file it stands for"},
    {"<!", "a web page"},
    {"<html", "a web page"},
};

Error wrong_magic(std::string_view start) {
  constexpr Place place = {.part = "magic"};
  std::string got = quoted(start.substr(0, 4));
  for (const Lookalike& one : lookalikes) {
    if (start.starts_with(one.prefix)) got = one.what;
  }
  return broken(Reason::gguf_magic, 0, place, "'GGUF'", got, "give a GGUF file");
}

Status check_version(u32 version, u64 offset) {
  if (version == 2 || version == 3) return {};
  constexpr Place place = {.part = "version"};
  if (version == 1) {
    return broken(Reason::gguf_version, offset, place, "2 or 3",
                  "1, whose counts had 32 bits and which nobody has written since 2023",
                  "convert the model again");
  }
  const u32 swapped = __builtin_bswap32(version);
  if (swapped >= 1 && swapped <= 0xFFFF) {
    return broken(Reason::gguf_version, offset, place, "2 or 3, little-endian",
                  text("version {} in big-endian byte order", swapped),
                  "convert the model for little-endian machines");
  }
  return broken(Reason::gguf_version, offset, place, "2 or 3", text("{}", version),
                "use a newer libsoma, or convert the model to GGUF 3");
}

// The records that are counted are then read one by one: the file's end stops a count that lies.
Result<u64> read_count(Cursor& cursor, const Place& place, u64 limit) {
  const u64 start = cursor.at();
  SOMA_ASSIGN(const u64 count, cursor.number<u64>(place));
  if (count > limit) {
    return broken(Reason::gguf_limit, start, place, text("at most {}", limit),
                  text("{}", count));
  }
  return count;
}

Result<Header> read_header(Cursor& cursor, std::span<const u8> bytes) {
  constexpr std::string_view magic = "GGUF";
  const std::string_view start(reinterpret_cast<const char*>(bytes.data()),
                               std::min<size_t>(bytes.size(), 32));
  if (!magic.starts_with(start.substr(0, 4))) return wrong_magic(start);
  SOMA_TRY(cursor.raw(magic.size(), {.part = "magic"}));
  Header header;
  const u64 version_at = cursor.at();
  SOMA_ASSIGN(header.version, cursor.number<u32>({.part = "version"}));
  SOMA_TRY(check_version(header.version, version_at));
  SOMA_ASSIGN(header.tensors, read_count(cursor, {.part = "number of tensors"}, max_tensors));
  SOMA_ASSIGN(header.entries, read_count(cursor, {.part = "number of keys"}, max_entries));
  return header;
}

// ---- Entries

Result<Type> read_type(Cursor& cursor, const Place& place) {
  const u64 start = cursor.at();
  SOMA_ASSIGN(const u32 number, cursor.number<u32>(place));
  if (number >= std::size(type_table)) {
    return broken(Reason::gguf_type, start, place,
                  text("at most {}", std::size(type_table) - 1), text("{}", number));
  }
  return static_cast<Type>(number);
}

Error not_a_bool(u64 offset, const Place& place, u8 byte) {
  return broken(Reason::gguf_value, offset, place, "a bool of 0 or 1", text("{}", byte));
}

Result<Value> read_scalar(Cursor& cursor, const Place& place, Type type) {
  const u64 start = cursor.at();
  SOMA_ASSIGN(std::span<const u8> bytes, cursor.raw(type_info(type).bytes, place));
  u64 raw = 0;
  std::memcpy(&raw, bytes.data(), bytes.size());
  Value value;
  value.type = type;
  value.integer = raw;
  switch (type) {
    case Type::I8: value.integer = static_cast<u64>(static_cast<i8>(raw)); break;
    case Type::I16: value.integer = static_cast<u64>(static_cast<std::int16_t>(raw)); break;
    case Type::I32: value.integer = static_cast<u64>(static_cast<i32>(raw)); break;
    case Type::F32:
      value.integer = 0;
      value.number = static_cast<double>(std::bit_cast<float>(static_cast<u32>(raw)));
      break;
    case Type::F64:
      value.integer = 0;
      value.number = std::bit_cast<double>(raw);
      break;
    case Type::Bool:
      if (raw > 1) return not_a_bool(start, place, bytes[0]);
      break;
    case Type::U8: case Type::U16: case Type::U32: case Type::U64: case Type::I64:
    case Type::Text: case Type::Array: break;
  }
  return value;
}

// The elements are packed without padding, texts each with its length: they are walked once here so
// that for_each_text may trust them.
Status check_elements(Cursor& cursor, const Place& place, Type element, u64 count) {
  if (element == Type::Text) {
    for (u64 i = 0; i < count; ++i) SOMA_TRY(cursor.utf8(max_text_bytes, place));
    return {};
  }
  const u64 start = cursor.at();
  // At most 2^30 elements of 8 bytes: the product fits.
  SOMA_ASSIGN(std::span<const u8> bytes, cursor.raw(count * type_info(element).bytes, place));
  if (element != Type::Bool) return {};
  for (u64 i = 0; i < count; ++i) {
    if (bytes[i] > 1) return not_a_bool(start + i, place, bytes[i]);
  }
  return {};
}

Result<Value> read_array(Cursor& cursor, const Place& place) {
  Value value;
  value.type = Type::Array;
  const u64 type_at = cursor.at();
  SOMA_ASSIGN(value.element, read_type(cursor, place.of("element type")));
  if (value.element == Type::Array) {
    return broken(Reason::gguf_type, type_at, place.of("element type"), "a scalar type or text",
                  "array: arrays of arrays are not supported", "convert the model again");
  }
  SOMA_ASSIGN(value.count, read_count(cursor, place.of("element count"), max_array_elements));
  const u64 start = cursor.at();
  SOMA_TRY(check_elements(cursor, place.of("elements"), value.element, value.count));
  value.packed = cursor.since(start);
  return value;
}

Result<Value> read_value(Cursor& cursor, const Place& place, Type type) {
  if (type == Type::Array) return read_array(cursor, place);
  if (type != Type::Text) return read_scalar(cursor, place, type);
  Value value;
  value.type = type;
  SOMA_ASSIGN(value.text, cursor.utf8(max_text_bytes, place));
  return value;
}

// A key or a tensor's name: not empty, so that it can be asked for.
Result<std::string_view> read_name(Cursor& cursor, const Place& place, u64 limit) {
  const u64 start = cursor.at();
  SOMA_ASSIGN(std::string_view name, cursor.utf8(limit, place));
  if (name.empty()) {
    return broken(Reason::gguf_text, start, place, "at least one byte", "an empty name");
  }
  return name;
}

Result<Entry> read_entry(Cursor& cursor, u64 index) {
  Entry entry;
  entry.offset = cursor.at();
  Place place = {.part = "name", .kind = "key", .index = index};
  SOMA_ASSIGN(entry.key, read_name(cursor, place, max_key_bytes));
  place.name = entry.key;
  SOMA_ASSIGN(const Type type, read_type(cursor, place.of("value type")));
  SOMA_ASSIGN(entry.value, read_value(cursor, place.of("value"), type));
  return entry;
}

Result<u64> alignment_of(const Entry& entry) {
  const Place place = {.part = "value", .kind = "key", .name = entry.key};
  if (entry.value.type != Type::U32) {
    return broken(Reason::gguf_alignment, entry.offset, place, "a u32",
                  type_name(entry.value.type));
  }
  const u64 alignment = entry.value.integer;
  if (!std::has_single_bit(alignment) || alignment < min_alignment || alignment > max_alignment) {
    return broken(Reason::gguf_alignment, entry.offset, place,
                  text("a power of two from {} to {}", min_alignment, max_alignment),
                  text("{}", alignment));
  }
  return alignment;
}

// ---- Tensors

u64 padded(u64 size, u64 alignment) { return (size + alignment - 1) / alignment * alignment; }

Status read_dims(Cursor& cursor, const Place& place, Tensor& tensor) {
  const u64 rank_at = cursor.at();
  SOMA_ASSIGN(tensor.rank, cursor.number<u32>(place.of("number of dimensions")));
  if (tensor.rank < 1 || tensor.rank > max_rank) {
    return broken(Reason::gguf_tensor, rank_at, place.of("number of dimensions"),
                  text("1 to {}", max_rank), text("{}", tensor.rank));
  }
  u64 elements = 1;
  for (u32 i = 0; i < tensor.rank; ++i) {
    const u64 start = cursor.at();
    SOMA_ASSIGN(tensor.dims[i], cursor.number<u64>(place.of("dimension")));
    const std::optional<u64> product = checked_mul(elements, tensor.dims[i]);
    if (!product || *product == 0 || *product > max_data_bytes) {
      return broken(Reason::gguf_tensor, start, place.of("dimension"),
                    text("a product of dimensions from 1 to {}", max_data_bytes),
                    text("{} × {}", elements, tensor.dims[i]));
    }
    elements = *product;
  }
  return {};
}

u64 elements_of(const Tensor& tensor) {
  return tensor.dims[0] * tensor.dims[1] * tensor.dims[2] * tensor.dims[3];
}

// The type's number, and that the rows are whole blocks of it. The bytes of the data.
Result<u64> read_tensor_type(Cursor& cursor, const Place& place, Tensor& tensor) {
  const u64 start = cursor.at();
  SOMA_ASSIGN(tensor.file_type, cursor.number<u32>(place.of("type")));
  const std::optional<TensorType> type = tensor_type(tensor.file_type);
  if (!type) {
    return broken(Reason::gguf_type, start, place.of("type"),
                  text("a tensor type from 0 to {}", tensor_type_count() - 1),
                  text("{}", tensor.file_type),
                  "if the file is not damaged, it needs a newer libsoma");
  }
  if (type->block_elements == 0) {
    return broken(Reason::gguf_type, start, place.of("type"), "a type that is still in use",
                  text("{} (type {}), which was taken out of the format", type->name,
                       tensor.file_type),
                  "convert the model again");
  }
  tensor.format = type->format;
  if (tensor.dims[0] % type->block_elements != 0) {
    return broken(Reason::gguf_tensor, start, place.of("type"),
                  text("rows of whole blocks of {} elements", type->block_elements),
                  text("rows of {} in {}", tensor.dims[0], type->name));
  }
  const std::optional<u64> bytes = tensor_bytes(*type, elements_of(tensor));
  if (!bytes) {
    return broken(Reason::gguf_tensor, start, place.of("type"),
                  text("at most {} bytes", max_data_bytes),
                  text("{} elements of {}", elements_of(tensor), type->name));
  }
  return *bytes;
}

// `next` is where the data of this tensor must start, counted from the start of the data; moves on
// to where the next tensor's must. Until place_tensors, Tensor::offset is counted the same way and
// Tensor::bytes has no address.
Result<Tensor> read_tensor(Cursor& cursor, u64 index, u64 alignment, u64& next) {
  Tensor tensor;
  Place place = {.part = "name", .kind = "tensor", .index = index};
  SOMA_ASSIGN(tensor.name, read_name(cursor, place, max_name_bytes));
  place.name = tensor.name;
  SOMA_TRY(read_dims(cursor, place, tensor));
  SOMA_ASSIGN(const u64 bytes, read_tensor_type(cursor, place, tensor));
  const u64 offset_at = cursor.at();
  SOMA_ASSIGN(tensor.offset, cursor.number<u64>(place.of("data offset")));
  if (tensor.offset != next) {
    return broken(Reason::gguf_tensor, offset_at, place.of("data offset"),
                  text("{}, where the tensor before it ends", next), text("{}", tensor.offset));
  }
  // Both at most 2^62, so the sum fits; the padding can't carry it over either.
  next = padded(next + bytes, alignment);
  if (next > max_data_bytes) {
    return broken(Reason::gguf_tensor, offset_at, place.of("data"),
                  text("at most {} bytes of data in all", max_data_bytes),
                  text("{}", next));
  }
  return tensor;
}

// Turns offsets within the data into offsets within the file, and binds the bytes.
Status place_tensors(std::span<const u8> bytes, u64 data_start, std::vector<Tensor>& tensors) {
  for (size_t i = 0; i < tensors.size(); ++i) {
    Tensor& tensor = tensors[i];
    const Place place = {.part = "data", .kind = "tensor", .index = i, .name = tensor.name};
    const u64 size = *tensor_bytes(*tensor_type(tensor.file_type), elements_of(tensor));
    tensor.offset += data_start;
    if (tensor.offset > bytes.size() || size > bytes.size() - tensor.offset) {
      return broken(Reason::gguf_truncated, tensor.offset, place, text("{} bytes", size),
                    text("a file of {} bytes", bytes.size()),
                    "the file is cut off or damaged: get it again from where it came");
    }
    tensor.bytes = bytes.subspan(tensor.offset, size);
  }
  return {};
}

// ---- Order

// Indices of records sorted by name. gguf_duplicate, with the offset of the later one's name.
template <typename Record, typename NameOf>
Result<std::vector<u32>> order_by_name(std::span<const u8> bytes, std::string_view kind,
                                       const std::vector<Record>& records, NameOf name_of) {
  std::vector<u32> order(records.size());
  for (u32 i = 0; i < order.size(); ++i) order[i] = i;
  std::sort(order.begin(), order.end(), [&](u32 a, u32 b) {
    const int difference = name_of(records[a]).compare(name_of(records[b]));
    return difference < 0 || (difference == 0 && a < b);
  });
  for (size_t i = 1; i < order.size(); ++i) {
    const std::string_view name = name_of(records[order[i]]);
    if (name != name_of(records[order[i - 1]])) continue;
    const auto offset = reinterpret_cast<const u8*>(name.data()) - bytes.data();
    const Place place = {.part = "name", .kind = kind, .index = order[i], .name = name};
    return broken(Reason::gguf_duplicate, static_cast<u64>(offset), place,
                  text("a name that {} {} does not have", kind, order[i - 1]),
                  text("the same in {} {}", kind, order[i]));
  }
  return order;
}

template <typename Record, typename NameOf>
const Record* find_by_name(const std::vector<Record>& records, const std::vector<u32>& order,
                           std::string_view name, NameOf name_of) {
  const auto found =
      std::lower_bound(order.begin(), order.end(), name, [&](u32 index, std::string_view wanted) {
        return name_of(records[index]) < wanted;
      });
  if (found == order.end() || name_of(records[*found]) != name) return nullptr;
  return &records[*found];
}

std::string_view key_of(const Entry& entry) { return entry.key; }
std::string_view name_of(const Tensor& tensor) { return tensor.name; }

}  // namespace

std::string_view type_name(Type type) { return type_info(type).name; }

bool is_integer(Type type) {
  switch (type) {
    case Type::U8: case Type::I8: case Type::U16: case Type::I16: case Type::U32: case Type::I32:
    case Type::U64: case Type::I64: return true;
    case Type::F32: case Type::F64: case Type::Bool: case Type::Text: case Type::Array: break;
  }
  return false;
}

Result<File> File::parse(std::span<const u8> bytes) {
  Cursor cursor(bytes);
  SOMA_ASSIGN(const Header header, read_header(cursor, bytes));
  File file;
  file.version_ = header.version;
  for (u64 i = 0; i < header.entries; ++i) {
    SOMA_ASSIGN(Entry entry, read_entry(cursor, i));
    file.entries_.push_back(entry);
  }
  SOMA_ASSIGN(file.entry_order_, order_by_name(bytes, "key", file.entries_, key_of));

  const Entry* alignment =
      find_by_name(file.entries_, file.entry_order_, "general.alignment", key_of);
  if (alignment != nullptr) {
    SOMA_ASSIGN(file.alignment_, alignment_of(*alignment));
  }

  u64 data_bytes = 0;
  for (u64 i = 0; i < header.tensors; ++i) {
    SOMA_ASSIGN(Tensor tensor, read_tensor(cursor, i, file.alignment_, data_bytes));
    file.tensors_.push_back(tensor);
  }
  SOMA_ASSIGN(file.tensor_order_, order_by_name(bytes, "tensor", file.tensors_, name_of));
  SOMA_TRY(place_tensors(bytes, padded(cursor.at(), file.alignment_), file.tensors_));
  return file;
}

const Value* File::find(std::string_view key) const {
  const Entry* entry = find_by_name(entries_, entry_order_, key, key_of);
  return entry != nullptr ? &entry->value : nullptr;
}

const Tensor* File::find_tensor(std::string_view name) const {
  return find_by_name(tensors_, tensor_order_, name, name_of);
}

}  // namespace soma::gguf
