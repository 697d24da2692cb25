// base/net/connection.h - how does a program use one TCP connection, plain or TLS, where every wait
// has a limit, and how does a client open one?
#pragma once

#include <chrono>
#include <cstddef>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "base/clock.h"
#include "base/error.h"
#include "base/net/address.h"
#include "base/net/socket.h"
#include "base/tls/tls.h"

namespace nervex {

// Used by one thread at a time. Every operation that waits ends when its bytes are there, at the
// deadline, after `timeout` without progress, or when the wake descriptor is set; failed_by() tells
// which. After a failure only failed_by(), why() and the destructor may be used.
class Connection {
 public:
  enum class Failure {
    kNone,
    kTimeout,    // the deadline, or no progress for `timeout`
    kWoken,      // the wake descriptor was set
    kEnd,        // the peer closed its side in good order
    kClosed,     // the connection broke; why() says how
    kUntrusted,  // the peer failed verification
  };

  // `socket` is connected (or connecting), non-blocking, and borrowed for the connection's life;
  // `session` may be null: plain TCP.
  Connection(int socket, TlsSession session);

  void set_deadline(MonoTime deadline) { deadline_ = deadline; }
  void set_timeout(std::chrono::milliseconds timeout) { timeout_ = timeout; }
  // -1: no wake-up. Borrowed until it is changed.
  void set_wake_fd(int fd) { wake_fd_ = fd; }

  // Waits until the TCP connection is established. Otherwise why(): "connection refused".
  bool finish_connect();
  // Does the TLS handshake; nothing for plain TCP.
  bool handshake();
  bool is_tls() const { return session_ != nullptr; }
  // Tells the peer that this side is done, if that is possible without waiting.
  void close_politely();

  // Whether there are received bytes not yet taken; for TLS they may be too few to read.
  bool has_received() const;
  // Waits until there is something to read, or the end.
  bool wait_readable();
  // Reads more into the buffer. False: failed, or the peer sent its end.
  bool fill();
  // Bytes read but not yet taken.
  std::string_view buffered() const { return std::string_view(buffer_).substr(taken_); }
  // Discards the first `size` buffered bytes.
  void drop(std::size_t size);
  // Takes up to `size` bytes: 0 at the peer's end, -1 on failure.
  std::ptrdiff_t read(char* to, std::size_t size);
  bool write(std::string_view bytes);

  // Whether a kept connection can carry another request: the peer neither closed it nor sent data.
  bool is_fresh();
  // Whether the peer has closed its side or broken the connection, as far as the system knows.
  // Costs a system call; unread bytes stay.
  bool has_peer_left() const;

  Failure failed_by() const { return failure_; }
  // For an error message: the words of the peer or the system.
  const std::string& why() const { return why_; }

 private:
  bool wait(short events);
  bool is_late();
  bool wait_as_errno_asks(short events);
  bool wait_as_tls_asks(int result);
  std::ptrdiff_t read_some(char* to, std::size_t size);
  std::ptrdiff_t write_some(std::string_view bytes);
  bool fail(Failure failure, std::string why);
  bool fail_with_errno();
  bool fail_with_tls_error();

  const int socket_;
  TlsSession session_;
  int wake_fd_ = -1;
  MonoTime deadline_ = MonoTime::max();
  std::optional<std::chrono::milliseconds> timeout_;
  std::string buffer_;
  std::size_t taken_ = 0;
  Failure failure_ = Failure::kNone;
  std::string why_;
};

// ---- a client's connections

// An HTTP proxy that opens tunnels: RFC 9110, 9.3.6.
struct TunnelProxy {
  HostPort address;
  std::string credentials;  // "user:password"; empty: none
};

struct DialPlan {
  HostPort address;
  TlsContext tls;                      // null: plain TCP
  std::string server_name;             // the name that the server must prove
  std::optional<TunnelProxy> proxy{};  // which connects to `address`
};

// A connection together with the socket that it borrows.
struct DialedConnection {
  DialedConnection(UniqueFd fd, TlsSession session)
      : socket(std::move(fd)), connection(socket.get(), std::move(session)) {}

  UniqueFd socket;
  Connection connection;
};

// The kernel detects a peer that disappeared: on an idle connection after kKeepAliveIdle +
// kKeepAliveProbes * kKeepAliveInterval, and as soon for unacknowledged data. Otherwise a half-open
// connection lasts a quarter of an hour (Linux' tcp_retries2), or without a limit if it is idle.
inline constexpr std::chrono::seconds kKeepAliveIdle{30};
inline constexpr std::chrono::seconds kKeepAliveInterval{5};
inline constexpr int kKeepAliveProbes = 3;
inline constexpr std::chrono::milliseconds kUnacknowledgedLimit{45'000};

// Tries the addresses of the name, or of the proxy's name, in the resolver's order until one
// accepts, then does the handshake. kTransient, or kUnauthorized if the server failed verification.
// Resolving may take longer than `deadline` and ignores `wake_fd`; all else obeys both.
Result<std::unique_ptr<DialedConnection>> dial(const DialPlan& plan, MonoTime deadline,
                                               int wake_fd);
// The same for known addresses. Each gets its share of the time, so that one without an answer
// cannot use it up.
Result<std::unique_ptr<DialedConnection>> dial_first(std::span<const SocketAddress> addresses,
                                                     const DialPlan& plan, MonoTime deadline,
                                                     int wake_fd);

}  // namespace nervex
