// bench/cycle_bench.cpp - what does a scheduling cycle cost while 1,000 gangs wait in 50 queues?
//
// On 5,000 nodes whose GPUs are all in use. Budgets: a gain that no gang can use 2 ms, one start
// 10 ms.
//
// gain_of_no_use: a node gains cpu, and the planner sees that no gang fits: no cycle runs.
// cycle_without_start: a cycle runs all the same, as after a change of a PodGroup. one_start: a
// node gives back 8 GPUs, and the first gang in the order of the queues gets them.
#include <benchmark/benchmark.h>
#include <fmt/format.h>

#include <memory>
#include <random>

#include "extender/observe/parts/node_table.h"
#include "planner/scheduling_cycle.h"

namespace nervex::extender {
namespace {

constexpr int kNodes = 5'000;
constexpr int kWaiting = 1'000;
constexpr int kQueues = 50;
const SysTime kNow{std::chrono::seconds(1'000'000)};
const kube::Resources kGpus{{"nvidia.com/gpu", 8}};
const kube::Resources kCpu{{"cpu", 1'000}};

std::string node_name(int i) { return fmt::format("node-{:05}", i); }

kube::NodePtr a_node(int i) {
  auto node = std::make_shared<kube::Node>();
  node->name = node_name(i);
  node->ready = true;
  node->labels["kubernetes.io/hostname"] = node->name;
  node->allocatable = {
      {"cpu", 64'000}, {"memory", 256LL << 30}, {"nvidia.com/gpu", 8}, {"pods", 110}};
  return node;
}

std::shared_ptr<const queue::QueueTree> a_tree() {
  std::vector<queue::QueuePtr> queues;
  for (int i = 0; i < kQueues; ++i) {
    queue::Queue queue;
    queue.name = fmt::format("team-{}", i);
    queue.weight = 1 + i % 3;
    queue.fair_users = i % 2 == 0;
    queue.namespace_selector = {{{std::string(queue::kQueueLabel), {}, {queue.name}}}};
    queue.quota = {{"nvidia.com/gpu", 200, {}}};
    queue.limit = {{"nvidia.com/gpu", 30'000, {}}};
    queues.push_back(std::make_shared<const queue::Queue>(std::move(queue)));
  }
  return std::make_shared<const queue::QueueTree>(std::move(queues));
}

queue::NamespacePtr a_namespace(int i) {
  auto ns = std::make_shared<kube::Namespace>();
  ns->meta.name = fmt::format("namespace-{}", i);
  ns->meta.labels = {{queue::kQueueLabel, fmt::format("team-{}", i)}};
  return ns;
}

gang::MemberSet a_set(const std::string& role, int count, kube::Resources requests) {
  requests.set("pods", 1);
  gang::MemberSet set{role, role, {}, 0, {std::move(requests), {}}};
  for (int i = 0; i < count; ++i) set.slots.push_back({i, 0});
  return set;
}

// A coordinator and up to four learners of 8 GPUs.
gang::PodGroupPtr a_group(int i, std::mt19937& rng) {
  auto group = std::make_shared<gang::PodGroup>();
  group->meta.ns = fmt::format("namespace-{}", i % kQueues);
  group->meta.name = fmt::format("train-{}-1", i);
  group->meta.uid = fmt::format("5d2f7c1e-8a3b-4c6d-9e0f-{}", 100'000'000'000 + i);
  group->meta.generation = 1;
  group->spec.user = fmt::format("user-{}", rng() % 10);
  group->spec.queued_since = kNow - std::chrono::seconds(rng() % 100'000);
  group->spec.gangs = {{std::string(gang::kBaseGang),
                        gang::GangKind::kBase,
                        0,
                        0,
                        {a_set("coordinator", 1, {{"cpu", 2'000}, {"memory", 4LL << 30}}),
                         a_set("learner", 1 + i % 4,
                               {{"cpu", 8'000}, {"memory", 32LL << 30}, {"nvidia.com/gpu", 8}})}}};
  return group;
}

// The planner's cycle without its writes: what waits is remembered from one to the next.
class Scene {
 public:
  Scene() {
    std::mt19937 rng(1);
    for (int i = 0; i < kNodes; ++i) {
      table_.set_node(node_name(i), a_node(i));
      table_.use(node_name(i), kGpus);
    }
    table_.take_changes();
    queue::SettledWorkloads settled;
    settled.set_tree(a_tree());
    auto namespaces = std::make_shared<queue::Namespaces>();
    for (int i = 0; i < kQueues; ++i) {
      const auto ns = a_namespace(i);
      namespaces->emplace(ns->meta.name, ns);
    }
    facts_.settled = settled.get();
    facts_.namespaces = namespaces;
    for (int i = 0; i < kWaiting; ++i) {
      groups_.push_back(a_group(i, rng));
      workloads_.push_back(std::make_shared<const std::vector<queue::Workload>>(
          queue::list_workloads(*groups_.back())));
    }
    store(cycle());
    store(cycle());
  }

  // The statuses of gangs that still wait: the next cycle starts from them.
  void store(const planner::CycleResult& result) {
    for (const planner::StatusWrite& write : result.writes) {
      for (gang::PodGroupPtr& group : groups_) {
        if (group != write.group) continue;
        auto stored = std::make_shared<gang::PodGroup>(*group);
        stored->status = write.status;
        group = std::move(stored);
      }
    }
  }
  planner::CycleResult cycle() {
    planner::Snapshot snapshot;
    snapshot.nodes = table_.cluster();
    snapshot.facts = facts_;
    snapshot.groups.resize(groups_.size());
    for (std::size_t i = 0; i < groups_.size(); ++i) {
      snapshot.groups[i].group = groups_[i];
      snapshot.groups[i].workloads = workloads_[i];
    }
    state_.waiting.note(table_.take_changes());
    planner::CycleResult result = run_cycle(snapshot, std::move(state_), kNow);
    state_ = std::move(result.state);
    state_.waiting.sum_up(table_.spare_views());
    return result;
  }
  // As Planner::schedule_at_capacity().
  bool may_any_fit() {
    state_.waiting.note(table_.take_changes());
    return state_.waiting.any_may_fit();
  }
  // On another node each time.
  void gain_cpu() {
    const std::string node = node_name(++gains_ % kNodes);
    table_.use(node, kCpu);
    table_.take_changes();
    table_.stop_using(node, kCpu);
  }
  NodeTable& table() { return table_; }
  std::size_t waiting() const { return state_.waiting.size(); }

 private:
  NodeTable table_;
  queue::Facts facts_;
  std::vector<gang::PodGroupPtr> groups_;
  std::vector<queue::Settled::Workloads> workloads_;  // of groups_, as the cluster cache keeps them
  planner::CycleState state_;
  int gains_ = 0;
};

void gain_of_no_use(benchmark::State& state) {
  Scene scene;
  for (auto _ : state) {
    scene.gain_cpu();
    if (scene.may_any_fit()) {
      state.SkipWithError("not the answer that was to be measured");
      break;
    }
  }
}
BENCHMARK(gain_of_no_use)->Unit(benchmark::kMillisecond);

void cycle_without_start(benchmark::State& state) {
  Scene scene;
  for (auto _ : state) {
    scene.gain_cpu();
    const planner::CycleResult result = scene.cycle();
    if (!result.writes.empty() || scene.waiting() != kWaiting) {
      state.SkipWithError("not the answer that was to be measured");
      break;
    }
  }
}
BENCHMARK(cycle_without_start)->Unit(benchmark::kMillisecond);

void one_start(benchmark::State& state) {
  Scene scene;
  int i = 0;
  for (auto _ : state) {
    const std::string node = node_name(++i % kNodes);
    scene.table().stop_using(node, kGpus);
    const planner::CycleResult result = scene.cycle();
    state.PauseTiming();
    const bool is_one = scene.waiting() == kWaiting - 1;
    scene.table().use(node, kGpus);
    scene.cycle();
    state.ResumeTiming();
    if (!is_one) {
      state.SkipWithError("not the answer that was to be measured");
      break;
    }
  }
}
BENCHMARK(one_start)->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace nervex::extender
