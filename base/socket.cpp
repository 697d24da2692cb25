#include "base/socket.h"

#include <cstdint>

#include <sys/eventfd.h>
#include <unistd.h>

#include "base/error.h"

namespace nervex {

UniqueFd::~UniqueFd() {
  if (fd_ >= 0) close(fd_);
}

WakeFd::WakeFd() : fd_(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) { NERVEX_CHECK(fd_); }

void WakeFd::set() const {
  const std::uint64_t one = 1;
  NERVEX_CHECK(write(fd_.get(), &one, sizeof one) == sizeof one);
}

}  // namespace nervex
