#include "kube/model/pod.h"

#include <algorithm>

#include "kube/model/pod_need.h"
#include "kube/model/scan_parts.h"

namespace nervex::kube {
namespace {

// What is read on the way and needed only until the pod is complete.
struct Draft {
  Pod pod;
  PodNeed need;
  std::vector<ContainerState> containers;
  bool has_detail_label = false;
  std::string restart_policy;            // of the pod
  StringMap container_restart_policies;  // of those containers that differ (Kubernetes 1.35)
};

OwnerRef scan_owner(Value value, bool& is_controller) {
  OwnerRef owner;
  each_field(value, [&](std::string_view key, Value item) {
    if (key == "apiVersion") owner.api_version = text_of(item);
    if (key == "kind") owner.kind = text_of(item);
    if (key == "name") owner.name = text_of(item);
    if (key == "uid") owner.uid = text_of(item);
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

void scan_labels(Value value, const PodFilter& filter, Draft& draft) {
  draft.pod.meta.labels.clear();
  const auto& keep = filter.label_keys;
  each_field(value, [&](std::string_view key, Value item) {
    if (key == filter.detail_label) draft.has_detail_label = true;
    if (std::find(keep.begin(), keep.end(), key) != keep.end()) {
      draft.pod.meta.labels.emplace(key, string_of(item));
    }
  });
}

void scan_times(std::string_view key, Value item, Meta& meta) {
  if (key == "deletionTimestamp") meta.deleting = !text_of(item).empty();
  if (key == "creationTimestamp") {
    if (const auto created = parse_rfc3339(text_of(item))) meta.created = *created;
  }
}

void scan_metadata(Value value, const PodFilter& filter, Draft& draft) {
  Meta& meta = draft.pod.meta;
  each_field(value, [&](std::string_view key, Value item) {
    if (key == "name") {
      meta.name = text_of(item);
    } else if (key == "namespace") {
      meta.ns = text_of(item);
    } else if (key == "uid") {
      meta.uid = text_of(item);
    } else if (key == "resourceVersion") {
      meta.resource_version = text_of(item);
    } else if (key == "generation") {
      meta.generation = int_of(item);
    } else if (key == "ownerReferences") {
      scan_owners(item, meta);
    } else if (key == "labels") {
      scan_labels(item, filter, draft);
    } else if (key == "annotations") {
      meta.annotations = scan_strings(item, filter.annotation_keys);
    } else {
      scan_times(key, item, meta);
    }
  });
}

void scan_resources(Value value, ContainerNeed& need) {
  each_field(value, [&](std::string_view key, Value item) {
    if (key == "requests") need.requests = scan_amounts(item);
    if (key == "limits") need.limits = scan_amounts(item);
  });
}

ContainerNeed scan_container(Value value, Draft& draft) {
  ContainerNeed need;
  std::string name;
  std::string restart_policy;
  each_field(value, [&](std::string_view key, Value item) {
    if (key == "name") name = text_of(item);
    if (key == "resources") scan_resources(item, need);
    if (key == "restartPolicy") restart_policy = text_of(item);
  });
  need.is_sidecar = restart_policy == "Always";
  if (!restart_policy.empty()) draft.container_restart_policies[name] = restart_policy;
  return need;
}

void scan_spec(Value value, Draft& draft) {
  each_field(value, [&](std::string_view key, Value item) {
    if (key == "containers") {
      each_item(item, [&](Value c) { draft.need.containers.push_back(scan_container(c, draft)); });
    } else if (key == "initContainers") {
      each_item(item,
                [&](Value c) { draft.need.init_containers.push_back(scan_container(c, draft)); });
    } else if (key == "resources") {
      scan_resources(item, draft.need.pod_level);
    } else if (key == "overhead") {
      draft.need.overhead = scan_amounts(item);
    } else if (key == "nodeName") {
      draft.pod.node = text_of(item);
    } else if (key == "schedulerName") {
      draft.pod.scheduler_name = text_of(item);
    } else if (key == "restartPolicy") {
      draft.restart_policy = text_of(item);
    }
  });
}

void scan_state_detail(Value value, ContainerState& state) {
  each_field(value, [&](std::string_view key, Value item) {
    if (key == "exitCode") state.exit_code = static_cast<int>(int_of(item));
    if (key == "reason") state.reason = text_of(item);
    if (key == "message") state.message = text_of(item);
  });
}

void scan_state(Value value, ContainerState& state) {
  each_field(value, [&](std::string_view key, Value item) {
    if (key == "waiting") scan_state_detail(item, state);
    if (key == "terminated" && item.type() == simdjson::ondemand::json_type::object) {
      state.terminated = true;
      scan_state_detail(item, state);
    }
  });
}

// What was before the last restart is told only while the container has not ended again.
void add_last_end(ContainerState last, ContainerState& state) {
  if (!last.terminated || state.terminated) return;
  state.exit_code = last.exit_code;
  if (!last.message.empty()) state.message = std::move(last.message);
}

ContainerState scan_container_status(Value value) {
  ContainerState state;
  ContainerState last;
  each_field(value, [&](std::string_view key, Value item) {
    if (key == "name") state.name = text_of(item);
    if (key == "ready") state.ready = is_true(item);
    if (key == "restartCount") state.restarts = static_cast<int>(int_of(item));
    if (key == "state") scan_state(item, state);
    if (key == "lastState") scan_state(item, last);
  });
  add_last_end(std::move(last), state);
  return state;
}

void apply_condition(Condition condition, Pod& pod) {
  if (condition.type == "Ready") pod.ready = condition.is_true;
  if (condition.type == "DisruptionTarget" && condition.is_true) {
    pod.disruption_target = true;
    pod.disruption_reason = std::move(condition.reason);
  }
  if (condition.type == "PodScheduled" && condition.is_false) {
    pod.unscheduled_message = std::move(condition.message);
  }
}

PodPhase phase_of(std::string_view text) {
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
      pod.phase = phase_of(text_of(item));
    } else if (key == "reason") {
      pod.reason = text_of(item);
    } else if (key == "message") {
      pod.message = text_of(item);
    } else if (key == "nominatedNodeName") {
      pod.nominated_node = text_of(item);
    } else if (key == "conditions") {
      each_item(item, [&](Value entry) { apply_condition(scan_condition(entry), pod); });
    } else if (key == "containerStatuses") {
      each_item(item, [&](Value c) { draft.containers.push_back(scan_container_status(c)); });
    }
  });
}

// A terminated container that the kubelet is about to start again has not ended for good.
bool comes_again(const ContainerState& state, const Draft& draft) {
  if (draft.pod.is_finished()) return false;
  const auto own = draft.container_restart_policies.find(state.name);
  const std::string& policy =
      own == draft.container_restart_policies.end() ? draft.restart_policy : own->second.str();
  return policy == "Always" || (policy == "OnFailure" && state.exit_code != 0);
}

Pod complete(Draft draft) {
  Pod& pod = draft.pod;
  pod.requests = total_of(draft.need);
  if (draft.has_detail_label) {
    for (auto& state : draft.containers) {
      if (state.terminated && comes_again(state, draft)) state.terminated = false;
    }
    pod.containers = std::move(draft.containers);
  } else {
    pod.message = {};
    pod.unscheduled_message = {};
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
  return complete(std::move(draft));
}

Result<Pod> decode_pod(std::string_view json, const PodFilter& filter) {
  return scan<Pod>("pod", json, [&](Scanned& scanned) -> Result<Pod> {
    Pod pod = scan_pod(scanned.root(), filter);
    if (pod.meta.name.empty()) return Error{Code::kInvalid, "pod: metadata.name is missing"};
    return pod;
  });
}

}  // namespace nervex::kube
