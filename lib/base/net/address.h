// base/net/address.h - which socket address does "HOST:PORT" or a URL mean?
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include <sys/socket.h>

#include "base/error.h"

namespace nervex {

struct HostPort {
  std::string host;  // without IPv6 brackets; may be empty
  int port = 0;

  bool operator==(const HostPort&) const = default;
};

// "10.0.0.1:80", "[::1]:80", "name:80", ":80". kInvalid on failure.
Result<HostPort> parse_host_port(std::string_view text);

struct ServerUrl {
  bool tls = false;
  HostPort address;

  bool operator==(const ServerUrl&) const = default;
};

// "http://host[:port]" or "https://host[:port]", optionally with a final slash. kInvalid.
Result<ServerUrl> parse_server_url(std::string_view text);

// Whether only callers on this machine can reach this address: 127.0.0.0/8, ::1, localhost.
bool is_loopback(const HostPort& address);

// "host:port" as in a Host header and messages, with brackets for IPv6.
std::string to_string(const HostPort& address);

struct SocketAddress {
  sockaddr_storage storage{};
  socklen_t size = 0;

  const sockaddr* get() const { return reinterpret_cast<const sockaddr*>(&storage); }
  int family() const { return storage.ss_family; }
};

// Asks the resolver and keeps its order; may take seconds. An empty host: all addresses of this
// machine. kTransient if the name is unknown, since that may change.
Result<std::vector<SocketAddress>> resolve(const HostPort& address);

// "10.0.0.1", "::1".
std::string format_ip(const SocketAddress& address);
int port_number(const SocketAddress& address);

}  // namespace nervex
