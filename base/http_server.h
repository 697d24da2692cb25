// base/http_server.h - how do callers reach a program? HTTP/1.1 over cpp-httplib, plain or TLS.
//
// The settings are those that decide whether such a server survives its callers (docs/adr,
// quality: idle connections, slow senders, lying lengths). One thread per live connection.
#pragma once

#include <chrono>
#include <cstddef>
#include <memory>
#include <optional>
#include <string>

#include "base/error.h"
#include "base/http.h"

namespace nervex {

struct TlsFiles {
  std::string cert_file;  // PEM, leaf first, then the chain
  std::string key_file;   // PEM
};

struct HttpServerOptions {
  std::string listen = "127.0.0.1:0";  // HOST:PORT; port 0: any free one
  std::optional<TlsFiles> tls{};
  std::size_t max_connections = 256;       // live connections = threads
  std::size_t max_body_bytes = 1 << 20;    // larger: 413
  std::chrono::seconds idle_timeout{150};  // an API server keeps idle connections for 90 s
  std::chrono::seconds read_timeout{10};   // a slow sender is dropped after this
  bool allow_chunked_bodies = true;        // false: Transfer-Encoding is refused with 400
  HttpReply internal_error{500, R"({"error":"internal error"})"};  // when a handler throws
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
  // Everything else. Default: 404 with an empty JSON object.
  void handle_rest(HttpHandler handler);

  // Binds, then serves on its own threads. kTransient if the address is taken, kInvalid if the
  // options (certificate, key, address) cannot be used.
  Result<Nothing> start();
  // Accepts no more, finishes requests under way, closes idle connections. Idempotent.
  void stop();
  // The bound port, after start().
  int port() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

// Adds GET /healthz (200 while the process lives) and GET /readyz: 200, or 503 with the reason that
// `not_ready` returns. `not_ready` returns "" when ready.
void add_health_routes(HttpServer& server, std::function<std::string()> not_ready);

}  // namespace nervex
