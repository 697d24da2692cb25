#include "tests/support/scripted_server.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <stdexcept>

#include <fmt/format.h>

namespace nervex::testing {
namespace {

constexpr int kPollMs = 20;

bool is_readable_soon(int fd) {
  pollfd poll_fd{fd, POLLIN, 0};
  return poll(&poll_fd, 1, kPollMs) > 0;
}

}  // namespace

ScriptedServer::ScriptedServer(std::deque<Reply> script) : script_(std::move(script)) {
  listener_ = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof(address);
  if (bind(listener_, reinterpret_cast<sockaddr*>(&address), size) != 0 ||
      listen(listener_, 16) != 0 ||
      getsockname(listener_, reinterpret_cast<sockaddr*>(&address), &size) != 0) {
    throw std::runtime_error("scripted server: cannot listen");
  }
  port_ = ntohs(address.sin_port);
  acceptor_ = std::jthread([this](const std::stop_token& stop) { accept_connections(stop); });
}

ScriptedServer::~ScriptedServer() {
  acceptor_.request_stop();
  acceptor_.join();
  connections_.clear();
  close(listener_);
}

std::string ScriptedServer::url() const { return fmt::format("http://127.0.0.1:{}", port_); }

std::vector<std::string> ScriptedServer::requests() const {
  std::unique_lock lock(mutex_);
  return requests_;
}

int ScriptedServer::connections() const {
  std::unique_lock lock(mutex_);
  return static_cast<int>(connections_.size());
}

void ScriptedServer::close_connections() {
  std::vector<std::jthread> closing;
  {
    std::unique_lock lock(mutex_);
    for (auto& connection : connections_) {
      closing.push_back(std::move(connection));
      connection = std::jthread();
    }
  }
}  // each is told to stop, and joined

void ScriptedServer::accept_connections(const std::stop_token& stop) {
  while (!stop.stop_requested()) {
    if (!is_readable_soon(listener_)) continue;
    const int fd = accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC);
    if (fd < 0) continue;
    std::unique_lock lock(mutex_);
    connections_.emplace_back([this, fd](const std::stop_token& over) { serve(fd, over); });
  }
}

// Empty: the client or the test has ended it.
std::string ScriptedServer::read_head(int fd, const std::stop_token& stop) {
  std::string head;
  while (!stop.stop_requested()) {
    if (head.ends_with("\r\n\r\n")) return head;
    if (!is_readable_soon(fd)) continue;
    char byte = 0;
    if (recv(fd, &byte, 1, 0) != 1) break;
    head += byte;
  }
  return "";
}

ScriptedServer::Reply ScriptedServer::next_reply(const std::string& head) {
  std::unique_lock lock(mutex_);
  requests_.push_back(head);
  if (script_.empty()) return {};
  Reply reply = std::move(script_.front());
  script_.pop_front();
  return reply;
}

void ScriptedServer::send_all(int fd, const Reply& reply, const std::stop_token& stop) const {
  const bool trickles = reply.after_each_byte.count() > 0;
  std::string_view rest = reply.bytes;
  while (!rest.empty() && !stop.stop_requested()) {
    const auto n = send(fd, rest.data(), trickles ? 1 : rest.size(), MSG_NOSIGNAL);
    if (n <= 0) return;
    rest.remove_prefix(static_cast<std::size_t>(n));
    if (trickles) std::this_thread::sleep_for(reply.after_each_byte);
  }
}

void ScriptedServer::serve(int fd, const std::stop_token& stop) {
  for (bool again = true; again;) {
    const std::string head = read_head(fd, stop);
    if (head.empty()) break;
    const Reply reply = next_reply(head);
    if (reply.before) reply.before();
    send_all(fd, reply, stop);
    while (reply.then == Then::kHold && !stop.stop_requested()) {
      std::this_thread::sleep_for(std::chrono::milliseconds(kPollMs));
    }
    again = reply.then == Then::kNext;
  }
  close(fd);
}

ScriptedServer::Reply whole_reply(int status, const std::string& body) {
  return {fmt::format("HTTP/1.1 {} Whatever\r\nContent-Type: application/json\r\n"
                      "Connection: close\r\nContent-Length: {}\r\n\r\n{}",
                      status, body.size(), body),
          ScriptedServer::Then::kClose};
}

ScriptedServer::Reply kept_reply(int status, const std::string& body) {
  return {fmt::format("HTTP/1.1 {} Whatever\r\nContent-Type: application/json\r\n"
                      "Content-Length: {}\r\n\r\n{}",
                      status, body.size(), body),
          ScriptedServer::Then::kNext};
}

ScriptedServer::Reply stream_reply(const std::vector<std::string>& lines, bool is_ended,
                                   ScriptedServer::Then then) {
  std::string bytes =
      "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n";
  for (const auto& line : lines) bytes += fmt::format("{:x}\r\n{}\n\r\n", line.size() + 1, line);
  if (is_ended) bytes += "0\r\n\r\n";
  return {std::move(bytes), then, {}, {}};
}

}  // namespace nervex::testing
