// When does the planner look, and what does it plan again?
#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>
#include <catch2/generators/catch_generators_adapters.hpp>
#include <catch2/generators/catch_generators_random.hpp>

#include <random>

#include "tests/extender/cluster.h"

namespace nervex::extender {
namespace {

using testing::a_set;
using testing::ask;
using testing::ExtenderCluster;
using testing::kNs;
using Look = WatchUpdates::Look;

// Says what the watch of pods told the planner.
struct Waking : ExtenderCluster {
  // The strongest of all that was seen.
  Look watch_pods() {
    Look strongest = Look::kNo;
    const auto sink = kube::sink_into<kube::Pod>(
        pods, [](std::string_view json) { return kube::decode_pod(json, pod_filter()); },
        [&](const kube::PodPtr& before, const kube::PodPtr& after) {
          strongest = std::max(strongest, cache.updates.pod_changed(before, after));
        });
    sink.begin_list();
    for (const Json& pod : api.list(kube::kPods)) (void)sink.upsert(kube::to_text(pod));
    sink.end_list(std::to_string(api.resource_version()));
    return strongest;
  }
  // True if it ran a cycle.
  bool wake(Look look) {
    if (look == Look::kNow) planner.schedule_once();
    return look == Look::kNow || (look == Look::kAtCapacity && planner.schedule_at_capacity());
  }
  std::uint64_t planned_since(std::uint64_t before) const {
    return planner.gangs_planned() - before;
  }
};

TEST_CASE("capacity that is of no use to a gang that waits does not plan it again",
          "[extender][waking]") {
  Waking c;
  for (const char* name : {"n1", "n2"}) c.add_node(name, 8);
  c.add_plain_pod("gpus", ask(8), "n1");
  c.add_plain_pod("cores", ask(0, 8), "n2");
  c.add_group("a", {a_set("learner", 2, ask(8)), a_set("coordinator", 1, ask(0))});
  c.see();
  c.planner.schedule_once();
  REQUIRE(c.planned_nodes("a") == "waits");
  const auto before = c.planner.gangs_planned();

  SECTION("cores are set free") {
    c.api.remove(kube::kPods, kNs, "cores");
    CHECK_FALSE(c.wake(c.watch_pods()));
    c.planner.schedule_once();  // for another reason
    CHECK(c.planned_since(before) == 0);
  }
  SECTION("a node reports that it is alive") {
    c.api.change(kube::kNodes, "", "n1", {{"status", {{"nodeInfo", {{"bootID", "b"}}}}}});
    c.see_nodes();
    CHECK_FALSE(c.planner.schedule_at_capacity());
    c.planner.schedule_once();
    CHECK(c.planned_since(before) == 0);
  }
  SECTION("a pod comes") {
    c.add_plain_pod("more", ask(0, 8), "n2");
    CHECK_FALSE(c.wake(c.watch_pods()));
    c.planner.schedule_once();
    CHECK(c.planned_since(before) == 0);
  }
  SECTION("GPUs are set free") {
    c.api.remove(kube::kPods, kNs, "gpus");
    CHECK(c.wake(c.watch_pods()));
    CHECK(c.planned_nodes("a") == "n2 n1 n2");
  }
}

// A gang that is ahead in the queue gets what a plan behind it leaves.
TEST_CASE("a gang that waits gets the capacity of a plan that does not fit any more",
          "[extender][waking]") {
  Waking c;
  for (const char* name : {"n1", "n2", "n3"}) c.add_node(name, 1);
  c.add_plain_pod("plain", ask(1), "n3");
  c.add_group("behind", {a_set("learner", 2, ask(1))}, 1, 0);
  c.see();
  c.planner.schedule_once();
  REQUIRE(c.planned_nodes("behind") == "n1 n2");
  c.add_group("ahead", {a_set("learner", 2, ask(1))}, 2, 10);
  c.see();
  c.planner.schedule_once();
  REQUIRE(c.planned_nodes("ahead") == "waits");
  c.see_groups();
  c.api.remove(kube::kPods, kNs, "plain");
  c.wake(c.watch_pods());
  REQUIRE(c.planned_nodes("ahead") == "waits");

  c.add_plain_pod("thief", ask(1), "n1");
  CHECK(c.watch_pods() == Look::kNow);
  c.see_groups();
  c.planner.schedule_once();
  CHECK(c.planned_nodes("ahead") == "n2 n3");
  CHECK(c.planned_nodes("behind") == "waits");
}

TEST_CASE("a quota wakes the planner also before a gang's first decision is stored",
          "[extender][waking]") {
  Waking c;
  c.add_node("n1", 8);
  c.add_group("a", {a_set("learner", 1, ask(1))});
  c.see();
  const auto quota = std::make_shared<const kube::Quota>(*kube::decode_quota(
      R"({"metadata":{"name":"team","namespace":"rl"},"spec":{"hard":{"pods":"1"}}})"));
  CHECK(c.cache.updates.quota_changed(nullptr, quota));
  c.planner.schedule_once();
  c.see_groups();
  CHECK_FALSE(c.cache.updates.quota_changed(quota, nullptr));
}

TEST_CASE("while no gang waits, pods of others wake no gang", "[extender][waking]") {
  Waking c;
  c.add_node("n1", 8);
  c.add_group("a", {a_set("learner", 1, ask(1))});
  c.see();
  c.planner.schedule_once();
  for (const std::string& name : c.add_gang_pods("a")) {
    CHECK(c.watch_pods() == Look::kNo);
    CHECK(c.bind(name, "n1").empty());
  }
  c.watch_pods();
  c.see_groups();
  c.planner.schedule_once();
  CHECK(c.cache.planner.snapshot().groups.empty());  // nothing is left to decide
  c.add_plain_pod("p", ask(1), "n1");
  CHECK(c.watch_pods() == Look::kAtCapacity);
  CHECK_FALSE(c.planner.schedule_at_capacity());
}

TEST_CASE("of a gang's binds the last one wakes the planner", "[extender][waking]") {
  Waking c;
  c.add_node("n1", 8);
  c.add_group("a", {a_set("learner", 3, ask(1))});
  c.see();
  c.planner.schedule_once();
  const auto names = c.add_gang_pods("a");
  c.watch_pods();
  std::vector<Look> looks;
  for (const std::string& name : names) {
    CHECK(c.bind(name, "n1").empty());
    looks.push_back(c.watch_pods());
  }
  CHECK(looks == std::vector{Look::kNo, Look::kNo, Look::kNow});
  c.api.remove(kube::kPods, kNs, names[0]);
  CHECK(c.watch_pods() == Look::kNow);  // it is to be healed
}

TEST_CASE("a pod that takes what a plan has reserved wakes the planner, and others do not",
          "[extender][waking]") {
  Waking c;
  c.add_node("n1", 8);
  c.add_group("a", {a_set("learner", 1, ask(6))});
  c.see();
  c.planner.schedule_once();
  c.add_plain_pod("small", ask(2), "n1");
  CHECK_FALSE(c.wake(c.watch_pods()));
  CHECK(c.planned_nodes("a") == "n1");
  c.add_plain_pod("large", ask(3), "n1");
  CHECK(c.wake(c.watch_pods()));
  CHECK(c.planned_nodes("a") == "waits");
}

TEST_CASE("a gang that waits gets what a plan held that was not stored", "[extender][waking]") {
  Waking c;
  c.add_node("n1", 8);
  c.add_group("a", {a_set("learner", 1, ask(8))}, 1);
  c.add_group("b", {a_set("learner", 1, ask(8))}, 2);
  c.see();
  c.api.fail_next("PATCH", "/podgroups/a/status", {Code::kConflict, "changed"});
  c.planner.schedule_once();
  CHECK(c.planned_nodes("b") == "waits");
  c.api.remove(kube::kPodGroups, kNs, "a");
  c.see_groups();
  c.planner.schedule_once();
  CHECK(c.planned_nodes("b") == "n1");
}

TEST_CASE("a gang that waits gets what a plan gives back that is dropped", "[extender][waking]") {
  Waking c;
  c.add_node("n1", 8);
  c.add_node("n2", 8);
  c.add_group("a", {a_set("learner", 2, ask(8))}, 1);
  c.add_group("b", {a_set("learner", 1, ask(8))}, 2);
  c.see();
  c.planner.schedule_once();
  CHECK(c.planned_nodes("a") == "n1 n2");
  CHECK(c.planned_nodes("b") == "waits");
  c.add_plain_pod("p", ask(1), "n1");
  REQUIRE(c.wake(c.watch_pods()));
  CHECK(c.planned_nodes("a") == "waits");
  while (c.planner.schedule_at_capacity()) {
  }
  CHECK(c.planned_nodes("b") == "n2");
}

TEST_CASE("plans of one cycle are written side by side, and one that fails stops no other",
          "[extender][waking]") {
  Waking c;
  c.add_node("n1", 64);
  for (int i = 0; i < 40; ++i) {
    c.add_group("g" + std::to_string(i), {a_set("learner", 1, ask(1))}, i);
  }
  c.see();
  c.api.fail_next("PATCH", "/podgroups/g7/status", {Code::kTransient, "timeout"});
  c.planner.schedule_once();
  int planned = 0;
  for (int i = 0; i < 40; ++i) {
    planned += c.planned_nodes("g" + std::to_string(i)) == "n1" ? 1 : 0;
  }
  CHECK(planned == 39);
  CHECK(c.cache.planner.unconfirmed().size() == 1);
  CHECK(c.api.writes().size() == 40);  // one for each plan
  c.clock.advance(std::chrono::seconds(1));
  c.planner.schedule_once();
  CHECK(c.planned_nodes("g7") == "n1");
}

TEST_CASE("a gang costs one write to be planned, one to be committed, and one for each pod",
          "[extender][waking]") {
  Waking c;
  c.add_node("n1", 8);
  c.add_group("a", {a_set("learner", 4, ask(1)), a_set("coordinator", 1, ask(0))});
  const auto names = c.plan_and_add_pods("a");
  for (const std::string& name : names) {
    CHECK(c.bind(name, "n1").empty());
    c.see_pods();
    c.planner.schedule_once();
  }
  CHECK(c.api.writes().size() == 2 + names.size());
}

// A change that wakes no cycle needs none.
TEST_CASE("a change that wakes no gang leaves nothing to decide", "[extender][waking][property]") {
  const auto seed = GENERATE(take(150, random(0U, 1'000'000U)));
  INFO("seed " << seed);
  std::mt19937 rng(seed);
  const auto below = [&rng](int n) { return static_cast<int>(rng() % static_cast<unsigned>(n)); };
  Waking c;
  const std::vector<std::string> nodes{"n1", "n2", "n3"};
  for (const std::string& node : nodes) c.add_node(node, 8, 16);
  int number = 0;
  std::vector<std::string> plain;
  std::vector<std::string> groups;
  const auto plans = [&] {
    std::string text;
    for (const std::string& name : groups) text += name + ": " + c.planned_nodes(name) + "\n";
    return text;
  };
  for (int step = 0; step < 40; ++step) {
    Look look = Look::kNo;
    switch (below(6)) {
      case 0:
        groups.push_back("g" + std::to_string(++number));
        c.add_group(groups.back(),
                    {a_set("learner", 1 + below(4), ask(1 + below(4), 1 + below(3))),
                     a_set("collector", below(3), ask(0, 1 + below(3)))},
                    number);
        look = Look::kNow;
        break;
      case 1:
      case 2:
        plain.push_back("p" + std::to_string(++number));
        c.add_plain_pod(plain.back(), ask(below(4), 1 + below(4)),
                        nodes[static_cast<std::size_t>(below(3))]);
        break;
      case 3:
        if (plain.empty()) break;
        std::swap(plain[static_cast<std::size_t>(below(static_cast<int>(plain.size())))],
                  plain.back());
        c.api.remove(kube::kPods, kNs, plain.back());
        plain.pop_back();
        break;
      case 4: {  // a whole gang starts
        if (groups.empty()) break;
        const std::string& name =
            groups[static_cast<std::size_t>(below(static_cast<int>(groups.size())))];
        const gang::PodGroup group = c.group(name);
        const auto* base = gang::find_gang(group.status, gang::kBaseGang);
        if (base == nullptr || base->committed || !base->planned) break;
        const auto names = c.add_gang_pods(name);
        if (c.wake(c.watch_pods()) && c.planned_nodes(name) == "waits") break;
        for (std::size_t i = 0; i < names.size(); ++i) {
          (void)c.bind(names[i], base->placements[i].node);
        }
        look = Look::kNow;  // the commit
        break;
      }
      case 5: {  // a job ends
        if (groups.empty() || below(2) == 0) break;
        const std::string name = groups.front();
        groups.erase(groups.begin());
        for (const Json& pod : c.api.list(kube::kPods, kNs)) {
          const auto pod_name = pod.at("metadata").at("name").get<std::string>();
          if (pod_name.starts_with(name + "-")) c.api.remove(kube::kPods, kNs, pod_name);
        }
        c.api.remove(kube::kPodGroups, kNs, name);
        look = Look::kNow;
        break;
      }
    }
    c.see_nodes();
    c.see_groups();
    c.wake(std::max(look, c.watch_pods()));
    while (c.planner.schedule_at_capacity()) {
    }
    const std::string before = plans();
    Planner fresh(c.api, c.cache.planner, c.clock);  // which remembers nothing and plans all
    fresh.schedule_once();
    INFO("step " << step);
    REQUIRE(plans() == before);
  }
}

}  // namespace
}  // namespace nervex::extender
