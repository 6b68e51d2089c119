// A folder for a test's files, which goes when the test does, and results that must be good.
#pragma once

#include <doctest/doctest.h>
#include <stdlib.h>

#include <filesystem>
#include <string>

#include "base/core.hpp"

namespace soma {

class TestFolder {
 public:
  TestFolder() {
    char name[] = "/tmp/soma-test-XXXXXX";
    REQUIRE(::mkdtemp(name) != nullptr);
    path_ = name;
  }
  TestFolder(const TestFolder&) = delete;
  TestFolder& operator=(const TestFolder&) = delete;
  ~TestFolder() { std::filesystem::remove_all(path_); }
  std::string operator/(std::string_view name) const { return path_ + "/" + std::string(name); }
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

template <typename Value>
Value must(Result<Value> result) {
  if (!result.ok()) FAIL(result.error().message());
  return std::move(result).value();
}
inline void must(const Status& status) {
  if (!status.ok()) FAIL(status.error().message());
}

}  // namespace soma
