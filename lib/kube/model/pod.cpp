#include "kube/model/pod.h"

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <map>
#include <optional>

#include "kube/model/anti_affinity.h"
#include "kube/model/pod_need.h"
#include "kube/model/pod_scan.h"
#include "kube/model/restart_rules.h"
#include "kube/model/scan_parts.h"
#include "kube/model/volume.h"

namespace nervex::kube {
namespace {

// A longer annotation is cut: those that are read are names and numbers.
constexpr std::size_t kMaxKeptAnnotation = 1024;

using Amounts = std::vector<ResourceAmount>;

// Resources granted to a container or to the pod as a whole; see grow_to_given().
struct Given {
  bool is_known = false;  // status...resources is present
  Amounts requests;       // from it: what it runs with
  Amounts allocated;      // ...allocatedResources: what the kubelet has admitted
};

// Values needed only until the pod is complete.
struct Draft {
  Pod pod;
  PodNeed need;
  std::vector<ContainerState> containers;
  std::vector<std::optional<SysTime>> finished_at;  // one per container
  std::optional<SysTime> deletion_timestamp;        // when its grace period ends
  std::int64_t deletion_grace_seconds = 0;          // time from the request to delete to that end
  std::int64_t own_grace_seconds = kDefaultGraceSeconds;
  std::vector<std::string_view> other_finalizers;  // texts of the scan
  bool has_detail_label = false;
  bool has_scheduling_annotation = false;
  bool has_spec_label = false;
  // The JSON of these parts of the spec, as texts of the scan; and parts that are read at once.
  std::string_view node_selector;
  std::string_view node_affinity;
  std::string_view tolerations;
  std::string_view volumes;
  std::string_view topology_spread;
  bool is_gated = false;
  std::size_t kept_label_bytes = 0;
  Labels labels;                                    // all of them; texts of the scan, like the next
  std::string_view anti_affinity;                   // the JSON of the required terms
  std::vector<std::string> container_names;         // in the order of need.containers
  std::vector<std::string> init_container_names;    // in the order of need.init_containers
  std::map<std::string, Given, std::less<>> given;  // by container
  Given given_to_pod;
  bool is_resize_infeasible = false;
  std::string restart_policy;  // of the pod
  std::string_view hostname;   // texts of the scan
  std::string_view subdomain;
  std::string_view ip;
  StringMap container_restart_policies;  // of containers that differ (Kubernetes 1.35)
  std::map<std::string, std::vector<RestartRule>, std::less<>> restart_rules;  // by container
};

OwnerRef scan_owner(Value value, bool& is_controller) {
  OwnerRef owner;
  each_field(value, [&](std::string_view key, Value item) {
    if (key == "apiVersion") owner.api_version = scan_text(item);
    if (key == "kind") owner.kind = scan_text(item);
    if (key == "name") owner.name = scan_text(item);
    if (key == "uid") owner.uid = scan_text(item);
    if (key == "controller") is_controller = is_true(item);
  });
  return owner;
}

void scan_owners(Value value, Meta& meta) {
  each_item(value, [&](Value item) {
    bool is_controller = false;
    OwnerRef owner = scan_owner(item, is_controller);
    if (is_controller) meta.owner = std::move(owner);
  });
}

// With PodFilter::keeps_all_labels: a user can give a pod any number. Each costs as much beside its
// texts.
constexpr std::size_t kMaxLabelBytes = 8192;
constexpr std::size_t kLabelBytes = 80;

void scan_labels(Value value, const PodFilter& filter, Draft& draft) {
  draft.pod.meta.labels.clear();
  const auto& keep = filter.label_keys;
  each_field(value, [&](std::string_view key, Value item) {
    if (key == filter.detail_label) draft.has_detail_label = true;
    if (key == filter.spec_label) draft.has_spec_label = true;
    const std::string_view text = scan_text(item);
    draft.labels.emplace_back(key, text);
    const bool is_named = std::find(keep.begin(), keep.end(), key) != keep.end();
    const bool has_room = draft.kept_label_bytes + key.size() + text.size() <= kMaxLabelBytes;
    if (is_named || (filter.keeps_all_labels && has_room)) {
      draft.kept_label_bytes += kLabelBytes + key.size() + text.size();
      draft.pod.meta.labels.emplace(key, std::string(text));
    }
  });
}

void scan_annotations(Value value, const PodFilter& filter, Draft& draft) {
  draft.pod.meta.annotations.clear();
  const auto& keep = filter.annotation_keys;
  each_field(value, [&](std::string_view key, Value item) {
    const std::string_view text = scan_text(item);
    if (key == filter.scheduling_annotation && !text.empty()) {
      draft.has_scheduling_annotation = true;
    }
    if (std::find(keep.begin(), keep.end(), key) == keep.end()) return;
    // What is cut is no valid mark, and not a missing one either.
    draft.pod.meta.annotations.emplace(key, std::string(text.substr(0, kMaxKeptAnnotation)));
  });
}

void scan_life(std::string_view key, Value item, const PodFilter& filter, Draft& draft) {
  Meta& meta = draft.pod.meta;
  if (key == "deletionTimestamp") {
    draft.deletion_timestamp = scan_time(item);
    meta.deleting = !scan_text(item).empty();
  } else if (key == "deletionGracePeriodSeconds") {
    draft.deletion_grace_seconds = scan_int(item);
  } else if (key == "creationTimestamp") {
    if (const auto created = scan_time(item)) meta.created = *created;
  } else if (key == "finalizers" && !filter.finalizer.empty()) {
    each_item(item, [&](Value one) {
      const std::string_view finalizer = scan_text(one);
      if (finalizer == filter.finalizer) {
        draft.pod.has_finalizer = true;
      } else if (draft.other_finalizers.size() < kMaxFinalizers) {
        draft.other_finalizers.push_back(finalizer);
      }
    });
  }
}

void scan_metadata(Value value, const PodFilter& filter, Draft& draft) {
  Meta& meta = draft.pod.meta;
  each_field(value, [&](std::string_view key, Value item) {
    if (key == "name") {
      meta.name = scan_text(item);
    } else if (key == "namespace") {
      meta.ns = scan_text(item);
    } else if (key == "uid") {
      meta.uid = scan_text(item);
    } else if (key == "resourceVersion") {
      meta.resource_version = scan_text(item);
    } else if (key == "generation") {
      meta.generation = scan_int(item);
    } else if (key == "ownerReferences") {
      scan_owners(item, meta);
    } else if (key == "labels") {
      scan_labels(item, filter, draft);
    } else if (key == "annotations") {
      scan_annotations(item, filter, draft);
    } else {
      scan_life(key, item, filter, draft);
    }
  });
}

void scan_resources(Value value, ContainerNeed& need) {
  each_field(value, [&](std::string_view key, Value item) {
    if (key == "requests") need.requests = scan_amounts(item);
    if (key == "limits") need.limits = scan_amounts(item);
  });
}

// For a pod with hostNetwork, the API server has made every port a host port.
std::vector<std::string> scan_host_ports(Value value) {
  std::vector<std::string> ports;
  each_item(value, [&](Value port) {
    std::int64_t number = 0;
    std::string_view protocol;
    each_field(port, [&](std::string_view key, Value item) {
      if (key == "hostPort") number = scan_int(item);
      if (key == "protocol") protocol = scan_text(item);
    });
    if (number != 0) ports.push_back(host_port(protocol, number));
  });
  return ports;
}

ContainerNeed scan_container(Value value, Draft& draft, std::vector<std::string>& names) {
  ContainerNeed need;
  std::string name;
  std::string restart_policy;
  std::vector<RestartRule> rules;
  each_field(value, [&](std::string_view key, Value item) {
    if (key == "name") name = scan_text(item);
    if (key == "resources") scan_resources(item, need);
    if (key == "ports") need.host_ports = scan_host_ports(item);
    if (key == "restartPolicy") restart_policy = scan_text(item);
    if (key == "restartPolicyRules") rules = scan_restart_rules(item);
  });
  if (!rules.empty()) draft.restart_rules[name] = std::move(rules);
  need.is_sidecar = restart_policy == "Always";
  if (!restart_policy.empty()) draft.container_restart_policies[name] = restart_policy;
  names.push_back(std::move(name));
  return need;
}

void scan_affinity(Value value, Draft& draft) {
  each_field(value, [&](std::string_view kind, Value affinity) {
    if (kind == "nodeAffinity") draft.node_affinity = scan_raw(affinity);
    if (kind != "podAntiAffinity") return;
    each_field(affinity, [&](std::string_view key, Value terms) {
      if (key == "requiredDuringSchedulingIgnoredDuringExecution") {
        draft.anti_affinity = scan_raw(terms);
      }
    });
  });
}

void scan_placement(std::string_view key, Value item, Draft& draft) {
  if (key == "nodeSelector") {
    draft.node_selector = scan_raw(item);
  } else if (key == "tolerations") {
    draft.tolerations = scan_raw(item);
  } else if (key == "volumes") {
    draft.volumes = scan_raw(item);
  } else if (key == "topologySpreadConstraints") {
    draft.topology_spread = scan_raw(item);
  } else if (key == "priority") {
    draft.pod.priority = static_cast<int>(scan_int(item));
  } else if (key == "schedulingGates") {
    each_item(item, [&](Value) { draft.is_gated = true; });
  }
}

void scan_spec(Value value, Draft& draft) {
  each_field(value, [&](std::string_view key, Value item) {
    if (key == "containers") {
      each_item(item, [&](Value c) {
        draft.need.containers.push_back(scan_container(c, draft, draft.container_names));
      });
    } else if (key == "initContainers") {
      each_item(item, [&](Value c) {
        draft.need.init_containers.push_back(scan_container(c, draft, draft.init_container_names));
      });
    } else if (key == "resources") {
      scan_resources(item, draft.need.pod_level);
    } else if (key == "overhead") {
      draft.need.overhead = scan_amounts(item);
    } else if (key == "affinity") {
      scan_affinity(item, draft);
    } else if (key == "nodeName") {
      draft.pod.node = scan_text(item);
    } else if (key == "schedulerName") {
      draft.pod.scheduler_name = scan_text(item);
    } else if (key == "restartPolicy") {
      draft.restart_policy = scan_text(item);
    } else if (key == "hostname") {
      draft.hostname = scan_text(item);
    } else if (key == "subdomain") {
      draft.subdomain = scan_text(item);
    } else if (key == "terminationGracePeriodSeconds") {
      draft.own_grace_seconds = scan_int(item);
    } else {
      scan_placement(key, item, draft);
    }
  });
}

using MaybeTime = std::optional<SysTime>;

void scan_state_detail(Value value, ContainerState& state, MaybeTime& finished_at) {
  each_field(value, [&](std::string_view key, Value item) {
    if (key == "finishedAt") finished_at = scan_time(item);
    if (key == "exitCode") state.exit_code = static_cast<int>(scan_int(item));
    if (key == "reason") state.reason = scan_text(item);
    if (key == "message") state.message = scan_text(item);
  });
}

void scan_state(Value value, ContainerState& state, MaybeTime& finished_at) {
  each_field(value, [&](std::string_view key, Value item) {
    if (key == "waiting") scan_state_detail(item, state, finished_at);
    if (key == "terminated" && item.type() == simdjson::ondemand::json_type::object) {
      state.terminated = true;
      scan_state_detail(item, state, finished_at);
    }
  });
}

// The state before the last restart is reported only until the container ends again.
void add_last_end(ContainerState last, ContainerState& state) {
  if (!last.terminated || state.terminated) return;
  state.exit_code = last.exit_code;
  if (!last.message.empty()) state.message = std::move(last.message);
}

void scan_given(std::string_view key, Value value, Given& given) {
  if (key == "allocatedResources") given.allocated = scan_amounts(value);
  if (key != "resources" || value.type() != simdjson::ondemand::json_type::object) return;
  given.is_known = true;
  each_field(value, [&](std::string_view part, Value item) {
    if (part == "requests") given.requests = scan_amounts(item);
  });
}

void scan_init_container_status(Value value, Draft& draft) {
  std::string name;
  Given given;
  each_field(value, [&](std::string_view key, Value item) {
    if (key == "name") name = scan_text(item);
    scan_given(key, item, given);
  });
  if (given.is_known) draft.given[std::move(name)] = std::move(given);
}

void scan_container_status(Value value, Draft& draft) {
  ContainerState state;
  ContainerState last;
  MaybeTime finished_at;
  MaybeTime last_finished_at;
  Given given;
  each_field(value, [&](std::string_view key, Value item) {
    scan_given(key, item, given);
    if (key == "name") state.name = scan_text(item);
    if (key == "ready") state.ready = is_true(item);
    if (key == "restartCount") state.restarts = static_cast<int>(scan_int(item));
    if (key == "state") scan_state(item, state, finished_at);
    if (key == "lastState") scan_state(item, last, last_finished_at);
  });
  if (given.is_known) draft.given[state.name] = std::move(given);
  add_last_end(std::move(last), state);
  draft.containers.push_back(std::move(state));
  draft.finished_at.push_back(finished_at);
}

void apply_condition(Condition condition, Draft& draft) {
  Pod& pod = draft.pod;
  if (condition.type == "PodResizePending") {
    draft.is_resize_infeasible = condition.reason == "Infeasible";
  } else if (condition.type == "Ready") {
    pod.ready = condition.is_true;
  } else if (condition.type == "DisruptionTarget" && condition.is_true) {
    pod.disruption_target = true;
    pod.disruption_reason = std::move(condition.reason);
  } else if (condition.type == kNodeLostCondition && condition.is_true) {
    pod.node_lost = condition.message.empty() ? condition.type : std::move(condition.message);
  } else if (condition.type == "PodScheduled" && condition.is_false) {
    pod.unscheduled_message = std::move(condition.message);
    pod.unscheduled_reason = std::move(condition.reason);
    pod.unscheduled_since = condition.since;
  } else if (condition.type == "PodScheduled" && condition.is_true) {
    pod.bound_since = condition.since;
  }
}

PodPhase parse_phase(std::string_view text) {
  if (text.empty() || text == "Pending") return PodPhase::kPending;
  if (text == "Running") return PodPhase::kRunning;
  if (text == "Succeeded") return PodPhase::kSucceeded;
  if (text == "Failed") return PodPhase::kFailed;
  return PodPhase::kUnknown;
}

void scan_status(Value value, Draft& draft) {
  Pod& pod = draft.pod;
  each_field(value, [&](std::string_view key, Value item) {
    if (key == "phase") {
      pod.phase = parse_phase(scan_text(item));
    } else if (key == "reason") {
      pod.reason = scan_text(item);
    } else if (key == "message") {
      pod.message = scan_text(item);
    } else if (key == "startTime") {
      pod.has_start_time = !scan_text(item).empty();
    } else if (key == "podIP") {
      draft.ip = scan_text(item);
    } else if (key == "nominatedNodeName") {
      pod.nominated_node = scan_text(item);
    } else if (key == "conditions") {
      each_item(item, [&](Value entry) { apply_condition(scan_condition(entry), draft); });
    } else if (key == "containerStatuses") {
      each_item(item, [&](Value c) { scan_container_status(c, draft); });
    } else if (key == "initContainerStatuses") {
      each_item(item, [&](Value c) { scan_init_container_status(c, draft); });
    } else {
      scan_given(key, item, draft.given_to_pod);
    }
  });
}

// nullptr: none matches this end.
const RestartRule* find_rule(const ContainerState& state, const Draft& draft) {
  const auto rules = draft.restart_rules.find(state.name);
  return rules == draft.restart_rules.end() ? nullptr
                                            : find_restart_rule(rules->second, state.exit_code);
}

bool restarts_all(const ContainerState& state, const Draft& draft) {
  const RestartRule* rule = state.terminated ? find_rule(state, draft) : nullptr;
  return rule != nullptr && rule->restarts_all;
}

// A terminated container that the kubelet will restart has not ended for good.
bool comes_again(const ContainerState& state, const Draft& draft) {
  if (find_rule(state, draft) != nullptr) return true;
  const auto own = draft.container_restart_policies.find(state.name);
  const std::string& policy =
      own == draft.container_restart_policies.end() ? draft.restart_policy : own->second.str();
  return restarts_by_policy(policy, state.exit_code);
}

void drop_passing_ends(Draft& draft) {
  if (draft.pod.is_finished()) return;
  const bool is_whole_pod =
      std::any_of(draft.containers.begin(), draft.containers.end(),
                  [&](const ContainerState& state) { return restarts_all(state, draft); });
  for (ContainerState& state : draft.containers) {
    if (state.terminated && (is_whole_pod || comes_again(state, draft))) state.terminated = false;
  }
}

// The API server moves the timestamp when the grace period is shortened, so this is always the time
// of the first request to delete the pod.
std::optional<SysTime> deletion_requested_at(const Draft& draft) {
  if (!draft.deletion_timestamp) return std::nullopt;
  // A longer one overflows, here or in the API server, so that the time means nothing.
  const std::int64_t grace = draft.deletion_grace_seconds;
  if (grace < 0 || grace > kMaxGraceSeconds) return std::nullopt;
  return *draft.deletion_timestamp - std::chrono::seconds(grace);
}

void compare_with_deletion(Draft& draft) {
  const auto requested = deletion_requested_at(draft);
  if (!requested) return;
  for (std::size_t i = 0; i < draft.containers.size(); ++i) {
    ContainerState& state = draft.containers[i];
    const auto& finished = draft.finished_at[i];
    state.ended_before_deletion = state.terminated && finished && *finished < *requested;
  }
}

void raise(Amounts& amounts, const Amounts& to) {
  for (const auto& [name, amount] : to) {
    const auto at =
        std::find_if(amounts.begin(), amounts.end(),
                     [&name = name](const ResourceAmount& known) { return known.name == name; });
    if (at == amounts.end()) {
      amounts.push_back({name, amount});
    } else {
      at->amount = std::max(at->amount, amount);
    }
  }
}

// A pod that is resized in place occupies the largest of its request, what the kubelet has admitted
// and what it still has; resizes that the kubelet has rejected for good (Infeasible) do not count.
// As in kube-scheduler 1.36 (k8s.io/component-helpers/resource).
void grow_to_given(const Given& given, bool is_infeasible, Amounts& requests) {
  if (!given.is_known) return;
  if (is_infeasible) requests.clear();
  raise(requests, given.requests);
  raise(requests, given.allocated);
}

void grow_to_given(Draft& draft) {
  const auto grow = [&](std::vector<ContainerNeed>& needs, const std::vector<std::string>& names,
                        bool only_sidecars) {
    for (std::size_t i = 0; i < needs.size(); ++i) {
      const auto given = draft.given.find(names[i]);
      if (given == draft.given.end() || (only_sidecars && !needs[i].is_sidecar)) continue;
      grow_to_given(given->second, draft.is_resize_infeasible, needs[i].requests);
    }
  };
  if (!draft.given.empty()) {
    grow(draft.need.containers, draft.container_names, false);
    grow(draft.need.init_containers, draft.init_container_names, true);
  }
  if (!draft.need.pod_level.requests.empty()) {
    grow_to_given(draft.given_to_pod, draft.is_resize_infeasible, draft.need.pod_level.requests);
  }
}

// Few pods have such terms, so a DOM is cheap enough.
void keep_apart(const Draft& draft, Pod& pod) {
  if (draft.anti_affinity.empty()) return;
  const auto terms = parse_json(draft.anti_affinity);
  if (!terms) return;
  for (const auto& resource : self_anti_affinity(*terms, pod.meta.ns.str(), draft.labels)) {
    pod.requests.set(resource, 1);
  }
}

// To one node by its name: {"matchFields": [{"key": "metadata.name", "operator": "In", ...}]}.
bool is_pin(const Json& term) {
  const Json& fields = array_at(term, {"matchFields"});
  return std::any_of(fields.begin(), fields.end(), [](const Json& field) {
    return string_at(field, {"key"}) == "metadata.name" && string_at(field, {"operator"}) == "In" &&
           array_at(field, {"values"}).size() == 1;
  });
}

// Few pods have such a label, so a DOM is cheap enough.
PodSpecDetail make_spec_detail(const Draft& draft) {
  const auto part = [](std::string_view text) {
    auto json = text.empty() ? Result<Json>(Json()) : parse_json(text);
    return json ? *std::move(json) : Json();
  };
  const Json spec{{"nodeSelector", part(draft.node_selector)},
                  {"affinity", {{"nodeAffinity", part(draft.node_affinity)}}},
                  {"tolerations", part(draft.tolerations)},
                  {"volumes", part(draft.volumes)}};
  const NodeConstraints constraints = decode_node_constraints(spec);
  const Json& terms = constraints.node_selector_terms;
  const bool is_pinned = !terms.empty() && std::all_of(terms.begin(), terms.end(), is_pin);
  const Json spreads{{"topologySpreadConstraints", part(draft.topology_spread)}};
  return {draft.is_gated, constraints, claim_names(spec),
          list_topology_spread(spreads, draft.pod.meta.ns.str(), draft.labels), is_pinned};
}

// A pod may request any amount. Sums of what pods use, which are kept and counted down again, never
// reach the largest number: 64 TiB each of 130,000 pods.
constexpr std::int64_t kMostOfOnePod = std::int64_t{1} << 46;

Resources bounded(Resources requests) {
  const bool is_any_larger =
      std::any_of(requests.amounts().begin(), requests.amounts().end(),
                  [](const ResourceAmount& one) { return one.amount > kMostOfOnePod; });
  if (!is_any_larger) return requests;
  Resources cut;
  for (const ResourceAmount& one : requests.amounts()) {
    cut.set(one.name, std::min(one.amount, kMostOfOnePod));
  }
  return cut;
}

bool is_to_be_planned(const Draft& draft, const PodFilter& filter) {
  const Pod& pod = draft.pod;
  return draft.has_spec_label ||
         (!filter.spec_scheduler.empty() && pod.scheduler_name == filter.spec_scheduler &&
          pod.node.empty() && !draft.has_scheduling_annotation);
}

std::vector<std::string> cut_finalizers(const Draft& draft) {
  std::vector<std::string> names;
  for (const std::string_view name : draft.other_finalizers) {
    const bool is_long = name.size() > kMaxFinalizerLength;
    names.push_back(std::string(name.substr(0, kMaxFinalizerLength)) + (is_long ? "..." : ""));
  }
  return names;
}

std::int32_t bounded_grace(std::int64_t seconds) {
  return static_cast<std::int32_t>(std::clamp<std::int64_t>(seconds, 0, kMaxGraceSeconds));
}

Pod complete(Draft draft, const PodFilter& filter) {
  Pod& pod = draft.pod;
  grow_to_given(draft);
  pod.requests = bounded(total_requests(draft.need));
  pod.is_named_by_namespace = !draft.subdomain.empty() &&
                              draft.subdomain == std::string_view(pod.meta.ns.str()) &&
                              draft.hostname == pod.meta.name;
  pod.deleted_at_once = pod.meta.deleting && draft.deletion_grace_seconds == 0;
  keep_apart(draft, pod);
  if (draft.has_detail_label) {
    drop_passing_ends(draft);
    compare_with_deletion(draft);
    pod.containers = std::move(draft.containers);
    pod.ip = draft.ip;
    pod.own_grace_seconds = bounded_grace(draft.own_grace_seconds);
    pod.deletion_grace_seconds = bounded_grace(draft.deletion_grace_seconds);
    if (pod.meta.deleting) pod.other_finalizers = cut_finalizers(draft);
  } else {
    pod.message = {};
    pod.bound_since = {};
  }
  const bool keeps_spec = is_to_be_planned(draft, filter);
  if (keeps_spec) pod.detail = make_spec_detail(draft);
  if (!draft.has_detail_label && !draft.has_scheduling_annotation && !keeps_spec) {
    pod.unscheduled_message = {};
    pod.unscheduled_reason = {};
    pod.unscheduled_since = {};
  } else if (pod.meta.deleting && draft.deletion_timestamp) {
    pod.deletion_timestamp = *draft.deletion_timestamp;
  }
  return std::move(draft.pod);
}

}  // namespace

const char* to_string(PodPhase phase) {
  switch (phase) {
    case PodPhase::kPending:
      return "Pending";
    case PodPhase::kRunning:
      return "Running";
    case PodPhase::kSucceeded:
      return "Succeeded";
    case PodPhase::kFailed:
      return "Failed";
    case PodPhase::kUnknown:
      return "Unknown";
  }
  return "Unknown";
}

Pod scan_pod(Value value, const PodFilter& filter) {
  Draft draft;
  each_field(value, [&](std::string_view key, Value item) {
    if (key == "metadata") scan_metadata(item, filter, draft);
    if (key == "spec") scan_spec(item, draft);
    if (key == "status") scan_status(item, draft);
  });
  return complete(std::move(draft), filter);
}

Result<Pod> decode_pod(std::string_view json, const PodFilter& filter) {
  return scan<Pod>("pod", json, [&](Scanned& scanned) -> Result<Pod> {
    Pod pod = scan_pod(scanned.root(), filter);
    if (pod.meta.name.empty()) return Error{Code::kInvalid, "pod: metadata.name is missing"};
    return pod;
  });
}

}  // namespace nervex::kube
