// Finds the journals of a folder.
//
// Names. A run's id may be any text, and a file's name is at most 255 bytes without slashes. Bytes
// of ASCII other than letters, digits, '-', '_' and '.' are written as %2F, and so is a point at
// the beginning, which would hide the file: so two ids have two names, and a name can be read back.
// If that gets too long, its first bytes are followed by "%-", which no escape begins with, and a
// digest of the whole id. The id itself stands in the file, and must be the one its name says.
#include "journal/folder.hpp"

#include <dirent.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>

#include "base/file.hpp"
#include "base/hash.hpp"
#include "base/text.hpp"
#include "journal/sqlite_store.hpp"

namespace soma {

namespace {

constexpr std::string_view suffix = ".journal";
constexpr size_t name_bytes_max = 200;   // with what is put after it, a name has at most 255 bytes
constexpr size_t kept_bytes = 100;       // of a name that ends in a digest
constexpr size_t runs_max = 1'000'000;   // that a folder is read for

bool stays(char c, size_t at) {
  const auto byte = static_cast<u8>(c);
  const bool is_letter = (byte >= 'a' && byte <= 'z') || (byte >= 'A' && byte <= 'Z');
  const bool is_digit = byte >= '0' && byte <= '9';
  return is_letter || is_digit || byte == '-' || byte == '_' || byte >= 0x80 ||
         (byte == '.' && at != 0);
}

i32 hex_value(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

// Of a name that has not been cut, the id; of one that has, its beginning.
std::string run_of_name(std::string_view name) {
  std::string run;
  for (size_t at = 0; at < name.size(); ++at) {
    if (name[at] != '%') {
      run += name[at];
      continue;
    }
    if (at + 2 >= name.size() || name[at + 1] == '-') return run + "…";
    const i32 high = hex_value(name[at + 1]), low = hex_value(name[at + 2]);
    if (high < 0 || low < 0) return run + "…";
    run += static_cast<char>(high * 16 + low);
    at += 2;
  }
  return run;
}

Error folder_failure(std::string_view what, const std::string& path, int code) {
  return fail(Reason::journal_store, "{} the folder {} failed: {} (errno {})", what,
              quoted(path, 4096), system_text(code), code)
      .with("path", path);
}

bool is_folder(const std::string& path) {
  struct stat info = {};
  return ::stat(path.c_str(), &info) == 0 && S_ISDIR(info.st_mode);
}

// Durable: a folder that is lost with the power loses the journals in it.
Status make_folder(const std::string& path, const std::string& parent) {
  if (is_folder(path)) return {};
  if (::mkdir(path.c_str(), 0700) != 0 && errno != EEXIST) {
    return folder_failure("making", path, errno);
  }
  return flush_folder(parent);
}

// Closes a folder that is being read.
class OpenFolder {
 public:
  explicit OpenFolder(const std::string& path) : handle_(::opendir(path.c_str())) {}
  OpenFolder(const OpenFolder&) = delete;
  OpenFolder& operator=(const OpenFolder&) = delete;
  ~OpenFolder() {
    if (handle_) ::closedir(handle_);
  }
  DIR* handle() const { return handle_; }

 private:
  DIR* handle_;
};

}  // namespace

std::string journal_file_name(std::string_view run) {
  std::string name;
  size_t kept = 0;
  for (size_t at = 0; at < run.size(); ++at) {
    if (stays(run[at], at)) {
      name += run[at];
    } else {
      name += text("%{:02X}", static_cast<u8>(run[at]));
    }
    // Whole escapes and whole characters only.
    const bool ends_here = at + 1 == run.size() || (static_cast<u8>(run[at + 1]) & 0xC0) != 0x80;
    if (ends_here && name.size() <= kept_bytes) kept = name.size();
  }
  if (name.size() <= name_bytes_max) return name;
  return name.substr(0, kept) + "%-" + content_digest(run).substr(0, 32);
}

Result<JournalFolder> JournalFolder::make(const std::string& path) {
  if (path.empty() || path.find('\0') != std::string::npos) {
    return fail(Reason::journal_store, "{} is no path of a folder", quoted(path, 4096));
  }
  std::string parent = path.starts_with('/') ? "/" : ".";
  for (size_t slash = path.find('/', 1);; slash = path.find('/', slash + 1)) {
    const std::string part = path.substr(0, slash);
    SOMA_TRY(make_folder(part, parent));
    if (slash == std::string::npos) break;
    parent = part;
  }
  return open(path);
}

Result<JournalFolder> JournalFolder::open(const std::string& path) {
  if (path.find('\0') == std::string::npos && is_folder(path)) return JournalFolder(path);
  return fail(Reason::file_not_found, "there is no folder {}; give the one that has the journals",
              quoted(path, 4096))
      .with("path", path);
}

Result<std::string> JournalFolder::file(std::string_view run) const {
  SOMA_TRY(check_run_id(run));
  return text("{}/{}{}", path_, journal_file_name(run), suffix);
}

Result<std::unique_ptr<JournalStore>> JournalFolder::store(std::string_view run) {
  SOMA_ASSIGN(const std::string path, file(run));
  return open_sqlite_store(path);
}

Result<std::unique_ptr<JournalStore>> JournalFolder::existing(std::string_view run) {
  SOMA_ASSIGN(const std::string path, file(run));
  return open_sqlite_store(path, {.must_exist = true});
}

Status JournalFolder::remove(std::string_view run) {
  SOMA_ASSIGN(const std::string path, file(run));
  return remove_sqlite_store(path);
}

Result<std::vector<JournalSummary>> JournalFolder::list() {
  std::vector<std::string> names;
  const OpenFolder folder(path_);
  if (!folder.handle()) return folder_failure("reading", path_, errno);
  errno = 0;
  while (const dirent* entry = ::readdir(folder.handle())) {
    const std::string_view name = entry->d_name;
    if (!name.ends_with(suffix) || name.size() == suffix.size()) continue;
    if (names.size() == runs_max) {
      return fail(Reason::journal_limit, "the folder {} has more than {} journals; remove those of "
                  "runs that have ended", quoted(path_, 4096), runs_max);
    }
    names.emplace_back(name.substr(0, name.size() - suffix.size()));
    errno = 0;
  }
  if (errno != 0) return folder_failure("reading", path_, errno);

  std::vector<JournalSummary> runs;
  for (const std::string& name : names) runs.push_back(summary(name));
  std::sort(runs.begin(), runs.end(), [](const JournalSummary& a, const JournalSummary& b) {
    return a.identity.run < b.identity.run;
  });
  return runs;
}

JournalSummary JournalFolder::summary(const std::string& name) const {
  const std::string path = text("{}/{}{}", path_, name, suffix);
  JournalSummary found = summary_of(
      run_of_name(name),
      open_sqlite_store(path, {.must_exist = true, .use = JournalLock::Use::Look}));
  const bool is_read = found.state != JournalSummary::State::Unreadable &&
                       found.state != JournalSummary::State::InUse;
  if (!is_read || journal_file_name(found.identity.run) == name) return found;
  JournalSummary renamed;
  renamed.identity.run = run_of_name(name);
  renamed.problem = text("{} has the journal of run {}, which belongs under another name",
                         quoted(path, 4096), quoted(found.identity.run, 200));
  return renamed;
}

}  // namespace soma
