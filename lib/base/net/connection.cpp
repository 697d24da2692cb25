#include "base/net/connection.h"

#include <cerrno>
#include <climits>
#include <system_error>
#include <utility>

#include <fmt/format.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/ssl.h>
#include <openssl/x509.h>
#include <poll.h>
#include <sys/socket.h>

namespace nervex {
namespace {

using std::chrono::milliseconds;

constexpr std::size_t kReadBytes = 16'384;  // a TLS record
// poll() takes an int; a wake-up once a day does no harm.
constexpr milliseconds kLongestPoll = std::chrono::hours(24);

std::string describe_errno(int error) { return std::generic_category().message(error); }

// Rounded up, so that a poll that times out is past its deadline.
int poll_timeout(MonoTime until) {
  const auto left = std::chrono::ceil<milliseconds>(
      std::min(until - SystemClock().mono(), MonoTime::duration(kLongestPoll)));
  return static_cast<int>(std::max<milliseconds::rep>(left.count(), 0));
}

int clamp_to_int(std::size_t size) {
  return static_cast<int>(std::min<std::size_t>(size, INT_MAX));
}

}  // namespace

Connection::Connection(int socket, TlsSession session)
    : socket_(socket), session_(std::move(session)) {
  if (session_) NERVEX_CHECK(SSL_set_fd(session_.get(), socket_) == 1);
}

bool Connection::fail(Failure failure, std::string why) {
  failure_ = failure;
  why_ = std::move(why);
  return false;
}

bool Connection::fail_with_errno() { return fail(Failure::kClosed, describe_errno(errno)); }

bool Connection::wait(short events) {
  const MonoTime start = SystemClock().mono();
  const MonoTime until = timeout_ ? std::min(deadline_, start + *timeout_) : deadline_;
  for (;;) {
    pollfd polled[2] = {{socket_, events, 0}, {wake_fd_, POLLIN, 0}};
    const int ready = poll(polled, 2, poll_timeout(until));
    if (ready < 0 && errno != EINTR) return fail_with_errno();
    if (ready > 0 && polled[0].revents != 0) return true;  // received data is not lost
    if (ready > 0) return fail(Failure::kWoken, "stopped");
    if (SystemClock().mono() >= until) return fail(Failure::kTimeout, "timed out");
  }
}

// The deadline also applies to a peer that never makes us wait.
bool Connection::is_late() {
  return SystemClock().mono() >= deadline_ && !fail(Failure::kTimeout, "timed out");
}

bool Connection::wait_as_errno_asks(short events) {
  if (errno == EINTR) return true;
  return errno == EAGAIN ? wait(events) : fail_with_errno();
}

// Waits for what OpenSSL needs after `result`. Writing may need to read, and the reverse.
bool Connection::wait_as_tls_asks(int result) {
  const int saved_errno = errno;
  switch (SSL_get_error(session_.get(), result)) {
    case SSL_ERROR_WANT_READ:
      return wait(POLLIN);
    case SSL_ERROR_WANT_WRITE:
      return wait(POLLOUT);
    case SSL_ERROR_ZERO_RETURN:
      return fail(Failure::kClosed, "closed by the peer");
    case SSL_ERROR_SYSCALL:
      return fail(Failure::kClosed, saved_errno != 0
                                        ? describe_errno(saved_errno)
                                        : "closed by the peer without a TLS close_notify");
    default:
      return fail_with_tls_error();
  }
}

bool Connection::fail_with_tls_error() {
  std::string why = take_tls_errors();
  const long verified = SSL_get_verify_result(session_.get());
  if (verified == X509_V_OK) return fail(Failure::kClosed, std::move(why));
  return fail(Failure::kUntrusted,
              fmt::format("certificate not accepted: {}", X509_verify_cert_error_string(verified)));
}

bool Connection::finish_connect() {
  if (!wait(POLLOUT)) return false;
  int error = 0;
  socklen_t size = sizeof error;
  if (getsockopt(socket_, SOL_SOCKET, SO_ERROR, &error, &size) != 0) {
    return fail_with_errno();
  }
  return error == 0 || fail(Failure::kClosed, describe_errno(error));
}

bool Connection::handshake() {
  while (session_) {
    ERR_clear_error();
    errno = 0;
    const int result = SSL_do_handshake(session_.get());
    if (result == 1) break;
    if (!wait_as_tls_asks(result)) return false;
  }
  return true;
}

void Connection::close_politely() {
  const bool broken = failure_ == Failure::kClosed || failure_ == Failure::kUntrusted;
  if (session_ && !broken) {
    ERR_clear_error();
    SSL_shutdown(session_.get());
    ERR_clear_error();
  }
  shutdown(socket_, SHUT_WR);
}

bool Connection::has_received() const {
  return !buffered().empty() || (session_ && SSL_has_pending(session_.get()) == 1);
}

bool Connection::wait_readable() { return has_received() || wait(POLLIN); }

std::ptrdiff_t Connection::read_some(char* to, std::size_t size) {
  for (;;) {
    if (is_late()) return -1;
    errno = 0;
    if (session_) {
      ERR_clear_error();
      const int got = SSL_read(session_.get(), to, clamp_to_int(size));
      if (got > 0) return got;
      if (SSL_get_error(session_.get(), got) == SSL_ERROR_ZERO_RETURN) return 0;
      if (!wait_as_tls_asks(got)) return -1;
    } else {
      const ssize_t got = recv(socket_, to, size, 0);
      if (got >= 0) return got;
      if (!wait_as_errno_asks(POLLIN)) return -1;
    }
  }
}

std::ptrdiff_t Connection::write_some(std::string_view bytes) {
  for (;;) {
    if (is_late()) return -1;
    errno = 0;
    if (session_) {
      ERR_clear_error();
      const int put = SSL_write(session_.get(), bytes.data(), clamp_to_int(bytes.size()));
      if (put > 0) return put;
      if (!wait_as_tls_asks(put)) return -1;
    } else {
      const ssize_t put = send(socket_, bytes.data(), bytes.size(), MSG_NOSIGNAL);
      if (put >= 0) return put;
      if (!wait_as_errno_asks(POLLOUT)) return -1;
    }
  }
}

bool Connection::fill() {
  char bytes[kReadBytes];  // not in the buffer, which would need clearing first
  const std::ptrdiff_t got = read_some(bytes, kReadBytes);
  if (got == 0) return fail(Failure::kEnd, "closed by the peer");
  if (got < 0) return false;
  buffer_.erase(0, taken_);
  taken_ = 0;
  buffer_.append(bytes, static_cast<std::size_t>(got));
  return true;
}

std::ptrdiff_t Connection::read(char* to, std::size_t size) {
  if (size == 0) return 0;
  if (buffered().empty() && size >= kReadBytes) return read_some(to, size);
  if (buffered().empty() && !fill()) return failure_ == Failure::kEnd ? 0 : -1;
  const std::size_t got = buffered().copy(to, size);
  drop(got);
  return static_cast<std::ptrdiff_t>(got);
}

bool Connection::has_peer_left() const {
  pollfd polled{socket_, POLLRDHUP, 0};
  return poll(&polled, 1, 0) > 0 && (polled.revents & (POLLRDHUP | POLLHUP | POLLERR)) != 0;
}

void Connection::drop(std::size_t size) {
  taken_ += size;
  if (!buffered().empty()) return;
  buffer_ = std::string();  // an idle connection keeps no buffer
  taken_ = 0;
}

bool Connection::write(std::string_view bytes) {
  while (!bytes.empty()) {
    const std::ptrdiff_t put = write_some(bytes);
    if (put < 0) return false;
    bytes.remove_prefix(static_cast<std::size_t>(put));
  }
  return true;
}

bool Connection::is_fresh() {
  if (failure_ != Failure::kNone || !buffered().empty()) return false;
  pollfd polled{socket_, POLLIN, 0};
  if (poll(&polled, 1, 0) == 0) return true;
  if (!session_ || polled.revents != POLLIN) return false;
  // The server sends session tickets at any time; reading consumes them.
  ERR_clear_error();
  char byte = 0;
  const int got = SSL_peek(session_.get(), &byte, 1);
  return got <= 0 && SSL_get_error(session_.get(), got) == SSL_ERROR_WANT_READ;
}

// ---- a client's connections

namespace {

using Dialed = std::unique_ptr<DialedConnection>;

Error describe(const Connection& connection) {
  const bool untrusted = connection.failed_by() == Connection::Failure::kUntrusted;
  return Error{untrusted ? Code::kUnauthorized : Code::kTransient, connection.why()};
}

void set_option(int socket, int level, int name, int value) {
  setsockopt(socket, level, name, &value, sizeof value);  // the connection works without it
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

std::string encode_base64(const std::string& text) {
  std::string encoded(4 * ((text.size() + 2) / 3) + 1, '\0');  // EVP adds a zero byte
  const int size = EVP_EncodeBlock(reinterpret_cast<unsigned char*>(encoded.data()),
                                   reinterpret_cast<const unsigned char*>(text.data()),
                                   clamp_to_int(text.size()));
  encoded.resize(static_cast<std::size_t>(size));
  return encoded;
}

// Asks the proxy for a tunnel; afterwards the connection leads to `server`.
Result<Nothing> open_tunnel(Connection& connection, const TunnelProxy& proxy,
                            const HostPort& server) {
  constexpr std::size_t kMaxTunnelHead = 16'384;
  constexpr std::string_view kEnd = "\r\n\r\n";
  std::string request = fmt::format("CONNECT {0} HTTP/1.1\r\nHost: {0}\r\n", to_string(server));
  if (!proxy.credentials.empty()) {
    request += fmt::format("Proxy-Authorization: Basic {}\r\n", encode_base64(proxy.credentials));
  }
  if (!connection.write(request + "\r\n")) return describe(connection);
  while (connection.buffered().find(kEnd) == std::string_view::npos) {
    if (connection.buffered().size() > kMaxTunnelHead) {
      return Error{Code::kTransient, "the reply has no end"};
    }
    if (!connection.fill()) return describe(connection);
  }
  const std::string head(connection.buffered().substr(0, connection.buffered().find(kEnd)));
  connection.drop(head.size() + kEnd.size());
  constexpr std::size_t kStatus = std::string_view("HTTP/1.1 ").size();
  const bool is_open = head.starts_with("HTTP/1.") && head.size() > kStatus && head[kStatus] == '2';
  if (!is_open) return Error{Code::kTransient, "refused: " + head.substr(0, head.find("\r\n"))};
  // The server sends nothing before our handshake or request.
  if (!connection.buffered().empty()) return Error{Code::kTransient, "data after the reply"};
  return ok();
}

// The socket of a tunnel.
Result<UniqueFd> tunnel_through(UniqueFd socket, const DialPlan& plan, MonoTime deadline,
                                int wake_fd) {
  {
    Connection connection(socket.get(), nullptr);
    connection.set_deadline(deadline);
    connection.set_wake_fd(wake_fd);
    if (!connection.finish_connect()) return describe(connection);
    const auto opened = open_tunnel(connection, *plan.proxy, plan.address);
    if (!opened) return opened.error();
  }
  return socket;
}

Result<Dialed> dial_one(const SocketAddress& address, const DialPlan& plan, MonoTime deadline,
                        int wake_fd) {
  auto socket = begin_connect(address);
  if (socket && plan.proxy) {
    socket = tunnel_through(*std::move(socket), plan, deadline, wake_fd);
    if (!socket) return with_context("proxy", socket.error());
  }
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
  const auto addresses = resolve(plan.proxy ? plan.proxy->address : plan.address);
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
    dialed = with_context(fmt::format("connect to {}", format_ip(addresses[i])), dialed.error());
  }
  return dialed;
}

}  // namespace nervex
