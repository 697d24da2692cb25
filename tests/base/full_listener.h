// tests/base/full_listener.h - a server to which connecting never completes.
#pragma once

#include <vector>

#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>

#include "base/error.h"
#include "base/net/socket.h"

namespace nervex::test {

// Listens, never accepts, and has a full queue: the kernel drops new connection requests, as a
// firewall does.
class FullListener {
 public:
  FullListener() : listener_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    address_.sin_family = AF_INET;
    address_.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof address_;
    NERVEX_CHECK(bind(listener_.get(), address(), size) == 0);
    NERVEX_CHECK(listen(listener_.get(), 0) == 0);
    NERVEX_CHECK(getsockname(listener_.get(), reinterpret_cast<sockaddr*>(&address_), &size) == 0);
    while (fill_one()) {
    }
  }

  int port() const { return ntohs(address_.sin_port); }

 private:
  const sockaddr* address() const { return reinterpret_cast<const sockaddr*>(&address_); }

  // False: its queue was full.
  bool fill_one() {
    UniqueFd fd(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
    connect(fd.get(), address(), sizeof address_);
    pollfd polled{fd.get(), POLLOUT, 0};
    const bool connected = poll(&polled, 1, 100) == 1;
    held_.push_back(std::move(fd));
    return connected && held_.size() < 64;
  }

  sockaddr_in address_{};
  UniqueFd listener_;
  std::vector<UniqueFd> held_;
};

}  // namespace nervex::test
