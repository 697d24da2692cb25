// kube/client.h - how does kube::Api reach the real API server? TLS, with kept connections.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "kube/api.h"
#include "kube/config.h"

namespace nervex::kube {

// One HTTP request as sent: each repeat is seen, and a watch is seen when the response head
// arrives.
struct RequestSeen {
  std::string_view method;  // "GET", "POST", ..., "WATCH"
  int status = 0;           // 0: no answer
  std::chrono::nanoseconds took{};
  std::string_view warnings{};  // Warning header, see parse_warnings(); "" for a watch
};
// Called on the caller's thread, concurrently: must be thread-safe, quick, and not throw.
using RequestObserver = std::function<void(const RequestSeen&)>;

// Thread-safe. A write with a lost reply is not repeated, unless it stores nothing: a dry run of a
// creation, or a review. `user_agent` names the program in the API server's audit log.
class Client final : public Api {
 public:
  Client(const ConnectionConfig& config, std::string user_agent, RequestObserver observer = {});
  ~Client() override;
  Client(const Client&) = delete;
  Client& operator=(const Client&) = delete;

  Result<std::string> send(const ApiRequest& request) override;
  Result<Nothing> stream(const std::string& path,
                         const std::function<bool(std::string_view line)>& on_line,
                         std::stop_token stop) override;

  // For shutdown: every current and later send() and stream() ends at `deadline` at the latest,
  // with kTransient ("... the program is stopping"), including waits for the pool, a connection, a
  // reply or Retry-After. Of several deadlines the earliest applies. (A hanging resolver is not
  // interrupted; in a cluster none is used, since the API server has an IP address.)
  void end_calls_by(MonoTime deadline);

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

// The texts of a Warning header (RFC 7234, 5.5), through which the API server forwards warnings of
// admission webhooks: `299 - "one", 299 - "\"two\""`. Pure.
std::vector<std::string> parse_warnings(std::string_view header);

// ---- may a refused request be sent again, and when? Pure.

// Longer waits belong to the caller's back-off: a worker must not sleep in here.
inline constexpr std::chrono::seconds kLongestObeyedWait{2};

// RFC 9110, 10.2.3: "120", or a date like "Sun, 06 Nov 1994 08:49:37 GMT" (the only form that may
// be sent; obsolete forms are rejected). From 0 to an hour; nullopt if it is neither.
std::optional<std::chrono::seconds> parse_retry_after(std::string_view text, SysTime now);

// How long to wait before one repeat, if that is safe: a 429 was not executed; a 5xx may have been,
// so only a GET is repeated. nullopt: the caller decides.
std::optional<std::chrono::seconds> wait_before_repeat(
    std::string_view method, int status, std::optional<std::chrono::seconds> retry_after);

}  // namespace nervex::kube
