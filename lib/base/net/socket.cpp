#include "base/net/socket.h"

#include <cstdint>

#include <sys/epoll.h>
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

EitherFd::EitherFd(int one, int other) : fd_(epoll_create1(EPOLL_CLOEXEC)) {
  NERVEX_CHECK(fd_);
  for (const int fd : {one, other}) {
    epoll_event readable{};
    readable.events = EPOLLIN;
    NERVEX_CHECK(epoll_ctl(fd_.get(), EPOLL_CTL_ADD, fd, &readable) == 0);
  }
}

}  // namespace nervex
