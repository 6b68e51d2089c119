// Proves that good GGUF files are read as written, and that each way to be bad is refused with its
// own reason at the right byte; no prefix and no flipped bit of a good file does harm.
#include "model/gguf/gguf.hpp"

#include <doctest/doctest.h>

#include "gguf_walk.hpp"
#include "gguf_writer.hpp"

using namespace soma;
using namespace soma::test;

namespace {

constexpr u32 f32_type = 0;
constexpr u32 q4_1_type = 3;
constexpr u32 q8_0_type = 8;
constexpr u32 iq4_nl_type = 20;

// One key of every type, arrays of several, tensors of several.
GgufWriter sample(u32 version = 3) {
  GgufWriter writer(version);
  writer.set("general.architecture", "llama").set("u8", u8{200}).set("i8", i8{-3});
  writer.set("u16", u16{60000}).set("i16", std::int16_t{-300}).set("u32", u32{4000000000});
  writer.set("i32", i32{-70000}).set("u64", u64{1} << 63).set("i64", i64{-5});
  writer.set("f32", 0.25F).set("f64", -1.5).set("yes", true).set("no", false);
  writer.set("empty", "").set("words", std::vector<std::string>{"a", "", "Ġüß", "🙂"});
  writer.set("ids", std::vector<i32>{1, -1, 7}).set("flags", std::vector<u8>{});
  writer.set_raw("bools", gguf::Type::Array,
                 ByteStream().put(gguf::Type::Bool).put(u64{2}).put(u16{0x0100}).bytes);
  writer.tensor("norm", f32_type, {5}).tensor("matrix", q4_1_type, {64, 3});
  writer.tensor("cube", q8_0_type, {32, 2, 2, 2}).tensor("odd", iq4_nl_type, {32, 1});
  return writer;
}

// Parses a copy of exactly the right size, so that the address sanitizer sees every step outside.
Result<gguf::File> parse_copy(const std::vector<u8>& file, std::string* walked = nullptr) {
  const auto copy = std::make_unique<u8[]>(file.size());
  std::copy(file.begin(), file.end(), copy.get());
  Result<gguf::File> parsed = gguf::File::parse({copy.get(), file.size()});
  if (parsed.ok() && walked != nullptr) *walked = walk(*parsed, {copy.get(), file.size()});
  return parsed;
}

std::string detail(const Error& error, std::string_view key) {
  for (const Detail& one : error.details()) {
    if (one.key == key) return one.value;
  }
  return "(no " + std::string(key) + ")";
}

void refuses(const std::vector<u8>& file, Reason reason, size_t offset) {
  const Result<gguf::File> parsed = parse_copy(file);
  REQUIRE_FALSE(parsed.ok());
  const Error& error = parsed.error();
  INFO(error.message());
  CHECK(error.id() == reason_info(reason).id);
  CHECK(detail(error, "offset") == std::to_string(offset));
  CHECK(error.message().starts_with("byte " + std::to_string(offset) + ": "));
  CHECK_FALSE(detail(error, "expected").empty());
  CHECK_FALSE(detail(error, "got").empty());
  CHECK(error.others().empty());
}

bool message_has(const std::vector<u8>& file, std::string_view words) {
  const Result<gguf::File> parsed = parse_copy(file);
  return !parsed.ok() && parsed.error().message().find(words) != std::string::npos;
}

}  // namespace

TEST_CASE("a file is read as written, in both versions") {
  for (const u32 version : {2U, 3U}) {
    GgufWriter writer = sample(version);
    const std::vector<u8> bytes = writer.finish();
    const Result<gguf::File> parsed = gguf::File::parse(bytes);
    REQUIRE(parsed.ok());
    const gguf::File& file = *parsed;
    CHECK(file.version() == version);
    CHECK(file.alignment() == 32);
    CHECK(file.entries().size() == 18);
    CHECK(file.find("general.architecture")->text == "llama");
    CHECK(file.find("u8")->integer == 200);
    CHECK(static_cast<i64>(file.find("i8")->integer) == -3);
    CHECK(file.find("u16")->integer == 60000);
    CHECK(static_cast<i64>(file.find("i16")->integer) == -300);
    CHECK(file.find("u32")->integer == 4000000000);
    CHECK(static_cast<i64>(file.find("i32")->integer) == -70000);
    CHECK(file.find("u64")->integer == u64{1} << 63);
    CHECK(static_cast<i64>(file.find("i64")->integer) == -5);
    CHECK(file.find("f32")->number == 0.25);
    CHECK(file.find("f64")->number == -1.5);
    CHECK(file.find("yes")->integer == 1);
    CHECK(file.find("no")->integer == 0);
    CHECK(file.find("no")->type == gguf::Type::Bool);
    CHECK(file.find("empty")->text.empty());
    CHECK(file.find("flags")->count == 0);
    CHECK(file.find("absent") == nullptr);
    std::vector<std::string> words;
    gguf::for_each_text(*file.find("words"),
                        [&](u64, std::string_view word) { words.emplace_back(word); });
    CHECK(words == std::vector<std::string>{"a", "", "Ġüß", "🙂"});
    const gguf::Value& ids = *file.find("ids");
    CHECK(ids.element == gguf::Type::I32);
    CHECK(ids.count == 3);
    CHECK(ids.packed.size() == 12);
    CHECK(file.entries()[1].offset == writer.entry_at("u8"));
    CHECK(walk(file, bytes) == "");
  }
}

