// One job from its creation to its clean-up, while writes fail, replies get lost, caches lag and
// the controller is killed: the end is the same.
#include <map>
#include <random>
#include <set>

#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators_all.hpp>

#include "gang/slot.h"
#include "job/names.h"
#include "job/slots.h"
#include "tests/controller/cluster.h"
#include "tests/support/job_builders.h"
#include "tests/support/sanitized.h"

namespace nervex::testing {
namespace {

using job::Phase;
using kube::string_at;

// What is left in the end, without what differs from run to run (uids, times, versions).
struct EndState {
  std::vector<std::string> pods;
  std::vector<std::string> services;
  std::vector<std::string> pod_groups;
  Json status;
  bool operator==(const EndState&) const = default;
};

std::string describe(const EndState& state) {
  return fmt::format("pods [{}] services [{}] podgroups [{}] status {}", fmt::join(state.pods, " "),
                     fmt::join(state.services, " "), fmt::join(state.pod_groups, " "),
                     state.status.dump());
}

// A job with one collector, one learner and an aggregator. When it runs, its coordinator asks for
// two more collectors; when they run, it ends: well, or badly in as many attempts as wanted first.
class Life {
 public:
  explicit Life(int failures = 0) : failures_(failures) {
    cluster.api.add(kube::kAggregatorConfigs, "nervex-system",
                    {{"metadata", {{"name", "aggregator-config"}}},
                     {"spec", {{"aggregator", {{"template", a_template()}}}}}});
    cluster.create_job(1, 1);
    cluster.change_spec({{"backoffLimit", failures}});
    cluster.sync();
  }

  ControllerCluster cluster;

  // The controller's turn. False if it had nothing to write.
  bool controller_round() {
    const bool was_final = is_final(cluster.job().status.phase);
    if (was_final) cluster.api.clear_writes();
    const int requests = cluster.api.requests();
    cluster.controller->worker.process(kJobKey);
    if (was_final) check_only_cleaned_up();
    check_pods();
    return cluster.api.requests() > requests;
  }

  // Planner, scheduler, kubelet, nervex-server and the coordinator's program. False if none had
  // anything to do.
  bool environment_round() {
    const std::int64_t before = cluster.api.resource_version();
    cluster.plan();
    cluster.run_pods();
    const job::Job job = cluster.job();
    const bool runs = job.status.phase == Phase::kRunning;
    const auto pods = cluster.names(kube::kPods).size();
    if (runs && pods == 4 && !has_asked(job)) ask_for_more(job);
    if (runs && pods == 6 && job.status.ready == 6) {
      cluster.end_pod("dqn-coordinator", job.status.attempt > failures_);
    }
    return wait_for_next_attempt(job) || cluster.api.resource_version() != before;
  }

  // Terminating pods are removed now. False if there were none.
  bool let_pods_go() {
    bool some = false;
    for (const auto& pod : cluster.api.list(kube::kPods)) {
      if (kube::find(pod, {"metadata", "deletionTimestamp"}) == nullptr) continue;
      cluster.api.remove(kube::kPods, kNamespace, string_at(pod, {"metadata", "name"}));
      some = true;
    }
    return some;
  }

  EndState end() const {
    EndState state{cluster.names(kube::kPods), cluster.names(kube::kServices),
                   cluster.names(kube::kPodGroups), job::encode_status(cluster.job().status)};
    for (const char* time : {"queuedSince", "waitingSince", "activeSince", "activeSeconds",
                             "gangStartedTime", "startTime", "completionTime", "duration"}) {
      state.status.erase(time);
    }
    if (state.status.contains("lastAttempt")) state.status["lastAttempt"].erase("endTime");
    // Where a run is interrupted, other rounds see other states in between; the end has to agree.
    std::map<std::string, Json> conditions;
    for (auto& condition : state.status["conditions"]) {
      condition.erase("lastTransitionTime");
      condition.erase("observedGeneration");
      conditions[condition["type"]] = condition;
    }
    conditions.erase("PodsCreated");  // there if a write failed twice in a row, and True then
    state.status["conditions"] = conditions;
    return state;
  }

 private:
  static bool has_asked(const job::Job& job) {
    const auto& entries = job.spec.requests.entries;
    return !entries.empty() && entries.back().attempt == job.status.attempt;
  }

