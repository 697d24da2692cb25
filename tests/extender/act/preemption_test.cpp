// Preemption through the cluster cache and the planner's writes: which pods a victim still has, a
// victim that does not end, an API server that drops victims, and the flag.
#include <catch2/catch_test_macros.hpp>

#include "base/log.h"
#include "tests/extender/cluster.h"
#include "tests/extender/old_api.h"
#include "tests/support/captured_stderr.h"

namespace nervex::extender {
namespace {

using namespace std::chrono_literals;
using testing::a_set;
using testing::ask;
using testing::ExtenderProcess;
using testing::in_request;
using testing::kNs;
using testing::Member;
using testing::OldApi;

// Queue speech borrows both nodes for job "low", with a request, and job "other"; queue vision
// waits for 4 GPUs with job "owner".
struct Preempting : testing::Cluster {
  Preempting() {
    add_node("n1", 8);
    add_node("n2", 8);
    api.add(kube::kNamespaces, "", {{"metadata", {{"name", kNs}}}});
    add_queue("vision",
              {{"quota", {{{"resources", {{"nvidia.com/gpu", 8}}}}}}, {"reclaim", "Any"}});
    add_queue("speech", {{"minRuntimeSeconds", 0}});
    add_running("other", {a_set("learner", 1, ask(8))}, {"n1"}, 1);
    add_running("low", {a_set("learner", 1, ask(4)), in_request(a_set("collector", 1, ask(4)), 1)},
                {"n2", "n2"}, 2);
    start(queue::PreemptionMode::kReclaim);
  }
  void add_queue(const std::string& name, Json spec) {
    spec["namespaceSelector"] = Json::object();
    api.add(kube::kQueues, "",
            {{"apiVersion", gang::kApiVersion},
             {"kind", "Queue"},
             {"metadata", {{"name", name}}},
             {"spec", std::move(spec)}});
  }
  void add_group(const std::string& name, const std::vector<Member>& members,
                 const std::string& queue, int queued) {
    gang::PodGroup group = testing::a_group(name, members, queued);
    group.spec.queue = queue;
    api.add(kube::kPodGroups, kNs,
            {{"apiVersion", gang::kApiVersion},
             {"kind", gang::kKind},
             {"metadata", {{"name", name}, {"namespace", kNs}}},
             {"spec", gang::encode_spec(group.spec)}});
  }
  // With its pods; each set is one gang.
  void add_running(const std::string& name, const std::vector<Member>& members,
                   const std::vector<std::string>& nodes, int queued) {
    add_group(name, members, "speech", queued);
    gang::PodGroup group = get(name);
    group.status.observed_generation = group.meta.generation;
    group.status.queue.name = "speech";
    for (std::size_t i = 0; i < group.spec.gangs.size(); ++i) {
      gang::GangStatus& gang = group.status.gangs.emplace_back();
      const gang::MemberSet& set = group.spec.gangs[i].members[0];
      gang.name = group.spec.gangs[i].name;
      gang.planned = gang.committed = true;
      gang.reason = std::string(gang::kReasonPlanned);
      gang.started_at = clock.now() - 1h;
      gang.placements = {{set.role, set.slots[0], nodes[i], group.status.next_placement++}};
      add_pod({.name = name + "-" + set.role,
               .requests = set.shape.requests,
               .annotations = gang::annotations_for(
                   {group.meta.uid, set.role, set.slots[0], gang.placements[0].number})});
      bind_pod(name + "-" + set.role, nodes[i]);
      run_pod(name + "-" + set.role);
    }
    api.change(kube::kPodGroups, kNs, name, {{"status", gang::encode_status(group.status)}});
  }
  gang::PodGroup get(const std::string& name) const {
    return *gang::decode_pod_group(api.get(kube::kPodGroups, kNs, name));
  }
  gang::GangStatus gang(const std::string& name, std::size_t i = 0) const {
    const gang::PodGroup group = get(name);
    return i < group.status.gangs.size() ? group.status.gangs[i] : gang::GangStatus{};
  }

