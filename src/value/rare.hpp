// Holds what most records of a kind do not have.
#pragma once

#include "base/core.hpp"

namespace soma {

// A value that is nearly always its default takes eight bytes: it is made when it is first edited,
// and copied with its owner. T::usual() is the default, which all that have none share.
// What nearly never happens, copying and deleting one, is compiled in T's own source: each T needs
// an `extern template class Rare<T>` where it is defined, and its source the instantiation.
template <typename T>
class Rare {
 public:
  Rare() = default;
  Rare(const Rare& other) : own_(other.own_ ? copy_of(*other.own_) : nullptr) {}
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
    if (!own_) own_ = copy_of(T::usual());
    return *own_;
  }
  bool operator==(const Rare& other) const
    requires requires(const T& value) { value == value; }
  {
    return own_ == other.own_ || **this == *other;
  }

 private:
  struct Deleter {
    void operator()(T* own) const;
  };
  using Own = std::unique_ptr<T, Deleter>;
  static Own copy_of(const T& value);

  Own own_;
};

template <typename T>
void Rare<T>::Deleter::operator()(T* own) const {
  std::default_delete<T>()(own);
}

template <typename T>
typename Rare<T>::Own Rare<T>::copy_of(const T& value) {
  return Own(std::make_unique<T>(value).release());
}

}  // namespace soma
