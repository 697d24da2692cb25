// bench/plan_bench.cpp - how long does it take to place a 1,000-pod gang of four roles?
//
// Budget: below 2 ms at 5,000 nodes and 6 ms at 15,000. One node in four is half full and one in
// ten is tainted, as clusters are.
//
// plan_*: plan_gang() alone, on a view that is there. cycle_*: what a scheduling cycle pays for the
// gang, from the copy of the view to the new status; between two cycles pods come and go on 10
// nodes.
#include <benchmark/benchmark.h>

#include "extender/observe/parts/node_table.h"
#include "placement/plan.h"
#include "placement/spread.h"
#include "placement/topology.h"
#include "planner/scheduling_cycle.h"

namespace nervex::placement {
namespace {

NodeView a_node(int i) {
  auto node = std::make_shared<kube::Node>();
  node->name = fmt::format("node-{:05}", i);
  node->ready = true;
  node->labels["kubernetes.io/hostname"] = node->name;
  node->allocatable = {
      {"cpu", 64'000}, {"memory", 256LL << 30}, {"nvidia.com/gpu", 8}, {"pods", 110}};
  if (i % 10 == 0) node->taints.push_back({"reserved", "yes", "NoSchedule"});
  NodeView view{node, node->allocatable};
  if (i % 4 == 0) {
    view.free -= kube::Resources{
        {"cpu", 32'000}, {"memory", 128LL << 30}, {"nvidia.com/gpu", 4}, {"pods", 8}};
  }
  return view;
}

gang::MemberSet a_set(const std::string& role, int count, kube::Resources requests) {
  requests.set("pods", 1);
  gang::MemberSet set{role, role, {}, 0, {std::move(requests), {}}};
  for (int i = 0; i < count; ++i) set.slots.push_back({i, 0});
  return set;
}

std::vector<gang::MemberSet> a_gang() {
  return {a_set("coordinator", 1, {{"cpu", 2'000}, {"memory", 4LL << 30}}),
          a_set("aggregator", 1, {{"cpu", 4'000}, {"memory", 16LL << 30}}),
          a_set("collector", 898, {{"cpu", 4'000}, {"memory", 8LL << 30}}),
          a_set("learner", 100, {{"cpu", 8'000}, {"memory", 32LL << 30}, {"nvidia.com/gpu", 8}})};
}

constexpr const char* kWrong = "not the answer that was to be measured";

std::vector<NodeView> many_nodes(std::int64_t count, NodeView (*make)(int) = a_node) {
  std::vector<NodeView> nodes;
  nodes.reserve(static_cast<std::size_t>(count));
  for (int i = 0; i < count; ++i) nodes.push_back(make(i));
  return nodes;
}

void plan(benchmark::State& state, const std::vector<gang::MemberSet>& members,
          const Cluster& nodes, bool fits = true) {
  for (auto _ : state) {
    const Plan plan = plan_gang(members, nodes);
    if (std::holds_alternative<std::vector<Assignment>>(plan) != fits) {
      state.SkipWithError(kWrong);
      break;
    }
    benchmark::DoNotOptimize(plan);
  }
}

void plan_thousand_pods(benchmark::State& state) {
  plan(state, a_gang(), many_nodes(state.range(0)));
}

// No two nodes have the same free.
NodeView used_node(int i) {
  NodeView view = a_node(i);
  view.free -= kube::Resources{{"cpu", (i * 7919) % 20'000},
                               {"memory", ((i * 104'729LL) % 50'000) << 20},
                               {"nvidia.com/gpu", i % 3 == 0 ? i % 8 : 0},
                               {"pods", i % 40}};
  return view;
}
void plan_thousand_pods_on_used_nodes(benchmark::State& state) {
  plan(state, a_gang(), many_nodes(state.range(0), used_node));
}

// Every set has its own demand of labels, and tolerates something.
void plan_thousand_selecting_pods(benchmark::State& state) {
  auto members = a_gang();
  for (gang::MemberSet& set : members) {
    set.shape.constraints.edit([&](kube::NodeConstraints& constraints) {
      constraints.node_selector["pool"] = set.role == "learner" ? "gpu" : "any";
      constraints.tolerations.push_back({{"key", "reserved"}, {"operator", "Exists"}});
    });
  }
  members[0].shape.constraints.edit(
      [](kube::NodeConstraints& constraints) { constraints.node_selector["pool"] = "any"; });
  plan(state, members, many_nodes(state.range(0), [](int i) {
         NodeView view = used_node(i);
         kube::Node node = *view.node;
         node.labels["pool"] = i % 4 == 1 ? "any" : "gpu";
         node.labels["topology.kubernetes.io/zone"] = "zone-" + std::to_string(i % 3);
         view.node = std::make_shared<kube::Node>(std::move(node));
         return view;
       }));
}

// 200 racks in three zones.
NodeView racked_node(int i) {
  NodeView view = used_node(i);
  kube::Node node = *view.node;
  node.labels["rack"] = "rack-" + std::to_string(i % 200);
  node.labels["topology.kubernetes.io/zone"] = "zone-" + std::to_string(i % 200 % 3);
  view.node = std::make_shared<kube::Node>(std::move(node));
  return view;
}

// The whole job is in one zone, its learners in one rack, its collectors in few racks.
void plan_thousand_near_pods(benchmark::State& state) {
  auto members = a_gang();
  for (gang::MemberSet& set : members) {
    set.shape.topology.push_back({"topology.kubernetes.io/zone", "job", true});
  }
  gang::MemberSet& learners = members.back();
  learners.slots.resize(8);
  learners.shape.topology.push_back({"rack", "learner", true});
  gang::MemberSet& collectors = members[2];
  for (int i = 898; i < 990; ++i) collectors.slots.push_back({i, 0});
  collectors.shape.topology.push_back({"rack", "collector", false});
  Cluster nodes = many_nodes(state.range(0), racked_node);
  nodes.set_labels(std::make_shared<NodeLabels>(
      NodeLabels{"", {"topology.kubernetes.io/zone", "rack", "kubernetes.io/hostname"}}));
  for (auto _ : state) {
    const Plan plan = plan_in_domains(members, nodes, {}, {});
    if (!std::holds_alternative<std::vector<Assignment>>(plan)) {
      state.SkipWithError(kWrong);
      break;
    }
    benchmark::DoNotOptimize(plan);
  }
}

// Collectors are spread over zones, racks and nodes at once.
void plan_thousand_spread_pods(benchmark::State& state) {
  auto members = a_gang();
  gang::MemberSet& collectors = members[2];
  const kube::PodSelector pods = kube::make_pod_selector("team", "[]");
  collectors.shape.requests.set(pods.counter, 1);
  for (const auto& [key, max_skew] : std::vector<std::pair<std::string, int>>{
           {"topology.kubernetes.io/zone", 1}, {"rack", 2}, {"kubernetes.io/hostname", 1}}) {
    kube::TopologySpread spread;
    spread.key = key;
    spread.max_skew = max_skew;
    spread.honors_taints = true;
    spread.pods = pods;
    collectors.shape.spread.push_back(std::move(spread));
  }
  const Cluster nodes = many_nodes(state.range(0), racked_node);
  for (auto _ : state) {
    const Plan plan = plan_spread(members, nodes, {});
    if (!std::holds_alternative<std::vector<Assignment>>(plan)) {
      state.SkipWithError(kWrong);
      break;
    }
    benchmark::DoNotOptimize(plan);
  }
}

// One learner more than there are nodes with 8 free GPUs.
void wait_for_one_node(benchmark::State& state) {
  const auto nodes = many_nodes(state.range(0));
  int whole = 0;
  for (const NodeView& view : nodes) {
    whole += view.node->taints.empty() && view.free.get("nvidia.com/gpu") == 8 ? 1 : 0;
  }
  auto members = a_gang();
  members.back() =
      a_set("learner", whole + 1, {{"cpu", 8'000}, {"memory", 32LL << 30}, {"nvidia.com/gpu", 8}});
  plan(state, members, nodes, false);
}

void cycle_thousand_pods(benchmark::State& state) {
  extender::NodeTable table;
  for (int i = 0; i < state.range(0); ++i) {
    const NodeView view = used_node(i);
    table.set_node(view.node->name, view.node);
    kube::Resources used = view.node->allocatable;
    used -= view.free;
    table.use(view.node->name, used);
  }
  gang::PodGroup group;
  group.meta.ns = "team";
  group.meta.name = "train-1";
  group.meta.uid = "1";
  group.meta.generation = 1;
  group.spec.gangs = {{std::string(gang::kBaseGang), gang::GangKind::kBase, 0, 0, a_gang()}};
  const auto seen = std::make_shared<const gang::PodGroup>(std::move(group));
  const kube::Resources pod{{"cpu", 100}, {"pods", 1}};
  int round = 0;
  for (auto _ : state) {
    ++round;
    for (int i = 0; i < 10; ++i) {
      const int at = (round * 10 + i) % static_cast<int>(state.range(0));
      const std::string name = a_node(at).node->name;
      table.use(name, pod);
    }
    planner::Snapshot snapshot;
    snapshot.nodes = table.cluster();
    snapshot.groups.emplace_back().group = seen;
    const auto result = planner::run_cycle(snapshot, {}, SysTime(std::chrono::seconds(100)));
    if (result.writes.size() != 1 || !result.writes[0].status.gangs.at(0).planned) {
      state.SkipWithError(kWrong);
      break;
    }
    for (int i = 0; i < 10; ++i) {
      const int at = (round * 10 + i) % static_cast<int>(state.range(0));
      const std::string name = a_node(at).node->name;
      table.stop_using(name, pod);
    }
  }
}

#define NERVEX_BENCHMARK(name) \
  BENCHMARK(name)->Arg(500)->Arg(5'000)->Arg(15'000)->Unit(benchmark::kMillisecond)
NERVEX_BENCHMARK(plan_thousand_pods);
NERVEX_BENCHMARK(plan_thousand_pods_on_used_nodes);
NERVEX_BENCHMARK(plan_thousand_selecting_pods);
BENCHMARK(plan_thousand_near_pods)->Arg(5'000)->Arg(15'000)->Unit(benchmark::kMillisecond);
BENCHMARK(plan_thousand_spread_pods)->Arg(5'000)->Arg(15'000)->Unit(benchmark::kMillisecond);
NERVEX_BENCHMARK(wait_for_one_node);
NERVEX_BENCHMARK(cycle_thousand_pods);

}  // namespace
}  // namespace nervex::placement
