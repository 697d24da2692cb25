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

void send_all(int fd, const std::string& bytes) {
  std::size_t sent = 0;
  while (sent < bytes.size()) {
    const auto n = send(fd, bytes.data() + sent, bytes.size() - sent, MSG_NOSIGNAL);
    if (n <= 0) return;
    sent += static_cast<std::size_t>(n);
  }
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

void ScriptedServer::accept_connections(const std::stop_token& stop) {
  while (!stop.stop_requested()) {
    if (!is_readable_soon(listener_)) continue;
    const int fd = accept(listener_, nullptr, nullptr);
    if (fd < 0) continue;
    connections_.emplace_back([this, fd](const std::stop_token& over) { serve(fd, over); });
  }
}

void ScriptedServer::serve(int fd, const std::stop_token& stop) {
  std::string head;
  while (!stop.stop_requested() && head.find("\r\n\r\n") == std::string::npos) {
    if (!is_readable_soon(fd)) continue;
    char byte = 0;
    if (recv(fd, &byte, 1, 0) != 1) break;
    head += byte;
  }
  Reply reply;
  if (head.find("\r\n\r\n") != std::string::npos) {
    std::unique_lock lock(mutex_);
    requests_.push_back(head);
    if (!script_.empty()) {
      reply = std::move(script_.front());
      script_.pop_front();
    }
  }
  send_all(fd, reply.bytes);
  while (reply.then == Then::kHold && !stop.stop_requested()) {
    std::this_thread::sleep_for(std::chrono::milliseconds(kPollMs));
  }
  close(fd);
}

ScriptedServer::Reply whole_reply(int status, const std::string& body) {
  return {fmt::format("HTTP/1.1 {} Whatever\r\nContent-Type: application/json\r\n"
                      "Connection: close\r\nContent-Length: {}\r\n\r\n{}",
                      status, body.size(), body),
          ScriptedServer::Then::kClose};
}

ScriptedServer::Reply stream_reply(const std::vector<std::string>& lines, bool is_ended,
                                   ScriptedServer::Then then) {
  std::string bytes =
      "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n";
  for (const auto& line : lines) bytes += fmt::format("{:x}\r\n{}\n\r\n", line.size() + 1, line);
  if (is_ended) bytes += "0\r\n\r\n";
  return {std::move(bytes), then};
}

}  // namespace nervex::testing