TEST_CASE("tensors lie where the file says") {
  GgufWriter writer = sample();
  std::vector<u8> matrix(6 * 20);
  for (size_t i = 0; i < matrix.size(); ++i) matrix[i] = static_cast<u8>(i);
  writer.tensor("filled", q4_1_type, {96, 2}, matrix);
  const std::vector<u8> bytes = writer.finish();
  const Result<gguf::File> parsed = gguf::File::parse(bytes);
  REQUIRE(parsed.ok());
  const gguf::Tensor* filled = parsed->find_tensor("filled");
  REQUIRE(filled != nullptr);
  CHECK(filled->format == Format::Q4_1);
  CHECK(filled->rank == 2);
  CHECK(filled->dims[0] == 96);
  CHECK(filled->dims[1] == 2);
  CHECK(filled->dims[3] == 1);
  CHECK(std::vector<u8>(filled->bytes.begin(), filled->bytes.end()) == matrix);
  CHECK(parsed->find_tensor("norm")->offset == writer.data_at());
  CHECK(parsed->find_tensor("matrix")->offset == writer.data_at() + 32);
  CHECK(parsed->find_tensor("odd")->format == Format::Other);
  CHECK(parsed->find_tensor("odd")->bytes.size() == 18);
  CHECK(gguf::tensor_type_name(parsed->find_tensor("odd")->file_type) == "iq4_nl");
  CHECK(parsed->find_tensor("cube")->bytes.size() == 8 * 34);
  CHECK(parsed->find_tensor("absent") == nullptr);
}

TEST_CASE("alignment is the file's") {
  for (const u32 alignment : {8U, 64U, 65536U}) {
    GgufWriter writer = sample();
    const std::vector<u8> bytes = writer.alignment(alignment).finish();
    const Result<gguf::File> parsed = gguf::File::parse(bytes);
    REQUIRE(parsed.ok());
    CHECK(parsed->alignment() == alignment);
    CHECK(parsed->find_tensor("matrix")->offset % alignment == 0);
    CHECK(walk(*parsed, bytes) == "");
  }
}

TEST_CASE("a file without tensors or keys is whole") {
  CHECK(parse_copy(GgufWriter().finish()).ok());
  CHECK(parse_copy(GgufWriter().set("a", u8{1}).finish()).ok());
  const std::vector<u8> unpadded = ByteStream().raw("GGUF\3\0\0\0", 8).put(u64{}).put(u64{}).bytes;
  CHECK(parse_copy(unpadded).ok());
}

TEST_CASE("the padding after the last tensor may be missing, its data not") {
  GgufWriter writer;
  std::vector<u8> bytes = writer.tensor("t", f32_type, {5}).finish();
  bytes.resize(writer.data_at() + 20);
  CHECK(parse_copy(bytes).ok());
  bytes.pop_back();
  refuses(bytes, Reason::gguf_truncated, writer.data_at());
}

TEST_CASE("every tensor type has a name, a size or a refusal") {
  u32 sized = 0;
  for (u32 number = 0; number < gguf::tensor_type_count(); ++number) {
    const std::string_view name = gguf::tensor_type_name(number);
    CHECK_FALSE(name.empty());
    GgufWriter writer;
    const std::vector<u8> bytes = writer.tensor("t", number, {256, 2}).finish();
    const Result<gguf::File> parsed = parse_copy(bytes);
    if (parsed.ok()) {
      ++sized;
      continue;
    }
    refuses(bytes, Reason::gguf_type, writer.dim_at("t", 2));
    CHECK(message_has(bytes, name));
  }
  CHECK(sized == 34);
  CHECK(gguf::tensor_type_name(gguf::tensor_type_count()).empty());
}