  // Time passes while the job backs off, and at no other time.
  bool wait_for_next_attempt(const job::Job& job) {
    const auto& next = job.status.next_attempt_time;
    if (!next || *next <= cluster.clock.now()) return false;
    cluster.clock.advance(*next - cluster.clock.now());
    return true;
  }

  void ask_for_more(const job::Job& job) {
    job::Requests requests = job.spec.requests;
    auto entry = an_entry(requests.next_id++, job::Role::kCollector, 2, requests.next_collector);
    entry.attempt = job.status.attempt;
    requests.next_collector += 2;
    requests.entries.push_back(std::move(entry));
    cluster.change_spec({{"requests", job::encode_requests(requests)}});
  }

  void check_only_cleaned_up() {
    for (const auto& write : cluster.api.writes()) {
      const bool is_event = write.path.ends_with("/events");
      const bool is_release =
          write.method == "PATCH" && write.path.find("/pods/") != std::string::npos;
      CHECK((write.method == "DELETE" || is_release || is_event || !write.applied));
    }
  }

  std::string current_group() {
    const std::string name = job::pod_group_name(cluster.job(), cluster.job().status.attempt);
    for (const auto& group : cluster.api.list(kube::kPodGroups)) {
      if (string_at(group, {"metadata", "name"}) == name) {
        return string_at(group, {"metadata", "uid"});
      }
    }
    return "none";
  }

  // No slot has two pods, and the attempt's coordinator is there only with its whole gang.
  void check_pods() {
    const std::string current = current_group();
    std::set<std::string> slots;
    std::size_t base = 0;
    bool has_coordinator = false;
    for (const auto& pod : cluster.api.list(kube::kPods)) {
      const std::string slot = string_at(pod, {"metadata", "annotations", gang::kSlotAnnotation});
      CHECK(slots.insert(slot).second);
      const std::string group =
          string_at(pod, {"metadata", "annotations", gang::kPodGroupUidAnnotation});
      if (group != current) continue;
      if (slot.ends_with("/0")) ++base;
      if (slot == "coordinator/0") has_coordinator = true;
    }
    if (has_coordinator && !is_final(cluster.job().status.phase)) CHECK(base == 4);
  }

