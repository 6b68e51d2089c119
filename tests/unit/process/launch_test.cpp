// Proves how programs are found and what they are given, that nothing of the host's reaches them,
// and that what is wrong is said.
#include "unit/process/told.hpp"

namespace soma {

namespace {

using fixture::Folder;
using fixture::output;
using fixture::request;
using fixture::shell;

std::string refusal(ProcessRequest request) {
  const Result<ProcessEnd> end = fixture::run(std::move(request));
  if (end.ok()) return "none";
  CHECK(end.error().id() == "exec.start");
  return end.error().message();
}

ProcessRequest in(std::string folder, ProcessRequest request) {
  request.folder = std::move(folder);
  return request;
}

ProcessRequest with(std::string name, std::string value, ProcessRequest request) {
  request.variables.emplace_back(std::move(name), std::move(value));
  return request;
}

bool holds(std::string_view text, std::string_view part) {
  return text.find(part) != std::string_view::npos;
}

constexpr std::string_view script = "#!/bin/sh\necho \"$1 from $(pwd)\"\n";

}  // namespace

TEST_CASE("arguments are passed as they are") {
  CHECK(output(request({"printf", "[%s]", "a b", "", "$HOME", "*", "ü\n"})) ==
        "[a b][][$HOME][*][ü\n]");
}

TEST_CASE("the environment is the one given, with what is added or replaced") {
  CHECK(output(request({"env"})) == "PATH=/usr/bin:/bin\nHOME=/nowhere\n");
  CHECK(output(with("HOME", "/else", with("EMPTY", "", request({"env"})))) ==
        "PATH=/usr/bin:/bin\nEMPTY=\nHOME=/else\n");
}

TEST_CASE("it runs in the folder, whence relative paths count") {
  Folder folder;
  const std::string tool = folder.file("tool", script, 0700);
  const std::string said = text("x from {}\n", folder.path());
  CHECK(output(in(folder.path(), request({"./tool", "x"}))) == said);
  CHECK(output(in(folder.path(), request({tool, "x"}))) == said);
  for (const std::string path : {"", ".", ":/bin", "/bin:", folder.path().c_str()}) {
    INFO(path);
    CHECK(output(in(folder.path(), with("PATH", path, request({"tool", "x"})))) == said);
  }
  CHECK(output(in("/", with("PATH", "tmp:" + folder.path(), request({"tool", "x"})))) ==
        "x from /\n");
}

TEST_CASE("the first of PATH that can be executed is taken, and without PATH there is one") {
  Folder folder;
  folder.file("env", "#!/bin/sh\necho mine\n", 0700);
  CHECK(output(with("PATH", "/bin:" + folder.path(), request({"env"}))) != "mine\n");
  CHECK(output(with("PATH", folder.path() + ":/bin", request({"env"}))) == "mine\n");
  Folder other;
  other.file("env", "no program", 0600);
  CHECK(output(with("PATH", other.path() + ":" + folder.path(), request({"env"}))) == "mine\n");
  Processes bare({});
  CHECK(fixture::run(bare, request({"env"})).value().output == "");
}

TEST_CASE("what can't be started says why") {
  Folder folder;
  const std::string plain = folder.file("plain", "echo hi\n", 0700);
  const std::string orphan = folder.file("orphan", "#!/no/such/shell\n", 0700);
  const std::string closed = folder.file("closed", script, 0600);
  CHECK(refusal(request({})) == "no program is named: argv begins with a name or a path");
  CHECK(refusal(request({""})) == "no program is named: argv begins with a name or a path");
  CHECK(refusal(request({"no-such-program"})) ==
        "program 'no-such-program' can't be started: no folder of PATH has it ('/usr/bin:/bin'): "
        "install it, or name it by its path");
  for (const std::string& path : {folder.path() + "/none", closed, folder.path(), closed + "/x"}) {
    CHECK(holds(refusal(request({path})), "no file of that path can be executed"));
  }
  CHECK(holds(refusal(request({plain})), "if it is a script, its first line"));
  CHECK(holds(refusal(request({orphan})), "what its first line names is not"));
  CHECK(holds(refusal(in(folder.path() + "/none", request({"env"}))), "there is no folder "));
  CHECK(holds(refusal(in(plain, request({"env"}))), "there is no folder "));
  CHECK(holds(refusal(request({"env", std::string("a\0b", 3)})), "NUL"));
  CHECK(holds(refusal(in(std::string("/\0", 2), request({"env"}))), "NUL"));
  CHECK(holds(refusal(with("A", std::string("\0", 1), request({"env"}))), "NUL"));
  CHECK(holds(refusal(request({"env", std::string(size_t{8} << 20, 'x')})), "more by stdin"));
}

TEST_CASE("no descriptor and no signal of the host's reaches it, and it leads a group of its own") {
  const int kept_open = ::open("/dev/null", O_RDONLY);  // without O_CLOEXEC
  sigset_t blocked, before;
  sigemptyset(&blocked);
  sigaddset(&blocked, SIGUSR1);
  pthread_sigmask(SIG_BLOCK, &blocked, &before);
  const auto handler = ::signal(SIGUSR2, SIG_IGN);
  const std::string streams = output(request({"ls", "/proc/self/fd"}));
  const std::string signals = output(request({"grep", "-E", "^Sig(Blk|Ign)", "/proc/self/status"}));
  const std::string ids = output(request({"cut", "-d ", "-f1,5", "/proc/self/stat"}));
  ::signal(SIGUSR2, handler);
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  ::close(kept_open);
  CHECK(streams == "0\n1\n2\n3\n");  // 3: the folder that ls reads
  CHECK(holds(signals, "SigBlk:\t0000000000000000\n"));
  // But for two signals with which the C library's threads talk to each other: it ignores these.
  const std::string ignored = signals.substr(signals.find("SigIgn:\t") + 8);
  CHECK((std::stoull(ignored, nullptr, 16) & ~0x1'8000'0000ULL) == 0);
  CHECK(ids.substr(0, ids.find(' ')) + "\n" == ids.substr(ids.find(' ') + 1));
}

TEST_CASE("a host may have closed its own standard streams") {
  std::vector<Descriptor> kept;
  for (int number = 0; number < 3; ++number) {
    kept.emplace_back(::fcntl(number, F_DUPFD_CLOEXEC, 10));
    ::close(number);
  }
  const Result<ProcessEnd> end = fixture::run(shell("cat; echo err >&2", "in"));
  for (int number = 0; number < 3; ++number) {
    ::dup2(kept[static_cast<size_t>(number)].fd(), number);
  }
  REQUIRE(end.ok());
  CHECK(end->output == "in");
  CHECK(end->errors == "err\n");
}

}  // namespace soma