TEST_CASE("bad headers") {
  std::vector<u8> bytes = sample().finish();
  SUBCASE("empty") { refuses({}, Reason::gguf_truncated, 0); }
  SUBCASE("magic") {
    bytes[3] = 'X';
    refuses(bytes, Reason::gguf_magic, 0);
  }
  SUBCASE("what people give instead") {
    const std::pair<std::string, std::string> cases[] = {
        {"FUGG", "big-endian"},
        {"lmgg....", "before GGUF"},
        {"tjgg", "before GGUF"},
        {"fmgg", "before GGUF"},
        {"PK\3\4zip", "zip archive"},
        {"<!DOCTYPE html>", "web page"},
        {"<html>", "web page"},
        {"version https://git-lfs.github.com/spec/v1", "Git LFS"},
        {"hello", "'hell'"},
        {"\x1b[2J", "\\x1b"},
    };
    for (const auto& [start, words] : cases) {
      const std::vector<u8> file(start.begin(), start.end());
      refuses(file, Reason::gguf_magic, 0);
      CHECK(message_has(file, words));
    }
  }
  SUBCASE("versions") {
    const std::pair<u32, std::string> cases[] = {
        {0, "0"}, {1, "32 bits"}, {4, "4"}, {0x03000000, "version 3 in big-endian"},
        {0x02000000, "version 2 in big-endian"}, {0xFFFFFFFF, "4294967295"}};
    for (const auto& [version, words] : cases) {
      patch(bytes, 4, version);
      refuses(bytes, Reason::gguf_version, 4);
      CHECK(message_has(bytes, words));
    }
  }
  SUBCASE("more tensors than the limit") {
    patch(bytes, 8, gguf::max_tensors + 1);
    refuses(bytes, Reason::gguf_limit, 8);
    patch(bytes, 8, ~u64{});
    refuses(bytes, Reason::gguf_limit, 8);
  }
  SUBCASE("more keys than the limit") {
    patch(bytes, 16, gguf::max_entries + 1);
    refuses(bytes, Reason::gguf_limit, 16);
  }
  SUBCASE("more keys than there are") {
    GgufWriter writer;
    bytes = writer.set("a", u8{1}).finish();
    bytes.resize(writer.value_at("a") + 1);
    patch(bytes, 16, gguf::max_entries);
    refuses(bytes, Reason::gguf_truncated, bytes.size());
  }
}

TEST_CASE("bad keys") {
  GgufWriter writer = sample();
  std::vector<u8> bytes = writer.finish();
  const size_t at = writer.entry_at("i64");
  SUBCASE("empty") { refuses(GgufWriter().set("", u8{1}).finish(), Reason::gguf_text, 24); }
  SUBCASE("longer than the limit") {
    refuses(GgufWriter().set(std::string(65536, 'k'), u8{1}).finish(), Reason::gguf_limit, 24);
    CHECK(parse_copy(GgufWriter().set(std::string(65535, 'k'), u8{1}).finish()).ok());
    patch(bytes, at, ~u64{});
    refuses(bytes, Reason::gguf_limit, at);
  }
  SUBCASE("longer than the file") {
    patch(bytes, at, u64{60000});
    refuses(bytes, Reason::gguf_truncated, at + 8);
  }
  SUBCASE("not UTF-8") {
    bytes[at + 9] = 0xFF;
    refuses(bytes, Reason::gguf_text, at + 9);
    CHECK(message_has(bytes, "0xff"));
  }
  SUBCASE("twice") {
    writer.append_raw("u8", gguf::Type::U8, {7});
    bytes = writer.finish();
    refuses(bytes, Reason::gguf_duplicate, writer.entry_at("u8") + 8);
    CHECK(message_has(bytes, "'u8'"));
  }
  SUBCASE("a hostile name is shown safely") {
    bytes = GgufWriter().set_raw("\x1b]0;x\x07", gguf::Type{99}, {}).finish();
    refuses(bytes, Reason::gguf_type, 24 + 8 + 6);
    CHECK(message_has(bytes, "'\\x1b]0;x\\x07'"));
  }
}

