#include "kube/leader_api.h"

#include <utility>

#include <fmt/format.h>

#include "kube/leadership.h"

namespace nervex::kube {

Result<std::string> LeaderApi::send(const ApiRequest& request) {
  if (request.method != "GET" && !leadership_.may_write()) {
    return Error{Code::kTransient, fmt::format("{} {}: not sent: not the leader (any more)",
                                               request.method, request.path)};
  }
  return api_.send(request);
}

Result<Nothing> LeaderApi::stream(const std::string& path,
                                  const std::function<bool(std::string_view line)>& on_line,
                                  std::stop_token stop) {
  return api_.stream(path, on_line, std::move(stop));
}

}  // namespace nervex::kube
