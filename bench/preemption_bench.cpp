// bench/preemption_bench.cpp - what does a search for victims cost among 1,000 running gangs?
//
// On 5,000 nodes whose GPUs are all in use, by gangs of another queue that borrow them. Budget: 50
// ms, or the limit of trials, which the status says. The argument is the number of nodes that the
// waiting gang needs. no_search: the same cycle with --preemption=off. not_enough: one gang more
// than there is.
#include <benchmark/benchmark.h>
#include <fmt/format.h>

#include <memory>

#include "planner/scheduling_cycle.h"

namespace nervex::extender {
namespace {

constexpr int kNodes = 5'000;
constexpr int kRunning = 1'000;
constexpr int kNodesOfOne = kNodes / kRunning;
const SysTime kNow{std::chrono::seconds(1'000'000)};
constexpr const char* kWrong = "not the answer that was to be measured";

std::string node_name(int i) { return fmt::format("node-{:05}", i); }

placement::NodeView a_node(int i) {
  auto node = std::make_shared<kube::Node>();
  node->name = node_name(i);
  node->ready = true;
  node->labels["kubernetes.io/hostname"] = node->name;
  node->allocatable = {
      {"cpu", 64'000}, {"memory", 256LL << 30}, {"nvidia.com/gpu", 8}, {"pods", 110}};
  placement::NodeView view{node, node->allocatable};
  view.free -= kube::Resources{{"cpu", 8'000}, {"memory", 32LL << 30}, {"nvidia.com/gpu", 8}};
  return view;
}

gang::PodGroupPtr a_group(const std::string& name, const std::string& queue, int learners) {
  auto group = std::make_shared<gang::PodGroup>();
  group->meta.ns = "rl";
  group->meta.name = name;
  group->meta.uid = "5d2f7c1e-8a3b-4c6d-9e0f-" + name;
  group->meta.generation = 1;
  group->spec.queue = queue;
  gang::MemberSet set{
      "learner",
      "learner",
      {},
      0,
      {{{"cpu", 8'000}, {"memory", 32LL << 30}, {"nvidia.com/gpu", 8}, {"pods", 1}}, {}}};
  for (int i = 0; i < learners; ++i) set.slots.push_back({i, 0});
  group->spec.gangs = {{std::string(gang::kBaseGang), gang::GangKind::kBase, 0, 0, {set}}};
  return group;
}

gang::PodGroupPtr a_running_group(int i) {
  auto group = std::make_shared<gang::PodGroup>(
      *a_group(fmt::format("runs-{}", i), "borrower", kNodesOfOne));
  group->spec.grace_seconds = 30;
  group->spec.active_deadline_seconds = 2'000'000 + 17 * i % 1'000;
  gang::GangStatus base;
  base.name = std::string(gang::kBaseGang);
  base.planned = base.committed = true;
  base.started_at = SysTime(std::chrono::seconds(i));
  for (int k = 0; k < kNodesOfOne; ++k) {
    // Gangs are spread: neighbours do not share a gang.
    base.placements.push_back({"learner", {k, 0}, node_name(k * kRunning + i), k + 1});
  }
  group->status.gangs.push_back(std::move(base));
  group->status.observed_generation = 1;
  group->status.queue.name = "borrower";
  return group;
}

planner::Snapshot a_snapshot(int nodes_wanted) {
  planner::Snapshot snapshot;
  std::vector<placement::NodeView> nodes;
  nodes.reserve(kNodes);
  for (int i = 0; i < kNodes; ++i) nodes.push_back(a_node(i));
  snapshot.nodes = placement::Cluster(nodes);
  auto owner = std::make_shared<queue::Queue>();
  owner->name = "owner";
  owner->quota = {{"nvidia.com/gpu", 8LL * kNodes * 2, {}}};
  owner->reclaim = queue::Queue::Reclaim::kAny;
  auto borrower = std::make_shared<queue::Queue>();
  borrower->name = "borrower";
  queue::SettledWorkloads settled;
  settled.set_tree(std::make_shared<const queue::QueueTree>(
      std::vector<queue::QueuePtr>{std::move(owner), std::move(borrower)}));
  for (int i = 0; i < kRunning; ++i) {
    const gang::PodGroupPtr group = a_running_group(i);
    settled.set(group->meta.uid, std::make_shared<const std::vector<queue::Workload>>(
                                     queue::list_workloads(*group)));
    snapshot.running.push_back({group, {}});
  }
  snapshot.facts.settled = settled.get();
  auto ns = std::make_shared<kube::Namespace>();
  ns->meta.name = "rl";
  snapshot.facts.namespaces =
      std::make_shared<const queue::Namespaces>(queue::Namespaces{{"rl", ns}});
  planner::GroupSeen& seen = snapshot.groups.emplace_back();
  seen.group = a_group("waits", "owner", nodes_wanted);
  return snapshot;
}

void run(benchmark::State& state, queue::PreemptionMode mode, bool is_found) {
  const planner::Snapshot snapshot = a_snapshot(static_cast<int>(state.range(0)));
  std::size_t victims = 0;
  for (auto _ : state) {
    const planner::CycleResult result = run_cycle(snapshot, {}, kNow, {{}, mode});
    victims = result.writes.at(0).status.gangs.at(0).victims.size();
    if ((victims > 0) != is_found) {
      state.SkipWithError(kWrong);
      break;
    }
  }
  state.counters["victims"] = static_cast<double>(victims);
}

// A gang without quota reserves the nodes whose workloads end first.
void reserve(benchmark::State& state) {
  planner::Snapshot snapshot = a_snapshot(static_cast<int>(state.range(0)));
  for (auto _ : state) {
    const planner::CycleResult result =
        run_cycle(snapshot, {}, kNow,
                  {{}, queue::PreemptionMode::kOff, {.after = std::chrono::seconds(300)}});
    if (!result.writes.at(0).status.gangs.at(0).reservation) {
      state.SkipWithError(kWrong);
      break;
    }
  }
}
// A cycle while the nodes are reserved.
void keep_reserved(benchmark::State& state) {
  planner::Snapshot snapshot = a_snapshot(static_cast<int>(state.range(0)));
  const queue::ReservationOptions options{.after = std::chrono::seconds(300)};
  planner::CycleResult result =
      run_cycle(snapshot, {}, kNow, {{}, queue::PreemptionMode::kOff, options});
  auto group = std::make_shared<gang::PodGroup>(*snapshot.groups.at(0).group);
  group->status = result.writes.at(0).status;
  snapshot.groups[0].group = std::move(group);
  for (auto _ : state) {
    result = run_cycle(snapshot, {}, kNow, {{}, queue::PreemptionMode::kOff, options});
    benchmark::DoNotOptimize(result);
  }
}

void no_search(benchmark::State& state) { run(state, queue::PreemptionMode::kOff, false); }
void search(benchmark::State& state) { run(state, queue::PreemptionMode::kReclaim, true); }
void not_enough(benchmark::State& state) { run(state, queue::PreemptionMode::kReclaim, false); }
BENCHMARK(no_search)->Unit(benchmark::kMillisecond)->Arg(50);
BENCHMARK(search)->Unit(benchmark::kMillisecond)->Arg(1)->Arg(50)->Arg(500);
BENCHMARK(reserve)->Unit(benchmark::kMillisecond)->Arg(1)->Arg(50)->Arg(500);
BENCHMARK(keep_reserved)->Unit(benchmark::kMillisecond)->Arg(1)->Arg(50)->Arg(500);
BENCHMARK(not_enough)->Unit(benchmark::kMillisecond)->Arg(kNodes + 1);

}  // namespace
}  // namespace nervex::extender
