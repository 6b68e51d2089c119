// Calls libzstd, with memory that comes through the library's own operators.
//
// A frame's head says how large its content is and how far back it refers, and both are claims.
// So the content is taken out piece by piece into a text that at most doubles: a frame that claims
// 200 MiB and holds 20 bytes costs a piece. What it may refer to is bounded before it is reserved.
#define ZSTD_STATIC_LINKING_ONLY  // contexts with an allocator are no part of the shared library's
#include "base/compress.hpp"

#include <zstd.h>
#include <zstd_errors.h>

#include <algorithm>
#include <bit>
#include <new>

// libzstd calls these if somebody defines them. A host that does means its own libzstd and not the
// one inside this library, so here is a definition that nobody else sees: nothing is traced.
extern "C" {
unsigned long long ZSTD_trace_compress_begin(const ZSTD_CCtx*) { return 0; }
void ZSTD_trace_compress_end(unsigned long long, const void*) {}
unsigned long long ZSTD_trace_decompress_begin(const ZSTD_DCtx*) { return 0; }
void ZSTD_trace_decompress_end(unsigned long long, const void*) {}
}

namespace soma {

namespace {

constexpr int level = 3;
constexpr size_t piece_bytes = size_t{1} << 16;

void* allocate(void*, size_t size) { return ::operator new(size, std::nothrow); }
void release(void*, void* memory) { ::operator delete(memory); }
constexpr ZSTD_customMem own_memory = {allocate, release, nullptr};

template <auto free_function>
struct Freed {
  template <typename T>
  void operator()(T* object) const { free_function(object); }
};
using Compressor = std::unique_ptr<ZSTD_CCtx, Freed<ZSTD_freeCCtx>>;
using Decompressor = std::unique_ptr<ZSTD_DCtx, Freed<ZSTD_freeDCtx>>;

Error exhausted() { return fail(Reason::out_of_memory, "no memory to compress or decompress"); }

Error refused(size_t code, size_t at) {
  switch (ZSTD_getErrorCode(code)) {
    case ZSTD_error_memory_allocation: return exhausted();
    case ZSTD_error_frameParameter_windowTooLarge:
      return fail(Reason::document_limit,
                  "the compressed content refers to more than {} bytes before a place",
                  window_bytes_max);
    default:
      return fail(Reason::document_corrupt, "the compressed content is broken at byte {}: {}", at,
                  ZSTD_getErrorName(code));
  }
}

}  // namespace

Result<std::string> compress(std::string_view content) {
  const Compressor context(ZSTD_createCCtx_advanced(own_memory));
  if (!context) return exhausted();
  ZSTD_CCtx_setParameter(context.get(), ZSTD_c_compressionLevel, level);
  std::string out(ZSTD_compressBound(content.size()), '\0');
  const size_t size = ZSTD_compress2(context.get(), out.data(), out.size(), content.data(),
                                     content.size());
  if (ZSTD_isError(size) != 0) return refused(size, 0);
  out.resize(size);
  return out;
}

Result<std::string> decompress(std::string_view frame, size_t size) {
  const Decompressor context(ZSTD_createDCtx_advanced(own_memory));
  if (!context) return exhausted();
  ZSTD_DCtx_setParameter(context.get(), ZSTD_d_windowLogMax,
                         std::bit_width(window_bytes_max) - 1);
  ZSTD_inBuffer in = {frame.data(), frame.size(), 0};
  std::string out;
  size_t filled = 0, left = 1;    // left: what libzstd still expects; 0 at the end of the frame
  while (left != 0) {
    // One byte more than there may be: then it shows if there is one.
    if (filled == out.size()) {
      out.resize(std::min(size + 1, std::max(piece_bytes, 2 * out.size())));
    }
    ZSTD_outBuffer piece = {out.data(), out.size(), filled};
    const size_t read_before = in.pos;
    left = ZSTD_decompressStream(context.get(), &piece, &in);
    if (ZSTD_isError(left) != 0) return refused(left, in.pos);
    const bool is_stuck = left != 0 && in.pos == read_before && piece.pos == filled;
    filled = piece.pos;
    if (filled > size) break;
    if (is_stuck) {
      return fail(Reason::document_corrupt, "the compressed content ends at byte {} in the middle",
                  frame.size());
    }
  }
  if (filled != size || left != 0) {
    return fail(Reason::document_corrupt, "the compressed content is {} {} bytes, not of {}",
                filled > size ? "of more than" : "of", std::min(filled, size), size);
  }
  if (in.pos != frame.size()) {
    return fail(Reason::document_corrupt, "{} bytes follow the compressed content, at byte {}",
                frame.size() - in.pos, in.pos);
  }
  out.resize(size);
  return out;
}

}  // namespace soma
