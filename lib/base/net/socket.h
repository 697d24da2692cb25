// base/net/socket.h - how are descriptors closed automatically, and how does one wake many threads?
#pragma once

#include <utility>

namespace nervex {

class UniqueFd {
 public:
  UniqueFd() = default;
  explicit UniqueFd(int fd) : fd_(fd) {}
  UniqueFd(UniqueFd&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  UniqueFd& operator=(UniqueFd&& other) noexcept {
    std::swap(fd_, other.fd_);
    return *this;
  }
  ~UniqueFd();

  int get() const { return fd_; }
  explicit operator bool() const { return fd_ >= 0; }

 private:
  int fd_ = -1;
};

// A descriptor that is readable from set() on, permanently: wakes all threads that poll it.
// Thread-safe.
class WakeFd {
 public:
  WakeFd();
  void set() const;
  int get() const { return fd_.get(); }

 private:
  UniqueFd fd_;
};

// A descriptor that is readable while one of two others is, for code that can poll only one. Both
// are borrowed for its life. Thread-safe.
class EitherFd {
 public:
  EitherFd(int one, int other);
  int get() const { return fd_.get(); }

 private:
  UniqueFd fd_;
};

}  // namespace nervex
