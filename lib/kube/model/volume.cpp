#include "kube/model/volume.h"

#include <fmt/format.h>

#include <algorithm>

namespace nervex::kube {
namespace {

constexpr const char* kZone = "topology.kubernetes.io/zone";
constexpr const char* kRegion = "topology.kubernetes.io/region";

struct Decoded {
  Json object;
  Meta meta;
};

Result<Decoded> decode(std::string_view kind, std::string_view json) {
  auto object = parse_json(json);
  if (!object) return with_context(std::string(kind), object.error());
  const Meta all = decode_meta(*object);
  if (all.name.empty()) {
    return Error{Code::kInvalid, fmt::format("{}: metadata.name is missing", kind)};
  }
  Meta meta;
  meta.ns = all.ns;
  meta.name = all.name;
  meta.uid = all.uid;
  meta.resource_version = all.resource_version;
  return Decoded{*std::move(object), std::move(meta)};
}

Json expression(const char* key, const char* op, Json values = Json::array()) {
  Json out{{"key", key}, {"operator", op}};
  if (!values.empty()) out["values"] = std::move(values);
  return out;
}

// "a__b": in a or in b.
Json values_in(std::string_view label) {
  Json values = Json::array();
  while (!label.empty()) {
    const auto end = label.find("__");
    values.push_back(std::string(label.substr(0, end)));
    label = end == std::string_view::npos ? std::string_view() : label.substr(end + 2);
  }
  return values;
}

// A node in that zone, or one that has neither label.
Json zone_terms(const char* key, std::string_view label) {
  return Json::array(
      {{{"matchExpressions", Json::array({expression(key, "In", values_in(label))})}},
       {{"matchExpressions",
         Json::array({expression(kZone, "DoesNotExist"), expression(kRegion, "DoesNotExist")})}}});
}

}  // namespace

Result<Claim> decode_claim(std::string_view json) {
  auto decoded = decode("persistentvolumeclaim", json);
  if (!decoded) return decoded.error();
  return Claim{std::move(decoded->meta), string_at(decoded->object, {"spec", "volumeName"}),
               string_at(decoded->object, {"status", "phase"})};
}

Result<Volume> decode_volume(std::string_view json) {
  auto decoded = decode("persistentvolume", json);
  if (!decoded) return decoded.error();
  Json all = Json::array();
  const Json& terms =
      array_at(decoded->object, {"spec", "nodeAffinity", "required", "nodeSelectorTerms"});
  if (!terms.empty()) all.push_back(terms);
  for (const char* key : {kZone, kRegion}) {
    const std::string label = string_at(decoded->object, {"metadata", "labels", key});
    if (!label.empty()) all.push_back(zone_terms(key, label));
  }
  return Volume{std::move(decoded->meta), all.empty() ? "" : to_text(all)};
}

std::vector<std::string> claim_names(const Json& pod_spec) {
  std::vector<std::string> claims;
  for (const Json& volume : array_at(pod_spec, {"volumes"})) {
    std::string claim = string_at(volume, {"persistentVolumeClaim", "claimName"});
    if (!claim.empty()) claims.push_back(std::move(claim));
  }
  std::sort(claims.begin(), claims.end());
  claims.erase(std::unique(claims.begin(), claims.end()), claims.end());
  return claims;
}

}  // namespace nervex::kube
