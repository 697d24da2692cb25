// base/http/server.h - how do callers reach a program? HTTP/1.1, plain or TLS.
//
// The settings are those that decide whether such a server survives its callers: idle connections,
// slow senders, lying lengths (docs/reference/http-servers.md). One thread per live connection.
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
  std::string listen = "127.0.0.1:0";  // HOST:PORT; port 0: any free one
  std::optional<TlsFiles> tls{};
  std::size_t max_connections = 256;  // live connections = threads
  // Of those, from one address; 0: as many as there are. More are refused as above the limit. With
  // such a limit the bodies of one address may hold three quarters of max_bytes_in_flight.
  std::size_t max_connections_per_peer = 0;
  // While all connections are busy, a new one waits for one of them as long as this at most.
  std::chrono::milliseconds queue_timeout = std::chrono::seconds(1);
  // Of max_connections. With more than that, replies ask callers to close, and idle connections
  // are closed for new ones. Low for many short-lived callers, high for few that keep connections.
  int high_watermark_percent = 90;
  std::size_t max_body_bytes = 1 << 20;  // larger: 413
  // Held by all requests at once whose body is over 64 KiB; beyond it they are refused with 503.
  std::size_t max_bytes_in_flight = 64 << 20;
  // The default outlasts an API server, which keeps idle connections for 90 s: a server that closes
  // first loses requests.
  std::chrono::milliseconds idle_timeout = std::chrono::seconds(150);
  // For a TLS handshake, and for a whole request from its first byte: 408.
  std::chrono::milliseconds read_timeout = std::chrono::seconds(10);
  std::chrono::milliseconds write_timeout = std::chrono::seconds(30);  // for a whole reply
  HttpReply internal_error{500, R"({"error":"internal error"})"};      // when a handler throws
  HttpRefusalHandler refusal = json_refusal;
};

// Owned by main. Handlers are added before start() and called until stop() has returned.
class HttpServer {
 public:
  explicit HttpServer(HttpServerOptions options);
  ~HttpServer();  // stops
  HttpServer(const HttpServer&) = delete;
  HttpServer& operator=(const HttpServer&) = delete;

  // An exact path, any method: the handler looks at request.method. No patterns.
  void handle(std::string path, HttpHandler handler);
  // The same for what can only be read: other methods than GET and HEAD are answered 405, in the
  // form of the server's refusals.
  void handle_get(std::string path, HttpHandler handler);
  // What its callers read when something is refused before a handler decides: options.refusal.
  HttpReply refusal(int status, const std::string& reason) const;
  // Everything else. Default: 404 with an empty JSON object.
  void handle_rest(HttpHandler handler);

  // Binds, then serves on its own threads. kTransient if the address is taken, kInvalid if the
  // options (certificate, key, address) cannot be used.
  Result<Nothing> start();
  // Accepts no more, finishes requests under way, closes idle connections. Idempotent.
  void stop();
  // The bound port, after start().
  int port() const;

  // Of the certificate, after start(); ok and nothing without TLS. See CertificateFiles.
  Result<Nothing> check_certificate() const;  // for /readyz: it is valid now
  Result<Nothing> check_certificate_files() const;
  std::optional<SysTime> certificate_expires() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace nervex
