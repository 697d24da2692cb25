#include "tests/controller/world.h"

#include <algorithm>

#include "controller/decide/round/attempt.h"
#include "controller/observe/stores.h"
#include "gang/slot.h"
#include "job/names.h"
#include "tests/cluster/fake_planner.h"
#include "tests/support/job_builders.h"

namespace nervex::testing {
namespace {

using namespace controller;  // NOLINT: the subject of this file

template <typename T>
T must(Result<T> result) {
  if (!result) throw std::logic_error(result.error().message);
  return *std::move(result);
}

std::string manifest_name(const Json& manifest) { return manifest["metadata"]["name"]; }

template <typename T>
void erase(Ptrs<T>& objects, const Target& target) {
  std::erase_if(objects, [&](const auto& o) {
    return o->meta.name == target.name && o->meta.uid == target.uid;
  });
}

template <typename T>
void add_sorted(Ptrs<T>& objects, T object) {
  objects.push_back(std::make_shared<const T>(std::move(object)));
  std::sort(objects.begin(), objects.end(),
            [](const auto& a, const auto& b) { return a->meta.name < b->meta.name; });
}

template <typename T>
std::vector<std::string> object_names(const Ptrs<T>& objects) {
  std::vector<std::string> names;
  for (const auto& object : objects) names.push_back(object->meta.name);
  return names;
}

}  // namespace

World::World(job::Job job) {
  seen.job = std::move(job);
  seen.server_url = "server:8080";
  seen.now = *parse_rfc3339("2026-11-21T10:00:00.250Z");
}

void World::apply(const Actions& actions) {
  for (const auto& action : actions) {
    std::visit([this](const auto& a) { perform(a); }, action);
  }
}

void World::perform(const CreatePodGroup& action) {
  auto group = gang::decode_pod_group(action.manifest);
  group->meta.uid = fmt::format("uid-{}", next_uid_++);
  group->meta.generation = 1;
  group->meta.resource_version = "1";
  created.push_back("podgroup " + group->meta.name);
  add_sorted(seen.pod_groups, *std::move(group));
}

void World::perform(const PatchPodGroup& action) {
  change_group([&](gang::PodGroup& group) {
    Json spec = gang::encode_spec(group.spec);
    spec.merge_patch(action.spec);
    group.spec =
        must(gang::decode_pod_group({{"metadata", {{"name", action.name}}}, {"spec", spec}})).spec;
    ++group.meta.generation;
  });
}

void World::perform(const CreateServices& action) {
  for (const auto& manifest : action.manifests) {
    auto service = decode_service(kube::to_text(manifest));
    service->meta.uid = fmt::format("uid-{}", next_uid_++);
    add_sorted(seen.services, *std::move(service));
    created.push_back("service " + manifest_name(manifest));
  }
}

void World::perform(const CreateSharedService& action) {
  auto service = decode_service(kube::to_text(action.manifest));
  service->meta.uid = fmt::format("uid-{}", next_uid_++);
  seen.shared_service = std::make_shared<const Service>(*std::move(service));
  created.push_back("service " + manifest_name(action.manifest));
}

void World::perform(const UpdateSharedService& action) {
  auto service = decode_service(kube::to_text(action.manifest));
  service->meta.uid = action.uid;
  seen.shared_service = std::make_shared<const Service>(*std::move(service));
}

void World::perform(const CreatePods& action) {
  for (const auto& manifest : action.manifests) {
    auto pod = decode_pod(kube::to_text(manifest));
    pod->meta.uid = fmt::format("uid-{}", next_uid_++);
    pod->meta.created = seen.now;
    add_sorted(seen.pods, *std::move(pod));
    created.push_back("pod " + manifest_name(manifest));
  }
}

void World::perform(const ConfirmFree&) {}  // what it has seen is all there is

void World::perform(const DeletePodGroups& action) {
  for (const auto& target : action.targets) {
    erase(seen.pod_groups, target);
    deleted.push_back("podgroup " + target.name);
  }
}

void World::perform(const DeletePods& action) {
  for (const auto& target : action.targets) {
    deleted.push_back("pod " + target.name + (target.at_once ? " at once" : ""));
    const bool is_there = std::any_of(seen.pods.begin(), seen.pods.end(),
                                      [&](const auto& pod) { return pod->meta.uid == target.uid; });
    if (!is_there) continue;
    bool waits_for_ever = false;
    change_pod(target.name, [&](kube::Pod& pod) {
      waits_for_ever = !pod.node_lost.empty() && !target.at_once;
      pod.deleted_at_once = target.at_once;
      pod.meta.deleting = true;
    });
    if (!waits_for_ever) delete_pod(target.name);
  }
}

void World::perform(const ReleasePods& action) {
  for (const auto& target : action.targets) {
    change_pod(target.name, [](kube::Pod& pod) { pod.has_finalizer = false; });
    if (held_.erase(target.uid) != 0) erase(seen.pods, target);
  }
}

void World::perform(const DeleteServices& action) {
  for (const auto& target : action.targets) {
    erase(seen.services, target);
    if (seen.shared_service && seen.shared_service->meta.uid == target.uid) {
      seen.shared_service = nullptr;
    }
    deleted.push_back("service " + target.name);
  }
}

void World::perform(const UpdateStatus& action) {
  ++status_writes;
  seen.job.status = must(job::decode_job({{"metadata", {{"name", "x"}}},
                                          {"status", job::encode_status(action.status)}}))
                        .status;
}

void World::perform(const RecordEvent& action) { events.push_back(action.event.reason); }

void World::perform(const DeleteJob&) { job_is_deleted = true; }

void World::look() {
  const job::Status& status = seen.job.status;
  const bool is_under_way = status.phase == job::Phase::kRunning;
  const Attempt attempt = current_attempt(seen);
  const bool has_group = attempt.group != nullptr;
  seen.pod_group_is_gone = is_under_way && !has_group;
  seen.coordinator_is_gone = is_under_way && has_group && find_coordinator(attempt) == nullptr;
  seen.last_coordinator = nullptr;
  if (seen.coordinator_is_gone && last_disrupted_ &&
      is_of_group(*last_disrupted_, *attempt.group)) {
    seen.last_coordinator = last_disrupted_;
  }
}

int World::settle() {
  for (int round = 0; round < 20; ++round) {
    look();
    const Decision decision = reconcile(seen);
    if (decision.actions.empty() || job_is_deleted) return round;
    apply(decision.actions);
  }
  return -1;
}

void World::make_gang() {
  settle();
  plan();
  settle();
}

void World::start() {
  make_gang();
  run_all();
  settle();
}

void World::add_aggregator_config() {
  AggregatorConfig config;
  config.meta.name = "aggregator-config";
  config.pod_template = a_template();
  seen.aggregator_config = std::make_shared<const AggregatorConfig>(std::move(config));
}

void World::change_group(const std::function<void(gang::PodGroup&)>& change) {
  gang::PodGroup group = *seen.pod_groups.at(0);
  change(group);
  seen.pod_groups.at(0) = std::make_shared<const gang::PodGroup>(std::move(group));
}

void World::plan(std::string_view node) {
  change_group([&](gang::PodGroup& group) { plan_all(group, node); });
}

void World::plan_directly(std::string_view node) {
  plan(node);
  change_group(commit_directly);
}

void World::commit() { change_group(commit_planned); }

void World::refuse(std::string_view message) {
  change_group([&](gang::PodGroup& group) {
    for (const auto& gang : group.spec.gangs) {
      if (gang::find_gang(group.status, gang.name) != nullptr) continue;
      gang::GangStatus status;
      status.name = gang.name;
      status.reason = gang::kReasonUnschedulable;
      status.message = message;
      group.status.gangs.push_back(std::move(status));
    }
    group.status.observed_generation = group.meta.generation;
  });
}

void World::answer_dry_run(std::vector<DryRunReport::Refusal> refusals, bool is_incomplete) {
  if (!seen.dry_run) return;
  seen.dry_run->is_answered = true;
  seen.dry_run->is_incomplete = is_incomplete;
  seen.dry_run->refusals = std::move(refusals);
}

void World::perform(const DryRunPods& action) {
  seen.dry_run = DryRunReport{action.subject, action.time, false, false, {}};
  ++dry_runs;
}

void World::replan(std::string_view name) {
  change_group([&](gang::PodGroup& group) {
    for (auto& gang : group.status.gangs) {
      if (gang.name != name || gang::find_gang(group.spec, name) == nullptr) continue;
      gang.placements.clear();
      gang = plan_gang_on(group, gang.name, "n2", group.status.next_placement);
    }
  });
}

void World::change_pod(std::string_view name, const std::function<void(kube::Pod&)>& change) {
  for (auto& pod : seen.pods) {
    if (pod->meta.name != name) continue;
    kube::Pod changed = *pod;
    change(changed);
    pod = std::make_shared<const kube::Pod>(std::move(changed));
    return;
  }
  throw std::logic_error("no pod " + std::string(name));
}

void World::bind(std::string_view pod) {
  change_pod(pod, [](kube::Pod& p) { p.node = "n1"; });
}

void World::run(std::string_view pod) {
  change_pod(pod, [](kube::Pod& p) {
    p.node = "n1";
    p.phase = kube::PodPhase::kRunning;
    p.ready = true;
  });
}

void World::end(std::string_view pod, bool well) {
  change_pod(pod, [&](kube::Pod& p) {
    p.node = "n1";
    p.phase = well ? kube::PodPhase::kSucceeded : kube::PodPhase::kFailed;
    p.ready = false;
  });
}

void World::delete_pod(std::string_view name) {
  bool is_held = false;
  change_pod(name, [&](kube::Pod& pod) {
    pod.meta.deleting = true;
    is_held = pod.has_finalizer;
    std::vector<kube::ContainerState> states = pod.containers;
    for (auto& state : states) state.ended_before_deletion = state.terminated;
    pod.containers = std::move(states);
  });
  if (!is_held) return remove_pod(name);
  for (const auto& pod : seen.pods) {
    if (pod->meta.name == name) held_.insert(pod->meta.uid);
  }
}

void World::remove_pod(std::string_view name) {
  for (const auto& pod : seen.pods) {
    if (pod->meta.name == name && pod->disruption_target) last_disrupted_ = pod;
  }
  std::erase_if(seen.pods, [&](const auto& pod) { return pod->meta.name == name; });
}

void World::run_all() {
  for (const auto& pod : pod_names()) run(pod);
}

std::vector<std::string> World::pod_names() const { return object_names(seen.pods); }
std::vector<std::string> World::service_names() const { return object_names(seen.services); }

std::string World::name(job::Role role, int ordinal, int incarnation) const {
  return job::pod_name(seen.job, role, {ordinal, incarnation});
}

}  // namespace nervex::testing