TEST_CASE("bad values") {
  GgufWriter writer = sample();
  std::vector<u8> bytes = writer.finish();
  SUBCASE("type") {
    patch(bytes, writer.type_at("u16"), u32{13});
    refuses(bytes, Reason::gguf_type, writer.type_at("u16"));
  }
  SUBCASE("bool") {
    bytes[writer.value_at("yes")] = 2;
    refuses(bytes, Reason::gguf_value, writer.value_at("yes"));
  }
  SUBCASE("text longer than the limit") {
    const size_t at = writer.value_at("general.architecture");
    patch(bytes, at, gguf::max_text_bytes + 1);
    refuses(bytes, Reason::gguf_limit, at);
  }
  SUBCASE("text longer than the file") {
    const size_t at = writer.value_at("general.architecture");
    patch(bytes, at, gguf::max_text_bytes);
    refuses(bytes, Reason::gguf_truncated, at + 8);
  }
  SUBCASE("text not UTF-8") {
    const size_t at = writer.value_at("general.architecture");
    bytes[at + 12] = 0xC0;
    refuses(bytes, Reason::gguf_text, at + 12);
  }
}

TEST_CASE("bad arrays") {
  GgufWriter writer = sample();
  std::vector<u8> bytes = writer.finish();
  const size_t words = writer.value_at("words");
  SUBCASE("element type") {
    patch(bytes, words, u32{13});
    refuses(bytes, Reason::gguf_type, words);
  }
  SUBCASE("arrays of arrays") {
    patch(bytes, words, gguf::Type::Array);
    refuses(bytes, Reason::gguf_type, words);
    CHECK(message_has(bytes, "arrays of arrays"));
  }
  SUBCASE("count beyond the limit") {
    patch(bytes, words + 4, u64{1} << 62);
    refuses(bytes, Reason::gguf_limit, words + 4);
  }
  SUBCASE("numbers beyond the file") {
    const size_t ids = writer.value_at("ids");
    patch(bytes, ids + 4, gguf::max_array_elements);
    refuses(bytes, Reason::gguf_truncated, ids + 12);
  }
  SUBCASE("a text longer than the limit") {
    patch(bytes, words + 12, ~u64{});
    refuses(bytes, Reason::gguf_limit, words + 12);
  }
  SUBCASE("texts beyond the file") {
    GgufWriter small;
    bytes = small.set("w", std::vector<std::string>{"one"}).finish();
    bytes.resize(small.value_at("w") + 12 + 11);
    patch(bytes, small.value_at("w") + 4, gguf::max_array_elements);
    refuses(bytes, Reason::gguf_truncated, bytes.size());
  }
  SUBCASE("a text that is not UTF-8") {
    const size_t third = words + 12 + (8 + 1) + 8 + 8;
    bytes[third] = 0x80;
    refuses(bytes, Reason::gguf_text, third);
  }
  SUBCASE("a bool") {
    const size_t at = writer.value_at("bools") + 13;
    bytes[at] = 9;
    refuses(bytes, Reason::gguf_value, at);
  }
}

TEST_CASE("bad alignments") {
  GgufWriter writer = sample();
  for (const u32 alignment : {0U, 1U, 4U, 24U, 33U, 131072U, 1U << 30U, 0xFFFFFFFFU}) {
    const std::vector<u8> bytes = writer.set("general.alignment", alignment).finish();
    refuses(bytes, Reason::gguf_alignment, writer.entry_at("general.alignment"));
  }
  const std::vector<u8> bytes = writer.set("general.alignment", u64{32}).finish();
  refuses(bytes, Reason::gguf_alignment, writer.entry_at("general.alignment"));
  CHECK(message_has(bytes, "expected a u32, got u64"));
}

