// Files of a cache, for several processes at once.
//
// An entry is written under a name of its own in new/, flushed, and renamed: under its key there is
// always a whole file or none, whoever is killed when, and who has it open reads it to its end
// whatever becomes of the name. After a loss of power a renamed file may be there without all of
// its bytes; its digests tell. Nobody takes a lock: two who write the same entry write the same,
// and who removes one that another is about to read causes a miss.
#include "cache/folder.hpp"

#include <dirent.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "base/descriptor.hpp"
#include "base/file.hpp"
#include "base/text.hpp"

namespace soma {

namespace {

constexpr std::string_view mark_name = "soma-cache", mark = "soma cache 1\n";
constexpr i64 second_ns = 1'000'000'000;
constexpr i64 use_noted_after_ns = 60 * second_ns;    // each use would be a write
constexpr i64 left_over_after_ns = 3600 * second_ns;  // writing takes much less
constexpr size_t files_max = 20'000'000;

Error store_failure(std::string_view what, const std::string& path, int code) {
  return fail(Reason::cache_store, "{} {} failed: {} (errno {})", what, quoted(path, 4096),
              system_text(code), code)
      .with("path", path)
      .with("errno", i64{code});
}

class OpenFolder {
 public:
  explicit OpenFolder(const std::string& path) : handle_(::opendir(path.c_str())) {}
  OpenFolder(const OpenFolder&) = delete;
  OpenFolder& operator=(const OpenFolder&) = delete;
  ~OpenFolder() {
    if (handle_) ::closedir(handle_);
  }
  DIR* get() const { return handle_; }

