// base/http/client.h - how does a caller use one HTTP(S) server? Requests with keep-alive, and
// streams.
#pragma once

#include <chrono>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>

#include "base/clock.h"
#include "base/error.h"
#include "base/http/call_limit.h"

namespace nervex {

struct HttpClientOptions {
  std::string url{};  // scheme://host:port, no path
  // PEM text. TLS verifies the server: against `ca`, or against the system's store if empty.
  std::string ca{};
  std::string client_cert{};             // PEM text, may be empty
  std::string client_key{};              // PEM text, may be empty
  std::string server_name{};             // verified instead of the URL's host, if not empty
  bool accepts_any_certificate = false;  // the server is not verified, and `ca` not used
  // http://[user:password@]host[:port] of a proxy that opens a tunnel to the server. Empty: none.
  std::string proxy{};
  std::multimap<std::string, std::string> headers{};                    // sent with each request
  std::chrono::milliseconds connect_timeout = std::chrono::seconds(5);  // with the handshake
  // For the next piece of a reply, and for a connection of the pool to become free.
  std::chrono::milliseconds read_timeout = std::chrono::seconds(30);
  // For the server to take the next piece of a request.
  std::chrono::milliseconds write_timeout = std::chrono::seconds(30);
  // Limits a server that keeps sending a byte now and then. Not for streams.
  std::chrono::milliseconds total_timeout = std::chrono::seconds(600);
  std::size_t pool_size = 16;  // connections kept for send(); more callers wait for one
};

// PEM texts, as in the options.
struct HttpCredentials {
  std::string ca{};
  std::string client_cert{};
  std::string client_key{};
};

struct HttpResponse {
  int status = 0;
  std::map<std::string, std::string> headers;  // names in lower case
  std::string body;
};

// Whether a stream of this type has frames, each with a length of four bytes before it, as in a
// Kubernetes watch in binary encoding. All other types have lines.
inline bool has_length_delimited_frames(std::string_view content_type) {
  return content_type.starts_with("application/vnd.kubernetes.protobuf");
}

// Thread-safe. Never follows redirects, which would forward the credentials.
class HttpClient {
 public:
  explicit HttpClient(HttpClientOptions options);
  ~HttpClient();
  HttpClient(const HttpClient&) = delete;
  HttpClient& operator=(const HttpClient&) = delete;

  // Any status is a value; kTransient only without a complete answer. A request on a broken
  // connection is not repeated here, because only the caller knows whether that is safe. (A kept
  // connection that the server closed before the request was sent does not count as broken.)
  // `before_sending`, if given, is called after all waiting for a connection; its error is
  // returned, and nothing is sent. The whole call, including the wait for a connection, ends at
  // `until` at the latest, with kTransient.
  Result<HttpResponse> send(const std::string& method, const std::string& path_and_query,
                            const std::map<std::string, std::string>& headers,
                            const std::string& body, const std::string& content_type,
                            const std::function<Result<Nothing>()>& before_sending = {},
                            MonoTime until = MonoTime::max());

  // GET on a new connection, since a kept one may be half open and a stream would wait on it for
  // `silence`. Calls `on_line` for each line of a 200 reply (without the newline), or for each
  // frame if has_length_delimited_frames(). Ends when the server ends the reply, on_line returns
  // false, `stop` is requested (within a second), or no byte came for `silence`. A line longer than
  // 8 MiB ends the stream with kTransient. Returns the status and, if not 200, the body. `on_head`
  // is called when the response head has arrived.
  Result<HttpResponse> stream(
      const std::string& path_and_query, const std::map<std::string, std::string>& headers,
      std::chrono::seconds silence, const std::function<bool(std::string_view line)>& on_line,
      const std::stop_token& stop,
      const std::function<void(int status, std::string_view content_type)>& on_head = {});

  // Uses these for new connections from now on, and closes kept ones, since the old certificate may
  // have been revoked. kInvalid: they are unusable, and nothing changes. No effect without TLS.
  Result<Nothing> set_credentials(const HttpCredentials& credentials);

  // Every current and later send() and stream() ends at that time at the latest, with kTransient;
  // of several times the earliest applies. Only resolving the server's name may take longer.
  void end_calls_by(MonoTime time);
  // The same limit, for a caller's other waits.
  const CallLimit& call_limit() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace nervex
