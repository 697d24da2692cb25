#include "base/net/address.h"

#include <charconv>
#include <cstring>
#include <memory>

#include <arpa/inet.h>
#include <netdb.h>
#include <netinet/in.h>

#include <fmt/format.h>

namespace nervex {

namespace {

Error bad_address(std::string_view text) {
  return Error{Code::kInvalid, fmt::format("address \"{}\" is not of the form HOST:PORT", text)};
}

Error bad_url(std::string_view text) {
  return Error{Code::kInvalid,
               fmt::format("url \"{}\" is not of the form http(s)://HOST[:PORT]", text)};
}

bool is_host_char(char c) { return '!' <= c && c <= '~' && c != '/' && c != '[' && c != ']'; }

// True if there is no colon after the host; the last one may belong to an IPv6 address.
bool lacks_port(std::string_view authority) {
  return authority.ends_with(']') || authority.find(':') == std::string_view::npos;
}

}  // namespace

Result<HostPort> parse_host_port(std::string_view text) {
  const std::size_t colon = text.rfind(':');
  if (colon == std::string_view::npos) return bad_address(text);
  std::string_view host = text.substr(0, colon);
  const std::string_view port = text.substr(colon + 1);
  const bool bracketed = host.size() > 2 && host.starts_with('[') && host.ends_with(']');
  if (bracketed) host = host.substr(1, host.size() - 2);
  const bool has_colon = host.find(':') != std::string_view::npos;
  if (bracketed != has_colon) return bad_address(text);  // "::1:80" is ambiguous
  for (const char c : host) {
    if (!is_host_char(c)) return bad_address(text);
  }
  HostPort address{std::string(host), -1};
  const auto parsed = std::from_chars(port.data(), port.data() + port.size(), address.port);
  const bool whole = parsed.ec == std::errc() && parsed.ptr == port.data() + port.size();
  if (!whole || address.port < 0 || address.port > 65535) return bad_address(text);
  return address;
}

bool is_loopback(const HostPort& address) {
  in_addr parsed{};
  const bool is_ipv4 = inet_pton(AF_INET, address.host.c_str(), &parsed) == 1;
  return is_ipv4 ? ntohl(parsed.s_addr) >> 24U == IN_LOOPBACKNET
                 : address.host == "::1" || address.host == "localhost";
}

Result<ServerUrl> parse_server_url(std::string_view text) {
  std::string_view rest = text;
  ServerUrl url;
  if (rest.starts_with("https://")) {
    url.tls = true;
    rest.remove_prefix(8);
  } else if (rest.starts_with("http://")) {
    rest.remove_prefix(7);
  } else {
    return bad_url(text);
  }
  if (rest.ends_with('/')) rest.remove_suffix(1);
  std::string authority(rest);
  if (lacks_port(authority)) authority += url.tls ? ":443" : ":80";
  auto address = parse_host_port(authority);
  if (!address || address->host.empty()) return bad_url(text);
  url.address = *std::move(address);
  return url;
}

std::string to_string(const HostPort& address) {
  const bool ipv6 = address.host.find(':') != std::string::npos;
  return fmt::format(fmt::runtime(ipv6 ? "[{}]:{}" : "{}:{}"), address.host, address.port);
}

Result<std::vector<SocketAddress>> resolve(const HostPort& address) {
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = AI_NUMERICSERV | (address.host.empty() ? AI_PASSIVE : 0);
  addrinfo* found = nullptr;
  const int failed = getaddrinfo(address.host.empty() ? nullptr : address.host.c_str(),
                                 std::to_string(address.port).c_str(), &hints, &found);
  if (failed != 0) {
    return Error{Code::kTransient,
                 fmt::format("resolve {}: {}", address.host, gai_strerror(failed))};
  }
  const std::unique_ptr<addrinfo, decltype(&freeaddrinfo)> owner(found, freeaddrinfo);
  std::vector<SocketAddress> addresses;
  for (const addrinfo* each = found; each != nullptr; each = each->ai_next) {
    SocketAddress copy;
    copy.size = each->ai_addrlen;
    std::memcpy(&copy.storage, each->ai_addr, each->ai_addrlen);
    addresses.push_back(copy);
  }
  return addresses;
}

std::string format_ip(const SocketAddress& address) {
  char host[NI_MAXHOST] = "";
  getnameinfo(address.get(), address.size, host, sizeof host, nullptr, 0, NI_NUMERICHOST);
  // An IPv4 caller on a dual-stack socket: "::ffff:10.0.0.1".
  const std::string_view text = host;
  constexpr std::string_view kMapped = "::ffff:";
  return std::string(text.starts_with(kMapped) ? text.substr(kMapped.size()) : text);
}

int port_number(const SocketAddress& address) {
  if (address.family() == AF_INET6) {
    return ntohs(reinterpret_cast<const sockaddr_in6*>(&address.storage)->sin6_port);
  }
  return ntohs(reinterpret_cast<const sockaddr_in*>(&address.storage)->sin_port);
}

}  // namespace nervex
