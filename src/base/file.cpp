// Opens a file for reading and hands out its bytes: by a private mapping, or by a copy.
//
// Both kinds live in memory mapped by the system, so they start at a page and go back whole. Only
// regular files are taken: a pipe or a device has no size to check lengths against.
#include "base/file.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <limits>

#include "base/descriptor.hpp"
#include "base/text.hpp"

namespace soma {

namespace {

Error system_failure(Reason reason, std::string_view what, const std::string& path, int code) {
  return fail(reason, "{} {} failed: {} (errno {})", what, quoted(path, 4096), system_text(code),
              code)
      .with("path", path)
      .with("errno", i64{code});
}

Error open_failure(const std::string& path, int code) {
  if (code == ENOENT || code == ENOTDIR) {
    return fail(Reason::file_not_found,
                "there is no file {}; give the path of an existing file", quoted(path, 4096))
        .with("path", path);
  }
  const bool denied = code == EACCES || code == EPERM || code == ELOOP || code == ENAMETOOLONG;
  return system_failure(denied ? Reason::file_unreadable : Reason::file_io, "opening", path, code);
}

std::string_view kind_name(mode_t mode) {
  if (S_ISDIR(mode)) return "a directory";
  if (S_ISFIFO(mode)) return "a pipe";
  if (S_ISSOCK(mode)) return "a socket";
  return "a device";
}

// Size of the open file; an error unless it is a regular file that fits the address space.
Result<size_t> regular_size(int fd, const std::string& path) {
  struct stat info = {};
  if (::fstat(fd, &info) != 0) return system_failure(Reason::file_io, "examining", path, errno);
  if (!S_ISREG(info.st_mode)) {
    return fail(Reason::file_unreadable, "{} is {}, not a regular file; give the path of a file",
                quoted(path, 4096), kind_name(info.st_mode))
        .with("path", path);
  }
  const u64 size = static_cast<u64>(info.st_size);
  if (size > static_cast<u64>(std::numeric_limits<std::ptrdiff_t>::max())) {
    return fail(Reason::out_of_memory, "{} has {} bytes, more than this process can address",
                quoted(path, 4096), size)
        .with("path", path);
  }
  return static_cast<size_t>(size);
}

void* own_pages(size_t size) {
  return ::mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
}

Error no_memory(size_t size, std::string_view what) {
  return fail(Reason::out_of_memory, "no memory for the {} bytes of {}", size, what)
      .with("bytes", static_cast<i64>(size));
}

Status read_all(int fd, u8* target, size_t size, const std::string& path) {
  // One call reads at most 2 GiB less a page.
  constexpr size_t chunk_bytes = size_t{1} << 30;
  for (size_t done = 0; done < size;) {
    const ssize_t got = ::read(fd, target + done, std::min(chunk_bytes, size - done));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return system_failure(Reason::file_io, "reading", path, errno);
    if (got == 0) {
      return fail(Reason::file_io,
                  "{} ended after {} of {} bytes: something shortened it while it was being read; "
                  "try again when it no longer changes",
                  quoted(path, 4096), done, size)
          .with("path", path);
    }
    done += static_cast<size_t>(got);
  }
  return {};
}

}  // namespace

std::string_view system_text(int code) {
  const char* words = ::strerrordesc_np(code);
  return words != nullptr ? words : "unknown error";
}

Result<FileBytes> FileBytes::open(const std::string& path, LoadMode mode) {
  if (path.find('\0') != std::string::npos) {
    return fail(Reason::file_not_found, "the path {} holds a NUL byte, which no path can",
                quoted(path, 4096));
  }
  // Without O_NONBLOCK, opening a pipe would wait for a writer.
  // Neither kind of access needs it after this.
  const Descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK));
  if (file.fd() < 0) return open_failure(path, errno);
  SOMA_ASSIGN(const size_t size, regular_size(file.fd(), path));

  FileBytes out;
  if (size == 0) return out;  // the system maps no empty ranges

  const bool map = mode == LoadMode::Map;
  void* memory =
      map ? ::mmap(nullptr, size, PROT_READ, MAP_PRIVATE, file.fd(), 0) : own_pages(size);
  if (memory == MAP_FAILED) {
    const int code = errno;
    if (code != ENOMEM) return system_failure(Reason::file_io, "mapping", path, code);
    return no_memory(size, quoted(path, 4096)).with("path", path);
  }
  out.data_ = static_cast<const u8*>(memory);
  out.size_ = size;
  out.mapped_ = map;
  out.counted_ = MappedBytes(size);
  if (!map) {
    SOMA_TRY(read_all(file.fd(), static_cast<u8*>(memory), size, path));
    ::mprotect(memory, size, PROT_READ);  // a stray write is caught in both modes; no harm if not
  }
  return out;
}

Result<FileBytes> FileBytes::copy(std::span<const u8> bytes) {
  FileBytes out;
  if (bytes.empty()) return out;
  void* memory = own_pages(bytes.size());
  if (memory == MAP_FAILED) return no_memory(bytes.size(), "a file in memory");
  std::memcpy(memory, bytes.data(), bytes.size());
  ::mprotect(memory, bytes.size(), PROT_READ);
  out.data_ = static_cast<const u8*>(memory);
  out.size_ = bytes.size();
  out.counted_ = MappedBytes(out.size_);
  return out;
}

FileBytes::FileBytes(FileBytes&& other) noexcept
    : data_(std::exchange(other.data_, nullptr)),
      size_(std::exchange(other.size_, 0)),
      mapped_(other.mapped_),
      counted_(std::move(other.counted_)) {}

FileBytes& FileBytes::operator=(FileBytes&& other) noexcept {
  if (this != &other) {
    close();
    data_ = std::exchange(other.data_, nullptr);
    size_ = std::exchange(other.size_, 0);
    mapped_ = other.mapped_;
    counted_ = std::move(other.counted_);
  }
  return *this;
}

FileBytes::~FileBytes() { close(); }

void FileBytes::close() {
  if (data_ != nullptr) ::munmap(const_cast<u8*>(data_), size_);
  data_ = nullptr;
  size_ = 0;
  counted_ = MappedBytes();
}

void FileBytes::discard(std::span<const u8> range) const {
  if (!mapped_ || range.empty()) return;
  const auto page = static_cast<size_t>(::sysconf(_SC_PAGESIZE));
  // Whole pages, outwards: a neighbour that lies in the same page costs one fault if it is read
  // again, since its bytes come back from the file. The mapping itself begins at a page.
  const auto offset = static_cast<size_t>(range.data() - data_);
  if (offset > size_ || range.size() > size_ - offset) return;
  const size_t begin = offset / page * page;
  ::madvise(const_cast<u8*>(data_) + begin, offset + range.size() - begin, MADV_DONTNEED);
}

}  // namespace soma
