// Writes and reads the binary form of plans, whose layout is in binary.md.
//
// Bytes from outside are believed step by step. That they are whole is checked before anything in
// them is used: the size of the frame is what is there, and the checksum covers all bytes before
// it. What a checksum can't tell is that its maker meant well: so the document's size has a limit,
// and decompressing takes memory only for what really comes out.
#include "plan/binary.hpp"

#include "base/compress.hpp"
#include "base/hash.hpp"
#include "base/json.hpp"
#include "base/text.hpp"

namespace soma {

namespace {

// The first byte is no UTF-8; line ends and a control character show transfers that change bytes.
constexpr std::string_view magic = "\x89plan\r\n\x1a";
constexpr u32 version = 1;
constexpr size_t version_at = magic.size();
constexpr size_t document_bytes_at = version_at + 4, frame_bytes_at = document_bytes_at + 8;
constexpr size_t head_bytes = frame_bytes_at + 8;
constexpr size_t checksum_bytes = 32;
constexpr size_t document_bytes_max = JsonLimits().bytes_max;

void put(std::string& out, u64 number, size_t bytes) {
  for (size_t i = 0; i < bytes; ++i) out += static_cast<char>(number >> 8 * i & 0xFF);
}

u64 number_at(std::string_view bytes, size_t at, size_t size) {
  u64 number = 0;
  for (size_t i = size; i-- > 0;) number = number << 8 | static_cast<u8>(bytes[at + i]);
  return number;
}

// Its digits are hexadecimal, a file's are bytes.
std::string checksum_of(std::string_view bytes) {
  const std::string digits = content_digest(bytes);
  const auto value = [](char digit) { return digit <= '9' ? digit - '0' : digit - 'a' + 10; };
  std::string out;
  for (size_t i = 0; i < digits.size(); i += 2) {
    out += static_cast<char>(value(digits[i]) << 4 | value(digits[i + 1]));
  }
  return out;
}

Status check_head(std::string_view bytes) {
  if (!is_plan_binary(bytes)) {
    return fail(Reason::document_syntax,
                "this is no plan in binary form: it begins with {}, expected {}",
                quoted(bytes.substr(0, magic.size())), quoted(magic));
  }
  if (bytes.size() < head_bytes + checksum_bytes) {
    return fail(Reason::document_corrupt,
                "the plan is cut off: at least {} bytes are needed, {} are there",
                head_bytes + checksum_bytes, bytes.size());
  }
  const u64 found = number_at(bytes, version_at, 4);
  if (found != version) {
    return fail(Reason::document_version,
                "the plan's binary form is of version {}, and this library reads version {}",
                found, version);
  }
  const u64 frame = number_at(bytes, frame_bytes_at, 8);
  const u64 present = bytes.size() - head_bytes - checksum_bytes;
  if (frame != present) {
    return fail(Reason::document_corrupt,
                "the plan is {}: byte {} says that {} bytes of content follow, and {} do",
                frame > present ? "cut off" : "too long", frame_bytes_at, frame, present);
  }
  return {};
}

}  // namespace

bool is_plan_binary(std::string_view bytes) { return bytes.starts_with(magic); }

std::string plan_binary_around(std::string_view frame, u64 document_bytes) {
  std::string out(magic);
  put(out, version, 4);
  put(out, document_bytes, 8);
  put(out, frame.size(), 8);
  out += frame;
  return out + checksum_of(out);
}

Result<std::string> plan_binary(const Plan& plan) {
  const std::string document = plan.document();
  SOMA_ASSIGN(const std::string frame, compress(document));
  return plan_binary_around(frame, document.size());
}

Result<std::string> plan_binary_document(std::string_view bytes) {
  SOMA_TRY(check_head(bytes));
  const std::string_view content = bytes.substr(0, bytes.size() - checksum_bytes);
  if (checksum_of(content) != bytes.substr(content.size())) {
    return fail(Reason::document_corrupt,
                "the plan's bytes have changed: their checksum is not the one at byte {}",
                content.size());
  }
  const u64 size = number_at(bytes, document_bytes_at, 8);
  if (size > document_bytes_max) {
    return fail(Reason::document_limit,
                "byte {} says that the plan's document has {} bytes, {} are allowed",
                document_bytes_at, size, document_bytes_max);
  }
  Result<std::string> document =
      decompress(content.substr(head_bytes), static_cast<size_t>(size));
  if (!document.ok()) {
    return std::move(document).error().context(text("the content at byte {}", head_bytes));
  }
  return document;
}

Result<Plan> parse_plan(std::string_view bytes, Plan::Reading reading) {
  if (!is_plan_binary(bytes)) return Plan::parse(bytes, reading);
  SOMA_ASSIGN(const std::string document, plan_binary_document(bytes));
  return Plan::parse(document, reading);
}

}  // namespace soma
