#include "base/net/dial.h"

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
  return Error{untrusted ? Code::kUnauthorized : Code::kTransient, connection.why()};
}

void set_option(int socket, int level, int name, int value) {
  setsockopt(socket, level, name, &value, sizeof value);  // the connection works without, too
}

void set_options(int socket) {
  set_option(socket, IPPROTO_TCP, TCP_NODELAY, 1);
  set_option(socket, SOL_SOCKET, SO_KEEPALIVE, 1);
  set_option(socket, IPPROTO_TCP, TCP_KEEPIDLE, static_cast<int>(kKeepAliveIdle.count()));
  set_option(socket, IPPROTO_TCP, TCP_KEEPINTVL, static_cast<int>(kKeepAliveInterval.count()));
  set_option(socket, IPPROTO_TCP, TCP_KEEPCNT, kKeepAliveProbes);
  set_option(socket, IPPROTO_TCP, TCP_USER_TIMEOUT, static_cast<int>(kUnacknowledgedLimit.count()));
}

Result<UniqueFd> begin_connect(const SocketAddress& address) {
  UniqueFd socket(::socket(address.family(), SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (socket) set_options(socket.get());
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
  return dial_first(*addresses, plan, deadline, wake_fd);
}

Result<Dialed> dial_first(std::span<const SocketAddress> addresses, const DialPlan& plan,
                          MonoTime deadline, int wake_fd) {
  Result<Dialed> dialed = Error{Code::kTransient, "the name has no address"};
  for (std::size_t i = 0; i < addresses.size(); ++i) {
    const MonoTime now = SystemClock().mono();
    const auto untried = static_cast<MonoTime::rep>(addresses.size() - i);
    dialed = dial_one(addresses[i], plan, now + (deadline - now) / untried, wake_fd);
    if (dialed) return dialed;
    dialed = with_context(fmt::format("connect to {}", ip_of(addresses[i])), dialed.error());
  }
  return dialed;
}

}  // namespace nervex
