// bench/queue_bench.cpp - what does the order of the queue cost in a scheduling cycle?
//
// 1,000 waiting workloads in 50 queues (5 departments), 4,000 running ones. Budget: well below the
// 2 ms of a cycle in which nothing can start.
//
// order: from the copy of the use to the first offer. refuse_all: the same, then every workload is
// offered and skipped. one_step: one workload is offered and placed. positions_of_users: the order
// of 1,000 jobs of as many users in one queue with fairUsers.
#include <benchmark/benchmark.h>

#include <memory>
#include <random>

#include "queue/backlog.h"
#include "queue/line.h"

namespace nervex::queue {
namespace {

Queue a_queue(std::string name, std::string parent, int i) {
  Queue queue;
  queue.name = std::move(name);
  queue.parent = std::move(parent);
  queue.weight = 1 + i % 3;
  queue.fair_users = i % 2 == 0;
  queue.quota = {{"nvidia.com/gpu", 200 + i, {}}};
  queue.limit = {{"nvidia.com/gpu", 5'000, {}}};
  if (i % 4 == 0) queue.quota[0] = {"nvidia.com/gpu", std::nullopt, {{"a100", 100}, {"h100", 100}}};
  return queue;
}

QueueTree a_tree() {
  std::vector<QueuePtr> queues;
  for (int i = 0; i < 5; ++i) {
    auto department = a_queue("department-" + std::to_string(i), "", i);
    department.quota = department.limit = {};
    queues.push_back(std::make_shared<const Queue>(std::move(department)));
  }
  for (int i = 0; i < 50; ++i) {
    queues.push_back(std::make_shared<const Queue>(
        a_queue("team-" + std::to_string(i), "department-" + std::to_string(i % 5), i)));
  }
  return QueueTree(std::move(queues));
}

Workload a_workload(int i, std::mt19937& rng) {
  Workload workload;
  workload.id = "5d2f7c1e-8a3b-4c6d-9e0f-" + std::to_string(100'000'000'000 + i) + "/base";
  workload.queue = "team-" + std::to_string(i % 50);
  workload.ns = "namespace-" + std::to_string(i % 50);
  workload.name = "train-" + std::to_string(i) + "-1";
  workload.user = "user-" + std::to_string(rng() % 10);
  workload.priority = static_cast<int>(rng() % 3);
  workload.queued_since = SysTime(std::chrono::seconds(rng() % 100'000));
  const std::int64_t gpus = 1 + static_cast<std::int64_t>(rng() % 16);
  workload.requests = {
      {"cpu", gpus * 8'000}, {"memory", gpus << 36}, {"nvidia.com/gpu", gpus}, {"pods", gpus + 1}};
  return workload;
}

struct Scene {
  QueueTree tree = a_tree();
  kube::Resources capacity{{"cpu", 320'000'000},
                           {"memory", 5'000LL << 38},
                           {"nvidia.com/gpu", 40'000},
                           {"pods", 550'000}};
  Usage usage{tree};
  std::vector<Workload> waiting;
};

std::unique_ptr<const Scene> a_scene() {
  std::mt19937 rng(1);
  auto scene = std::make_unique<Scene>();
  for (int i = 0; i < 4'000; ++i) {
    auto running = a_workload(i, rng);
    running.class_requests[i % 2 == 0 ? "a100" : "h100"] = running.requests;
    scene->usage.add(scene->tree, *scene->tree.find(running.queue), running);
  }
  for (int i = 0; i < 1'000; ++i) scene->waiting.push_back(a_workload(10'000 + i, rng));
  return scene;
}

void order(benchmark::State& state) {
  const auto scene = a_scene();
  for (auto _ : state) {
    Backlog backlog(scene->tree, scene->capacity, scene->usage, scene->waiting);
    benchmark::DoNotOptimize(backlog.next());
  }
}

void refuse_all(benchmark::State& state) {
  const auto scene = a_scene();
  for (auto _ : state) {
    Backlog backlog(scene->tree, scene->capacity, scene->usage, scene->waiting);
    std::size_t offers = 0;
    while (backlog.next()) {
      backlog.skip();
      ++offers;
    }
    if (offers < scene->waiting.size()) state.SkipWithError("not all were offered");
  }
}

void one_step(benchmark::State& state) {
  const auto scene = a_scene();
  std::optional<Backlog> backlog;
  for (auto _ : state) {
    if (!backlog || !backlog->next()) {
      state.PauseTiming();
      backlog.emplace(scene->tree, scene->capacity, scene->usage, scene->waiting);
      benchmark::DoNotOptimize(backlog->next());
      state.ResumeTiming();
    }
    backlog->place();
  }
}

void positions_of_users(benchmark::State& state) {
  std::mt19937 rng(1);
  Queue queue;
  queue.fair_users = true;
  const kube::Resources capacity{{"nvidia.com/gpu", 40'000}};
  std::vector<Workload> waiting;
  for (int i = 0; i < 1'000; ++i) {
    waiting.push_back(a_workload(i, rng));
    waiting.back().user = "user-" + std::to_string(i);
    waiting.back().priority = 0;
  }
  std::vector<const Workload*> pointers;
  pointers.reserve(waiting.size());
  for (const Workload& workload : waiting) pointers.push_back(&workload);
  for (auto _ : state) {
    const auto served = serving_order(Line(queue, capacity, {}, pointers));
    if (served.size() != waiting.size()) state.SkipWithError("not all are in the order");
  }
}

BENCHMARK(order)->Unit(benchmark::kMicrosecond);
BENCHMARK(refuse_all)->Unit(benchmark::kMicrosecond);
BENCHMARK(one_step)->Unit(benchmark::kMicrosecond);
BENCHMARK(positions_of_users)->Unit(benchmark::kMicrosecond);

}  // namespace
}  // namespace nervex::queue
