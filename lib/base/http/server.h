// base/http/server.h - how do callers reach a program? HTTP/1.1, plain or TLS.
//
// The settings protect the server from its callers: idle connections, slow senders, false lengths
// (docs/reference/http-servers.md). One thread per live connection.
#pragma once

#include <chrono>
#include <cstddef>
#include <memory>
#include <optional>
#include <string>

#include "base/clock.h"
#include "base/error.h"
#include "base/http/messages.h"
#include "base/tls/certificate_files.h"

namespace nervex {

// {"error":"<reason>"} with this status.
HttpReply json_refusal(int status, const std::string& reason);

struct HttpServerOptions {
  std::string listen = "127.0.0.1:0";  // HOST:PORT; port 0: any free port
  std::optional<TlsFiles> tls{};
  std::size_t max_connections = 256;  // live connections = threads
  // Maximum from one address; 0: no separate limit. More are refused as above the limit. With such
  // a limit the bodies of one address may hold three quarters of max_bytes_in_flight.
  std::size_t max_connections_per_peer = 0;
  // How long a new connection waits for a free one while all are busy.
  std::chrono::milliseconds queue_timeout = std::chrono::seconds(1);
  // Of max_connections. Above it, replies ask callers to close, and new connections replace idle
  // ones. Low for many short-lived callers, high for few that keep connections.
  int high_watermark_percent = 90;
  std::size_t max_body_bytes = 1 << 20;  // larger: 413
  // For all concurrent requests with a body over 64 KiB; above it they get 503.
  std::size_t max_bytes_in_flight = 64 << 20;
  // The default is longer than an API server's 90 s for idle connections, because a server that
  // closes first loses requests.
  std::chrono::milliseconds idle_timeout = std::chrono::seconds(150);
  // For a TLS handshake, and for a whole request from its first byte: 408.
  std::chrono::milliseconds read_timeout = std::chrono::seconds(10);
  std::chrono::milliseconds write_timeout = std::chrono::seconds(30);  // for a whole reply
  HttpReply internal_error{500, R"({"error":"internal error"})"};      // when a handler throws
  HttpRefusalHandler refusal = json_refusal;
};

// Owned by main. Add handlers before start(); they are called until stop() has returned.
class HttpServer {
 public:
  explicit HttpServer(HttpServerOptions options);
  ~HttpServer();  // stops
  HttpServer(const HttpServer&) = delete;
  HttpServer& operator=(const HttpServer&) = delete;

  // An exact path, any method: the handler looks at request.method. No patterns.
  void handle(std::string path, HttpHandler handler);
  // The same for read-only paths: methods other than GET and HEAD get 405, in the form of the
  // server's refusals.
  void handle_get(std::string path, HttpHandler handler);
  // The reply to a request refused before a handler decides: options.refusal.
  HttpReply refusal(int status, const std::string& reason) const;
  // For all other paths. Default: 404 with an empty JSON object.
  void handle_rest(HttpHandler handler);

  // Binds, then serves on its own threads. kTransient if the address is in use, kInvalid if the
  // options (certificate, key, address) are unusable.
  Result<Nothing> start();
  // Stops accepting, finishes current requests, closes idle connections. Idempotent.
  void stop();
  // The bound port, after start().
  int port() const;

  // The certificate's state, after start(); ok or empty without TLS. See CertificateFiles.
  Result<Nothing> check_certificate() const;  // for /readyz: it is valid now
  Result<Nothing> check_certificate_files() const;
  std::optional<SysTime> certificate_expires() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace nervex
