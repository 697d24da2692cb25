#include "controller/decide/round/observed.h"

#include <algorithm>
#include <functional>
#include <utility>

#include "job/names.h"
#include "job/types.h"

namespace nervex::controller {

namespace {

bool is_owned_by_job(const kube::Meta& meta) {
  return meta.owner && meta.owner->kind == job::kKind &&
         meta.owner->api_version == job::kApiVersion;
}

}  // namespace

Result<Service> decode_service(std::string_view json) {
  const auto object = kube::parse_json(json);
  if (!object) return with_context("service", object.error());
  Service service{kube::decode_meta(*object), service_shape(*object),
                  !kube::array_at(*object, {"metadata", "ownerReferences"}).empty(),
                  kube::string_at(*object, {"spec", "clusterIP"}) == "None"};
  // Users may create such a Service: nothing is kept that they make as large as they like.
  service.meta.annotations.clear();
  const kube::StringMap labels = std::exchange(service.meta.labels, {});
  for (const auto key : {job::kGroupLabel, job::kControllerLabel}) {
    if (const auto at = labels.find(key); at != labels.end()) {
      service.meta.labels.emplace(at->first, at->second);
    }
  }
  if (service.meta.name.empty()) return Error{Code::kInvalid, "service: metadata.name is missing"};
  return service;
}

std::uint64_t service_shape(const Json& service) {
  const Json* selector = kube::find(service, {"spec", "selector"});
  Json ports = Json::array();
  for (const auto& port : kube::array_at(service, {"spec", "ports"})) {
    ports.push_back({kube::string_at(port, {"name"}), kube::int_at(port, {"port"}),
                     kube::int_at(port, {"targetPort"}), kube::string_at(port, {"protocol"})});
  }
  const Json* early = kube::find(service, {"spec", "publishNotReadyAddresses"});
  const Json shape = {kube::string_at(service, {"spec", "clusterIP"}),
                      early != nullptr && *early == true, selector != nullptr ? *selector : Json(),
                      std::move(ports)};
  return std::hash<std::string>{}(kube::to_text(shape));
}

bool is_shared_service(const Service& service) {
  const kube::Meta& meta = service.meta;
  return meta.name == meta.ns.str() && !service.has_owner &&
         kube::label(meta, job::kGroupLabel) == job::kGroupLabelValue &&
         kube::label(meta, job::kControllerLabel) == job::kControllerLabelValue;
}

std::string owner_job_uid(const kube::Meta& meta) {
  return is_owned_by_job(meta) ? meta.owner->uid : "";
}

std::string owner_job_key(const kube::Meta& meta) {
  return is_owned_by_job(meta) ? meta.ns + "/" + meta.owner->name : "";
}

}  // namespace nervex::controller
