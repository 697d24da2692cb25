// kube/client.h - the real API server behind kube::Api, over TLS with kept connections.
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

// One HTTP request as it went over the wire: a repeated one is seen each time, a watch when the
// server has answered its head.
struct RequestSeen {
  std::string_view method;  // "GET", "POST", ..., "WATCH"
  int status = 0;           // 0: there was no answer
  std::chrono::nanoseconds took{};
  std::string_view warnings{};  // its Warning header, see parse_warnings(); of a watch ""
};
// Called on the caller's thread, many at once: must be thread-safe, quick, and not throw.
using RequestObserver = std::function<void(const RequestSeen&)>;

// Thread-safe. A write whose reply is lost is not repeated, but for one that stores nothing: a dry
// run of a creation, or a review. `user_agent` names the program in the API server's audit log.
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

  // For the end of a program: every send() and stream(), in flight or still to come, ends at
  // `deadline` at the latest, with kTransient ("... the program is stopping"), whatever it waits
  // for: a place in the pool, a connection, a reply, the end of a Retry-After. Of several
  // deadlines the earliest counts. (A resolver that hangs is not woken; in a cluster none is asked,
  // for the API server has an address there.)
  void end_calls_by(MonoTime deadline);

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

// The texts of a Warning header (RFC 7234, 5.5), with which the API server passes on what admission
// webhooks warn of: `299 - "one", 299 - "\"two\""`. Pure.
std::vector<std::string> parse_warnings(std::string_view header);

// ---- may a refused request be sent again, and how soon? Pure.

// Longer waits are the business of a caller's own back-off: a worker must not sleep in here.
inline constexpr std::chrono::seconds kLongestObeyedWait{2};

// RFC 9110, 10.2.3: "120", or a date like "Sun, 06 Nov 1994 08:49:37 GMT" (the one form that may be
// sent; none of the obsolete ones). From 0 to an hour; nullopt if it is neither.
std::optional<std::chrono::seconds> parse_retry_after(std::string_view text, SysTime now);

// How long to wait before sending the request once more, if that is safe: a 429 was not executed;
// a 5xx may have been, so only a GET is repeated. nullopt: the caller decides.
std::optional<std::chrono::seconds> wait_before_repeat(
    std::string_view method, int status, std::optional<std::chrono::seconds> retry_after);

}  // namespace nervex::kube
