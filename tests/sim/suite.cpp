#include "tests/sim/suite.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "controller/observe/stores.h"
#include "job/counts.h"
#include "job/names.h"
#include "job/slots.h"
#include "tests/support/fake_rules.h"
#include "tests/support/job_builders.h"

namespace nervex::testing {
namespace {

using kube::string_at;

constexpr std::size_t kLongestStory = 80;

std::string ours(const kube::ResourceKind& kind) {
  return fmt::format("{}?labelSelector={}%3D{}", kube::api_path(kind), job::kGroupLabel,
                     job::kGroupLabelValue);
}

bool is_leaving(const Json& object) {
  return kube::find(object, {"metadata", "deletionTimestamp"}) != nullptr;
}

const std::string kSlicesKey = controller::orphans_key(kNamespace);

constexpr const char* kNodeNames[] = {"n1", "n2", "n3"};

}  // namespace

Suite::Suite(unsigned seed, int collectors, int learners)
    : door(api),
      rules(api, kNamespace, "dqn"),
      scheduling(*this),
      rng_(seed),
      shared_services_(seed % 2 == 1),
      status_update_period_(seed % 4 < 2 ? 2'000 : 0),
      direct_placement_(seed % 3 == 0) {
  connect();
  api.terminate_pods_slowly();
  for (const char* node : kNodeNames) add_node(node, 16, 12);
  api.add(kube::kNervexJobs, kNamespace,
          {{"metadata", {{"name", "dqn"}}},
           {"spec",
            {{"coordinator", {{"template", a_template()}}},
             {"collector", {{"template", a_template()}, {"replicas", collectors}}},
             {"learner", {{"template", a_template()}, {"replicas", learners}}},
             {"backoffLimit", 1000}}}});
  add_strangers();
  take_over();
}

Suite::~Suite() = default;

void Suite::connect() {
  door.fault = [this](const kube::ApiRequest& request) { return fault_for(request); };
  door.before = [this](const kube::ApiRequest& request) {
    if (process_) rules.before(request, process_->stores);
  };
  door.after = [this](const kube::ApiRequest& request) {
    rules.after(request);
    if (is_write(request) && !is_event(request)) {
      const auto at = request.path.find("namespaces");  // reviews of access have none
      note(fmt::format("  controller: {} {}", request.method,
                       request.path.substr(at == std::string::npos ? 0 : at)));
    }
  };
  scheduling.door.fault = [this](const kube::ApiRequest& request) -> std::optional<Door::Fault> {
    if (extender_writes_left_ < 0 || !is_write(request) || extender_writes_left_-- > 0) {
      return std::nullopt;
    }
    note(fmt::format("the extender is killed at {} {}", request.method, request.path));
    ++rules.seen["extender killed at a write"];
    return Door::Fault{std::nullopt, extender_applied_};
  };
  api.review_access([this](const Json&) { return !is_denied(); });
}

// Objects of another job of the same name, as one that was deleted leaves them.
void Suite::add_strangers() {
  const Json meta = {
      {"name", "other"},
      {"namespace", kNamespace},
      {"labels", {{job::kGroupLabel, job::kGroupLabelValue}, {job::kJobLabel, "dqn"}}},
      {"ownerReferences", Json::array({kube::encode_controller_ref({std::string(job::kApiVersion),
                                                                    std::string(job::kKind), "dqn",
                                                                    "uid-of-another-job"})})}};
  api.add(kube::kPods, kNamespace,
          {{"metadata", meta}, {"spec", a_template()["spec"]}, {"status", {{"phase", "Pending"}}}});
  api.add(kube::kServices, kNamespace, {{"metadata", meta}, {"spec", {{"clusterIP", "None"}}}});
  api.add(kube::kPodGroups, kNamespace,
          {{"metadata", meta}, {"spec", gang::encode_spec(gang::PodGroupSpec{})}});
}

void Suite::check_strangers() {
  for (const auto* kind : {&kube::kPods, &kube::kServices, &kube::kPodGroups}) {
    const Json object = api.get(*kind, kNamespace, "other");
    if (object.is_null() || is_leaving(object)) rules.breach("an object of another job is gone");
  }
}

void Suite::note(const std::string& what) {
  ++rules.seen[what];
  if (story_.size() >= kLongestStory) story_.erase(story_.begin());
  story_.push_back(what);
}

std::string Suite::story() const { return fmt::format("{}", fmt::join(story_, "\n")); }

// ---- the controller

// What Watches does with each kind.
void Suite::take_over(const std::vector<std::int64_t>& behind, bool waits_for_caches) {
  feeds_.clear();
  process_ = std::make_unique<Process>(reviewed_, clock, shared_services_, status_update_period_,
                                       direct_placement_);
  controller::Stores& stores = process_->stores;
  kube::WorkQueue& queue = process_->queues.jobs;
  kube::WorkQueue& slices = process_->queues.endpoint_slices;
  const auto add_owners = [&queue](const auto& before, const auto& after) {
    for (const auto& object : {before, after}) {
      const std::string key = object ? controller::owner_job_key(object->meta) : "";
      if (!key.empty()) queue.add(key);
    }
  };
  const auto service_changed = [&queue, &slices, add_owners](const auto& before,
                                                             const auto& after) {
    add_owners(before, after);
    if ((after ? after : before)->meta.name != kNamespace) return;
    queue.add(kJobKey);
    slices.add(kSlicesKey);
  };
  const auto pod_changed = [&stores, &queue, &slices](const auto& before, const auto& after) {
    const bool was_coordinator =
        after == nullptr && job::pod_role(*before) == job::Role::kCoordinator;
    if (was_coordinator && before->disruption_target) {
      stores.disrupted_coordinators.put(before->meta.key(), *before);
    }
    const std::string key = controller::owner_job_key((after ? after : before)->meta);
    if (key.empty()) return;
    if (controller::changes_endpoint(before.get(), after.get())) {
      slices.add_after(kSlicesKey, controller::kEndpointSliceDelay);
    }
    if (after != nullptr && controller::can_be_coalesced(*after)) {
      queue.add_after(key, std::chrono::milliseconds(200));
    } else {
      queue.add(key);
    }
  };
  const auto add = [&](std::string path, kube::ReflectorSink sink) {
    feeds_.push_back(std::make_unique<Feed>(api, std::move(path), std::move(sink)));
  };
  add(kube::api_path(kube::kNervexJobs),
      kube::sink_into<job::Job>(stores.jobs, job::parse_job,
                                [&queue](const auto& before, const auto& after) {
                                  queue.add((after ? after : before)->meta.key());
                                }));
  add(ours(kube::kPods),
      kube::sink_into<kube::Pod>(stores.pods, controller::decode_pod, pod_changed));
  add(ours(kube::kServices), kube::sink_into<controller::Service>(
                                 stores.services, controller::decode_service, service_changed));
  add(kube::api_path(kube::kPodGroups),
      kube::sink_into<gang::PodGroup>(stores.pod_groups, gang::parse_pod_group, add_owners));
  add(kube::api_path(kube::kAggregatorConfigs),
      kube::sink_into<controller::AggregatorConfig>(stores.aggregator_configs,
                                                    job::parse_aggregator_config,
                                                    [&stores, &queue](const auto&, const auto&) {
                                                      for (const auto& key : stores.jobs.keys())
                                                        queue.add(key);
                                                    }));
  add(ours(controller::kEndpointSlices),
      kube::sink_into<controller::EndpointSlice>(
          stores.endpoint_slices, controller::decode_endpoint_slice,
          [&slices](const auto&, const auto&) { slices.add(kSlicesKey); }));
  const std::int64_t now = api.resource_version();
  for (std::size_t i = 0; i < feeds_.size(); ++i) {
    feeds_[i]->list(std::max<std::int64_t>(1, now - (i < behind.size() ? behind[i] : 0)));
  }
  fresh_from_ = waits_for_caches ? now : 0;
}

std::int64_t Suite::position(Watched kind) const { return feeds_[kind]->position(); }

void Suite::deliver(Watched kind, std::int64_t version) {
  feeds_[kind]->deliver(std::min(version, api.resource_version()));
}

void Suite::deliver_all() {
  for (auto& feed : feeds_) feed->deliver(api.resource_version());
}

void Suite::deliver_some() {
  for (auto& feed : feeds_) {
    const auto left = static_cast<unsigned>(api.resource_version() - feed->position());
    if (once_in(3) || (held_back_ != kFeeds && feed == feeds_[held_back_])) continue;
    feed->deliver(feed->position() + (once_in(2) ? left : below(left + 1)));
  }
}

int Suite::work(int most) {
  const bool is_fresh = std::all_of(feeds_.begin(), feeds_.end(), [this](const auto& feed) {
    return feed->position() >= fresh_from_;
  });
  if (!is_fresh) return 0;
  int rounds = 0;
  try {
    while (rounds < most && process_->queues.jobs.size() > 0) {
      const auto key = process_->queues.jobs.next();
      ++rounds;
      process_->worker.process(*key);
      process_->queues.jobs.done(*key);
    }
    look_at_slices();
  } catch (const Killed&) {
    note("the controller is killed");
    end_faults();
    take_over();
  }
  rules.look();
  return rounds;
}

void Suite::look_at_slices() {
  kube::WorkQueue& queue = process_->queues.endpoint_slices;
  while (queue.size() > 0) {
    const auto key = queue.next();
    process_->slices.process(*key);
    queue.done(*key);
  }
}

bool Suite::work_anyway() {
  const std::int64_t before = api.resource_version();
  process_->worker.process(kJobKey);
  process_->slices.process(kSlicesKey);
  rules.look();
  return api.resource_version() != before;
}

// ---- faults

std::optional<Door::Fault> Suite::fault_for(const kube::ApiRequest& request) {
  if (denied_ != 0 && is_write(request) && !is_event(request)) --writes_before_denial_;
  const bool meets_denial = what_ == Denied::kAll ||
                            (what_ == Denied::kWrites && is_write(request)) ||
                            is_pod_creation(request);
  const bool is_answered = what_ != Denied::kAll && is_access_review(request);  // it says no
  if (is_denied() && meets_denial && !is_answered) {
    const FakePath path = parse_path(request.path);
    ++rules.seen["request denied"];
    return Door::Fault{
        denied_ == 401 ? refuse(401, "Unauthorized", "Unauthorized")
                       : refuse(403, "Forbidden",
                                fmt::format("{} is forbidden: User \"controller\" cannot do this",
                                            path.plural))};
  }
  if (refuses_node_names_ && is_pod_creation(request)) {
    const auto pod = kube::parse_json(request.body);
    if (!string_at(*pod, {"spec", "nodeName"}).empty()) {
      note("a pod with a node name is refused");
      return Door::Fault{refuse(422, "Invalid", "pods are invalid: nodeName is set")};
    }
  }
  if (!refused_.empty() && is_pod_creation(request)) {
    const auto pod = kube::parse_json(request.body);
    const std::string name = string_at(*pod, {"metadata", "name"});
    if (name.find(refused_) != std::string::npos && allowed_-- <= 0) {
      note("creation of pod " + name + " refused for good");
      ++rules.seen["refused for good"];
      rules.refused_for_good();
      return Door::Fault{
          refusal_ == 422
              ? refuse(422, "Invalid", "Pod \"" + name + "\" is invalid: spec.x: Invalid value")
              : refuse(403, "Forbidden",
                       "pods \"" + name + "\" is forbidden: exceeded quota: small, used: pods=3")};
    }
  }
  if (writes_left_ >= 0 && is_write(request) && !is_event(request) && writes_left_-- == 0) {
    note(fmt::format("  {} {} goes wrong: {}, {}", request.method, request.path,
                     write_error_ ? write_error_->message : "killed",
                     write_applied_ == Applied::kYes ? "carried out" : "not carried out"));
    return Door::Fault{write_error_, write_applied_};
  }
  return std::nullopt;
}

void Suite::deny_access(int status, Denied what, int after_writes) {
  denied_ = status;
  writes_before_denial_ = after_writes + 1;
  what_ = what;
}

void Suite::refuse_pods(std::string name_part, int status, int allowed) {
  refused_ = std::move(name_part);
  refusal_ = status;
  allowed_ = allowed;
}

void Suite::fail_write(int n, std::optional<Error> error, Applied applied) {
  writes_left_ = n;
  write_error_ = std::move(error);
  write_applied_ = applied;
}

void Suite::kill_extender_at_write(int n, Applied applied) {
  extender_writes_left_ = n;
  extender_applied_ = applied;
}

void Suite::end_faults() {
  extender_writes_left_ = -1;
  denied_ = 0;
  refused_.clear();
  refuses_node_names_ = false;
  writes_left_ = -1;
}

// ---- the others

job::Job Suite::job() const {
  return *job::decode_job(api.get(kube::kNervexJobs, kNamespace, "dqn"));
}

void Suite::set_spec(const Json& patch) {
  api.change(kube::kNervexJobs, kNamespace, "dqn", {{"spec", patch}});
}

void Suite::add_config() {
  if (api.list(kube::kAggregatorConfigs).empty()) add_aggregator_config();
}

std::vector<std::string> Suite::pods(std::string_view name_part) const {
  std::vector<std::string> names;
  for (const Json& pod : api.list(kube::kPods)) {
    const std::string name = string_at(pod, {"metadata", "name"});
    const std::string phase = string_at(pod, {"status", "phase"});
    const bool is_over = phase == "Succeeded" || phase == "Failed";
    if (!is_over && name.find(name_part) != std::string::npos) names.push_back(name);
  }
  return names;
}

void Suite::run_pods() {
  view.refresh();
  std::vector<std::string> starting;
  for (const auto& [uid, pod] : view.pods()) {
    const NodeSeen* node = view.node(pod.node);
    const bool starts = pod.phase == "Pending" && !pod.deleting && node != nullptr && node->ready;
    if (starts) starting.push_back(uid);
  }
  for (const std::string& uid : starting) {
    const PodSeen& pod = *view.pod(uid);
    const bool is_rejected =
        std::any_of(rejecting_.begin(), rejecting_.end(), [&](const auto& rejecting) {
          return rejecting.first == pod.node && pod.name.find(rejecting.second) != pod.name.npos;
        });
    if (admits(pod) && !is_rejected) {
      run_pod(pod.name);
    } else {
      note(pod.name + " is rejected by its kubelet");
      ++rules.seen["pod rejected"];
      reject_pod(pod.name);
    }
    view.refresh();
  }
  rules.look();
}

void Suite::reject_on(const std::string& node, const std::string& name_part) {
  rejecting_.emplace_back(node, name_part);
}

void Suite::end_pod(const std::string& name, bool well) {
  note(fmt::format("{} ends {}", name, well ? "well" : "badly"));
  Cluster::end_pod(name, well);
  rules.look();
}

void Suite::evict(const std::string& name) {
  note(name + " is evicted");
  evict_pod(name);
  rules.look();
}

void Suite::delete_pod(const std::string& name) {
  note(name + " is deleted by a user");
  // Times have whole seconds: an end within that of the deletion counts as caused by it.
  clock.advance(std::chrono::seconds(2));
  (void)api.send({"DELETE", kube::api_path(kube::kPods, kNamespace, name), "", ""});
  rules.look();
}

void Suite::end_terminations(bool all) {
  view.refresh();
  for (const auto& [uid, pod] : view.pods()) {
    if (!pod.deleting || (!all && !once_in(3))) continue;
    const NodeSeen* node = view.node(pod.node);
    if (!pod.is_bound() || (node != nullptr && node->ready)) {
      api.end_termination(kNamespace, pod.name);
    }
  }
  rules.look();
}

// ---- nodes, and other schedulers

void Suite::set_ready(const std::string& node, bool ready) {
  note(fmt::format("{} is {}", node, ready ? "ready" : "not ready"));
  Cluster::set_ready(node, ready);
  rules.look();
}

void Suite::set_cordoned(const std::string& node, bool cordoned) {
  note(fmt::format("{} is {}", node, cordoned ? "cordoned" : "not cordoned"));
  Cluster::set_cordoned(node, cordoned);
}

void Suite::delete_node(const std::string& node) {
  note(node + " is deleted");
  Cluster::delete_node(node);
  rules.look();
}

void Suite::repair_nodes() {
  for (const char* node : kNodeNames) {
    if (!api.get(kube::kNodes, "", node).is_object()) add_node(node, 16, 12);
    repair_node(node);
  }
  for (const Json& pod : api.list(kube::kPods)) {
    const std::string name = string_at(pod, {"metadata", "name"});
    if (name.starts_with("thief")) api.remove(kube::kPods, kNamespace, name);
  }
  rules.look();
}

void Suite::add_thief(const std::string& node) {
  view.refresh();
  const NodeSeen* seen = view.node(node);
  if (seen == nullptr || !seen->ready) return;
  Sums left = view.left_on(*seen, [](const PodSeen& pod) { return pod.phase == "Running"; });
  const std::int64_t cores = left["cpu"] / 1000 - below(3);
  if (cores <= 0) return;
  const std::string name = "thief" + std::to_string(thieves_++);
  note(fmt::format("{} takes {} cpu on {}", name, cores, node));
  ++rules.seen["thief"];
  add_pod({.name = name, .requests = {{"cpu", cores * 1000}}, .node = node});
}

bool Suite::call_server(unsigned choice, bool records_call) {
  job::Job job = this->job();
  const int attempt = job.status.attempt;
  const Json group = api.get(kube::kPodGroups, kNamespace, job::pod_group_name(job, attempt));
  const Json coordinator = pod(job::pod_name(job, job::Role::kCoordinator, {}));
  const bool is_there =
      string_at(coordinator, {"status", "phase"}) == "Running" && !is_leaving(coordinator) &&
      string_at(coordinator, {"metadata", "annotations", gang::kPodGroupUidAnnotation}) ==
          string_at(group, {"metadata", "uid"}, "none");
  if (!is_there || is_final(job.status.phase) || job.spec.suspend) return false;
  job::Requests& requests = job.spec.requests;
  const auto is_old = [&](const auto& one) { return one.attempt != attempt; };
  std::erase_if(requests.entries, is_old);
  std::erase_if(requests.base, is_old);
  const auto ask = [&](job::RequestEntry entry) {
    entry.attempt = attempt;
    requests.entries.push_back(std::move(entry));
  };
  switch (choice % 5) {
    case 0:
      note("the coordinator asks for two collectors");
      ask(an_entry(requests.next_id++, job::Role::kCollector, 2, requests.next_collector));
      requests.next_collector += 2;
      break;
    case 1:
      // More than fit for certain would wait at the end, too.
      if (std::count_if(requests.entries.begin(), requests.entries.end(), job::is_multi_gpu) >= 6) {
        return false;
      }
      note("the coordinator asks for a learner of two parts");
      ask(multi_gpu_entry(requests.next_id++, {requests.next_learner}, {4, 2}));
      requests.next_learner += 2;
      break;
    case 2:
      if (requests.entries.empty()) return false;
      note("the coordinator takes a request back");
      requests.entries.pop_back();
      break;
    case 3: {
      if (requests.entries.empty()) return false;
      note("the coordinator names a failed replica");
      job::RequestEntry& entry = requests.entries.back();
      entry.slots[0].incarnation = current_slot(job, entry.role, entry.slots[0]).incarnation + 1;
      break;
    }
    default: {
      note("the coordinator names a failed base learner");
      const job::Slot now = current_slot(job, job::Role::kLearner, {0, 0});
      requests.base = {{attempt, job::Role::kLearner, {0, now.incarnation + 1}, false}};
    }
  }
  if (records_call) {
    job::CallRecord call;
    call.attempt = attempt;
    call.method = "POST";
    call.time = clock.now();
    requests.calls = {call};
  }
  set_spec({{"requests", job::encode_requests(requests)}});
  return true;
}

void Suite::keep_up() {
  if (scheduling.restarts() != restarts_) {
    restarts_ = scheduling.restarts();
    rules.extender_was_started(clock.now());
  }
  const bool is_due = clock.mono() - kept_up_ >= kLatest;
  if (is_due) {
    kept_up_ = clock.mono();
    deliver_all();
    work();
    environment();
    deliver_all();
    work();
  }
  const bool is_new = std::exchange(checked_, api.resource_version()) != api.resource_version();
  if (is_due || is_new) rules.check_parts(clock.now());
}

void Suite::environment() {
  for (int round = 0; round < 10; ++round) {
    const std::int64_t before = api.resource_version();
    scheduling.see();
    scheduling.plan();
    scheduling.schedule();
    run_pods();
    end_terminations();
    if (api.resource_version() == before) return;
  }
}

void Suite::settle() {
  constexpr std::chrono::seconds kSoon{1};  // counts' delay, and a queue's first back-offs
  int quiet = 0;
  for (int round = 0; round < 60 && quiet < 3; ++round) {
    const std::int64_t before = api.resource_version();
    deliver_all();
    work();
    environment();
    quiet = api.resource_version() == before ? quiet + 1 : 0;
    if (quiet > 0) clock.advance(kSoon);
  }
}

void Suite::come_to_rest() {
  end_faults();
  repair_nodes();
  for (int round = 0; round < 8; ++round) {
    settle();
    clock.advance(std::chrono::minutes(7));
  }
  settle();
  deliver_all();
  check_strangers();
  if (work_anyway()) rules.breach("writes when it is asked again at rest");
  rules.at_rest();
}

void Suite::start() {
  settle();
  rules.seen.clear();
}

}  // namespace nervex::testing
