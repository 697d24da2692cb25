// The order of one scheduling cycle, rule by rule.
#include "queue/backlog.h"

#include <catch2/catch_test_macros.hpp>

#include "tests/queue/toy_cluster.h"

namespace nervex::queue {
namespace {

using testing::a_queue;
using testing::a_tree;
using testing::add_backlog;
using testing::at;
using testing::elastic;
using testing::kGpu;
using testing::names;
using testing::queued;
using testing::run_cycle;
using testing::used_gpus;
using testing::with_limit;
using testing::with_quota;
using testing::with_stop;
using testing::with_weight;

using Names = std::vector<std::string>;

TEST_CASE("without a Queue the order is priority, then age", "[queue][backlog]") {
  const QueueTree tree;
  const std::vector<Workload> waiting{queued("", "young", 1, 9), queued("", "old", 1, 1),
                                      queued("", "important", 1, 20, 5)};
  CHECK(names(run_cycle(tree, Usage(tree), 8, waiting).placed) ==
        Names{"important", "old", "young"});
}

TEST_CASE("queues within quota are served before queues beyond it", "[queue][backlog]") {
  const auto tree = a_tree({with_quota(a_queue("team"), 4), a_queue("other")});
  std::vector<Workload> waiting;
  add_backlog(waiting, "other", 4, 2, 0);
  add_backlog(waiting, "team", 3, 2, 100);
  waiting[0].priority = 1000;  // priorities are compared inside a queue only
  CHECK(names(run_cycle(tree, Usage(tree), 8, waiting).placed) ==
        Names{"team-0", "team-1", "other-0", "team-2"});
}

TEST_CASE("what a queue leaves of its quota, others use", "[queue][backlog]") {
  const auto tree = a_tree({with_quota(a_queue("team"), 8), a_queue("other")});
  std::vector<Workload> waiting;
  add_backlog(waiting, "other", 4, 2);
  CHECK(run_cycle(tree, Usage(tree), 8, waiting).placed.size() == 4);
}

TEST_CASE("of queues within quota the one that used the smallest part is first",
          "[queue][backlog]") {
  const auto tree = a_tree({with_quota(a_queue("large"), 12), with_quota(a_queue("small"), 4)});
  std::vector<Workload> waiting;
  add_backlog(waiting, "small", 8, 1, 0);
  add_backlog(waiting, "large", 16, 1, 100);
  // 8 of the 16 guaranteed GPUs exist: each queue gets half of its quota.
  const auto cycle = run_cycle(tree, Usage(tree), 8, waiting);
  CHECK(used_gpus(tree, cycle.usage, "small") == 2);
  CHECK(used_gpus(tree, cycle.usage, "large") == 6);
}

TEST_CASE("beyond quota the lowest share over weight is served first", "[queue][backlog]") {
  const auto tree = a_tree({with_weight(a_queue("a"), 1), with_weight(a_queue("b"), 3)});
  std::vector<Workload> waiting;
  add_backlog(waiting, "a", 20, 1, 0);
  add_backlog(waiting, "b", 20, 1, 100);
  CHECK(names(run_cycle(tree, Usage(tree), 8, waiting).placed) ==
        Names{"a-0", "b-0", "b-1", "b-2", "a-1", "b-3", "b-4", "b-5"});
}

TEST_CASE("a queue's own order is not changed to stay within its quota", "[queue][backlog]") {
  const auto tree = a_tree({with_quota(a_queue("team"), 4), a_queue("other")});
  std::vector<Workload> waiting{queued("team", "large", 8, 1), queued("team", "small", 4, 2)};
  // The head needs more than the quota, and gets it: the small one would take it away.
  CHECK(names(run_cycle(tree, Usage(tree), 8, waiting).placed) == Names{"large"});
  // It does not fit. The small one is within quota, and its turn comes before any borrower's.
  add_backlog(waiting, "other", 4, 2);
  CHECK(names(run_cycle(tree, Usage(tree), 6, waiting).offered) ==
        Names{"large", "small", "other-0", "other-1", "other-2", "other-3"});
}

TEST_CASE("queues compete from the root down", "[queue][backlog]") {
  // Two departments of equal weight; the first one has two teams.
  const auto tree = a_tree({a_queue("one"), a_queue("two"), with_weight(a_queue("one-a", "one"), 3),
                            a_queue("one-b", "one"), a_queue("two-a", "two")});
  std::vector<Workload> waiting;
  for (const char* queue : {"one-a", "one-b", "two-a"}) add_backlog(waiting, queue, 20, 1);
  const auto cycle = run_cycle(tree, Usage(tree), 16, waiting);
  CHECK(used_gpus(tree, cycle.usage, "one-a") == 6);
  CHECK(used_gpus(tree, cycle.usage, "one-b") == 2);
  CHECK(used_gpus(tree, cycle.usage, "two-a") == 8);
}

TEST_CASE("own workloads of a queue compete with its parts as one of weight 1",
          "[queue][backlog]") {
  const auto tree = a_tree({with_weight(a_queue("team"), 3)});
  std::vector<Workload> waiting;
  add_backlog(waiting, "team", 20, 1);
  for (int i = 0; i < 20; ++i) {
    waiting.push_back(queued("", "unmatched-" + std::to_string(i), 1));
  }
  const auto cycle = run_cycle(tree, Usage(tree), 12, waiting);
  CHECK(used_gpus(tree, cycle.usage, "team") == 9);
  CHECK(cycle.usage.own(kRoot).get(kGpu) == 3);
}

TEST_CASE("a part within its quota is served first, also where its siblings borrow",
          "[queue][backlog]") {
  const auto tree = a_tree({a_queue("one"), with_quota(a_queue("one-a", "one"), 4),
                            a_queue("one-b", "one"), with_quota(a_queue("two"), 4)});
  Usage usage(tree);
  usage.add(tree, at(tree, "one-b"), queued("one-b", "running", 8));
  std::vector<Workload> waiting;
  add_backlog(waiting, "two", 4, 2, 0);
  add_backlog(waiting, "one-a", 4, 2, 100);
  const auto cycle = run_cycle(tree, usage, 16, waiting);
  CHECK(used_gpus(tree, cycle.usage, "one-a") == 4);
  CHECK(used_gpus(tree, cycle.usage, "two") == 4);
}

TEST_CASE("what one part leaves of its quota, its siblings use before other queues",
          "[queue][backlog]") {
  const auto tree = a_tree({a_queue("one"), with_quota(a_queue("one-a", "one"), 6),
                            a_queue("one-b", "one"), a_queue("two")});
  std::vector<Workload> waiting;
  add_backlog(waiting, "two", 8, 1, 0);
  add_backlog(waiting, "one-b", 8, 1, 100);
  const auto cycle = run_cycle(tree, Usage(tree), 8, waiting);
  CHECK(used_gpus(tree, cycle.usage, "one-b") == 7);
  CHECK(used_gpus(tree, cycle.usage, "two") == 1);
}

TEST_CASE("elastic workloads come last, in the order of shares", "[queue][backlog]") {
  const auto tree = a_tree({with_quota(a_queue("team"), 8), a_queue("other")});
  const std::vector<Workload> waiting{elastic(queued("team", "elastic", 1, 0, 9)),
                                      queued("other", "rigid", 1, 100)};
  CHECK(names(run_cycle(tree, Usage(tree), 8, waiting).placed) == Names{"rigid", "elastic"});
}

TEST_CASE("workloads over a limit are held, and smaller ones follow", "[queue][backlog]") {
  const auto tree = a_tree({with_limit(a_queue("p"), 6), a_queue("a", "p"), a_queue("b", "p")});
  const std::vector<Workload> waiting{queued("a", "first", 4, 1), queued("b", "large", 3, 2),
                                      queued("b", "small", 2, 3)};
  const auto cycle = run_cycle(tree, Usage(tree), 100, waiting);
  CHECK(names(cycle.placed) == Names{"first", "small"});
  REQUIRE(cycle.held.size() == 1);
  CHECK(cycle.held[0].workload->name == "large");
  CHECK(cycle.held[0].reason == Inadmissible(LimitExceeded{"p", kGpu, 6, 4, 3}));
}

TEST_CASE("workloads of missing, broken and stopped queues are held", "[queue][backlog]") {
  const auto tree = a_tree(
      {with_stop(a_queue("stopped"), Queue::Stop::kHold), a_queue("lab", "gone"), a_queue("team")});
  auto running = queued("team", "running", 1);
  running.state = Workload::State::kRunning;
  const std::vector<Workload> waiting{queued("deleted", "a", 1), queued("lab", "b", 1),
                                      queued("stopped", "c", 1), queued("team", "d", 1), running};
  const auto cycle = run_cycle(tree, Usage(tree), 100, waiting);
  CHECK(names(cycle.placed) == Names{"d"});
  std::map<std::string, Inadmissible> held;
  for (const auto& [workload, reason] : cycle.held) held.emplace(workload->name, reason);
  CHECK(held == std::map<std::string, Inadmissible>{{"a", QueueNotFound{"deleted"}},
                                                    {"b", ParentNotFound{"lab", "gone"}},
                                                    {"c", QueueStopped{"stopped"}}});
}

TEST_CASE("a workload that does not fit the classes of its quota is offered again without",
          "[queue][backlog]") {
  const auto tree = a_tree({with_quota(a_queue("team"), {{"a100", 4}}), a_queue("other")});
  const kube::Resources capacity{{kGpu, 16}};
  const std::vector<Workload> waiting{queued("team", "team", 4), queued("other", "other", 1)};
  Backlog backlog(tree, capacity, Usage(tree), waiting);
  const auto within = backlog.next();
  REQUIRE(within);
  CHECK(within->workload->name == "team");
  CHECK(within->is_within_quota);
  CHECK(within->caps == ClassCaps{{{kGpu, "a100", 4}}, {kGpu}});
  backlog.skip();  // other pods have the a100 nodes
  const auto beyond = backlog.next();
  REQUIRE(beyond);
  CHECK(beyond->workload->name == "team");
  CHECK_FALSE(beyond->is_within_quota);
  CHECK(beyond->caps.empty());
  backlog.place({{"v100", {{kGpu, 4}}}});
  CHECK(borrowed(tree, backlog.usage(), at(tree, "team")) == kube::Resources{{kGpu, 4}});
  CHECK(backlog.next()->workload->name == "other");
  backlog.skip();
  CHECK_FALSE(backlog.next());
}

TEST_CASE("a workload that does not fit the classes of its quota lets others within it pass",
          "[queue][backlog]") {
  const auto tree = a_tree({with_quota(a_queue("team"), {{"a100", 2}, {"v100", 2}})});
  const kube::Resources capacity{{kGpu, 16}};
  const std::vector<Workload> waiting{
      queued("team", "a100-first", 2, 1), queued("team", "a100-second", 2, 2),
      queued("team", "v100-third", 2, 3), queued("team", "v100-fourth", 2, 4)};
  Backlog backlog(tree, capacity, Usage(tree), waiting);
  Names placed;
  while (const auto offer = backlog.next()) {
    const std::string node_class = offer->workload->name.substr(0, 4);
    if (offer->caps.find(kGpu, node_class).value_or(2) < 2) {
      backlog.skip();
      continue;
    }
    placed.push_back(offer->workload->name + (offer->is_within_quota ? "" : " beyond"));
    backlog.place({{node_class, {{kGpu, 2}}}});
  }
  CHECK(placed == Names{"a100-first", "v100-third", "a100-second beyond", "v100-fourth beyond"});
}

TEST_CASE("each queue on the path may guarantee the classes", "[queue][backlog]") {
  const auto tree = a_tree({with_quota(a_queue("p"), {{"a100", 4}, {"v100", 4}}),
                            with_quota(a_queue("a", "p"), {{"a100", 4}})});
  const kube::Resources capacity{{kGpu, 16}};
  const std::vector<Workload> waiting{queued("a", "a", 4)};
  Backlog backlog(tree, capacity, Usage(tree), waiting);
  CHECK(backlog.next()->caps == ClassCaps{{{kGpu, "a100", 4}}, {kGpu}});
  backlog.skip();
  const auto of_parent = backlog.next();
  CHECK(of_parent->is_within_quota);
  CHECK(of_parent->caps == ClassCaps{{{kGpu, "a100", 4}, {kGpu, "v100", 4}}, {kGpu}});
  backlog.skip();
  CHECK_FALSE(backlog.next()->is_within_quota);
  backlog.skip();
  CHECK_FALSE(backlog.next());
}

}  // namespace
}  // namespace nervex::queue
