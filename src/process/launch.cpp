// Starts programs by posix_spawn, so that the host may have threads and much memory: nothing of it
// is copied, and no code of ours runs between the two programs.
//
// What goes wrong in the new process before it has become the program comes back as one number. So
// what is likely to be wrong, the folder and the program's name, is looked at before, when it can
// be said which of them it was.
#include "process/launch.hpp"

#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include <cerrno>

#include "base/file.hpp"
#include "base/text.hpp"

namespace soma {

namespace {

constexpr size_t shown_max = 4096;

Error start_failure(const Command& command, std::string_view why) {
  return fail(Reason::exec_start, "program {} can't be started: {}", quoted(command.argv[0]), why)
      .with("program", command.argv[0]);
}

Error system_failure(const Command& command, std::string_view what, int code,
                     std::string_view hint = "") {
  return start_failure(command, text("{} failed: {} (errno {}){}", what, system_text(code), code,
                                     hint))
      .with("errno", i64{code});
}

// ---- What is asked for

bool has_nul(const std::vector<std::string>& texts) {
  for (const std::string& each : texts) {
    if (each.find('\0') != std::string::npos) return true;
  }
  return false;
}

Status check(const Command& command) {
  if (command.argv.empty() || command.argv[0].empty()) {
    return fail(Reason::exec_start, "no program is named: argv begins with a name or a path");
  }
  if (has_nul(command.argv) || has_nul(command.environment) || has_nul({command.folder})) {
    return start_failure(command, "what it is given holds a NUL character, which no program can be "
                                  "given: remove it");
  }
  struct stat found = {};
  if (command.folder.empty()) return {};
  if (::stat(command.folder.c_str(), &found) == 0 && S_ISDIR(found.st_mode)) return {};
  return start_failure(command, text("there is no folder {} to run it in: make it, or name another",
                                     quoted(command.folder, shown_max)))
      .with("path", command.folder);
}

bool is_executable(const Command& command, const std::string& path) {
  const bool is_relative = path[0] != '/' && !command.folder.empty();
  const std::string from_here = is_relative ? command.folder + "/" + path : path;
  struct stat found = {};
  return ::stat(from_here.c_str(), &found) == 0 && S_ISREG(found.st_mode) &&
         ::faccessat(AT_FDCWD, from_here.c_str(), X_OK, AT_EACCESS) == 0;
}

// Of a name that is there twice the first counts, as for getenv.
std::string_view search_path(const Command& command) {
  constexpr std::string_view name = "PATH=";
  for (const std::string& variable : command.environment) {
    if (variable.starts_with(name)) return std::string_view(variable).substr(name.size());
  }
  return "/bin:/usr/bin";
}

// As execvp does: an empty entry is the folder.
Result<std::string> find(const Command& command) {
  const std::string& name = command.argv[0];
  if (name.find('/') != std::string::npos) {
    if (is_executable(command, name)) return name;
    return start_failure(command, "no file of that path can be executed: see whether it is there, "
                                  "and may be");
  }
  std::string_view rest = search_path(command);
  while (true) {
    const size_t colon = rest.find(':');
    const std::string_view entry = rest.substr(0, colon);
    std::string path = (entry.empty() ? "." : std::string(entry)) + "/" + name;
    if (is_executable(command, path)) return path;
    if (colon == std::string_view::npos) break;
    rest.remove_prefix(colon + 1);
  }
  return start_failure(command, text("no folder of PATH has it ({}): install it, or name it by its "
                                     "path",
                                     quoted(search_path(command), shown_max)));
}

// ---- Pipes

// A host that has closed its standard streams gets their numbers for new descriptors. These must
// not be in the way where the program's own are put.
int above_standard(Descriptor& descriptor) {
  if (descriptor.fd() > STDERR_FILENO) return 0;
  Descriptor above(::fcntl(descriptor.fd(), F_DUPFD_CLOEXEC, STDERR_FILENO + 1));
  if (!above.is_open()) return errno;
  descriptor = std::move(above);
  return 0;
}

struct Pipe {
  Descriptor ours, theirs;

