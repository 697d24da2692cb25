// base/dial.h - how does a client get a connection to a server?
#pragma once

#include <memory>

#include "base/address.h"
#include "base/connection.h"
#include "base/error.h"
#include "base/socket.h"
#include "base/tls.h"

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

// Tries the name's addresses in the resolver's order until one accepts, then does the handshake.
// kTransient, or kDenied if the server could not prove who it is. Asking the resolver may take
// longer than `deadline` and is not woken by `wake_fd`, all else is.
Result<std::unique_ptr<DialedConnection>> dial(const DialPlan& plan, MonoTime deadline,
                                               int wake_fd);

}  // namespace nervex
