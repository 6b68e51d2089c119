// Holds what most records of a kind do not have.
#pragma once

#include "base/core.hpp"

namespace soma {

// A value that is nearly always its default takes eight bytes: it is made when it is first edited,
// and copied with its owner. T::usual() is the default, which all that have none share.
template <typename T>
class Rare {
 public:
  Rare() = default;
  Rare(const Rare& other) : own_(other.own_ ? std::make_unique<T>(*other.own_) : nullptr) {}
  Rare(Rare&&) noexcept = default;
  Rare& operator=(const Rare& other) {
    if (this != &other) *this = Rare(other);
    return *this;
  }
  Rare& operator=(Rare&&) noexcept = default;
  ~Rare() = default;

  bool is_usual() const { return !own_; }  // for sure; another may have the same content
  const T* operator->() const { return own_ ? own_.get() : &T::usual(); }
  const T& operator*() const { return *operator->(); }
  T& edit() {
    if (!own_) own_ = std::make_unique<T>(T::usual());
    return *own_;
  }
  bool operator==(const Rare& other) const { return own_ == other.own_ || **this == *other; }

 private:
  std::unique_ptr<T> own_;
};

}  // namespace soma