TEST_CASE("bad tensor records") {
  GgufWriter writer = sample();
  std::vector<u8> bytes = writer.finish();
  SUBCASE("empty name") {
    GgufWriter small;
    bytes = small.tensor("", f32_type, {1}).finish();
    refuses(bytes, Reason::gguf_text, 24);
  }
  SUBCASE("name too long") {
    refuses(GgufWriter().tensor(std::string(65, 'n'), f32_type, {1}).finish(), Reason::gguf_limit,
            24);
    CHECK(parse_copy(GgufWriter().tensor(std::string(64, 'n'), f32_type, {1}).finish()).ok());
  }
  SUBCASE("same name twice") {
    writer.tensor("norm", f32_type, {1});
    bytes = writer.finish();
    refuses(bytes, Reason::gguf_duplicate, writer.tensor_at("norm") + 8);
  }
  SUBCASE("rank") {
    for (const u32 rank : {0U, 5U, 9U, 0xFFFFFFFFU}) {
      patch(bytes, writer.rank_at("matrix"), rank);
      refuses(bytes, Reason::gguf_tensor, writer.rank_at("matrix"));
    }
  }
  SUBCASE("a dimension of zero") {
    patch(bytes, writer.dim_at("matrix", 1), u64{0});
    refuses(bytes, Reason::gguf_tensor, writer.dim_at("matrix", 1));
  }
  SUBCASE("a product that wraps around") {
    patch(bytes, writer.dim_at("matrix", 1), (u64{1} << 58) + 1);
    refuses(bytes, Reason::gguf_tensor, writer.dim_at("matrix", 1));
    patch(bytes, writer.dim_at("matrix", 1), ~u64{});
    refuses(bytes, Reason::gguf_tensor, writer.dim_at("matrix", 1));
  }
  SUBCASE("bytes that wrap around") {
    patch(bytes, writer.dim_at("norm", 0), u64{1} << 62);
    refuses(bytes, Reason::gguf_tensor, writer.dim_at("norm", 1));
  }
  SUBCASE("a type nobody knows") {
    patch(bytes, writer.dim_at("norm", 1), u32{99});
    refuses(bytes, Reason::gguf_type, writer.dim_at("norm", 1));
    patch(bytes, writer.dim_at("norm", 1), ~u32{});
    refuses(bytes, Reason::gguf_type, writer.dim_at("norm", 1));
  }
  SUBCASE("rows that end within a block") {
    patch(bytes, writer.dim_at("matrix", 0), u64{65});
    refuses(bytes, Reason::gguf_tensor, writer.dim_at("matrix", 2));
  }
  SUBCASE("an offset that overlaps, leaves a hole, or is huge") {
    const size_t at = writer.dim_at("matrix", 2) + 4;
    for (const u64 offset : {u64{0}, u64{31}, u64{33}, u64{64}, ~u64{}}) {
      patch(bytes, at, offset);
      refuses(bytes, Reason::gguf_tensor, at);
    }
  }
  SUBCASE("data beyond the end") {
    patch(bytes, writer.dim_at("odd", 1), u64{1} << 40);
    const Result<gguf::File> parsed = parse_copy(bytes);
    REQUIRE_FALSE(parsed.ok());
    CHECK(parsed.error().reason() == Reason::gguf_truncated);
    CHECK(message_has(bytes, "data of tensor 'odd'"));
  }
}

TEST_CASE("sizes that only together are too large") {
  GgufWriter writer;
  const u64 most = u64{1} << 60;
  writer.tensor("a", 24, {most}, {}).tensor("b", 24, {most}, {}).tensor("c", 24, {most}, {});
  writer.tensor("d", 24, {most}, {}).tensor("e", 24, {most}, {});
  std::vector<u8> bytes = writer.finish();
  const std::string names[] = {"a", "b", "c", "d", "e"};
  for (u64 i = 0; i < 5; ++i) patch(bytes, writer.dim_at(names[i], 1) + 4, i * most);
  refuses(bytes, Reason::gguf_tensor, writer.dim_at("e", 1) + 4);
}

TEST_CASE("every prefix of a file is refused") {
  const std::vector<u8> bytes = sample().finish();
  // All but the last tensor's padding is needed.
  for (size_t size = 0; size < bytes.size() - 14; ++size) {
    const std::vector<u8> prefix(bytes.begin(), bytes.begin() + static_cast<ptrdiff_t>(size));
    const Result<gguf::File> parsed = parse_copy(prefix);
    REQUIRE_FALSE(parsed.ok());
    CHECK(parsed.error().reason() == Reason::gguf_truncated);
  }
}

TEST_CASE("no flipped bit and no changed byte does harm") {
  const std::vector<u8> bytes = sample().finish();
  u64 accepted = 0;
  u64 refused = 0;
  for (size_t at = 0; at < bytes.size(); ++at) {
    for (const u8 mask : std::initializer_list<u8>{1, 2, 4, 8, 16, 32, 64, 128, 255}) {
      std::vector<u8> changed = bytes;
      changed[at] = static_cast<u8>(changed[at] ^ mask);
      std::string walked;
      if (parse_copy(changed, &walked).ok()) {
        ++accepted;
        CHECK(walked == "");
      } else {
        ++refused;
      }
    }
  }
  CHECK(accepted > 1000);  // names, values and data change freely
  CHECK(refused > 1000);
}
