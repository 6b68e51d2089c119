// Proves that files are mapped and copied as they are, and that what can't be read is named.
#include "base/file.hpp"

#include <doctest/doctest.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <string>

using namespace soma;

namespace {

// A folder of its own that goes with the test.
class Folder {
 public:
  Folder() {
    char pattern[] = "/tmp/soma_file_test_XXXXXX";
    REQUIRE(::mkdtemp(pattern) != nullptr);
    path_ = pattern;
  }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;
  ~Folder() {
    for (const std::string& name : names_) ::unlink((path_ + "/" + name).c_str());
    ::rmdir(path_.c_str());
  }
  std::string file(const std::string& name, std::string_view content) {
    const std::string path = reserve(name);
    const int fd = ::open(path.c_str(), O_CREAT | O_TRUNC | O_WRONLY, 0600);
    REQUIRE(fd >= 0);
    REQUIRE(::write(fd, content.data(), content.size()) == static_cast<ssize_t>(content.size()));
    ::close(fd);
    return path;
  }
  std::string reserve(const std::string& name) {
    names_.push_back(name);
    return path_ + "/" + name;
  }
  const std::string& path() const { return path_; }

 private:
  std::string path_;
  std::vector<std::string> names_;
};

std::string content(const FileBytes& file) {
  return {reinterpret_cast<const char*>(file.bytes().data()), file.bytes().size()};
}

void refuses(const std::string& path, Reason reason, std::string_view words) {
  for (const LoadMode mode : {LoadMode::Map, LoadMode::Read}) {
    const Result<FileBytes> file = FileBytes::open(path, mode);
    REQUIRE_FALSE(file.ok());
    INFO(file.error().message());
    CHECK(file.error().id() == reason_info(reason).id);
    CHECK(file.error().message().find(words) != std::string::npos);
  }
}

}  // namespace

TEST_CASE("both modes give the file's bytes") {
  Folder folder;
  std::string text(100000, 'x');
  for (size_t i = 0; i < text.size(); ++i) text[i] = static_cast<char>(i * 7);
  const std::string path = folder.file("data", text);
  for (const LoadMode mode : {LoadMode::Map, LoadMode::Read}) {
    const Result<FileBytes> file = FileBytes::open(path, mode);
    REQUIRE(file.ok());
    CHECK(content(*file) == text);
  }
}

TEST_CASE("an empty file has no bytes") {
  Folder folder;
  const std::string path = folder.file("empty", "");
  for (const LoadMode mode : {LoadMode::Map, LoadMode::Read}) {
    const Result<FileBytes> file = FileBytes::open(path, mode);
    REQUIRE(file.ok());
    CHECK(file->bytes().empty());
  }
}

TEST_CASE("moving keeps the bytes where they are") {
  Folder folder;
  Result<FileBytes> opened = FileBytes::open(folder.file("data", "hello"), LoadMode::Map);
  REQUIRE(opened.ok());
  const u8* address = opened->bytes().data();
  FileBytes moved = std::move(opened).value();
  CHECK(moved.bytes().data() == address);
  Result<FileBytes> other = FileBytes::open(folder.file("other", "world"), LoadMode::Read);
  REQUIRE(other.ok());
  moved = std::move(other).value();
  CHECK(content(moved) == "world");
}

TEST_CASE("a copy does not follow the file, nor its source") {
  Folder folder;
  const std::string path = folder.file("data", "before");
  const Result<FileBytes> read = FileBytes::open(path, LoadMode::Read);
  REQUIRE(read.ok());
  folder.file("data", "after!");
  CHECK(content(*read) == "before");

  std::vector<u8> source = {1, 2, 3};
  const Result<FileBytes> copied = FileBytes::copy(source);
  REQUIRE(copied.ok());
  source[0] = 9;
  CHECK(copied->bytes()[0] == 1);
  CHECK(FileBytes::copy({})->bytes().empty());
}

TEST_CASE("discarded pages come back from the file") {
  Folder folder;
  const std::string text(3 * 65536, 'y');
  const std::string path = folder.file("data", text);
  for (const LoadMode mode : {LoadMode::Map, LoadMode::Read}) {
    const Result<FileBytes> file = FileBytes::open(path, mode);
    REQUIRE(file.ok());
    const std::span<const u8> all = file->bytes();
    file->discard(all.subspan(5000, 70000));
    file->discard(all.subspan(all.size() - 1, 1));
    file->discard(all.subspan(0, 0));
    file->discard(all);
    CHECK(content(*file) == text);
  }
}

TEST_CASE("what can't be read is named") {
  Folder folder;
  refuses(folder.path() + "/absent", Reason::file_not_found, folder.path() + "/absent");
  refuses(folder.file("data", "x") + "/below", Reason::file_not_found, "/data/below");
  refuses(folder.path(), Reason::file_unreadable, "is a directory");
  refuses("/dev/null", Reason::file_unreadable, "is a device");
  refuses(std::string("a\0b", 3), Reason::file_not_found, "NUL");
  refuses("", Reason::file_not_found, "''");
  const std::string pipe = folder.reserve("pipe");
  REQUIRE(::mkfifo(pipe.c_str(), 0600) == 0);
  refuses(pipe, Reason::file_unreadable, "is a pipe");
}

TEST_CASE("a file larger than memory is mapped, or refused for want of addresses") {
  Folder folder;
  const std::string path = folder.file("sparse", "");
  REQUIRE(::truncate(path.c_str(), off_t{1} << 40) == 0);  // holes: it takes no room on the disk
  const Result<FileBytes> file = FileBytes::open(path, LoadMode::Map);
  if (file.ok()) {
    CHECK(file->bytes()[file->bytes().size() - 1] == 0);
  } else {
    CHECK(file.error().reason() == Reason::out_of_memory);
  }
}
