#include "controller/decide/objects/endpoint_slices.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <utility>

#include "gang/slot.h"
#include "job/names.h"

namespace nervex::controller {

namespace {

constexpr std::string_view kServiceNameLabel = "kubernetes.io/service-name";
constexpr std::string_view kManagedByLabel = "endpointslice.kubernetes.io/managed-by";
constexpr std::string_view kManagedByUs = "nervex-controller";

// Without it each kube-proxy watches slices that it does not need.
constexpr std::string_view kHeadlessLabel = "service.kubernetes.io/headless";

constexpr std::string_view kIPv4 = "IPv4";
constexpr std::string_view kIPv6 = "IPv6";

std::string_view address_type(std::string_view address) {
  return address.find(':') == std::string_view::npos ? kIPv4 : kIPv6;
}

// Borrows its texts.
struct Endpoint {
  std::string_view hostname;
  std::string_view address;
  std::string_view node;
  std::string_view pod_uid;
  bool is_ready = true;  // DNS leaves out one that is not
};

bool has_endpoint(const kube::Pod& pod) {
  return pod.is_named_by_namespace && !pod.ip.empty() && !pod.is_finished();
}

// It is about to get or lose its endpoint.
bool is_about_to_change(const kube::Pod& pod) {
  return pod.is_named_by_namespace && !pod.is_finished() && (pod.ip.empty() || pod.meta.deleting);
}

Endpoint make_endpoint(const kube::Pod& pod) {
  return {pod.meta.name, pod.ip, pod.node, pod.meta.uid};
}

std::uint64_t hash_content(std::string_view service_uid, bool is_labelled,
                           const std::vector<Endpoint>& endpoints) {
  std::string text(service_uid);
  if (!is_labelled) text += '!';
  for (const auto& endpoint : endpoints) {
    for (const auto part : {endpoint.hostname, endpoint.address, endpoint.node, endpoint.pod_uid}) {
      text += '\n';  // a separator that no part contains
      text += part;
    }
    if (!endpoint.is_ready) text += '!';
  }
  return std::hash<std::string>{}(text);
}

std::string_view text_at(const Json& object, std::string_view key) {
  const auto at = object.find(key);
  return at != object.end() && at->is_string() ? at->get_ref<const std::string&>()
                                               : std::string_view();
}

Endpoint decode_endpoint(const Json& json) {
  Endpoint endpoint{text_at(json, "hostname"), {}, text_at(json, "nodeName"), {}};
  // As many as DNS would answer with; an added address makes it another text.
  const auto& addresses = kube::array_at(json, {"addresses"});
  if (addresses.size() == 1 && addresses[0].is_string()) {
    endpoint.address = addresses[0].get_ref<const std::string&>();
  }
  if (const Json* pod = kube::find(json, {"targetRef"})) endpoint.pod_uid = text_at(*pod, "uid");
  const Json* ready = kube::find(json, {"conditions", "ready"});
  endpoint.is_ready = ready != nullptr && *ready == true;
  return endpoint;
}

Json encode_endpoint(const Endpoint& endpoint, const std::string& ns) {
  return {{"addresses", {endpoint.address}},
          {"conditions", {{"ready", true}}},
          {"hostname", endpoint.hostname},
          {"nodeName", endpoint.node},
          {"targetRef",
           {{"kind", "Pod"},
            {"namespace", ns},
            {"name", endpoint.hostname},
            {"uid", endpoint.pod_uid}}}};
}

// Known in advance: a second write finds the first one's slice. Never that of an earlier job of the
// same name.
std::string slice_name(const job::Job& job, int number, std::string_view type) {
  constexpr std::size_t kEnough = 8;  // of a UUID
  return fmt::format("{}-{}-{}{}", job.meta.name, job.meta.uid.substr(0, kEnough), number,
                     type == kIPv6 ? "-ipv6" : "");
}

struct WantedSlice {
  std::string_view type;
  std::vector<Endpoint> endpoints;
};

std::map<std::string, WantedSlice> wanted_slices(const job::Job& job, const Ptrs<kube::Pod>& pods) {
  std::map<std::pair<int, std::string_view>, WantedSlice> by_number;
  for (const auto& pod : pods) {
    if (!has_endpoint(*pod)) continue;
    const auto slot = gang::pod_slot(*pod);
    const std::string_view type = address_type(pod->ip);
    WantedSlice& slice = by_number[{slot ? slot->slot.ordinal / kSlotsPerSlice : 0, type}];
    slice.type = type;
    slice.endpoints.push_back(make_endpoint(*pod));
  }
  std::map<std::string, WantedSlice> wanted;
  for (auto& [key, slice] : by_number) {
    wanted.emplace(slice_name(job, key.first, key.second), std::move(slice));
  }
  return wanted;
}

Json manifest(const job::Job& job, const Service& service, const std::string& name,
              const WantedSlice& wanted) {
  const std::string& ns = job.meta.ns;
  Json endpoints = Json::array();
  for (const auto& endpoint : wanted.endpoints) endpoints.push_back(encode_endpoint(endpoint, ns));
  return {{"apiVersion", "discovery.k8s.io/v1"},
          {"kind", "EndpointSlice"},
          {"metadata",
           {{"name", name},
            {"namespace", ns},
            {"labels",
             {{job::kGroupLabel, job::kGroupLabelValue},
              {job::kControllerLabel, job::kControllerLabelValue},
              {job::kJobLabel, job.meta.name},
              {kServiceNameLabel, service.meta.name},
              {kHeadlessLabel, ""},
              {kManagedByLabel, kManagedByUs}}},
            {"ownerReferences",
             {{{"apiVersion", "v1"},
               {"kind", "Service"},
               {"name", service.meta.name},
               {"uid", service.meta.uid},
               {"controller", true}}}}}},
          {"addressType", wanted.type},
          {"endpoints", std::move(endpoints)},
          {"ports", Json::array()}};
}

}  // namespace

Result<EndpointSlice> decode_endpoint_slice(std::string_view json) {
  const auto object = kube::parse_json(json);
  if (!object) return with_context("endpointslice", object.error());
  EndpointSlice slice{kube::decode_meta(*object)};
  if (slice.meta.name.empty()) {
    return Error{Code::kInvalid, "endpointslice: metadata.name is missing"};
  }
  if (kube::label(slice.meta, kServiceNameLabel) != slice.meta.ns.str()) {
    return Error{Code::kNotFound, "endpointslice of another Service"};
  }
  std::vector<Endpoint> endpoints;
  for (const auto& endpoint : kube::array_at(*object, {"endpoints"})) {
    endpoints.push_back(decode_endpoint(endpoint));
  }
  slice.content = hash_content(slice.meta.owner ? slice.meta.owner->uid : "",
                               slice.meta.labels.contains(kHeadlessLabel), endpoints);
  slice.meta.annotations.clear();
  return slice;
}

bool is_ours(const EndpointSlice& slice) {
  return kube::label(slice.meta, kManagedByLabel) == kManagedByUs;
}

bool is_leftover(const EndpointSlice& slice) {
  const std::string& manager = kube::label(slice.meta, kManagedByLabel);
  return manager == "endpointslice-controller.k8s.io" ||
         manager == "endpointslicemirroring-controller.k8s.io";
}

EndpointSliceWrites endpoint_slice_writes(const job::Job* job, const Ptrs<kube::Pod>& pods,
                                          const Service* service,
                                          const Ptrs<EndpointSlice>& slices) {
  std::map<std::string, WantedSlice> wanted;
  const bool has_service =
      service != nullptr && is_shared_service(*service) && !service->meta.deleting;
  if (job != nullptr && has_service) wanted = wanted_slices(*job, pods);
  EndpointSliceWrites writes;
  writes.is_partial = std::any_of(pods.begin(), pods.end(),
                                  [](const auto& pod) { return is_about_to_change(*pod); });
  std::set<std::string_view> there;
  for (const auto& slice : slices) {
    if (!is_ours(*slice) || slice->meta.deleting) continue;
    const auto at = wanted.find(slice->meta.name);
    if (at == wanted.end()) {
      writes.remove.push_back(
          {slice->meta.name, slice->meta.uid, false, slice->meta.resource_version});
      continue;
    }
    there.insert(slice->meta.name);
    if (slice->content == hash_content(service->meta.uid, true, at->second.endpoints)) continue;
    Json object = manifest(*job, *service, at->first, at->second);
    object["metadata"]["resourceVersion"] = slice->meta.resource_version;
    writes.update.push_back(std::move(object));
  }
  for (const auto& [name, slice] : wanted) {
    if (there.count(name) == 0) writes.create.push_back(manifest(*job, *service, name, slice));
  }
  return writes;
}

bool changes_endpoint(const kube::Pod* before, const kube::Pod* after) {
  const bool had = before != nullptr && has_endpoint(*before);
  const bool has = after != nullptr && has_endpoint(*after);
  if (!had || !has) return had != has;
  return before->ip != after->ip || before->node != after->node ||
         before->meta.uid != after->meta.uid;
}

}  // namespace nervex::controller
