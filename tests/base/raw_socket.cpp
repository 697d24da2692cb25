#include "tests/base/raw_socket.h"

#include <cerrno>
#include <charconv>

#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>

#include "base/error.h"

namespace nervex::test {

namespace {

sockaddr_in loopback(int port) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  address.sin_port = htons(static_cast<std::uint16_t>(port));
  return address;
}

void limit_waits(int fd) {
  const timeval limit{20, 0};
  setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
  setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof limit);
}

int bind_to_any_port(int fd) {
  sockaddr_in address = loopback(0);
  socklen_t size = sizeof address;
  NERVEX_CHECK(bind(fd, reinterpret_cast<sockaddr*>(&address), size) == 0);
  NERVEX_CHECK(getsockname(fd, reinterpret_cast<sockaddr*>(&address), &size) == 0);
  return ntohs(address.sin_port);
}

std::size_t content_length(const std::string& head) {
  constexpr std::string_view kName = "Content-Length: ";
  const std::size_t at = head.find(kName);
  std::size_t length = 0;
  if (at != std::string::npos) {
    std::from_chars(head.data() + at + kName.size(), head.data() + head.size(), length);
  }
  return length;
}

}  // namespace

RawSocket RawSocket::connect_to(int port, const std::string& from) {
  UniqueFd fd(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  limit_waits(fd.get());
  if (!from.empty()) {
    sockaddr_in own = loopback(0);
    inet_pton(AF_INET, from.c_str(), &own.sin_addr);
    if (bind(fd.get(), reinterpret_cast<const sockaddr*>(&own), sizeof own) != 0) {
      return RawSocket(UniqueFd());
    }
  }
  const sockaddr_in address = loopback(port);
  if (connect(fd.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0) {
    return RawSocket(UniqueFd());
  }
  return RawSocket(std::move(fd));
}

void RawSocket::send(std::string_view bytes) const {
  while (!bytes.empty()) {
    const ssize_t sent = ::send(fd_.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (sent <= 0) return;
    bytes.remove_prefix(static_cast<std::size_t>(sent));
  }
}

void RawSocket::finish_sending() const { shutdown(fd_.get(), SHUT_WR); }

bool RawSocket::receive_more() {
  char bytes[16 * 1024];
  const ssize_t got = recv(fd_.get(), bytes, sizeof bytes, 0);
  if (got > 0) received_.append(bytes, static_cast<std::size_t>(got));
  gave_up_ = got < 0 && (errno == EAGAIN || errno == EWOULDBLOCK);
  return got > 0;
}

std::string RawSocket::receive_all() {
  while (receive_more()) {
  }
  return std::exchange(received_, "");
}

std::string RawSocket::receive_until(std::string_view mark) {
  std::size_t found = 0;
  while ((found = received_.find(mark)) == std::string::npos) {
    if (!receive_more()) return std::exchange(received_, "");
  }
  std::string taken = received_.substr(0, found + mark.size());
  received_.erase(0, taken.size());
  return taken;
}

std::string RawSocket::receive_message() {
  std::string message = receive_until("\r\n\r\n");
  const std::size_t length = content_length(message);
  while (received_.size() < length && receive_more()) {
  }
  message += received_.substr(0, length);
  received_.erase(0, length);
  return message;
}

bool RawSocket::is_at_end() { return receive_all().empty() && !gave_up_; }

int reply_status(const std::string& reply) {
  int status = 0;
  if (reply.starts_with("HTTP/1.1 ")) std::from_chars(&reply[9], &reply[9] + 3, status);
  return status;
}

std::string reply_body(const std::string& reply) {
  const std::size_t end = reply.find("\r\n\r\n");
  return end == std::string::npos ? "" : reply.substr(end + 4);
}

RawServer::RawServer(Talk talk)
    : listener_(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)), talk_(std::move(talk)) {
  port_ = bind_to_any_port(listener_.get());
  NERVEX_CHECK(listen(listener_.get(), 64) == 0);
  thread_ = std::jthread([this] { run(); });
}

RawServer::~RawServer() { end_.set(); }

void RawServer::run() {
  for (;;) {
    pollfd polled[2] = {{listener_.get(), POLLIN, 0}, {end_.get(), POLLIN, 0}};
    poll(polled, 2, -1);
    if (polled[1].revents != 0) return;
    RawSocket socket(UniqueFd(accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC)));
    limit_waits(socket.fd());
    ++connections_;
    talk_(socket);
  }
}

void RawServer::wait_for_end() const {
  pollfd polled{end_.get(), POLLIN, 0};
  poll(&polled, 1, -1);
}

int unused_port() {
  const UniqueFd fd(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  return bind_to_any_port(fd.get());
}

}  // namespace nervex::test
