// kube/leader_api.h - may this write be sent? Only by who leads at this very moment.
#pragma once

#include <functional>
#include <stop_token>
#include <string>
#include <string_view>

#include "kube/api.h"

namespace nervex::kube {

class Leadership;

// The API as a leader's work sees it. Each mutating request asks the monotonic clock just before it
// is sent whether the lease still holds; if not, it is kTransient and nothing is sent. Reads pass.
//
// This is no fence: a request that was sent in time may be carried out late. What two leaders must
// never both do is guarded by UIDs and resourceVersions besides. Thread-safe.
class LeaderApi final : public Api {
 public:
  LeaderApi(Api& api, const Leadership& leadership) : api_(api), leadership_(leadership) {}

  Result<std::string> send(const ApiRequest& request) override;
  Result<Nothing> stream(const std::string& path,
                         const std::function<bool(std::string_view line)>& on_line,
                         std::stop_token stop) override;

 private:
  Api& api_;
  const Leadership& leadership_;
};

}  // namespace nervex::kube
