#include "server/http/address_identity.h"

#include <algorithm>
#include <vector>

#include <fmt/format.h>

#include "job/names.h"
#include "job/server_token.h"
#include "job/types.h"
#include "kube/model/meta.h"

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

bool is_of_job(const kube::Meta& pod) {
  return kube::label(pod, job::kGroupLabel) == job::kGroupLabelValue && pod.owner &&
         pod.owner->kind == job::kKind && pod.owner->api_version == job::kApiVersion;
}

bool is_in_node_network(const Json* pod) { return kube::bool_at(*pod, {"spec", "hostNetwork"}); }

Error refused(const std::string& why) {
  return {Code::kUnauthorized,
          fmt::format("{}: send the header \"Authorization: Bearer TOKEN\"", why)};
}

Error not_yet(const std::string& why) {
  return {Code::kTransient, fmt::format("{}: send a token or retry", why)};
}

}  // namespace

Result<Identity> identify_by_address(std::string_view address, const Json& pods) {
  std::vector<const Json*> holders;
  for (const Json& pod : kube::array_at(pods, {"items"})) {
    if (holds_address(pod, address)) holders.push_back(&pod);
  }
  if (holders.empty()) return not_yet(fmt::format("no pod has the address {} yet", address));
  // First: a node's pods share its address for good.
  if (std::any_of(holders.begin(), holders.end(), is_in_node_network)) {
    return refused("the pod is in its node's network");
  }
  if (holders.size() > 1) return not_yet(fmt::format("several pods have the address {}", address));
  const Json& pod = *holders.front();
  const kube::Meta meta = kube::decode_meta(pod);
  // The server's cache has pods of jobs only, so it could not confirm another one.
  if (!is_of_job(meta)) return refused("the pod is of no job");
  if (has_our_token(pod)) {
    return refused(fmt::format("the pod has a token for this server, in the file that {} names",
                               job::kServerTokenVariable));
  }
  if (meta.deleting) return not_yet("the pod is being deleted");
  Identity who;
  who.pod_ns = meta.ns.str();
  who.pod_name = meta.name;
  who.pod_uid = meta.uid;
  if (!who.is_pod()) return refused("the pod has no UID");
  return who;
}

}  // namespace nervex::server