 private:
  DIR* handle_;
};

// use(name) for each name of a folder but the two that are no entries; false ends it. 0, or errno.
template <typename Use>
int each_name(const std::string& path, Use use) {
  const OpenFolder folder(path);
  if (!folder.get()) return errno;
  errno = 0;
  while (const dirent* entry = ::readdir(folder.get())) {
    const std::string_view name = entry->d_name;
    if (name != "." && name != ".." && !use(name)) return 0;
    errno = 0;
  }
  return errno;
}

bool is_folder(const std::string& path) {
  struct stat info = {};
  return ::stat(path.c_str(), &info) == 0 && S_ISDIR(info.st_mode);
}

Status make_folder(const std::string& path) {
  if (is_folder(path) || ::mkdir(path.c_str(), 0700) == 0) return {};
  const int code = errno;
  return is_folder(path) ? Status() : store_failure("making the folder", path, code);
}

Status make_folders(const std::string& path) {
  if (is_folder(path)) return {};
  for (size_t slash = path.find('/', 1); slash != std::string::npos;
       slash = path.find('/', slash + 1)) {
    SOMA_TRY(make_folder(path.substr(0, slash)));
  }
  return make_folder(path);
}

i64 time_ns(const timespec& time) { return time.tv_sec * second_ns + time.tv_nsec; }

i64 wall_ns() {
  timespec now = {};
  ::clock_gettime(CLOCK_REALTIME, &now);
  return time_ns(now);
}

// At most `bytes_max` of a regular file; the errno of what went wrong, ENOENT if there is none.
int read_file(const std::string& path, size_t bytes_max, bool marks_use, std::string& out) {
  // Without O_NONBLOCK, opening a pipe would wait for a writer.
  const Descriptor file(::open(
      path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NOCTTY | O_NONBLOCK));
  if (file.fd() < 0) return errno;
  struct stat info = {};
  if (::fstat(file.fd(), &info) != 0) return errno;
  if (!S_ISREG(info.st_mode)) return EINVAL;
  const u64 size = std::min<u64>(static_cast<u64>(info.st_size), bytes_max);
  out.resize(static_cast<size_t>(size));
  size_t done = 0;
  while (done < out.size()) {
    const ssize_t got = ::read(file.fd(), out.data() + done, out.size() - done);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return errno;
    if (got == 0) break;
    done += static_cast<size_t>(got);
  }
  out.resize(done);
  if (marks_use && wall_ns() - time_ns(info.st_mtim) > use_noted_after_ns) {
    const timespec times[2] = {{.tv_sec = 0, .tv_nsec = UTIME_OMIT},
                               {.tv_sec = 0, .tv_nsec = UTIME_NOW}};
    ::futimens(file.fd(), times);  // in a folder that can't be written, nothing is removed either
  }
  return 0;
}

Status write_all(int file, std::string_view bytes, const std::string& path) {
  while (!bytes.empty()) {
    const ssize_t put = ::write(file, bytes.data(), bytes.size());
    if (put < 0 && errno == EINTR) continue;
    if (put < 0) return store_failure("writing", path, errno);
    bytes.remove_prefix(static_cast<size_t>(put));
  }
  return ::fdatasync(file) == 0 ? Status() : store_failure("flushing", path, errno);
}

// A new file for `bytes`, durable; then it gets its name.
Status write_file(const std::string& begun, const std::string& path, std::string_view bytes) {
  std::string name = begun + "XXXXXX";
  const Descriptor file(::mkostemp(name.data(), O_CLOEXEC));
  if (file.fd() < 0) return store_failure("making", name, errno);
  Status written = write_all(file.fd(), bytes, name);
  if (written.ok() && ::rename(name.c_str(), path.c_str()) != 0) {
    written = store_failure("naming", path, errno);
  }
  if (!written.ok()) ::unlink(name.c_str());
  return written;
}

Error no_cache(const std::string& path) {
  return fail(Reason::cache_version,
              "the folder {} is not empty and is no cache: give one that is, or a new one",
              quoted(path, 4096))
      .with("path", path);
}

// 0, or errno: ENOENT if the folder has no mark. Fails if it has another.
Result<int> read_mark(const std::string& path, const std::string& mark_file) {
  std::string found;
  const int code = read_file(mark_file, 256, false, found);
  if (code != 0 && code != ENOENT) return store_failure("reading", mark_file, code);
  if (code != 0 || found == mark) return code;
  return fail(Reason::cache_version,
              "the folder {} is a cache of another version: its mark says {}, and this library "
              "reads {}",
              quoted(path, 4096), quoted(found), quoted(mark))
      .with("path", path);
}

// What a crash leaves before the folder is marked are files whose names begin like the mark's.
// Whoever marks it at the same time writes the same.
Status mark_folder(const std::string& path) {
  const std::string mark_file = text("{}/{}", path, mark_name);
  SOMA_ASSIGN(const int before, read_mark(path, mark_file));
  if (before == 0) return {};
  bool is_empty = true;
  const int listed = each_name(path, [&is_empty](std::string_view name) {
    is_empty = name.starts_with(mark_name);
    return is_empty;
  });
  if (listed != 0) return store_failure("reading the folder", path, listed);
  if (is_empty) return write_file(mark_file + ".", mark_file, mark);
  SOMA_ASSIGN(const int after, read_mark(path, mark_file));
  return after == 0 ? Status() : no_cache(path);
}

}  // namespace

Result<CacheFolder> CacheFolder::open(const std::string& path) {
  if (path.empty() || path.find('\0') != std::string::npos) {
    return fail(Reason::cache_store, "{} is no path of a folder", quoted(path, 4096));
  }
  SOMA_TRY(make_folders(path));
  SOMA_TRY(mark_folder(path));
  return CacheFolder(path);
}

std::string CacheFolder::file(const CacheKey& key) const {
  const std::string name = key.hex();
  return text("{}/{}/{}", path_, name.substr(0, 2), name);
}

std::optional<std::string> CacheFolder::read(const CacheKey& key, size_t bytes_max, bool marks_use,
                                             bool* problem) const {
  std::string bytes;
  const int code = read_file(file(key), bytes_max, marks_use, bytes);
  if (problem) *problem = code != 0 && code != ENOENT;
  if (code != 0) return std::nullopt;
  return bytes;
}

bool CacheFolder::has(const CacheKey& key) const {
  struct stat info = {};
  return ::lstat(file(key).c_str(), &info) == 0 && S_ISREG(info.st_mode);
}

Status CacheFolder::write(const CacheKey& key, std::string_view blob) const {
  SOMA_TRY(make_folder(path_ + "/new"));
  SOMA_TRY(make_folder(text("{}/{}", path_, key.hex().substr(0, 2))));
  return write_file(path_ + "/new/", file(key), blob);
}

Status CacheFolder::pin(const CacheKey& key, bool is_pinned) const {
  const std::string path = pin_file(key);
  if (!is_pinned) {
    if (::unlink(path.c_str()) == 0 || errno == ENOENT) return {};
    return store_failure("removing", path, errno);
  }
  SOMA_TRY(make_folder(path_ + "/pins"));
  const Descriptor made(::open(path.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600));
  return made.is_open() ? Status() : store_failure("making", path, errno);
}

bool CacheFolder::is_pinned(const CacheKey& key) const {
  struct stat info = {};
  return ::lstat(pin_file(key).c_str(), &info) == 0;
}

Result<u64> CacheFolder::count_pins() const {
  u64 pins = 0;
  const int code = each_name(path_ + "/pins", [&pins](std::string_view name) {
    if (CacheKey::parse(name).ok()) ++pins;
    return true;
  });
  if (code != 0 && code != ENOENT) return store_failure("reading the folder", path_, code);
  return pins;
}

Result<CacheFolder::Listing> CacheFolder::list() const {
  constexpr std::string_view digits = "0123456789abcdef";
  Listing out;
  for (u32 number = 0; number < 256; ++number) {
    const std::string branch = {digits[number >> 4], digits[number & 15]};
    const std::string folder = text("{}/{}", path_, branch);
    const int code = each_name(folder, [&](std::string_view name) {
      const Result<CacheKey> key = CacheKey::parse(name);
      struct stat info = {};
      const std::string file = text("{}/{}", folder, name);
      if (::lstat(file.c_str(), &info) != 0) return true;  // gone meanwhile
      if (!key.ok() || !name.starts_with(branch) || !S_ISREG(info.st_mode)) {
        ++out.foreign;
        return true;
      }
      const auto bytes = static_cast<u64>(info.st_size);
      out.files.push_back({*key, bytes, time_ns(info.st_mtim)});
      out.bytes += bytes;
      return out.files.size() < files_max;
    });
    if (code != 0 && code != ENOENT) return store_failure("reading the folder", folder, code);
  }
  return out;
}

bool CacheFolder::remove(const CacheKey& key) const { return ::unlink(file(key).c_str()) == 0; }

u64 CacheFolder::remove_left_overs() const {
  u64 removed = 0;
  const i64 now = wall_ns();
  const std::string folder = path_ + "/new";
  each_name(folder, [&](std::string_view name) {
    const std::string file = text("{}/{}", folder, name);
    struct stat info = {};
    if (::lstat(file.c_str(), &info) == 0 && S_ISREG(info.st_mode) &&
        now - time_ns(info.st_mtim) > left_over_after_ns && ::unlink(file.c_str()) == 0) {
      ++removed;
    }
    return true;
  });
  return removed;
}

}  // namespace soma
