#include "kube/leader_api.h"

#include <utility>

#include "kube/leadership.h"

namespace nervex::kube {

Result<std::string> LeaderApi::send(const ApiRequest& request) {
  if (request.method == "GET") return api_.send(request);
  ApiRequest guarded = request;
  guarded.before_sending = [this]() -> Result<Nothing> {
    if (leadership_.may_write()) return ok();
    return Error{Code::kTransient, "not sent: not the leader (any more)"};
  };
  return api_.send(guarded);
}

Result<Nothing> LeaderApi::stream(const std::string& path,
                                  const std::function<bool(std::string_view line)>& on_line,
                                  std::stop_token stop) {
  return api_.stream(path, on_line, std::move(stop));
}

}  // namespace nervex::kube