  // 0, or an error of the system.
  int make(bool ours_reads) {
    int ends[2] = {-1, -1};
    if (::pipe2(ends, O_CLOEXEC) != 0) return errno;
    ours = Descriptor(ends[ours_reads ? 0 : 1]);
    theirs = Descriptor(ends[ours_reads ? 1 : 0]);
    if (::fcntl(ours.fd(), F_SETFL, O_NONBLOCK) != 0) return errno;
    const int code = above_standard(ours);
    return code != 0 ? code : above_standard(theirs);
  }
};

// ---- The start

// How the new process begins, in the form in which posix_spawn is told.
class Setting {
 public:
  Setting() {
    posix_spawn_file_actions_init(&actions_);
    posix_spawnattr_init(&attributes_);
  }
  ~Setting() {
    posix_spawn_file_actions_destroy(&actions_);
    posix_spawnattr_destroy(&attributes_);
  }
  Setting(const Setting&) = delete;
  Setting& operator=(const Setting&) = delete;

  // 0, or an error of the system.
  int stream(const Pipe& pipe, int number) {
    return posix_spawn_file_actions_adddup2(&actions_, pipe.theirs.fd(), number);
  }
  int no_other_streams() {
    return posix_spawn_file_actions_addclosefrom_np(&actions_, STDERR_FILENO + 1);
  }
  int folder(const std::string& path) {
    if (path.empty()) return 0;
    return posix_spawn_file_actions_addchdir_np(&actions_, path.c_str());
  }
  void group_and_signals() {
    sigset_t none, all;
    sigemptyset(&none);
    sigfillset(&all);
    posix_spawnattr_setsigmask(&attributes_, &none);
    posix_spawnattr_setsigdefault(&attributes_, &all);
    posix_spawnattr_setpgroup(&attributes_, 0);
    posix_spawnattr_setflags(&attributes_, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF |
                                               POSIX_SPAWN_SETPGROUP);
  }
  int spawn(pid_t& id, const std::string& path, char* const* argv, char* const* environment) {
    return posix_spawn(&id, path.c_str(), &actions_, &attributes_, argv, environment);
  }

 private:
  posix_spawn_file_actions_t actions_ = {};
  posix_spawnattr_t attributes_ = {};
};

std::vector<char*> pointers(std::vector<std::string>& texts) {
  std::vector<char*> out;
  out.reserve(texts.size() + 1);
  for (std::string& each : texts) out.push_back(each.data());
  out.push_back(nullptr);
  return out;
}

int open_process(pid_t id) { return static_cast<int>(::syscall(SYS_pidfd_open, id, 0)); }

std::string_view hint(int code) {
  switch (code) {
    case ENOENT: return "; the file is there, but what its first line names is not";
    case ENOEXEC: return "; if it is a script, its first line is to name what runs it (#!/bin/sh)";
    case E2BIG: return "; give it less by argv and env, and more by stdin";
    default: return "";
  }
}

}  // namespace

Result<Launched> launch(Command command) {
  SOMA_TRY(check(command));
  SOMA_ASSIGN(const std::string path, find(command));
  if (!Descriptor(open_process(::getpid())).is_open()) {
    return system_failure(command, "watching a process by a descriptor", errno,
                          "; this needs Linux 5.4 or newer");
  }
  Pipe input, output, errors;
  int code = input.make(false);
  if (code == 0) code = output.make(true);
  if (code == 0) code = errors.make(true);
  if (code != 0) return system_failure(command, "making pipes", code);

  Setting setting;
  setting.group_and_signals();
  code = setting.stream(input, STDIN_FILENO);
  if (code == 0) code = setting.stream(output, STDOUT_FILENO);
  if (code == 0) code = setting.stream(errors, STDERR_FILENO);
  if (code == 0) code = setting.no_other_streams();
  if (code == 0) code = setting.folder(command.folder);
  Launched made;
  const std::vector<char*> argv = pointers(command.argv);
  const std::vector<char*> environment = pointers(command.environment);
  if (code == 0) code = setting.spawn(made.id, path, argv.data(), environment.data());
  if (code != 0) {
    return system_failure(command, "executing " + quoted(path, shown_max), code, hint(code));
  }
  made.process = Descriptor(open_process(made.id));
  // Who reaps all children of the host may have been here already: then it has ended.
  if (!made.process.is_open() && errno != ESRCH) {
    code = errno;
    ::kill(-made.id, SIGKILL);
    ::waitpid(made.id, nullptr, 0);
    return system_failure(command, "watching it", code);
  }
  made.input = std::move(input.ours);
  made.output = std::move(output.ours);
  made.errors = std::move(errors.ours);
  return made;
}

}  // namespace soma