  const int failures_;
};

// Until no program has anything to do; false if that never happens.
bool run_to_the_end(Life& life) {
  for (int round = 0; round < 100; ++round) {
    life.cluster.sync();
    const bool wrote = life.controller_round();
    if (!life.environment_round() && !wrote) return true;
  }
  return false;
}

EndState undisturbed(int failures) {
  Life life(failures);
  REQUIRE(run_to_the_end(life));
  return life.end();
}

int writes_of_a_life(int failures) {
  Life life(failures);
  int writes = 0;
  life.cluster.api.fail_next(
      [&writes](const kube::ApiRequest& request) {
        if (request.method != "GET") ++writes;
        return false;
      },
      {});
  REQUIRE(run_to_the_end(life));
  return writes;
}

// Matches the n-th write from now on, counted from 0.
FakeApi::Matcher nth_write(int n) {
  return [n](const kube::ApiRequest& request) mutable {
    return request.method != "GET" && request.method != "WATCH" && n-- == 0;
  };
}

TEST_CASE("an undisturbed job ends with its coordinator and its counts", "[sim]") {
  const EndState end = undisturbed(0);
  CHECK(end.pods == std::vector<std::string>{"dqn-coordinator"});
  CHECK(end.services.empty());
  CHECK(end.pod_groups.empty());
  CHECK(end.status["phase"] == "Succeeded");
  CHECK(end.status["replicaStatus"]["Collector"]["succeeded"] == 3);
  CHECK(end.status["replicaStatus"]["Learner"]["succeeded"] == 1);
}

TEST_CASE("a job whose first attempt fails ends as if nothing had happened, and says so", "[sim]") {
  EndState end = undisturbed(1);
  CHECK(end.status["attempt"] == 2);
  CHECK(end.status["failedAttempts"] == 1);
  CHECK(end.status["lastAttempt"]["reason"] == "CoordinatorFailed");
  end.status["attempt"] = 1;
  for (const char* of_retries : {"failedAttempts", "lastAttempt"}) end.status.erase(of_retries);
  EndState want = undisturbed(0);
  for (const char* of_requests : {"next", "observedGeneration"}) {
    want.status.erase(of_requests);
    end.status.erase(of_requests);
  }
  INFO("got  " << describe(end) << "\nwant " << describe(want));
  CHECK(end == want);
}

TEST_CASE("a job ends the same if any one write fails, or the controller dies at it", "[sim]") {
  constexpr int kFailures = 1;
  const EndState want = undisturbed(kFailures);
  const int writes = writes_of_a_life(kFailures);
  struct Fault {
    std::string what;
    Error error;
    Applied applied;
  };
  const auto fault = GENERATE(values<Fault>({
      {"it is not carried out", {Code::kTransient, "timeout"}, Applied::kNo},
      {"its reply is lost", {Code::kTransient, "connection reset"}, Applied::kYes},
      {"it meets a newer version", {Code::kConflict, "modified"}, Applied::kNo},
  }));
  const bool dies = GENERATE(false, true);
  for (int n = 0; n < writes; n += kSanitized ? 4 : 1) {
    INFO("write " << n << ": " << fault.what << (dies ? ", and the controller dies" : ""));
    Life life(kFailures);
    bool hit = false;
    life.cluster.api.fail_next(
        [matches = nth_write(n), &hit](const kube::ApiRequest& request) {
          const bool now = matches(request);
          hit = hit || now;
          return now;
        },
        fault.error, fault.applied);
    for (int round = 0; round < 100 && !hit; ++round) {
      life.cluster.sync();
      life.controller_round();
      if (!hit) life.environment_round();
    }
    if (dies) life.cluster.restart();
    REQUIRE(run_to_the_end(life));
    const EndState end = life.end();
    INFO("got  " << describe(end) << "\nwant " << describe(want));
    CHECK(end == want);
  }
}

TEST_CASE("a job ends the same under random faults", "[sim][property]") {
  const auto seed = GENERATE(take(cases(100), random(0U, 1'000'000U)));
  INFO("seed " << seed);
  std::mt19937 rng(seed);
  const auto below = [&rng](unsigned n) { return static_cast<unsigned>(rng() % n); };
  const int failures = static_cast<int>(below(3));
  static const std::vector<EndState> all = {undisturbed(0), undisturbed(1), undisturbed(2)};
  const EndState& want = all[static_cast<std::size_t>(failures)];

  Life life(failures);
  if (below(2) == 0) life.cluster.api.terminate_pods_slowly();
  for (int round = 0; round < 60; ++round) {
    if (below(4) == 0) {
      const Code code = below(2) == 0 ? Code::kTransient : Code::kConflict;
      life.cluster.api.fail_next(nth_write(static_cast<int>(below(4))), {code, "injected"},
                                 below(2) == 0 ? Applied::kYes : Applied::kNo);
    }
    if (below(10) == 0) life.cluster.restart();
    if (below(3) != 0) life.cluster.sync_some(below(16));  // caches of different age
    life.controller_round();
    if (below(2) == 0) life.environment_round();
    life.cluster.clock.advance(std::chrono::milliseconds(below(3000)));
  }
  REQUIRE(run_to_the_end(life));
  while (life.let_pods_go()) REQUIRE(run_to_the_end(life));
  const EndState end = life.end();
  INFO("got  " << describe(end) << "\nwant " << describe(want));
  CHECK(end == want);
}

// An unfinished pod of the job, except its coordinator; "" if there is none.
std::string any_worker(const FakeApi& api, unsigned choice) {
  std::vector<std::string> names;
  for (const auto& pod : api.list(kube::kPods)) {
    const std::string name = string_at(pod, {"metadata", "name"});
    const bool is_over = string_at(pod, {"status", "phase"}) == "Failed";
    if (name != "dqn-coordinator" && !is_over) names.push_back(name);
  }
  return names.empty() ? "" : names[choice % names.size()];
}

// The live pods of each slot: bound or not, but not finished.
std::map<std::string, int> live_pods_by_slot(const FakeApi& api) {
  std::map<std::string, int> live;
  for (const auto& pod : api.list(kube::kPods)) {
    const std::string phase = string_at(pod, {"status", "phase"});
    if (phase == "Failed" || phase == "Succeeded") continue;
    ++live[string_at(pod, {"metadata", "annotations", gang::kSlotAnnotation})];
  }
  return live;
}

// Chance decides what happens in it: the same seed, the same life.
class RandomCluster : public ControllerCluster {
 public:
  explicit RandomCluster(unsigned seed) : rng_(seed) {}

