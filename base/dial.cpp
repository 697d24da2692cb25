#include "base/dial.h"

#include <cerrno>
#include <system_error>
#include <utility>

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

#include <fmt/format.h>

namespace nervex {

namespace {

using Dialed = std::unique_ptr<DialedConnection>;

Error describe(const Connection& connection) {
  const bool untrusted = connection.failed_by() == Connection::Failure::kUntrusted;
  return Error{untrusted ? Code::kDenied : Code::kTransient, connection.why()};
}

Result<UniqueFd> begin_connect(const SocketAddress& address) {
  UniqueFd socket(::socket(address.family(), SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  const int on = 1;
  if (socket) setsockopt(socket.get(), IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  if (socket && (connect(socket.get(), address.get(), address.size) == 0 || errno == EINPROGRESS)) {
    return socket;
  }
  return Error{Code::kTransient, std::generic_category().message(errno)};
}

Result<Dialed> dial_one(const SocketAddress& address, const DialPlan& plan, MonoTime deadline,
                        int wake_fd) {
  auto socket = begin_connect(address);
  if (!socket) return socket.error();
  TlsSession session;
  if (plan.tls) {
    session = connecting_session(plan.tls, plan.server_name);
    if (!session) return Error{Code::kInvalid, "not a server name: " + plan.server_name};
  }
  auto dialed = std::make_unique<DialedConnection>(*std::move(socket), std::move(session));
  Connection& connection = dialed->connection;
  connection.set_deadline(deadline);
  connection.set_wake_fd(wake_fd);
  if (!connection.finish_connect()) return describe(connection);
  if (!connection.handshake()) return with_context("tls handshake", describe(connection));
  return dialed;
}

}  // namespace

Result<Dialed> dial(const DialPlan& plan, MonoTime deadline, int wake_fd) {
  const auto addresses = resolve(plan.address);
  if (!addresses) return addresses.error();
  Result<Dialed> dialed = Error{Code::kTransient, "the name has no address"};
  for (const SocketAddress& address : *addresses) {
    dialed = dial_one(address, plan, deadline, wake_fd);
    if (dialed) return dialed;
    dialed = with_context(fmt::format("connect to {}", ip_of(address)), dialed.error());
  }
  return dialed;
}

}  // namespace nervex
