// Random lives of one job: clients, users, kubelets, faults and caches of any age in any order. No
// rule is broken (rules.h), and in the end the job has all wanted pods.
#include <algorithm>

#include "controller/decide/reasons.h"
#include "job/names.h"
#include "job/slots.h"
#include "planner/recovery/healing.h"
#include "tests/sim/seeds.h"

namespace nervex::testing {
namespace {

using job::Phase;

constexpr std::chrono::seconds kSecond{1};

struct Event {
  unsigned weight = 1;
  std::function<void(Suite&)> happen;
};

std::string a_worker(Suite& suite) {
  std::vector<std::string> names = suite.pods();
  std::erase(names, "dqn-coordinator");
  return names.empty() ? "" : names[suite.below(static_cast<unsigned>(names.size()))];
}

bool has_coordinator(const Suite& suite) { return !suite.pods("dqn-coordinator").empty(); }

// ---- what may happen

void lose_a_worker(Suite& suite) {
  const std::string name = a_worker(suite);
  if (name.empty()) return;
  if (suite.once_in(2)) {
    suite.evict(name);
    suite.note("worker evicted");
  } else {
    suite.delete_pod(name);
    suite.note("worker deleted");
  }
}

// Not the job's own aggregator: the end is about who is wanted, and an aggregator that has ended
// stays.
void end_a_worker(Suite& suite) {
  const std::string name = a_worker(suite);
  const Json pod = suite.pod(name);
  const bool runs = kube::string_at(pod, {"status", "phase"}) == "Running" &&
                    kube::find(pod, {"metadata", "deletionTimestamp"}) == nullptr;
  if (!runs || name == "dqn-aggregator") return;
  suite.end_pod(name, suite.once_in(2));
  suite.note("worker ends");
}

// Only if the controller knows that it runs.
void hit_the_coordinator(Suite& suite) {
  if (!has_coordinator(suite) || suite.job().status.phase != Phase::kRunning) return;
  switch (suite.below(3)) {
    case 0:
      return suite.evict("dqn-coordinator");
    case 1:
      return suite.delete_pod("dqn-coordinator");
    default:
      suite.end_pod("dqn-coordinator", false);
  }
}

void call_the_server(Suite& suite) {
  if (suite.call_server(suite.below(5))) suite.note("call");
}

void change_base(Suite& suite) {
  const int replicas = static_cast<int>(suite.below(4));
  suite.rules.lowered_base(job::Role::kCollector, replicas);
  suite.set_spec({{"collector", {{"replicas", replicas}}}});
  suite.note("base replicas changed");
}

void suspend_or_resume(Suite& suite) {
  suite.set_spec({{"suspend", suite.once_in(3)}});
  suite.note("suspended or resumed");
}

void restart(Suite& suite) {
  suite.take_over();
  suite.note("controller restarted");
}

// Each kind has missed another number of versions; the newest it knows is older than the last.
void lead_with_old_caches(Suite& suite) {
  std::vector<std::int64_t> behind;
  for (int kind = 0; kind < kFeeds; ++kind) behind.push_back(1 + suite.below(30));
  suite.take_over(behind);
  suite.note("a leader with old caches");
}

void hold_a_watch_back(Suite& suite) {
  const bool holds = !suite.once_in(3);
  suite.hold_back(holds ? static_cast<Watched>(suite.below(kFeeds)) : kFeeds);
  if (holds) suite.note("a watch stands still");
}

void succeed(Suite& suite) {
  const bool runs = suite.job().status.phase == Phase::kRunning && has_coordinator(suite);
  if (!runs || !suite.once_in(3)) return;
  suite.end_pod("dqn-coordinator", true);
  suite.note("the job succeeds");
}

void seldom(Suite& suite, void (*happen)(Suite&)) {
  if (suite.once_in(3)) happen(suite);
}

void fail_a_write(Suite& suite) {
  const auto n = static_cast<int>(suite.below(5));
  const Applied applied = suite.once_in(2) ? Applied::kYes : Applied::kNo;
  switch (suite.below(3)) {
    case 0:
      return suite.fail_write(n, Error{Code::kTransient, "timeout"}, applied);
    case 1:
      return suite.fail_write(n, Error{Code::kConflict, "modified"}, Applied::kNo);
    default:
      suite.fail_write(n, std::nullopt, applied);
  }
}

void schedule(Suite& suite) {
  if (!suite.once_in(4)) suite.scheduling.see();
  suite.scheduling.plan();
  if (!suite.once_in(4)) suite.scheduling.schedule();
  if (!suite.once_in(3)) suite.run_pods();
  suite.rules.look();
}

void refuse_node_names(Suite& suite) { suite.refuse_node_names(); }

void restart_the_extender(Suite& suite) {
  suite.scheduling.restart();
  suite.note("extender restarted");
}

// ---- faults that others have to tell from one another

// Starts a fault, or ends the current ones.
void deny_access(Suite& suite) {
  if (suite.has_faults()) return suite.end_faults();
  using Denied = Suite::Denied;
  const Denied what[] = {Denied::kAll, Denied::kWrites, Denied::kPodCreations};
  suite.deny_access(suite.once_in(2) ? 401 : 403, what[suite.below(3)],
                    static_cast<int>(suite.below(6)));
  suite.note("access denied");
}

void refuse_pods(Suite& suite) {
  if (suite.has_faults()) return suite.end_faults();
  const char* const names[] = {"collector", "learner", "aggregator", "coordinator"};
  suite.refuse_pods(names[suite.below(4)], suite.once_in(2) ? 403 : 422,
                    static_cast<int>(suite.below(3)));
}

// While no controller looks, a worker or the coordinator ends, and a user deletes what is left.
void end_unseen(Suite& suite) {
  const std::string name = suite.once_in(4) ? "dqn-coordinator" : a_worker(suite);
  const Json pod = suite.pod(name);
  const bool runs = kube::string_at(pod, {"status", "phase"}) == "Running" &&
                    kube::find(pod, {"metadata", "deletionTimestamp"}) == nullptr;
  if (!runs || name == "dqn-aggregator") return;
  suite.end_pod(name, name != "dqn-coordinator" && suite.once_in(2));
  suite.delete_pod(name);
  suite.take_over();
  suite.note("ends unseen");
}

// ---- what happens to nodes

void change_a_node(Suite& suite) {
  const std::string node = suite.a_node();
  const bool is_there = suite.api.get(kube::kNodes, "", node).is_object();
  switch (suite.below(6)) {
    case 0:
    case 1:
      if (is_there) suite.set_ready(node, !suite.is_up(node));
      suite.note("node flaps");
      return;
    case 2:
      if (is_there) suite.set_cordoned(node, suite.once_in(2));
      suite.note("node cordoned or not");
      return;
    case 3:
      if (is_there && suite.once_in(2)) suite.delete_node(node);
      return;
    default:
      suite.repair_nodes();
  }
}

void kill_the_extender(Suite& suite) {
  suite.kill_extender_at_write(static_cast<int>(suite.below(4)),
                               suite.once_in(2) ? Applied::kYes : Applied::kNo);
}

void kill_the_scheduler(Suite& suite) {
  suite.scheduling.kill_scheduler();
  suite.note("kube-scheduler killed");
}

// ---- lives

void live_one(Suite& suite, const std::vector<Event>& events) {
  unsigned all = 0;
  for (const auto& event : events) all += event.weight;
  unsigned choice = suite.below(all);
  for (const auto& event : events) {
    if (choice < event.weight) {
      event.happen(suite);
      break;
    }
    choice -= event.weight;
  }
  suite.deliver_some();
  suite.work(1 + static_cast<int>(suite.below(3)));
}

void live(Suite& suite, const std::vector<Event>& events, int rounds) {
  suite.add_config();
  if (!suite.once_in(4)) suite.settle();
  for (int round = 0; round < rounds && suite.rules.broken().empty(); ++round) {
    live_one(suite, events);
    suite.clock.advance(std::chrono::milliseconds(suite.below(suite.once_in(5) ? 60'000 : 2'000)));
  }
}

// The same, but each program gets a turn often enough to check how long a gang is in part.
void live_in_turns(Suite& suite, const std::vector<Event>& events, int rounds) {
  for (int round = 0; round < rounds && suite.rules.broken().empty(); ++round) {
    live_one(suite, events);
    for (unsigned left = suite.below(12); left > 0; --left) {
      suite.clock.advance(std::chrono::seconds(1));
      suite.keep_up();
    }
    suite.keep_up();
  }
}

std::vector<Event> ordinary() {
  return {{6, schedule},
          {1, lose_a_worker},
          {1, end_a_worker},
          {1, [](Suite& suite) { suite.end_terminations(false); }},
          {1, call_the_server},
          {1, change_base},
          {1, fail_a_write},
          {1, hold_a_watch_back},
          {1, [](Suite& suite) { seldom(suite, restart); }},
          {1, [](Suite& suite) { seldom(suite, lead_with_old_caches); }},
          {1, [](Suite& suite) { seldom(suite, restart_the_extender); }},
          {1, [](Suite& suite) { seldom(suite, hit_the_coordinator); }},
          {1, [](Suite& suite) { seldom(suite, suspend_or_resume); }},
          {1, [](Suite& suite) { seldom(suite, succeed); }}};
}

// The wanted pods; if one pod of a replica has finished, its other pods may continue.
struct WantedNames {
  std::vector<std::string> must_live;
  std::vector<std::string> may_live;
};

WantedNames wanted_names(const job::Job& job, bool has_aggregator) {
  WantedNames names{{"dqn-coordinator"}, {}};
  if (has_aggregator) names.must_live.push_back("dqn-aggregator");
  for (const auto role : {job::Role::kCollector, job::Role::kLearner}) {
    for (const auto& replica : job::wanted_replicas(job, role)) {
      const auto pods = job::replica_pods(replica);
      const bool is_over =
          std::any_of(job.status.ended.begin(), job.status.ended.end(), [&](const auto& finished) {
            return std::any_of(pods.begin(), pods.end(), [&](const auto& pod) {
              return pod.role == finished.role && pod.slot == finished.slot;
            });
          });
      for (const auto& pod : pods) {
        (is_over ? names.may_live : names.must_live)
            .push_back(job::pod_name(job, pod.role, pod.slot));
      }
    }
  }
  return names;
}

// The attempt was begun with one: a cache may not have known the AggregatorConfig yet.
bool has_aggregator(const Suite& suite) {
  for (const auto& object : suite.api.list(kube::kPodGroups, kNamespace)) {
    const gang::PodGroup group = *gang::decode_pod_group(object);
    const gang::Gang* base = gang::find_gang(group.spec, gang::kBaseGang);
    if (base == nullptr) continue;
    for (const auto& set : base->members) {
      if (set.role == "aggregator" && !set.slots.empty()) return true;
    }
  }
  return false;
}

// Everything that is wanted is there, and nothing else that lives.
void check_running(Suite& suite, const job::Job& job) {
  auto [must_live, may_live] = wanted_names(job, has_aggregator(suite));
  const std::vector<std::string> live = suite.pods();
  std::vector<std::string> lacking;
  std::vector<std::string> extra;
  for (const auto& name : must_live) {
    if (std::find(live.begin(), live.end(), name) == live.end()) lacking.push_back(name);
  }
  may_live.insert(may_live.end(), must_live.begin(), must_live.end());
  for (const auto& name : live) {
    if (std::find(may_live.begin(), may_live.end(), name) == may_live.end()) extra.push_back(name);
  }
  if (!lacking.empty() || !extra.empty()) {
    suite.rules.breach(fmt::format("at rest the pods [{}] are missing and [{}] not wanted",
                                   fmt::join(lacking, " "), fmt::join(extra, " ")));
  }
  if (job.status.phase != Phase::kRunning || job.status.reason != "Running") {
    const auto* requests = job::find_condition(job.status, controller::kRequestsScheduled);
    suite.rules.breach(fmt::format("at rest the job is {}, {}: {}", to_string(job.status.phase),
                                   job.status.reason, requests ? requests->message : ""));
  }
}

void check_ended(Suite& suite) {
  if (!suite.pods().empty()) {
    suite.rules.breach(
        fmt::format("pods [{}] of a job that has ended go on", fmt::join(suite.pods(), " ")));
  }
  for (const auto* kind : {&kube::kPodGroups, &kube::kServices}) {
    auto left = suite.api.list(*kind);
    std::erase_if(left, [](const Json& one) {  // the namespace's Service stays
      return kube::string_at(one, {"metadata", "name"}) == kNamespace;
    });
    if (left.size() != 1) suite.rules.breach("an ended job keeps its objects");
  }
}

void check_end(Suite& suite) {
  suite.set_spec({{"suspend", false}});
  suite.come_to_rest();
  if (!suite.rules.broken().empty()) return;
  const job::Job job = suite.job();
  if (job.status.phase == Phase::kSucceeded) {
    check_ended(suite);
  } else {
    check_running(suite, job);
  }
}

const std::vector<std::string> kOrdinaryEvents = {
    "base gang committed",      "growth gang committed", "call",
    "worker evicted",           "worker deleted",        "worker ends",
    "base replicas changed",    "controller restarted",  "the controller is killed",
    "extender restarted",       "suspended or resumed",  "a watch stands still",
    "a leader with old caches", "the job succeeds"};

std::vector<Event> ordinary_and(const Event& event) {
  std::vector<Event> events = ordinary();
  events.push_back(event);
  return events;
}

TEST_CASE("a job lives through clients, users, faults and restarts", "[sim][schedules]") {
  for_seeds(75, kOrdinaryEvents, [](Suite& suite) {
    live(suite, ordinary(), 80);
    check_end(suite);
  });
}

TEST_CASE("a job lives through an API server that denies access for a while", "[sim][schedules]") {
  for_seeds(40, {"access denied", "request denied", "base gang committed", "call"},
            [](Suite& suite) {
              live(suite, ordinary_and({3, deny_access}), 80);
              check_end(suite);
            });
}

TEST_CASE("a job lives through refusals of its pods", "[sim][schedules]") {
  for_seeds(60,
            {"refused for good", "base gang taken back", "growth gang committed",
             "a pod with a node name is refused", "coordinator bound after a direct pod"},
            [](Suite& suite) {
              std::vector<Event> events = ordinary_and({3, refuse_pods});
              events.push_back({2, [](Suite& target) { seldom(target, refuse_node_names); }});
              live(suite, events, 80);
              check_end(suite);
            });
}

void change_reserved_replicas(Suite& suite) {
  const int count = static_cast<int>(suite.below(6));
  suite.set_spec({{suite.once_in(2) ? "collector" : "learner", {{"reservedReplicas", count}}}});
}

TEST_CASE("a job that reserves capacity lives through the same", "[sim][schedules]") {
  const std::vector<std::string> events = {"base gang committed",  "growth gang committed",
                                           "capacity reserved",    "reserved capacity taken over",
                                           "controller restarted", "extender restarted"};
  for_seeds(40, events, [](Suite& suite) {
    const int reservation_seconds = suite.once_in(2) ? 5 : 100'000;
    suite.set_spec({{"reservationSeconds", reservation_seconds},
                    {"collector", {{"reservedReplicas", 4}}},
                    {"learner", {{"reservedReplicas", 3}}}});
    live(suite, ordinary_and({1, change_reserved_replicas}), 80);
    check_end(suite);
  });
}

// Design rule 2. The extender sees a loss with the next turn, counts the healing deadline from
// then, and says that it is over a turn after that; then the controller has two, to begin a new
// attempt and to end the one before.
TEST_CASE(
    "a job survives lost nodes, foreign pods and kills, and no gang stays incomplete for long",
    "[sim][schedules]") {
  const std::vector<std::string> events = {"base gang committed",
                                           "growth gang committed",
                                           "thief",
                                           "pod rejected",
                                           "extender killed at a write",
                                           "kube-scheduler killed",
                                           "node flaps",
                                           "gang in part",
                                           "controller restarted",
                                           "extender restarted",
                                           "gang requeued unhealed"};
  for_seeds(40, events, [](Suite& suite) {
    const std::vector<Event> happens = {
        {4, schedule},
        {4, change_a_node},
        {2, [](Suite& target) { target.add_thief(target.a_node()); }},
        {1, lose_a_worker},
        {1, [](Suite& target) { target.end_terminations(false); }},
        {2, call_the_server},
        {1, [](Suite& target) { seldom(target, restart); }},
        {1, [](Suite& target) { seldom(target, restart_the_extender); }},
        {1, [](Suite& target) { seldom(target, kill_the_extender); }},
        {1, [](Suite& target) { seldom(target, kill_the_scheduler); }}};
    suite.rules.limit_parts(planner::HealingOptions{}.deadline + 4 * (Suite::kLatest + kSecond));
    suite.add_config();
    live_in_turns(suite, happens, 150);
    check_end(suite);
  });
}

TEST_CASE("a job survives pod ends that no controller sees", "[sim][schedules]") {
  for_seeds(40, {"ends unseen", "base gang committed"}, [](Suite& suite) {
    live(suite, ordinary_and({2, end_unseen}), 80);
    check_end(suite);
  });
}

}  // namespace
}  // namespace nervex::testing