  unsigned below(unsigned n) { return static_cast<unsigned>(rng_() % n); }

  // Slowly ending pods end: all, or a third of them.
  void let_go(bool all) {
    for (const auto& pod : api.list(kube::kPods)) {
      if (kube::find(pod, {"metadata", "deletionTimestamp"}) == nullptr) continue;
      if (all || below(3) == 0) {
        api.remove(kube::kPods, kNamespace, string_at(pod, {"metadata", "name"}));
      }
    }
  }

  void fail_a_write() {
    api.fail_next(nth_write(static_cast<int>(below(4))), {Code::kTransient, "injected"},
                  below(2) == 0 ? Applied::kYes : Applied::kNo);
  }

  // One round of the controller, on caches of any age; no slot has two live pods after it.
  void work(std::chrono::milliseconds longest_pause) {
    if (below(3) != 0) sync_some(below(16));
    controller->worker.process(kJobKey);
    clock.advance(std::chrono::milliseconds(below(static_cast<unsigned>(longest_pause.count()))));
    for (const auto& [slot, count] : live_pods_by_slot(api)) {
      INFO("slot " << slot);
      CHECK(count == 1);
    }
  }

  // No more faults; each pause is long enough to end every back-off.
  void come_to_rest(std::chrono::minutes pause) {
    for (int round = 0; round < 12; ++round) {
      let_go(true);
      clock.advance(pause);
      REQUIRE(settle() >= 0);
      plan();
      run_pods();
    }
  }

