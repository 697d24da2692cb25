#include "controller/decide/objects/endpoint_slices.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <utility>

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

bool has_endpoint(const kube::Pod& pod) {
  return pod.is_named_by_namespace && !pod.ip.empty() && !pod.is_finished();
}

// It is about to get or lose its endpoint.
bool is_about_to_change(const kube::Pod& pod) {
  return pod.is_named_by_namespace && !pod.is_finished() && (pod.ip.empty() || pod.meta.deleting);
}

Endpoint make_endpoint(const kube::Pod& pod) {
  return {pod.meta.name, pod.ip.str(), pod.node.str(), pod.meta.uid};
}

Endpoint decode_endpoint(const Json& json) {
  Endpoint endpoint{kube::string_at(json, {"hostname"}),
                    {},
                    kube::string_at(json, {"nodeName"}),
                    kube::string_at(json, {"targetRef", "uid"})};
  // As many as DNS would answer with; an added address makes it another endpoint.
  const auto& addresses = kube::array_at(json, {"addresses"});
  if (addresses.size() == 1 && addresses[0].is_string()) {
    endpoint.address = addresses[0].get_ref<const std::string&>();
  }
  endpoint.is_ready = kube::bool_at(json, {"conditions", "ready"});
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

// A slice as it is to be.
struct Draft {
  const EndpointSlice* stored = nullptr;  // null: to be created
  std::string name;
  std::string_view type;
  std::vector<Endpoint> endpoints;
  bool is_changed = true;

  std::size_t space() const { return kMaxEndpointsPerSlice - endpoints.size(); }
};

Json manifest(const std::string& ns, const Service& service, const Draft& draft) {
  Json endpoints = Json::array();
  for (const auto& endpoint : draft.endpoints) endpoints.push_back(encode_endpoint(endpoint, ns));
  Json metadata = {{"name", draft.name},
                   {"namespace", ns},
                   {"labels",
                    {{job::kGroupLabel, job::kGroupLabelValue},
                     {job::kControllerLabel, job::kControllerLabelValue},
                     {kServiceNameLabel, service.meta.name},
                     {kHeadlessLabel, ""},
                     {kManagedByLabel, kManagedByUs}}},
                   {"ownerReferences",
                    {{{"apiVersion", "v1"},
                      {"kind", "Service"},
                      {"name", service.meta.name},
                      {"uid", service.meta.uid},
                      {"controller", true}}}}};
  if (draft.stored != nullptr) metadata["resourceVersion"] = draft.stored->meta.resource_version;
  return {{"apiVersion", "discovery.k8s.io/v1"}, {"kind", "EndpointSlice"},
          {"metadata", std::move(metadata)},     {"addressType", draft.type},
          {"endpoints", std::move(endpoints)},   {"ports", Json::array()}};
}

class SlicePacker {
 public:
  SlicePacker(const std::string& ns, const Service& service, const Ptrs<EndpointSlice>& slices,
              std::set<std::string> taken)
      : ns_(ns), service_(service), names_(std::move(taken)) {
    for (const auto& slice : slices) names_.insert(slice->meta.name);
  }

  void want(const kube::Pod& pod) { missing_.emplace(pod.meta.name, make_endpoint(pod)); }

  // What is wanted of the slice's endpoints stays in it.
  void keep(const EndpointSlice& slice) {
    Draft draft{&slice, slice.meta.name, slice.address_type == kIPv6 ? kIPv6 : kIPv4, {}, false};
    for (const Endpoint& endpoint : slice.endpoints) {
      const auto wanted = missing_.find(endpoint.hostname);
      if (wanted == missing_.end() || address_type(wanted->second.address) != draft.type ||
          draft.space() == 0) {
        continue;
      }
      draft.endpoints.push_back(std::move(wanted->second));
      missing_.erase(wanted);
    }
    draft.is_changed = draft.endpoints != slice.endpoints || !has_our_metadata(slice);
    drafts_.push_back(std::move(draft));
  }

  // Places the endpoints that no slice has.
  void fill() {
    for (const std::string_view type : {kIPv4, kIPv6}) {
      std::vector<Endpoint> left;
      for (auto& [name, endpoint] : missing_) {
        if (address_type(endpoint.address) == type) left.push_back(std::move(endpoint));
      }
      std::reverse(left.begin(), left.end());  // taken from its end
      while (!left.empty()) {
        Draft& draft = choose(type);
        for (; !left.empty() && draft.space() > 0; left.pop_back()) {
          draft.endpoints.push_back(std::move(left.back()));
        }
        draft.is_changed = true;
      }
    }
  }

  void add_writes(EndpointSliceWrites& writes) const {
    for (const Draft& draft : drafts_) {
      if (draft.stored == nullptr) {
        writes.create.push_back(manifest(ns_, service_, draft));
      } else if (draft.endpoints.empty()) {
        const kube::Meta& meta = draft.stored->meta;
        writes.remove.push_back({meta.name, meta.uid, false, meta.resource_version});
      } else if (draft.is_changed) {
        writes.update.push_back(manifest(ns_, service_, draft));
      }
    }
  }

 private:
  bool has_our_metadata(const EndpointSlice& slice) const {
    const kube::Meta& meta = slice.meta;
    return meta.owner && meta.owner->uid == service_.meta.uid &&
           meta.labels.contains(kHeadlessLabel);
  }

  // With space: one that is written anyway, else the emptiest, else a new one.
  Draft& choose(std::string_view type) {
    Draft* best = nullptr;
    for (Draft& draft : drafts_) {
      if (draft.type != type || draft.space() == 0) continue;
      const auto rank = [](const Draft& one) { return std::pair(one.is_changed, one.space()); };
      if (best == nullptr || rank(draft) > rank(*best)) best = &draft;
    }
    if (best != nullptr) return *best;
    return drafts_.emplace_back(Draft{nullptr, free_name(type), type, {}, true});
  }

  // Known in advance: a second write finds the slice of the first one. Never that of an earlier
  // Service.
  std::string free_name(std::string_view type) {
    constexpr std::size_t kEnough = 8;  // of a UUID
    const std::string uid = service_.meta.uid.substr(0, kEnough);
    for (int number = 0;; ++number) {
      std::string name = fmt::format("{}-{}-{}{}", ns_, uid, number, type == kIPv6 ? "-ipv6" : "");
      if (names_.insert(name).second) return name;
    }
  }

  const std::string& ns_;
  const Service& service_;
  std::set<std::string> names_;              // of slices, ours and others
  std::map<std::string, Endpoint> missing_;  // by name of the pod: wanted, and in no draft
  std::vector<Draft> drafts_;
};

}  // namespace

