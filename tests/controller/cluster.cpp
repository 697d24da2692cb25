#include "tests/controller/cluster.h"

#include <algorithm>
#include <set>

#include "base/log.h"
#include "gang/pod_group.h"
#include "tests/support/job_builders.h"

namespace nervex::testing {
namespace {

using kube::string_at;

template <typename T>
void fill(kube::Store<T>& store, const FakeApi& api, const kube::ResourceKind& kind,
          Result<T> (*decode)(std::string_view)) {
  std::set<std::string> listed;
  for (const auto& object : api.list(kind)) {
    auto decoded = decode(kube::to_text(object));
    const kube::Meta meta = kube::decode_meta(object);
    const std::string key = meta.key();
    listed.insert(key);
    if (decoded) {
      store.put(key, *std::move(decoded));
    } else {
      store.keep(key, {meta.uid, meta.deleting, decoded.error().message});
    }
  }
  auto known = store.keys();
  for (auto& key : store.unreadable_keys()) known.push_back(std::move(key));
  for (const auto& key : known) {
    if (listed.count(key) == 0) store.erase(key, std::to_string(api.resource_version()));
  }
}

controller::ObserveOptions options_of(bool shared_services,
                                      std::chrono::milliseconds status_update_period,
                                      bool direct_placement) {
  return {.server_url = "server:8080",
          .aggregator_config = "nervex-system/aggregator-config",
          .status_update_period = status_update_period,
          .shared_services = shared_services,
          .direct_placement = direct_placement};
}

gang::GangStatus planned(const std::string& name, const gang::PodGroup& group,
                         std::int64_t& number) {
  gang::GangStatus status;
  const auto* before = gang::find_gang(group.status, name);
  status.name = name;
  status.planned = true;
  status.committed = before != nullptr && before->committed;
  status.direct_through = before != nullptr ? before->direct_through : 0;
  status.reason = gang::kReasonPlanned;
  for (const auto& set : group.spec.members) {
    if (set.gang != name) continue;
    for (const auto slot : set.slots) {
      const auto* placement = gang::find_placement(group.status, set.role, slot);
      status.placements.push_back(
          placement != nullptr ? *placement : gang::Placement{set.role, slot, "n1", number++});
    }
  }
  return status;
}

}  // namespace

Process::Process(kube::Api& api, const Clock& clock, bool shared_services,
                 std::chrono::milliseconds status_update_period, bool direct_placement)
    : queues(clock),
      events(api, clock, "nervex-controller"),
      pool(0),
      performer(api, stores, events, pool),
      worker(api, stores, queues, performer, clock,
             options_of(shared_services, status_update_period, direct_placement)),
      slices(api, stores, queues.endpoint_slices, events, clock),
      dry_runs(api, stores, queues.jobs, clock,
               options_of(shared_services, status_update_period, direct_placement)) {
  set_log_level(LogLevel::kError);  // failures are what these tests are about
}

Cluster::Cluster(bool has_shared_services) : api(&clock), shared_services(has_shared_services) {
  restart();
}

void Cluster::restart() {
  controller = std::make_unique<Process>(api, clock, shared_services, std::chrono::milliseconds(0),
                                         direct_placement);
  sync();
}

void Cluster::sync() { sync_some(~0U); }

void Cluster::sync_some(unsigned kinds) {
  controller::Stores& stores = controller->stores;
  if (kinds & 1U) fill(stores.jobs, api, kube::kNervexJobs, job::parse_job);
  if (kinds & 2U) fill(stores.pods, api, kube::kPods, controller::decode_pod);
  if (kinds & 4U) fill(stores.services, api, kube::kServices, controller::decode_service);
  if (kinds & 4U)
    fill(stores.endpoint_slices, api, controller::kEndpointSlices,
         controller::decode_endpoint_slice);
  if (kinds & 8U) {
    fill(stores.pod_groups, api, kube::kPodGroups, gang::parse_pod_group);
  }
  fill(stores.aggregator_configs, api, kube::kAggregatorConfigs, job::parse_aggregator_config);
  fill(stores.priority_classes, api, controller::kPriorityClasses,
       controller::decode_priority_class);
}

int Cluster::settle() {
  for (int round = 0; round < 50; ++round) {
    sync();
    const int before = api.requests();
    controller->worker.process(kJobKey);
    if (api.requests() == before) return round;
  }
  return -1;
}

void Cluster::create_job(int collectors, int learners) {
  api.add(kube::kNervexJobs, kNamespace,
          {{"metadata", {{"name", "dqn"}}},
           {"spec",
            {{"coordinator", {{"template", a_template()}}},
             {"collector", {{"template", a_template()}, {"replicas", collectors}}},
             {"learner", {{"template", a_template()}, {"replicas", learners}}}}}});
}

void Cluster::add_aggregator_config() {
  api.add(kube::kAggregatorConfigs, "nervex-system",
          {{"metadata", {{"name", "aggregator-config"}}},
           {"spec", {{"aggregator", {{"template", a_template()}}}}}});
}

void Cluster::plan_and_run() {
  settle();
  plan();
  settle();
  run_pods();
  settle();
}

void Cluster::change_spec(const Json& spec) {
  api.change(kube::kNervexJobs, kNamespace, "dqn", {{"spec", spec}});
}

job::Job Cluster::job() const {
  return *job::decode_job(api.get(kube::kNervexJobs, kNamespace, "dqn"));
}

std::vector<std::string> Cluster::names(const kube::ResourceKind& kind) const {
  std::vector<std::string> names;
  for (const auto& object : api.list(kind))
    names.push_back(string_at(object, {"metadata", "name"}));
  return names;
}

std::vector<std::string> Cluster::event_reasons() const {
  std::vector<std::string> reasons;
  for (const auto& write : api.writes("POST", "/events")) {
    reasons.push_back(string_at(write.body, {"reason"}));
  }
  return reasons;
}

void Cluster::plan() {
  for (const auto& object : api.list(kube::kPodGroups)) {
    gang::PodGroup group = *gang::decode_pod_group(object);
    std::vector<gang::GangStatus> gangs;
    for (const auto& set : group.spec.members) {
      const bool is_known = std::any_of(gangs.begin(), gangs.end(),
                                        [&](const auto& gang) { return gang.name == set.gang; });
      if (!is_known) gangs.push_back(planned(set.gang, group, group.status.next_placement));
    }
    for (auto& gang : gangs) {
      if (!group.spec.direct_placement || gang.name != gang::kBaseGang || gang.committed) continue;
      gang.committed = true;
      gang.direct_through = group.status.next_placement - 1;
    }
    group.status.gangs = std::move(gangs);
    group.status.observed_generation = group.meta.generation;
    api.change(kube::kPodGroups, kNamespace, group.meta.name,
               {{"status", gang::encode_status(group.status)}});
  }
}

// As the extender does before it binds the first pod of a gang.
void Cluster::commit_gangs() {
  for (const auto& object : api.list(kube::kPodGroups)) {
    gang::PodGroup group = *gang::decode_pod_group(object);
    for (auto& gang : group.status.gangs) gang.committed = gang.committed || gang.planned;
    api.change(kube::kPodGroups, kNamespace, group.meta.name,
               {{"status", gang::encode_status(group.status)}});
  }
}

void Cluster::run_pods() {
  commit_gangs();
  int address = 0;  // each pod keeps its own
  for (const auto& pod : api.list(kube::kPods)) {
    ++address;
    if (string_at(pod, {"status", "phase"}) != "Pending") continue;
    api.change(kube::kPods, kNamespace, string_at(pod, {"metadata", "name"}),
               {{"spec", {{"nodeName", "n1"}}},
                {"status",
                 {{"phase", "Running"},
                  {"podIP", fmt::format("10.0.0.{}", address)},
                  {"conditions", Json::array({{{"type", "Ready"}, {"status", "True"}}})}}}});
  }
}

void Cluster::end_pod(const std::string& name, bool well) {
  api.change(kube::kPods, kNamespace, name,
             {{"status", {{"phase", well ? "Succeeded" : "Failed"}, {"conditions", nullptr}}}});
}

}  // namespace nervex::testing