  // Another process.
  void start(queue::PreemptionMode mode) {
    process.emplace(old_api, api, clock, testing::ExtenderOptions{.preemption = mode});
    process->list(api.resource_version());
  }
  void cycle(std::chrono::seconds time = 1s) {
    clock.advance(time);
    process->planner.schedule_once();
    process->deliver(api.resource_version());
  }
  bool run_until(const std::string& name, std::string_view reason, std::size_t i = 0) {
    for (int n = 0; n < 10 && gang(name, i).reason != reason; ++n) cycle();
    return gang(name, i).reason == reason;
  }
  // The controller's part.
  void requeue_request() {
    gang::PodGroupSpec spec = get("low").spec;
    ++spec.gangs[1].members[0].slots[0].incarnation;
    api.change(kube::kPodGroups, kNs, "low", {{"spec", gang::encode_spec(spec)}});
  }
  void delete_pod(const std::string& name, std::chrono::seconds grace = 30s) {
    static_cast<void>(
        api.send({"DELETE", "/api/v1/namespaces/" + std::string(kNs) + "/pods/" + name,
                  Json{{"gracePeriodSeconds", grace.count()}}.dump(), ""}));
    process->deliver(api.resource_version());
  }

  OldApi old_api{api};
  std::optional<ExtenderProcess> process;
};

TEST_CASE("a request that ends for another gang is gone when its pods are", "[extender][preempt]") {
  Preempting c;
  c.api.terminate_pods_slowly();
  c.add_group("owner", {a_set("learner", 1, ask(4))}, "vision", 3);
  c.process->deliver(c.api.resource_version());
  REQUIRE(c.run_until("low", gang::kReasonPreempted, 1));
  CHECK(c.gang("owner").reason == gang::kReasonPreempting);
  c.requeue_request();
  SECTION("they have no deletionTimestamp yet") {}
  SECTION("they are being deleted") { c.delete_pod("low-collector"); }
  SECTION("and a new leader looks") {
    c.delete_pod("low-collector");
    c.start(queue::PreemptionMode::kReclaim);
  }
  for (int i = 0; i < 3; ++i) {
    c.cycle();
    CHECK(c.gang("owner").reason == gang::kReasonPreempting);
    CHECK(c.gang("other").reason == gang::kReasonPlanned);
    CHECK(c.gang("low").reason == gang::kReasonPlanned);
  }
  c.delete_pod("low-collector");
  REQUIRE(c.api.end_termination(kNs, "low-collector"));
  c.process->deliver(c.api.resource_version());
  c.cycle();
  CHECK(c.gang("owner").planned);
  CHECK(c.gang("low", 1).reason == gang::kReasonUnschedulable);
}

TEST_CASE("nothing ends for a gang whose PersistentVolumeClaim does not exist",
          "[extender][preempt]") {
  Preempting c;
  auto learner = a_set("learner", 1, ask(4));
  learner.shape.claims = {"data"};
  c.add_group("owner", {learner}, "vision", 3);
  c.process->deliver(c.api.resource_version());
  CHECK_FALSE(c.run_until("low", gang::kReasonPreempted, 1));
  CHECK(c.gang("other").reason == gang::kReasonPlanned);
  CHECK(c.gang("owner").victims.empty());
  CHECK(c.gang("owner").message.find("PersistentVolumeClaim data does not exist") !=
        std::string::npos);
  c.api.add(kube::kPersistentVolumeClaims, kNs,
            {{"apiVersion", "v1"},
             {"kind", "PersistentVolumeClaim"},
             {"metadata", {{"name", "data"}, {"namespace", kNs}}}});  // bound for its first pod
  c.process->deliver(c.api.resource_version());
  CHECK(c.run_until("low", gang::kReasonPreempted, 1));
}

TEST_CASE("pods that end for another gang say so, as those that kube-scheduler preempts",
          "[extender][preempt]") {
  Preempting c;
  c.add_group("owner", {a_set("learner", 1, ask(4))}, "vision", 3);
  c.process->deliver(c.api.resource_version());
  REQUIRE(c.run_until("low", gang::kReasonPreempted, 1));
  const auto disruption = [&](const std::string& pod) {
    const Json live = c.api.get(kube::kPods, kNs, pod);
    for (const Json& one : live["status"]["conditions"]) {
      if (one["type"] == "DisruptionTarget") return one["reason"].get<std::string>();
    }
    return std::string();
  };
  CHECK(disruption("low-collector") == "PreemptionByScheduler");
  CHECK(disruption("low-learner").empty());
  CHECK(disruption("other-learner").empty());
}

TEST_CASE("a gang whose victims do not end gives up after a while, and says so",
          "[extender][preempt]") {
  Preempting c;
  c.api.terminate_pods_slowly();
  c.add_group("owner", {a_set("learner", 1, ask(4))}, "vision", 3);
  c.process->deliver(c.api.resource_version());
  REQUIRE(c.run_until("low", gang::kReasonPreempted, 1));
  c.cycle(290s);
  CHECK(c.gang("owner").reason == gang::kReasonPreempting);
  SECTION("the controller does nothing") {}
  SECTION("a pod has a grace period of an hour") {
    c.requeue_request();
    c.delete_pod("low-collector", 1h);
  }
  SECTION("a pod has a finalizer") {
    c.requeue_request();
    c.delete_pod("low-collector");
    c.cycle(15s);
    CHECK(c.gang("owner").reason == gang::kReasonPreempting);  // its grace period
    c.cycle(60s);
  }
  c.cycle(15s);
  const gang::GangStatus gang = c.gang("owner");
  CHECK(gang.reason == gang::kReasonPlanExpired);
  CHECK(gang.message.find("have not ended in time") != std::string::npos);
  CHECK(gang.victims.empty());
  CHECK(gang.refusals.count == 1);
  CHECK(c.gang("other").reason == gang::kReasonPlanned);
}

TEST_CASE("victims that end while no leader is there do not end for nothing",
          "[extender][preempt]") {
  Preempting c;
  c.add_group("owner", {a_set("learner", 1, ask(4))}, "vision", 3);
  c.process->deliver(c.api.resource_version());
  SECTION("they have ended") {
    REQUIRE(c.run_until("low", gang::kReasonPreempted, 1));
    c.requeue_request();
    c.delete_pod("low-collector");
    c.clock.advance(10min);
    c.start(queue::PreemptionMode::kReclaim);
    c.cycle();
    CHECK(c.gang("owner").planned);
  }
  SECTION("they are not marked yet") {
    REQUIRE(c.run_until("owner", gang::kReasonPreempting));
    c.clock.advance(10min);
    c.start(queue::PreemptionMode::kReclaim);
    CHECK(c.run_until("low", gang::kReasonPreempted, 1));
    CHECK(c.gang("owner").reason == gang::kReasonPreempting);
  }
}

TEST_CASE("an API server that does not store victims pauses preemption", "[extender][preempt]") {
  Preempting c;
  c.old_api.gang_fields = {"victims"};
  c.add_group("owner", {a_set("learner", 1, ask(4))}, "vision", 3);
  c.process->deliver(c.api.resource_version());
  c.cycle();
  c.cycle();
  c.api.clear_writes();
  for (int i = 0; i < 5; ++i) c.cycle();
  CHECK(c.api.writes("PATCH", "/podgroups").empty());
  CHECK(c.gang("owner").reason == gang::kReasonUnschedulable);
  CHECK(c.gang("owner").placements.empty());
  CHECK(c.gang("low").reason == gang::kReasonPlanned);
  // The definition was applied.
  c.old_api.gang_fields.clear();
  c.cycle(301s);
  CHECK(c.run_until("owner", gang::kReasonPreempting));
}

TEST_CASE("a gang whose Queue does not count preemptions gives up, and says what to apply",
          "[extender][preempt]") {
  Preempting c;
  c.old_api.status_fields = {"recentPreemptions"};
  c.add_group("owner", {a_set("learner", 1, ask(4))}, "vision", 3);
  c.process->deliver(c.api.resource_version());
  REQUIRE(c.run_until("owner", gang::kReasonPreempting));
  c.cycle(290s);
  c.cycle(15s);
  CHECK(c.gang("owner").reason == gang::kReasonPlanExpired);
  CHECK(c.gang("owner").message.find("apply that of its version") != std::string::npos);
  CHECK(c.gang("low", 1).reason == gang::kReasonPlanned);
}

TEST_CASE("a preempted gang that is not requeued in time is named in the log, once",
          "[extender][preempt]") {
  Preempting c;
  set_log_level(LogLevel::kWarn);
  c.add_group("owner", {a_set("learner", 1, ask(4))}, "vision", 3);
  c.process->deliver(c.api.resource_version());
  REQUIRE(c.run_until("low", gang::kReasonPreempted, 1));
  const testing::CapturedStderr log;
  c.cycle(290s);
  CHECK(log.lines_with("not requeued").empty());
  for (int i = 0; i < 3; ++i) c.cycle(15s);
  const auto lines = log.lines_with("preempted gang not requeued");
  REQUIRE(lines.size() == 1);
  CHECK(lines[0].find("podgroup=rl/low ") != std::string::npos);
}

TEST_CASE("a status that is rejected with its victims does not keep the gang from starting",
          "[extender][preempt]") {
  Preempting c;
  int tries = 0;
  c.api.fail_next(
      [&](const kube::ApiRequest& request) {
        const bool is_one = request.body.find("\"victims\"") != std::string::npos;
        tries += is_one ? 1 : 0;
        return is_one;
      },
      {Code::kInvalid, "422 too large"}, testing::Applied::kNo, 1'000);
  c.add_group("owner", {a_set("learner", 1, ask(4))}, "vision", 3);
  c.process->deliver(c.api.resource_version());
  for (int i = 0; i < 5; ++i) c.cycle();
  CHECK(tries == 1);
  CHECK(c.gang("owner").reason == gang::kReasonUnschedulable);
  c.api.remove(kube::kPodGroups, kNs, "other");
  c.api.remove(kube::kPods, kNs, "other-learner");
  c.process->deliver(c.api.resource_version());
  c.cycle();
  CHECK(c.gang("owner").planned);
}

TEST_CASE("without the flag nothing is preempted, and nothing is written", "[extender][preempt]") {
  Preempting c;
  c.add_group("owner", {a_set("learner", 1, ask(4))}, "vision", 3);
  c.start(queue::PreemptionMode::kOff);
  c.cycle();
  c.cycle();
  c.api.clear_writes();
  for (int i = 0; i < 5; ++i) c.cycle();
  CHECK(c.api.writes().empty());
  CHECK(c.gang("owner").reason == gang::kReasonUnschedulable);
  CHECK(c.gang("owner").message.find("preempt") == std::string::npos);
}

TEST_CASE("with the flag off again, victims that are not marked yet run on",
          "[extender][preempt]") {
  Preempting c;
  c.add_group("owner", {a_set("learner", 1, ask(4))}, "vision", 3);
  c.process->deliver(c.api.resource_version());
  REQUIRE(c.run_until("owner", gang::kReasonPreempting));
  REQUIRE(c.gang("low", 1).reason == gang::kReasonPlanned);
  c.start(queue::PreemptionMode::kOff);
  for (int i = 0; i < 3; ++i) c.cycle();
  CHECK(c.gang("owner").reason == gang::kReasonUnschedulable);
  CHECK(c.gang("low", 1).reason == gang::kReasonPlanned);
}

}  // namespace
}  // namespace nervex::extender
