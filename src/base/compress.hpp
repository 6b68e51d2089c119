// Bytes made smaller and back, as frames of Zstandard.
#pragma once

#include "base/core.hpp"

namespace soma {

// One frame, with its size in its head and no checksum. Another version of the library may make
// other bytes of the same content. out_of_memory.
Result<std::string> compress(std::string_view content);

// The content of one frame, which fills `frame` and yields exactly `size` bytes. Takes no more
// memory than what comes out of the frame is worth, whatever its head claims. document_corrupt: it
// is no such frame; document_limit: it wants to look back further than window_bytes_max.
inline constexpr size_t window_bytes_max = size_t{1} << 23;
Result<std::string> decompress(std::string_view frame, size_t size);

}  // namespace soma