Result<EndpointSlice> decode_endpoint_slice(std::string_view json) {
  const auto object = kube::parse_json(json);
  if (!object) return with_context("endpointslice", object.error());
  EndpointSlice slice{kube::decode_meta(*object), kube::string_at(*object, {"addressType"}), {}};
  if (slice.meta.name.empty()) {
    return Error{Code::kInvalid, "endpointslice: metadata.name is missing"};
  }
  if (kube::label(slice.meta, kServiceNameLabel) != slice.meta.ns.str()) {
    return Error{Code::kNotFound, "endpointslice of another Service"};
  }
  for (const auto& endpoint : kube::array_at(*object, {"endpoints"})) {
    slice.endpoints.push_back(decode_endpoint(endpoint));
  }
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

EndpointSliceWrites endpoint_slice_writes(const std::string& ns, const Ptrs<kube::Pod>& pods,
                                          const Service* service, const Ptrs<EndpointSlice>& slices,
                                          std::set<std::string> taken) {
  EndpointSliceWrites writes;
  writes.is_partial = std::any_of(pods.begin(), pods.end(),
                                  [](const auto& pod) { return is_about_to_change(*pod); });
  const bool has_service =
      service != nullptr && is_shared_service(*service) && !service->meta.deleting;
  if (!has_service) {
    for (const auto& slice : slices) {
      const kube::Meta& meta = slice->meta;
      if (meta.deleting) continue;
      writes.remove.push_back({meta.name, meta.uid, false, meta.resource_version});
    }
    return writes;
  }
  SlicePacker packer(ns, *service, slices, std::move(taken));
  for (const auto& pod : pods) {
    if (has_endpoint(*pod)) packer.want(*pod);
  }
  for (const auto& slice : slices) {
    if (!slice->meta.deleting) packer.keep(*slice);
  }
  packer.fill();
  packer.add_writes(writes);
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