 private:
  std::mt19937 rng_;
};

TEST_CASE("a job replaces lost pods, and never has two for one slot", "[sim][property]") {
  const auto seed = GENERATE(take(cases(150), random(0U, 1'000'000U)));
  INFO("seed " << seed);
  RandomCluster cluster(seed);
  const auto below = [&cluster](unsigned n) { return cluster.below(n); };
  cluster.create_job(3, 1);
  cluster.settle();
  if (below(2) == 0) cluster.api.terminate_pods_slowly();
  const auto lose_one = [&] {
    const std::string name = any_worker(cluster.api, below(8));
    if (name.empty()) return;
    const std::string path = kube::api_path(kube::kPods, kNamespace, name);
    switch (below(3)) {
      case 0:
        cluster.api.remove(kube::kPods, kNamespace, name);
        break;
      case 1:
        static_cast<void>(cluster.api.send({"DELETE", path, "", ""}));
        break;
      default:
        cluster.api.change(kube::kPods, kNamespace, name,
                           {{"status", {{"phase", "Failed"}, {"reason", "Evicted"}}}});
    }
  };
  for (int round = 0; round < 80; ++round) {
    switch (below(8)) {
      case 0:
        lose_one();
        break;
      case 1:
        cluster.let_go(false);
        break;
      case 2:
        cluster.change_spec({{"collector", {{"replicas", below(5)}}}});
        break;
      case 3:
        cluster.fail_a_write();
        break;
      case 4:
        if (below(4) == 0) cluster.restart();
        break;
      default:
        cluster.plan();
        cluster.run_pods();
    }
    cluster.work(std::chrono::milliseconds(60'000));
  }
  cluster.change_spec({{"collector", {{"replicas", 2}}}});
  cluster.come_to_rest(std::chrono::minutes(6));
  const std::map<std::string, int> want = {
      {"coordinator/0", 1}, {"collector/0", 1}, {"collector/1", 1}, {"learner/0", 1}};
  CHECK(live_pods_by_slot(cluster.api) == want);
  CHECK(cluster.names(kube::kPods) == cluster.names(kube::kServices));
  CHECK(cluster.job().status.collector == job::RoleCounts{2, 0, 0});
}

// What a client does to the job's requests, as nervex-server would write it.
void call_server(ControllerCluster& cluster, unsigned choice) {
  job::Job job = cluster.job();
  job::Requests& requests = job.spec.requests;
  const int attempt = job.status.attempt;
  const auto is_old = [&](const auto& one) { return one.attempt != attempt; };
  std::erase_if(requests.entries, is_old);
  std::erase_if(requests.base, is_old);
  switch (choice % 5) {
    case 0: {
      job::RequestEntry entry =
          an_entry(requests.next_id++, job::Role::kCollector, 2, requests.next_collector);
      entry.attempt = attempt;
      requests.next_collector += 2;
      requests.entries.push_back(std::move(entry));
      break;
    }
    case 1: {
      auto entry = multi_gpu_entry(requests.next_id++, {requests.next_learner}, {8, 2});
      entry.attempt = attempt;
      requests.next_learner += 2;
      requests.entries.push_back(std::move(entry));
      break;
    }
    case 2:
      if (!requests.entries.empty()) requests.entries.pop_back();
      break;
    case 3:
      if (!requests.entries.empty()) ++requests.entries.back().slots[0].incarnation;
      break;
    default: {
      const job::Slot now = current_slot(job, job::Role::kLearner, {0, 0});
      requests.base = {{attempt, job::Role::kLearner, {0, now.incarnation + 1}, false}};
    }
  }
  cluster.change_spec({{"requests", job::encode_requests(requests)}});
}

TEST_CASE("a job reaches its wanted state through suspensions, new attempts and calls",
          "[sim][property]") {
  const auto seed = GENERATE(take(cases(150), random(0U, 1'000'000U)));
  INFO("seed " << seed);
  RandomCluster cluster(seed);
  const auto below = [&cluster](unsigned n) { return cluster.below(n); };
  cluster.api.add(kube::kAggregatorConfigs, "nervex-system",
                  {{"metadata", {{"name", "aggregator-config"}}},
                   {"spec", {{"aggregator", {{"template", a_template()}}}}}});
  cluster.create_job(2, 1);
  cluster.change_spec({{"backoffLimit", 1000}});
  cluster.settle();
  if (below(2) == 0) cluster.api.terminate_pods_slowly();
  const auto hit_coordinator = [&] {
    const auto pods = cluster.names(kube::kPods);
    if (std::find(pods.begin(), pods.end(), "dqn-coordinator") == pods.end()) return;
    switch (below(3)) {
      case 0:
        cluster.api.remove(kube::kPods, kNamespace, "dqn-coordinator");
        break;
      case 1:
        cluster.end_pod("dqn-coordinator", false);
        break;
      default:
        cluster.api.change(kube::kPods, kNamespace, "dqn-coordinator",
                           {{"status", {{"phase", "Failed"}, {"reason", "Evicted"}}}});
    }
  };
  for (int round = 0; round < 100; ++round) {
    switch (below(10)) {
      case 0:
        if (below(2) == 0) {
          hit_coordinator();
        } else if (const auto worker = any_worker(cluster.api, below(8)); !worker.empty()) {
          cluster.api.remove(kube::kPods, kNamespace, worker);
        }
        break;
      case 1:
        cluster.let_go(false);
        break;
      case 2:
        cluster.change_spec({{"suspend", below(3) == 0}});
        break;
      case 3:
        cluster.fail_a_write();
        break;
      case 4:
        if (below(4) == 0) cluster.restart();
        break;
      case 5:
        if (cluster.job().status.phase == Phase::kRunning) call_server(cluster, below(5));
        break;
      case 6:
        if (below(4) == 0) {
          for (const auto& name : cluster.names(kube::kPodGroups)) {
            cluster.api.remove(kube::kPodGroups, kNamespace, name);
          }
        }
        break;
      default:
        cluster.plan();
        cluster.run_pods();
    }
    cluster.work(std::chrono::milliseconds(30'000));
  }
  cluster.change_spec({{"suspend", false}});
  cluster.come_to_rest(std::chrono::minutes(7));
  const job::Job job = cluster.job();
  std::map<std::string, int> want = {{"coordinator/0", 1}, {"aggregator/0", 1}};
  for (const auto role : {job::Role::kCollector, job::Role::kLearner}) {
    for (const auto& replica : job::wanted_replicas(job, role)) {
      for (const auto& pod : job::replica_pods(replica)) {
        want[fmt::format("{}/{}", to_string(pod.role), pod.slot.ordinal)] = 1;
      }
    }
  }
  CHECK(live_pods_by_slot(cluster.api) == want);
  CHECK(cluster.names(kube::kPods) == cluster.names(kube::kServices));
  CHECK(cluster.names(kube::kPodGroups).size() == 1);
  CHECK(job.status.phase == Phase::kRunning);
  CHECK(job.status.reason == "Running");
}

}  // namespace
}  // namespace nervex::testing
