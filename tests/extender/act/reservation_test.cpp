// Reservations through the cluster cache and the planner's writes.
#include <catch2/catch_test_macros.hpp>

#include "tests/extender/cluster.h"
#include "tests/extender/old_api.h"
#include "tests/support/captured_stderr.h"

namespace nervex::extender {
namespace {

using namespace std::chrono_literals;
using testing::a_set;
using testing::ask;
using testing::ExtenderProcess;
using testing::kNs;

// Jobs "short" and "long" run on a node each, which end within 200 s and 2,000 s.
struct Reserving : testing::Cluster {
  Reserving() {
    add_node("n1", 8);
    add_node("n2", 8);
    add_running("short", "n1", 200);
    add_running("long", "n2", 2'000);
    start();
  }
  void add_group(const std::string& name, int pods, std::optional<int> deadline = {}) {
    gang::PodGroup group = testing::a_group(name, {a_set("learner", pods, ask(8))}, ++added);
    group.spec.active_deadline_seconds = deadline;
    group.spec.grace_seconds = 0;
    api.add(kube::kPodGroups, kNs,
            {{"apiVersion", gang::kApiVersion},
             {"kind", gang::kKind},
             {"metadata", {{"name", name}, {"namespace", kNs}}},
             {"spec", gang::encode_spec(group.spec)}});
  }
  void add_running(const std::string& name, const std::string& node, int deadline) {
    add_group(name, 1, deadline);
    gang::PodGroup group = get(name);
    group.status.observed_generation = group.meta.generation;
    gang::GangStatus& gang = group.status.gangs.emplace_back();
    const gang::MemberSet& set = group.spec.gangs[0].members[0];
    gang.name = std::string(gang::kBaseGang);
    gang.planned = gang.committed = true;
    gang.reason = std::string(gang::kReasonPlanned);
    gang.started_at = clock.now();
    gang.placements = {{set.role, set.slots[0], node, group.status.next_placement++}};
    add_pod({.name = name,
             .requests = set.shape.requests,
             .annotations = gang::annotations_for(
                 {group.meta.uid, set.role, set.slots[0], gang.placements[0].number})});
    bind_pod(name, node);
    run_pod(name);
    api.change(kube::kPodGroups, kNs, name, {{"status", gang::encode_status(group.status)}});
  }
  void end(const std::string& name) {
    api.remove(kube::kPods, kNs, name);
    api.remove(kube::kPodGroups, kNs, name);
  }
  gang::PodGroup get(const std::string& name) const {
    return *gang::decode_pod_group(api.get(kube::kPodGroups, kNs, name));
  }
  gang::GangStatus gang(const std::string& name) const { return get(name).status.gangs.at(0); }

  // Another process.
  void start() {
    process.emplace(old_api, api, clock, testing::ExtenderOptions{.reservation = {.after = 300s}});
    process->list(api.resource_version());
  }
  void cycle(std::chrono::seconds time = 1s) {
    clock.advance(time);
    process->deliver(api.resource_version());
    process->planner.schedule_once();
    process->deliver(api.resource_version());
  }

  testing::OldApi old_api{api};
  std::optional<ExtenderProcess> process;
  int added = 0;
};

TEST_CASE("nodes are reserved until their gang starts, over a change of leader",
          "[extender][reservation]") {
  Reserving c;
  c.add_group("head", 2);
  c.cycle();
  CHECK_FALSE(c.gang("head").reservation.has_value());
  c.cycle(300s);
  const auto reservation = c.gang("head").reservation;
  REQUIRE(reservation.has_value());
  CHECK(reservation->nodes.size() == 2);
  CHECK(reservation->due.has_value());
  c.start();
  c.end("short");
  c.add_group("unbounded", 1);
  c.add_group("in-time", 1, 600);
  c.cycle();
  CHECK_FALSE(c.gang("unbounded").planned);
  CHECK(c.gang("in-time").planned);
  CHECK(c.gang("head").reservation == reservation);
  c.end("in-time");
  c.end("long");
  c.cycle();
  CHECK(c.gang("head").planned);
  CHECK_FALSE(c.gang("head").reservation.has_value());
  CHECK_FALSE(c.gang("unbounded").planned);
}

TEST_CASE("reservations pause while the API server does not store them, and the log says it once",
          "[extender][reservation]") {
  Reserving c;
  const testing::CapturedStderr log;
  c.old_api.gang_fields = {"reservation"};
  c.add_group("head", 2);
  c.cycle();
  c.cycle(300s);
  c.cycle();
  c.cycle(60s);  // the message is what it was
  c.api.clear_writes();
  for (int i = 0; i < 3; ++i) c.cycle(60s);
  CHECK(c.api.writes("PATCH", "/podgroups").empty());
  c.end("short");
  c.add_group("late", 1, 5'000);
  c.cycle();
  CHECK(c.gang("late").planned);  // no node is kept
  c.api.remove(kube::kPodGroups, kNs, "late");
  c.api.clear_writes();
  c.cycle(300s);
  CHECK(c.api.writes("PATCH", "/podgroups").size() == 1);  // the next try
  CHECK_FALSE(c.gang("head").reservation.has_value());
  const auto lines = log.lines_with("does not store reservations");
  REQUIRE(lines.size() == 1);
  CHECK(lines[0].find("podgroups.nervex.sensetime.com is older") != std::string::npos);
  // The definition was applied.
  c.old_api.gang_fields.clear();
  c.cycle(301s);
  CHECK(c.gang("head").reservation.has_value());
}

TEST_CASE("an API server that does not store reservations ends none that another one has stored",
          "[extender][reservation]") {
  Reserving c;
  c.add_node("n3", 8);
  c.add_running("third", "n3", 3'000);
  c.add_group("head", 2);
  c.cycle();
  c.cycle(300s);
  REQUIRE(c.gang("head").reservation.has_value());
  const testing::CapturedStderr log;
  c.old_api.gang_fields = {"reservation"};
  c.old_api.path_part = "second";
  c.add_group("second", 1);
  c.cycle();
  c.cycle(300s);
  REQUIRE(log.lines_with("does not store reservations").size() == 1);
  c.end("short");
  c.add_group("unbounded", 1);
  c.cycle();
  CHECK_FALSE(c.gang("unbounded").planned);
  CHECK(c.gang("head").reservation.has_value());
}

}  // namespace
}  // namespace nervex::extender
