#include "tests/cluster/view.h"

#include <algorithm>
#include <stdexcept>
#include <utility>

#include "kube/model/json.h"

namespace nervex::testing {
namespace {

using kube::find;
using kube::string_at;

// The simulation writes no other units.
std::int64_t parse_amount(const std::string& resource, const Json& quantity) {
  const std::string text = quantity.is_string() ? quantity.get<std::string>() : quantity.dump();
  const bool is_milli = text.back() == 'm';
  const std::int64_t number = std::stoll(is_milli ? text.substr(0, text.size() - 1) : text);
  if (is_milli && resource != "cpu") throw std::invalid_argument(text);
  return resource == "cpu" && !is_milli ? number * 1000 : number;
}

const kube::PodFilter kSlotFilter{
    {},
    {std::string(gang::kPodGroupUidAnnotation), std::string(gang::kSlotAnnotation),
     std::string(gang::kIncarnationAnnotation), std::string(gang::kPlacementAnnotation)},
    "",
    ""};

void add_requests(PodSeen& pod, const Json& requests) {
  for (const auto& [name, quantity] : requests.items()) {
    if (name != "memory") pod.requests[name] += parse_amount(name, quantity);
  }
}

// Of the first term: the controller adds the same pin to each.
std::string find_pin(const Json& object) {
  for (const Json& term : kube::array_at(
           object, {"spec", "affinity", "nodeAffinity",
                    "requiredDuringSchedulingIgnoredDuringExecution", "nodeSelectorTerms"})) {
    for (const Json& field : kube::array_at(term, {"matchFields"})) {
      if (string_at(field, {"key"}) == "metadata.name") return field["values"][0];
    }
  }
  return "";
}

void add_conditions(PodSeen& pod, const Json& object) {
  for (const Json& condition : kube::array_at(object, {"status", "conditions"})) {
    const std::string type = string_at(condition, {"type"});
    const std::string status = string_at(condition, {"status"});
    if (type == kube::kNodeLostCondition && status == "True") pod.node_lost = true;
    if (type == "PodScheduled" && status == "False") pod.refusal = string_at(condition, {"reason"});
  }
}

PodSeen decode_pod(const Json& object) {
  PodSeen pod;
  pod.name = string_at(object, {"metadata", "name"});
  pod.uid = string_at(object, {"metadata", "uid"});
  pod.version = string_at(object, {"metadata", "resourceVersion"});
  pod.node = string_at(object, {"spec", "nodeName"});
  pod.phase = string_at(object, {"status", "phase"});
  pod.reason = string_at(object, {"status", "reason"});
  pod.has_begun = !string_at(object, {"status", "startTime"}).empty();
  pod.deleting = find(object, {"metadata", "deletionTimestamp"}) != nullptr;
  pod.slot = gang::pod_slot(*kube::decode_pod(kube::to_text(object), kSlotFilter));
  pod.scheduler = string_at(object, {"spec", "schedulerName"});
  pod.pinned_to = find_pin(object);
  pod.requests["pods"] = 1;
  for (const Json& container : kube::array_at(object, {"spec", "containers"})) {
    if (const Json* requests = find(container, {"resources", "requests"}))
      add_requests(pod, *requests);
    for (const Json& port : kube::array_at(container, {"ports"})) {
      pod.port = static_cast<int>(kube::int_at(port, {"hostPort"}));
    }
  }
  for (const Json& volume : kube::array_at(object, {"spec", "volumes"})) {
    pod.claims.push_back(string_at(volume, {"persistentVolumeClaim", "claimName"}));
  }
  add_conditions(pod, object);
  return pod;
}

NodeSeen decode_node(const Json& object) {
  NodeSeen node;
  node.name = string_at(object, {"metadata", "name"});
  node.version = string_at(object, {"metadata", "resourceVersion"});
  node.zone = string_at(object, {"metadata", "labels", "topology.kubernetes.io/zone"});
  node.ready = object["status"]["conditions"][0]["status"] == "True";
  node.cordoned = object["spec"].value("unschedulable", false);
  node.tainted = !object["spec"].value("taints", Json::array()).empty();
  for (const auto& [name, quantity] : object["status"]["allocatable"].items()) {
    if (name != "memory") node.allocatable[name] = parse_amount(name, quantity);
  }
  node.allocatable.try_emplace("nvidia.com/gpu", 0);
  return node;
}

// Reuses objects of the last refresh that have the same version.
template <typename T, typename Version, typename Decode>
void refresh_kind(const FakeApi& api, const kube::ResourceKind& kind, const char* key,
                  std::map<std::string, T>& known, const Version& version, const Decode& decode) {
  std::map<std::string, T> now;
  api.each(kind, [&](const Json& object) {
    const std::string name = string_at(object, {"metadata", key});
    const auto before = known.find(name);
    const bool is_same =
        before != known.end() &&
        version(before->second) == string_at(object, {"metadata", "resourceVersion"});
    if (is_same) {
      now.insert(known.extract(before));
    } else {
      now.emplace(name, decode(object));
    }
  });
  known = std::move(now);
}

}  // namespace

void View::refresh() {
  if (std::exchange(version_, api_.resource_version()) == api_.resource_version()) return;
  const auto object_version = [](const auto& object) -> const std::string& {
    return object.version;
  };
  refresh_kind(api_, kube::kPods, "uid", pods_, object_version, decode_pod);
  refresh_kind(api_, kube::kNodes, "name", nodes_, object_version, decode_node);
  refresh_kind(
      api_, kube::kPodGroups, "uid", groups_,
      [](const gang::PodGroup& group) -> const std::string& { return group.meta.resource_version; },
      [](const Json& object) { return *gang::decode_pod_group(object); });
}

const PodSeen* View::pod(const std::string& uid) const {
  const auto found = pods_.find(uid);
  return found == pods_.end() ? nullptr : &found->second;
}

const NodeSeen* View::node(const std::string& name) const {
  const auto found = nodes_.find(name);
  return found == nodes_.end() ? nullptr : &found->second;
}

bool is_wanted(const gang::PodGroup& group, std::string_view role, gang::SlotId slot) {
  const auto sets = gang::all_sets(group.spec.gangs);
  return std::any_of(sets.begin(), sets.end(),
                     [&](const gang::MemberSet& set) { return gang::wants(set, role, slot); });
}

}  // namespace nervex::testing
