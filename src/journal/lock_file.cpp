// Locks a journal by its lock file.
//
// Problem. SQLite locks its databases for a process. Such locks vanish when anybody in the process
// closes the file, and two copies of SQLite in one process, ours and the host's, don't see each
// other's. A run that two write would perform its effects twice.
//
// Idea. A second file, which only this code opens, is locked for the open file (F_OFD_SETLK): that
// excludes threads and copies of the library as it does processes. A process that is killed leaves
// nothing behind, or nearly: a forked child has the open file too, and holds the lock until it ends
// or starts another program. So who restarts a run that was killed as it started a program may find
// it locked by nobody that writes, for a moment. Two of its bytes are locked. The first is the
// writer's, from beginning to end: who finds it locked waits out such a moment and is then told so.
// The second is for having the database open at all: who only looks at a journal locks that one, so
// a writer that comes at that moment can tell, and waits, for looking is short.
//
// A journal is removed together with its lock file. Who waited for the old file would then hold a
// lock on nothing: whoever gets a lock looks whether its file still has its name, or begins anew.
#include "journal/lock_file.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <cerrno>

#include "base/clock.hpp"
#include "base/file.hpp"
#include "base/text.hpp"

namespace soma {

namespace {

constexpr off_t writer_byte = 0, database_byte = 1;
constexpr i64 look_longest_ns = 10'000'000'000;   // a guess: looking reads a journal once
constexpr i64 start_longest_ns = 500'000'000;     // a guess: a busy system starts a program
constexpr i64 try_every_ns = 2'000'000;           // a guess: less than a disk's wait

Error lock_failure(std::string_view what, const std::string& path, int code) {
  return fail(Reason::journal_store, "{} the lock file {} failed: {} (errno {}); see to it that "
              "the folder can be written and its file system knows locks",
              what, quoted(path, 4096), system_text(code), code)
      .with("path", path);
}

Error in_use(const std::string& path) {
  return fail(Reason::journal_locked,
              "the journal of {} is open already, in this process or another; a run has one "
              "writer: wait until it ends, or end it",
              quoted(path, 4096))
      .with("path", path);
}

// True: locked. False: somebody else has it.
Result<bool> try_lock(int file, off_t byte, const std::string& path) {
  struct flock range = {};
  range.l_type = F_WRLCK;
  range.l_whence = SEEK_SET;
  range.l_start = byte;
  range.l_len = 1;
  while (::fcntl(file, F_OFD_SETLK, &range) != 0) {
    if (errno == EAGAIN || errno == EACCES) return false;
    if (errno != EINTR) return lock_failure("locking", path, errno);
  }
  return true;
}

bool has_writer(int file) {
  struct flock range = {};
  range.l_type = F_WRLCK;
  range.l_whence = SEEK_SET;
  range.l_start = writer_byte;
  range.l_len = 1;
  return ::fcntl(file, F_OFD_GETLK, &range) == 0 && range.l_type != F_UNLCK;
}

// The kernel has no lock of this kind that waits for a bounded time, so this looks now and then.
// `until_writer`: and no longer than until somebody writes.
Status await_lock(int file, off_t byte, i64 longest_ns, bool until_writer,
                  const std::string& path) {
  const i64 until_ns = now_ns() + longest_ns;
  while (true) {
    SOMA_ASSIGN(const bool locked, try_lock(file, byte, path));
    if (locked) return {};
    if ((until_writer && has_writer(file)) || now_ns() > until_ns) return in_use(path);
    const timespec pause = {.tv_sec = 0, .tv_nsec = try_every_ns};
    ::nanosleep(&pause, nullptr);
  }
}

// Whether the open file is still the one of that name.
Result<bool> is_current(int file, const std::string& path) {
  struct stat open = {}, named = {};
  if (::fstat(file, &open) != 0) return lock_failure("examining", path, errno);
  if (!S_ISREG(open.st_mode)) return lock_failure("opening", path, EINVAL);
  if (::lstat(path.c_str(), &named) != 0) {
    if (errno == ENOENT) return false;
    return lock_failure("examining", path, errno);
  }
  return open.st_dev == named.st_dev && open.st_ino == named.st_ino;
}

}  // namespace

Result<JournalLock> JournalLock::take(const std::string& path, Use use) {
  const bool is_writer = use == Use::Write;
  while (true) {
    JournalLock lock(::open(
        path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NOCTTY | O_NONBLOCK, 0600));
    if (lock.file_ < 0) return lock_failure("opening", path, errno);
    if (is_writer) SOMA_TRY(await_lock(lock.file_, writer_byte, start_longest_ns, false, path));
    SOMA_TRY(await_lock(lock.file_, database_byte, look_longest_ns, !is_writer, path));
    SOMA_ASSIGN(const bool current, is_current(lock.file_, path));
    if (current) return lock;
  }
}

JournalLock::~JournalLock() {
  if (file_ >= 0) ::close(file_);
}

}  // namespace soma
