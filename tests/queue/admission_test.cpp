#include "queue/admission.h"

#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>

#include "tests/queue/builders.h"

namespace nervex::queue {
namespace {

using testing::a_queue;
using testing::a_tree;
using testing::at;
using testing::elastic;
using testing::kGpu;
using testing::queued;
using testing::running_on;
using testing::with_limit;
using testing::with_quota;
using testing::with_stop;

TEST_CASE("limits hold on the whole path to the root", "[queue][admission]") {
  struct Row {
    std::string when;
    std::int64_t need;
    std::optional<Inadmissible> reason;
  };
  // Part a uses 3, part b 2, and 1 of it is elastic.
  const auto tree =
      a_tree({with_limit(a_queue("p"), 8), with_limit(a_queue("a", "p"), 5), a_queue("b", "p")});
  Usage usage(tree);
  usage.add(tree, at(tree, "a"), queued("a", "1", 3));
  usage.add(tree, at(tree, "b"), queued("b", "2", 1));
  usage.add(tree, at(tree, "b"), elastic(queued("b", "3", 1)));
  const auto row = GENERATE(values<Row>({
      {"there is enough", 2, std::nullopt},
      {"its own limit", 3, LimitExceeded{"a", kGpu, 5, 3, 3}},
      {"it requests none of the resource", 0, std::nullopt},
  }));
  INFO(row.when);
  CHECK(find_inadmissible(tree, usage, at(tree, "a"), queued("a", "new", row.need)) == row.reason);
  CHECK(find_inadmissible(tree, usage, at(tree, "b"), queued("b", "new", 4)) ==
        Inadmissible(LimitExceeded{"p", kGpu, 8, 5, 4}));
  CHECK_FALSE(find_inadmissible(tree, usage, at(tree, "b"), queued("b", "new", 3)));
}

TEST_CASE("a limit of zero allows nothing, and one that is exceeded keeps nothing else back",
          "[queue][admission]") {
  auto queue = with_limit(a_queue("q"), 0);
  queue.limit.insert(queue.limit.begin(), {"cpu", 1000, {}});
  const auto tree = a_tree({queue});
  Usage usage(tree);
  auto large = queued("q", "large", 0);
  large.requests = {{"cpu", 4000}};
  usage.add(tree, at(tree, "q"), large);
  auto memory_only = queued("q", "new", 0);
  memory_only.requests = {{"memory", 1}};
  CHECK_FALSE(find_inadmissible(tree, usage, at(tree, "q"), memory_only));
  CHECK(find_inadmissible(tree, usage, at(tree, "q"), queued("q", "new", 1)) ==
        Inadmissible(LimitExceeded{"q", kGpu, 0, 0, 1}));
}

TEST_CASE("nothing starts in a stopped or broken queue", "[queue][admission]") {
  const auto tree = a_tree(
      {with_stop(a_queue("p"), Queue::Stop::kHold), a_queue("a", "p"), a_queue("lab", "gone")});
  const Usage usage(tree);
  CHECK(find_inadmissible(tree, usage, at(tree, "a"), queued("a", "new", 0)) ==
        Inadmissible(QueueStopped{"p"}));
  CHECK(find_inadmissible(tree, usage, at(tree, "lab"), queued("lab", "new", 0)) ==
        Inadmissible(ParentNotFound{"lab", "gone"}));
}

TEST_CASE("a workload fits a quota if it raises no named resource above it", "[queue][admission]") {
  struct Row {
    std::string when;
    Bounds quota;
    kube::Resources requests;
    bool fits;
    bool has_left;
  };
  const auto row = GENERATE(values<Row>({
      {"no quota", {}, {{kGpu, 1}}, false, false},
      {"enough is left", {{kGpu, 8, {}}}, {{kGpu, 2}}, true, true},
      {"not enough is left", {{kGpu, 8, {}}}, {{kGpu, 3}}, false, true},
      {"all is used", {{kGpu, 6, {}}}, {{kGpu, 1}}, false, false},
      {"more than all is used", {{kGpu, 2, {}}}, {{kGpu, 1}}, false, false},
      {"a resource without quota comes along",
       {{kGpu, 8, {}}},
       {{"cpu", 9}, {kGpu, 2}},
       true,
       true},
      // Else a job without GPUs would be guaranteed any number of CPUs.
      {"it requests nothing of the quota", {{kGpu, 8, {}}}, {{"cpu", 9}}, false, false},
      {"one of two resources is used up",
       {{"cpu", 0, {}}, {kGpu, 8, {}}},
       {{"cpu", 9}, {kGpu, 2}},
       false,
       true},
      {"classes have enough together",
       {{kGpu, std::nullopt, {{"a100", 4}, {"v100", 6}}}},
       {{kGpu, 4}},
       true,
       true},
      {"classes have too little together",
       {{kGpu, std::nullopt, {{"a100", 4}, {"v100", 6}}}},
       {{kGpu, 5}},
       false,
       true},
  }));
  INFO(row.when);
  auto queue = a_queue("q");
  queue.quota = row.quota;
  const auto tree = a_tree({queue});
  Usage usage(tree);
  usage.add(tree, at(tree, "q"), running_on(queued("q", "v", 6), "v100"));
  auto workload = queued("q", "new", 0);
  workload.requests = row.requests;
  CHECK(fits_quota(tree, usage, at(tree, "q"), workload) == row.fits);
  CHECK(has_quota_left(tree, usage, at(tree, "q"), workload) == row.has_left);
  CHECK_FALSE(fits_quota(tree, usage, at(tree, "q"), elastic(workload)));
}

TEST_CASE("used up classes are closed and partly used ones are capped", "[queue][admission]") {
  const auto tree =
      a_tree({with_limit(a_queue("p"), {{"a100", 8}, {"v100", 4}}),
              with_limit(with_quota(a_queue("a", "p"), {{"a100", 3}, {"t4", 1}}), {{"a100", 7}}),
              a_queue("b", "p")});
  Usage usage(tree);
  usage.add(tree, at(tree, "a"), running_on(queued("a", "1", 2), "a100"));
  usage.add(tree, at(tree, "b"), running_on(queued("b", "2", 3), "a100"));
  usage.add(tree, at(tree, "b"), elastic(running_on(queued("b", "3", 5), "v100")));
  const auto workload = queued("a", "new", 1);
  const auto beyond = find_caps(tree, usage, at(tree, "a"), workload, std::nullopt);
  CHECK(beyond == ClassCaps{{{kGpu, "a100", 3}, {kGpu, "v100", 0}}, {}});
  CHECK(beyond.find(kGpu, "a100") == 3);
  CHECK(beyond.find(kGpu, "v100") == 0);
  CHECK_FALSE(beyond.find(kGpu, "t4"));
  CHECK_FALSE(beyond.find("cpu", "a100"));
  const auto within = find_caps(tree, usage, at(tree, "a"), workload, at(tree, "a"));
  CHECK(within == ClassCaps{{{kGpu, "a100", 1}, {kGpu, "t4", 1}, {kGpu, "v100", 0}}, {kGpu}});
  CHECK(within.find(kGpu, "h100") == 0);
  CHECK(within.find(kGpu, "") == 0);
  CHECK(find_caps(tree, usage, at(tree, "a"), queued("a", "cpu only", 0), at(tree, "a")).empty());
}

TEST_CASE("a limit on a class guarantees nothing there", "[queue][admission]") {
  const auto tree = a_tree({with_limit(a_queue("p"), {{"v100", 4}}),
                            with_limit(with_quota(a_queue("vision", "p"), {{"h100", 8}}),
                                       {{"a100", 16}, {"h100", 12}})});
  const Usage usage(tree);
  const QueueIndex vision = at(tree, "vision");
  const auto workload = queued("vision", "new", 4);
  const auto within = find_caps(tree, usage, vision, workload, vision);
  CHECK(within.find(kGpu, "h100") == 8);
  CHECK(within.find(kGpu, "a100") == 0);
  CHECK(within.find(kGpu, "v100") == 0);
  CHECK(within.find(kGpu, "t4") == 0);
  const auto beyond = find_caps(tree, usage, vision, workload, std::nullopt);
  CHECK(beyond.find(kGpu, "h100") == 12);
  CHECK(beyond.find(kGpu, "a100") == 16);
  CHECK(beyond.find(kGpu, "v100") == 4);
  CHECK_FALSE(beyond.find(kGpu, "t4"));
}

TEST_CASE("a quota with a total leaves the classes that it does not name open",
          "[queue][admission]") {
  auto queue = a_queue("q");
  queue.quota = {{kGpu, 8, {{"a100", 2}}}};
  const auto tree = a_tree({queue});
  const auto caps =
      find_caps(tree, Usage(tree), at(tree, "q"), queued("q", "new", 4), at(tree, "q"));
  CHECK(caps == ClassCaps{{{kGpu, "a100", 2}}, {}});
}

}  // namespace
}  // namespace nervex::queue
