// What other schedulers document about fair sharing, with their numbers. Where this queue differs,
// the comment says how and why.
#include <catch2/catch_test_macros.hpp>

#include "tests/queue/toy_cluster.h"

namespace nervex::queue {
namespace {

using testing::a_queue;
using testing::a_tree;
using testing::add_backlog;
using testing::at;
using testing::kGpu;
using testing::queued;
using testing::run_cycle;
using testing::used_gpus;
using testing::with_quota;
using testing::with_weight;

// -- Kueue, KEP-1714 "Fair Sharing"

// Story 3: cohort CS has 300 GPUs of nominal quota and no jobs. Cohorts C1 (ClusterQueues 1A, 1B,
// and 1C of weight 3) and C2 (2A) have long backlogs. 150 GPUs for each cohort; in C1 30, 30, 90.
TEST_CASE("Kueue: idle quota is shared by cohorts first, then inside each", "[queue][examples]") {
  const auto tree =
      a_tree({with_quota(a_queue("cs"), 300), a_queue("c1"), a_queue("c2"), a_queue("1a", "c1"),
              a_queue("1b", "c1"), with_weight(a_queue("1c", "c1"), 3), a_queue("2a", "c2")});
  std::vector<Workload> waiting;
  for (const char* queue : {"1a", "1b", "1c", "2a"}) add_backlog(waiting, queue, 300, 1);
  const auto usage = run_cycle(tree, Usage(tree), 300, waiting).usage;
  CHECK(used_gpus(tree, usage, "1a") == 30);
  CHECK(used_gpus(tree, usage, "1b") == 30);
  CHECK(used_gpus(tree, usage, "1c") == 90);
  CHECK(used_gpus(tree, usage, "2a") == 150);
}

// Story 2: departments D1 and D2 with three teams each, which all have quota. What 1A leaves goes
// to 1B and 1C as long as they need it, only then to the teams of D2. The story has no numbers:
// here each team has a quota of 10, and 1A is idle.
TEST_CASE("Kueue: idle quota stays in the department that needs it", "[queue][examples]") {
  std::vector<Queue> queues{a_queue("d1"), a_queue("d2")};
  for (const char* team : {"1a", "1b", "1c"}) queues.push_back(with_quota(a_queue(team, "d1"), 10));
  for (const char* team : {"2a", "2b", "2c"}) queues.push_back(with_quota(a_queue(team, "d2"), 10));
  const auto tree = a_tree(queues);
  std::vector<Workload> waiting;
  for (const char* team : {"2a", "2b", "2c"}) add_backlog(waiting, team, 60, 1, 0);
  SECTION("1B and 1C need it") {
    for (const char* team : {"1b", "1c"}) add_backlog(waiting, team, 60, 1, 100);
    const auto usage = run_cycle(tree, Usage(tree), 60, waiting).usage;
    CHECK(used_gpus(tree, usage, "d1") == 30);
    CHECK(used_gpus(tree, usage, "1b") == 15);
    CHECK(used_gpus(tree, usage, "1c") == 15);
    CHECK(used_gpus(tree, usage, "2a") == 10);
  }
  SECTION("1B needs 4 of it") {
    add_backlog(waiting, "1b", 14, 1, 100);
    const auto usage = run_cycle(tree, Usage(tree), 60, waiting).usage;
    CHECK(used_gpus(tree, usage, "1b") == 14);
    CHECK(used_gpus(tree, usage, "d2") == 46);
  }
}

// "Share value": what is used above nominal quota, over the nominal quotas of the whole cohort. The
// documents' ClusterQueue has 9 CPUs of quota and weight 2. Here the capacity of the cluster takes
// the place of the cohort's quotas: it counts capacity that no quota names as well, and shares of
// queues without any quota are defined. With quotas that add up to the capacity both are the same.
TEST_CASE("Kueue: the share is what is borrowed, over the weight", "[queue][examples]") {
  auto first = with_weight(a_queue("first"), 2);
  first.quota = {{"cpu", 9000, {}}};
  auto second = a_queue("second");
  second.quota = {{"cpu", 9000, {}}};
  const auto tree = a_tree({first, second});
  Usage usage(tree);
  auto running = queued("first", "running", 0);
  running.requests = {{"cpu", 12'000}};
  usage.add(tree, at(tree, "first"), running);
  const kube::Resources capacity{{"cpu", 18'000}};
  CHECK(borrowed_share(tree, usage, at(tree, "first"), capacity) == Fraction(3, 18 * 2));
}

// -- Volcano, docs/design

// capacity-scheduling.md, story 3: deserved are 20 A100 and 50 V100 for Queue1, 80 A100 and 50 V100
// for Queue2. Queue1 may use everything while Queue2 is idle. With jobs in both, each gets what it
// deserves. Volcano gets there by reclaim; here the running jobs of Queue1 end first (preemption is
// an option of its own), or both queues have jobs from the start.
TEST_CASE("Volcano: deserved amounts per GPU type", "[queue][examples]") {
  const auto tree = a_tree({with_quota(a_queue("queue1"), {{"a100", 20}, {"v100", 50}}),
                            with_quota(a_queue("queue2"), {{"a100", 80}, {"v100", 50}})});
  const kube::Resources capacity{{kGpu, 200}};
  // Jobs of one GPU whose node selector names the class, which is the job's user here.
  std::vector<Workload> waiting;
  const auto add = [&](const std::string& queue, const std::string& node_class) {
    for (int i = 0; i < 100; ++i) {
      waiting.push_back(testing::by_user(
          queued(queue, queue + node_class + std::to_string(i), 1, i), node_class));
    }
  };
  const auto run = [&] {
    std::map<std::string, std::int64_t> free{{"a100", 100}, {"v100", 100}};
    Backlog backlog(tree, capacity, Usage(tree), waiting);
    while (const auto offer = backlog.next()) {
      const std::string& node_class = offer->workload->user;
      if (free[node_class] == 0 || offer->caps.find(kGpu, node_class).value_or(1) == 0) {
        backlog.skip();
        continue;
      }
      --free[node_class];
      backlog.place({{node_class, {{kGpu, 1}}}});
    }
    return backlog.usage();
  };
  const auto used = [&](const Usage& usage, const char* queue, const char* node_class) {
    const auto& classes = usage.rigid(at(tree, queue)).by_class;
    const auto found = classes.find(node_class);
    return found == classes.end() ? 0 : found->second.get(kGpu);
  };
  add("queue1", "a100");
  add("queue1", "v100");
  const Usage alone = run();
  CHECK(used(alone, "queue1", "a100") == 100);
  CHECK(used(alone, "queue1", "v100") == 100);
  add("queue2", "a100");
  add("queue2", "v100");
  const Usage both = run();
  CHECK(used(both, "queue1", "a100") == 20);
  CHECK(used(both, "queue1", "v100") == 50);
  CHECK(used(both, "queue2", "a100") == 80);
  CHECK(used(both, "queue2", "v100") == 50);
}

std::vector<Workload> jobs(const std::string& queue, int count, const kube::Resources& requests) {
  std::vector<Workload> out;
  for (int i = 0; i < count; ++i) {
    out.push_back(queued(queue, queue + "-" + std::to_string(i), 0));
    out.back().requests = requests;
  }
  return out;
}

void append(std::vector<Workload>& all, const std::vector<Workload>& more) {
  all.insert(all.end(), more.begin(), more.end());
}

// drf.md, from "Dominant Resource Fairness" (NSDI 2011), figure 1: 9 CPUs and 18 GB; tasks of A ask
// for 1 CPU and 4 GB, tasks of B for 3 CPUs and 1 GB. A gets 3 tasks, B gets 2.
TEST_CASE("Volcano: dominant resource fairness", "[queue][examples]") {
  const auto tree = a_tree({a_queue("a"), a_queue("b")});
  auto waiting = jobs("a", 10, {{"cpu", 1000}, {"memory", 4}});
  append(waiting, jobs("b", 10, {{"cpu", 3000}, {"memory", 1}}));
  const auto usage =
      run_cycle(tree, Usage(tree), kube::Resources{{"cpu", 9000}, {"memory", 18}}, waiting).usage;
  CHECK(usage.rigid(at(tree, "a")).total == kube::Resources{{"cpu", 3000}, {"memory", 12}});
  CHECK(usage.rigid(at(tree, "b")).total == kube::Resources{{"cpu", 6000}, {"memory", 2}});
}

// hdrf.md, first tree: n1 asks for GPUs; of n2's parts one asks for CPUs, the other for GPUs. All
// weights are equal: half of the GPUs for n1 and n2, within one job.
TEST_CASE("Volcano: parts of a queue with different dominant resources", "[queue][examples]") {
  const auto tree =
      a_tree({a_queue("n1"), a_queue("n2"), a_queue("n21", "n2"), a_queue("n22", "n2")});
  auto waiting = jobs("n1", 20, {{kGpu, 1}});
  append(waiting, jobs("n21", 20, {{"cpu", 1000}}));
  append(waiting, jobs("n22", 20, {{kGpu, 1}}));
  const kube::Resources capacity{{"cpu", 10'000}, {kGpu, 10}};
  const auto cycle = run_cycle(tree, Usage(tree), capacity, waiting);
  CHECK(used_gpus(tree, cycle.usage, "n1") == 6);
  CHECK(used_gpus(tree, cycle.usage, "n22") == 4);
  CHECK(cycle.usage.rigid(at(tree, "n21")).total == kube::Resources{{"cpu", 10'000}});
  // The difference: now n2 uses all CPUs, which is a share of 1. A GPU that becomes free goes to
  // n1, which any queue may have had. Volcano scales the use of n21 down to avoid this. Here, as in
  // Kueue, the share of a queue follows from its sum alone: administrators can recompute it, and a
  // quota of GPUs for n22 has the wanted effect.
  Usage usage = cycle.usage;
  usage.remove(tree, at(tree, "n22"), jobs("n22", 1, {{kGpu, 1}})[0]);
  auto more = jobs("n1", 20, {{kGpu, 1}});
  append(more, jobs("n22", 20, {{kGpu, 1}}));
  CHECK(used_gpus(tree, run_cycle(tree, usage, capacity, more).usage, "n1") == 7);
}

// hdrf.md, second tree: n1, n2 and a part of n3 ask for CPUs, n4 and the other part of n3 for GPUs.
// Scaling can give n32 two thirds of the GPUs and n4 one third, because n31 cannot grow with it.
// Sums are not scaled here, so that n32 and n4 get one half each.
TEST_CASE("Volcano: a part that cannot grow does not distort its siblings", "[queue][examples]") {
  const auto tree = a_tree({a_queue("n1"), a_queue("n2"), a_queue("n3"), a_queue("n4"),
                            a_queue("n31", "n3"), a_queue("n32", "n3")});
  std::vector<Workload> waiting;
  for (const char* queue : {"n1", "n2", "n31"}) append(waiting, jobs(queue, 40, {{"cpu", 1000}}));
  for (const char* queue : {"n32", "n4"}) append(waiting, jobs(queue, 40, {{kGpu, 1}}));
  const kube::Resources capacity{{"cpu", 30'000}, {kGpu, 30}};
  const auto usage = run_cycle(tree, Usage(tree), capacity, waiting).usage;
  for (const char* queue : {"n1", "n2", "n31"}) {
    CHECK(usage.rigid(at(tree, queue)).total == kube::Resources{{"cpu", 10'000}});
  }
  CHECK(used_gpus(tree, usage, "n32") == 15);
  CHECK(used_gpus(tree, usage, "n4") == 15);
}

}  // namespace
}  // namespace nervex::queue
