// cli/checked_api.h - is a reply about the object that was asked for? All that nervexctl asks of
// the API server passes here.
//
// A proxy with a cache, a wrong address or a login page may answer with something else. Without
// this check a verb would report another object, or success.
#pragma once

#include <chrono>
#include <optional>

#include "base/clock.h"
#include "kube/api.h"

namespace nervex::cli {

// Checks the body of a 2xx reply: an object has the API version, name and, if the request has one,
// kind of the request; a list that comes in one piece has items. Replies to DELETE, of
// sub-resources and outside of the API groups are not checked. kTransient: a write may have taken
// effect. Pure.
Result<Nothing> check_reply(const kube::ApiRequest& request, std::string_view body);

class CheckedApi final : public kube::Api {
 public:
  // `limit`: for all calls together, from now. A call that fails later says so.
  explicit CheckedApi(kube::Api& api,
                      std::optional<std::chrono::milliseconds> limit = std::nullopt);

  Result<std::string> send(const kube::ApiRequest& request) override;
  Result<Nothing> stream(const std::string& path,
                         const std::function<bool(std::string_view line)>& on_line,
                         std::stop_token stop) override;

 private:
  kube::Api& api_;
  std::optional<std::chrono::milliseconds> limit_;
  MonoTime begin_;
};

}  // namespace nervex::cli
