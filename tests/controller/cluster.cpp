#include "tests/controller/cluster.h"

#include <algorithm>
#include <set>

#include "base/log.h"
#include "gang/pod_group.h"
#include "tests/cluster/fake_planner.h"
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

controller::ObserveOptions observe_options(bool shared_services,
                                           std::chrono::milliseconds status_update_period,
                                           bool direct_placement) {
  return {.server_url = "server:8080",
          .aggregator_config = "nervex-system/aggregator-config",
          .status_update_period = status_update_period,
          .shared_services = shared_services,
          .direct_placement = direct_placement};
}

}  // namespace

Process::Process(kube::Api& api, const Clock& clock, bool shared_services,
                 std::chrono::milliseconds status_update_period, bool direct_placement)
    : queues(clock),
      events(api, clock, "nervex-controller"),
      pool(0),
      performer(api, stores, events, pool),
      worker(api, stores, queues, performer, clock,
             observe_options(shared_services, status_update_period, direct_placement)),
      slices(api, stores, queues.endpoint_slices, events, clock),
      dry_runs(api, stores, queues.jobs, clock,
               observe_options(shared_services, status_update_period, direct_placement)) {
  set_log_level(LogLevel::kError);  // failures are what these tests are about
}

ControllerCluster::ControllerCluster(bool has_shared_services)
    : shared_services(has_shared_services) {
  restart();
}

void ControllerCluster::restart() {
  controller = std::make_unique<Process>(api, clock, shared_services, std::chrono::milliseconds(0),
                                         direct_placement);
  sync();
}

void ControllerCluster::sync() { sync_some(~0U); }

void ControllerCluster::sync_some(unsigned kinds) {
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
  fill(stores.priority_classes, api, kube::kPriorityClasses, job::decode_priority_class);
}

int ControllerCluster::settle() {
  for (int round = 0; round < 50; ++round) {
    sync();
    const int before = api.requests();
    controller->worker.process(kJobKey);
    if (api.requests() == before) return round;
  }
  return -1;
}

void ControllerCluster::create_job(int collectors, int learners) {
  api.add(kube::kNervexJobs, kNamespace,
          {{"metadata", {{"name", "dqn"}}},
           {"spec",
            {{"coordinator", {{"template", a_template()}}},
             {"collector", {{"template", a_template()}, {"replicas", collectors}}},
             {"learner", {{"template", a_template()}, {"replicas", learners}}}}}});
}

void ControllerCluster::plan_and_run() {
  settle();
  plan();
  settle();
  run_pods();
  settle();
}

void ControllerCluster::change_spec(const Json& spec) {
  api.change(kube::kNervexJobs, kNamespace, "dqn", {{"spec", spec}});
}

job::Job ControllerCluster::job() const {
  return *job::decode_job(api.get(kube::kNervexJobs, kNamespace, "dqn"));
}

std::vector<std::string> ControllerCluster::names(const kube::ResourceKind& kind) const {
  std::vector<std::string> names;
  for (const auto& object : api.list(kind))
    names.push_back(string_at(object, {"metadata", "name"}));
  return names;
}

std::vector<std::string> ControllerCluster::event_reasons() const {
  std::vector<std::string> reasons;
  for (const auto& write : api.writes("POST", "/events")) {
    reasons.push_back(string_at(write.body, {"reason"}));
  }
  return reasons;
}

void ControllerCluster::change_groups(void (*change)(gang::PodGroup&)) {
  for (const auto& object : api.list(kube::kPodGroups)) {
    gang::PodGroup group = *gang::decode_pod_group(object);
    change(group);
    api.change(kube::kPodGroups, kNamespace, group.meta.name,
               {{"status", gang::encode_status(group.status)}});
  }
}

void ControllerCluster::plan() {
  change_groups([](gang::PodGroup& group) {
    plan_all(group, "n1");
    commit_directly(group);
  });
}

void ControllerCluster::run_pods() {
  change_groups(commit_planned);
  for (const auto& pod : api.list(kube::kPods)) {
    if (string_at(pod, {"status", "phase"}) != "Pending") continue;
    const std::string name = string_at(pod, {"metadata", "name"});
    bind_pod(name, "n1");
    run_pod(name);
  }
}

}  // namespace nervex::testing
