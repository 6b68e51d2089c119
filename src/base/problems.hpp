// Collects what is wrong with an input, so that one error tells all of it.
#pragma once

#include "base/core.hpp"

namespace soma {

// A table of a hundred thousand rows can be wrong in each of them: the first problems are kept and
// the others counted, which bounds the memory that a bad input costs.
class Problems {
 public:
  static constexpr size_t kept_max = 16;

  void add(Error problem) {
    ++count_;
    if (kept_.size() < kept_max) kept_.push_back(std::move(problem));
  }
  bool none() const { return count_ == 0; }
  size_t count() const { return count_; }

  // The first problem with the others attached. Only when there is one.
  Error take() && {
    Error first = std::move(kept_.front());
    for (size_t i = 1; i < kept_.size(); ++i) first.add(std::move(kept_[i]));
    if (count_ > kept_.size()) {
      first.add(fail(first.reason(), "{} more problems are not listed", count_ - kept_.size()));
    }
    return first;
  }
  // Success, if there is none.
  Status status() && {
    if (none()) return {};
    return std::move(*this).take();
  }

 private:
  std::vector<Error> kept_;
  size_t count_ = 0;
};

}  // namespace soma
