#include "server/http/address_identity.h"

#include <algorithm>
#include <vector>

#include <fmt/format.h>

#include "job/server_token.h"

namespace nervex::server {
namespace {

// A finished pod has given its address back. A pod that is being deleted still has it.
bool holds_address(const Json& pod, std::string_view address) {
  const std::string phase = kube::string_at(pod, {"status", "phase"});
  return phase != "Succeeded" && phase != "Failed" &&
         kube::string_at(pod, {"status", "podIP"}) == address;
}

bool is_our_token(const Json& source) {
  return kube::string_at(source, {"serviceAccountToken", "audience"}) == job::kServerTokenAudience;
}

bool has_our_token(const Json& pod) {
  const Json& volumes = kube::array_at(pod, {"spec", "volumes"});
  return std::any_of(volumes.begin(), volumes.end(), [](const Json& volume) {
    const Json& sources = kube::array_at(volume, {"projected", "sources"});
    return std::any_of(sources.begin(), sources.end(), is_our_token);
  });
}

Error refused(const std::string& why) {
  return {Code::kUnauthorized,
          fmt::format("{}: send the header \"Authorization: Bearer TOKEN\"", why)};
}

}  // namespace

Result<Identity> identify_by_address(std::string_view address, const Json& pods) {
  std::vector<const Json*> holders;
  for (const Json& pod : kube::array_at(pods, {"items"})) {
    if (holds_address(pod, address)) holders.push_back(&pod);
  }
  if (holders.empty()) {
    return Error{Code::kTransient,
                 fmt::format("no pod has the address {} yet: send a token or retry", address)};
  }
  if (holders.size() > 1) return refused(fmt::format("several pods have the address {}", address));
  const Json& pod = *holders.front();
  if (kube::bool_at(pod, {"spec", "hostNetwork"}))
    return refused("the pod is in its node's network");
  if (!kube::string_at(pod, {"metadata", "deletionTimestamp"}).empty()) {
    return refused("the pod is being deleted");
  }
  if (has_our_token(pod)) {
    return refused(fmt::format("the pod has a token for this server, in the file that {} names",
                               job::kServerTokenVariable));
  }
  Identity who;
  who.pod_ns = kube::string_at(pod, {"metadata", "namespace"});
  who.pod_name = kube::string_at(pod, {"metadata", "name"});
  who.pod_uid = kube::string_at(pod, {"metadata", "uid"});
  if (!who.is_pod()) return refused("the pod has no UID");
  return who;
}

}  // namespace nervex::server
