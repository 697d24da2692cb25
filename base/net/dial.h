// base/net/dial.h - how does a client get a connection to a server?
#pragma once

#include <chrono>
#include <memory>
#include <span>

#include "base/error.h"
#include "base/net/address.h"
#include "base/net/connection.h"
#include "base/net/socket.h"
#include "base/tls/tls.h"

namespace nervex {

struct DialPlan {
  HostPort address;
  TlsContext tls;           // null: plain TCP
  std::string server_name;  // who the server must prove to be
};

// A connection together with the socket that it borrows.
struct DialedConnection {
  DialedConnection(UniqueFd fd, TlsSession session)
      : socket(std::move(fd)), connection(socket.get(), std::move(session)) {}

  UniqueFd socket;
  Connection connection;
};

// A peer that went away without a word is noticed by the kernel: on an idle connection after
// kKeepAliveIdle + kKeepAliveProbes * kKeepAliveInterval, and as soon for what it does not
// acknowledge. Without that a half-open connection lasts for a quarter of an hour (Linux'
// tcp_retries2), or for ever if it is idle.
inline constexpr std::chrono::seconds kKeepAliveIdle{30};
inline constexpr std::chrono::seconds kKeepAliveInterval{5};
inline constexpr int kKeepAliveProbes = 3;
inline constexpr std::chrono::milliseconds kUnacknowledgedLimit{45'000};

// Tries the name's addresses in the resolver's order until one accepts, then does the handshake.
// kTransient, or kUnauthorized if the server could not prove who it is. Asking the resolver may
// take longer than `deadline` and is not woken by `wake_fd`, all else is.
Result<std::unique_ptr<DialedConnection>> dial(const DialPlan& plan, MonoTime deadline,
                                               int wake_fd);
// The same for addresses that are known. Each gets its share of the time, so that the first one
// cannot use it up by not answering.
Result<std::unique_ptr<DialedConnection>> dial_first(std::span<const SocketAddress> addresses,
                                                     const DialPlan& plan, MonoTime deadline,
                                                     int wake_fd);

}  // namespace nervex
