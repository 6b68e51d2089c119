// Read-only access to a file's bytes: mapped, or read whole into memory.
#pragma once

#include "base/core.hpp"
#include "base/memory.hpp"

namespace soma {

enum class LoadMode {
  Map,   // pages come from the file as they are touched. If another process truncates the file
         // while it is mapped, touching a lost page raises SIGBUS: the one hazard of mapping.
  Read,  // a private copy, taken at open: immune to later changes, costs the file's size in memory
};

// Owns the bytes; movable; the bytes stay at one address until destruction.
class FileBytes {
 public:
  // file_not_found, file_unreadable, file_io, out_of_memory; the message names the path.
  static Result<FileBytes> open(const std::string& path, LoadMode mode);
  // A private copy of bytes that are in memory already. out_of_memory.
  static Result<FileBytes> copy(std::span<const u8> bytes);
  FileBytes(FileBytes&& other) noexcept;
  FileBytes& operator=(FileBytes&& other) noexcept;
  ~FileBytes();

  std::span<const u8> bytes() const { return {data_, size_}; }
  // Tells the system that this range will not be read again, so its pages can go. No-op for Read.
  void discard(std::span<const u8> range) const;

 private:
  FileBytes() = default;
  void close();
  const u8* data_ = nullptr;
  size_t size_ = 0;
  bool mapped_ = false;
  MappedBytes counted_;
};

// The system's words for an errno value: strerror would look at the locale and the environment.
std::string_view system_text(int code);

}  // namespace soma
