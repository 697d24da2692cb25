#include "queue/share.h"

#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>
#include <catch2/generators/catch_generators_range.hpp>

#include <limits>
#include <random>

#include "tests/queue/builders.h"

namespace nervex::queue {
namespace {

using testing::a_queue;
using testing::a_tree;
using testing::at;
using testing::below;
using testing::elastic;
using testing::kGpu;
using testing::queued;
using testing::running_on;
using testing::with_quota;
using testing::with_weight;

TEST_CASE("fractions compare by value", "[queue][share]") {
  CHECK(Fraction(1, 2) == Fraction(2, 4));
  CHECK(Fraction(1, 3) < Fraction(1, 2));
  CHECK(Fraction() == Fraction(0, 7));
  CHECK(Fraction(7, 2) > Fraction(3, 1));
}

TEST_CASE("fractions are exact where products overflow 128 bits", "[queue][share]") {
  const auto large = Fraction::Wide{1} << 120;
  CHECK(Fraction(large, large + 1) < Fraction(large + 1, large + 2));
  CHECK(Fraction(large + 1, large) > Fraction(large + 2, large + 1));
  CHECK(Fraction(large, large * 2) == Fraction(1, 2));
  CHECK(Fraction(large * 3 + 1, large) > Fraction(3, 1));
  CHECK(Fraction(large - 1, large * 2) < Fraction(large, large * 2));
}

TEST_CASE("fractions of random size compare as their reduced forms do",
          "[queue][share][property]") {
  const auto seed = GENERATE(range(1U, 300U));
  INFO("seed " << seed);
  std::mt19937_64 rng(seed);
  const auto small = [&] { return Fraction::Wide{1} + rng() % 50; };
  const auto factor = [&] { return Fraction::Wide{1} << (rng() % 115); };
  const auto n1 = small(), d1 = small(), n2 = small(), d2 = small(), f1 = factor(), f2 = factor();
  CHECK((Fraction(n1 * f1, d1 * f1) <=> Fraction(n2 * f2, d2 * f2)) == (n1 * d2 <=> n2 * d1));
}

TEST_CASE("a fraction is shown in percent, rounded down", "[queue][share]") {
  CHECK(Fraction().to_percent() == "0.0%");
  CHECK(Fraction(1, 8).to_percent() == "12.5%");
  CHECK(Fraction(2, 3).to_percent() == "66.6%");
  CHECK(Fraction(9, 4).to_percent() == "225.0%");
}

TEST_CASE("the dominant share is that of the scarcest resource, over the weight",
          "[queue][share]") {
  const kube::Resources capacity{{"cpu", 1000}, {kGpu, 10}};
  CHECK(dominant_share({{"cpu", 100}, {kGpu, 2}}, capacity) == Fraction(1, 5));
  CHECK(dominant_share({{"cpu", 300}, {kGpu, 2}}, capacity) == Fraction(3, 10));
  CHECK(dominant_share({{kGpu, 6}}, capacity, 3) == Fraction(1, 5));
  CHECK(dominant_share({}, capacity) == Fraction());
  // Nothing can be placed there: a resource of nodes that were removed.
  CHECK(dominant_share({{"amd.com/gpu", 6}}, capacity) == Fraction());
  const std::int64_t most = std::numeric_limits<std::int64_t>::max();
  CHECK(dominant_share({{kGpu, most}}, {{kGpu, most}}, kMostWeight) == Fraction(1, kMostWeight));
}

TEST_CASE("what a queue borrows is its use beyond its quota", "[queue][share]") {
  using Classes = std::vector<ResourceBound::ClassAmount>;
  struct Row {
    std::string when;
    Bounds quota;
    std::int64_t a100, v100, without_class;  // GPUs in use
    std::int64_t borrowed;
    Fraction used_quota;
  };
  const auto row = GENERATE(values<Row>({
      {"it has no quota", {}, 2, 3, 1, 6, {}},
      {"it uses nothing", {{kGpu, 8, {}}}, 0, 0, 0, 0, {}},
      {"within quota", {{kGpu, 8, {}}}, 2, 3, 1, 0, {6, 8}},
      {"beyond quota", {{kGpu, 4, {}}}, 2, 3, 1, 2, {4, 4}},
      {"a quota of zero", {{kGpu, 0, {}}}, 2, 0, 0, 2, {}},
      {"within its class", {{kGpu, {}, Classes{{"a100", 4}}}}, 2, 0, 0, 0, {2, 4}},
      {"on another class", {{kGpu, {}, Classes{{"a100", 4}}}}, 2, 3, 0, 3, {2, 4}},
      {"on nodes without a class", {{kGpu, {}, Classes{{"a100", 4}}}}, 2, 0, 1, 1, {2, 4}},
      {"beyond one class", {{kGpu, {}, Classes{{"a100", 4}, {"v100", 1}}}}, 2, 3, 0, 2, {3, 5}},
      {"a total, and one class of it", {{kGpu, 6, Classes{{"a100", 1}}}}, 2, 3, 0, 1, {4, 6}},
      {"beyond the total", {{kGpu, 4, Classes{{"a100", 1}}}}, 2, 3, 1, 2, {4, 4}},
  }));
  INFO(row.when);
  auto queue = a_queue("q");
  queue.quota = row.quota;
  const auto tree = a_tree({queue});
  Usage usage(tree);
  usage.add(tree, at(tree, "q"), running_on(queued("q", "a", row.a100), "a100"));
  usage.add(tree, at(tree, "q"), running_on(queued("q", "v", row.v100), "v100"));
  usage.add(tree, at(tree, "q"), queued("q", "w", row.without_class));
  CHECK(borrowed(tree, usage, at(tree, "q")) == kube::Resources{{kGpu, row.borrowed}});
  CHECK(used_quota(tree, usage, at(tree, "q")) == row.used_quota);
}

TEST_CASE("the share of a queue is that of all its parts, over its own weight", "[queue][share]") {
  const auto tree = a_tree({with_weight(a_queue("research"), 2), a_queue("speech", "research"),
                            with_quota(a_queue("vision", "research"), 4)});
  Usage usage(tree);
  usage.add(tree, at(tree, "vision"), queued("vision", "a", 6));
  usage.add(tree, at(tree, "speech"), queued("speech", "b", 2));
  usage.add(tree, at(tree, "research"), queued("research", "c", 1));
  const kube::Resources capacity{{kGpu, 20}};
  // 9 in use, 4 of them guaranteed by a part.
  CHECK(borrowed_share(tree, usage, at(tree, "research"), capacity) == Fraction(5, 40));
  CHECK(borrowed_share(tree, usage, at(tree, "vision"), capacity) == Fraction(2, 20));
  // One part uses what another one is guaranteed and leaves: nothing is borrowed from outside.
  usage.remove(tree, at(tree, "vision"), queued("vision", "a", 6));
  CHECK(borrowed_share(tree, usage, at(tree, "research"), capacity) == Fraction());
  CHECK(borrowed_share(tree, usage, at(tree, "speech"), capacity) == Fraction(2, 20));
}

TEST_CASE("elastic use counts against limits alone", "[queue][usage]") {
  const auto tree = a_tree({a_queue("research"), a_queue("vision", "research")});
  Usage usage(tree);
  usage.add(tree, at(tree, "vision"), elastic(running_on(queued("vision", "a", 6), "a100")));
  CHECK(usage.rigid(at(tree, "research")) == ClassedResources{});
  CHECK(usage.elastic(at(tree, "research")) ==
        ClassedResources{{{kGpu, 6}}, {{"a100", {{kGpu, 6}}}}});
  CHECK(borrowed(tree, usage, at(tree, "vision")).empty());
}

TEST_CASE("adding and removing workloads gives the same use as counting again",
          "[queue][usage][property]") {
  const auto seed = GENERATE(range(1U, 100U));
  INFO("seed " << seed);
  std::mt19937 rng(seed);
  auto fair = a_queue("b", "a");
  fair.fair_users = true;
  const auto tree = a_tree({a_queue("a"), fair, a_queue("c", "b"), a_queue("d")});
  Usage usage(tree);
  std::vector<Workload> running;
  for (int step = 0; step < 60; ++step) {
    if (!running.empty() && below(rng, 3) == 0) {
      const auto index = rng() % running.size();
      usage.remove(tree, at(tree, running[index].queue), running[index]);
      running.erase(running.begin() + static_cast<std::ptrdiff_t>(index));
      continue;
    }
    const char* const queues[] = {"", "a", "b", "c", "d"};
    auto workload = queued(queues[below(rng, 5)], std::to_string(step), below(rng, 5));
    workload.user = below(rng, 2) == 0 ? "ann" : "bob";
    workload.is_elastic = below(rng, 4) == 0;
    if (below(rng, 3) != 0) workload = running_on(workload, below(rng, 2) == 0 ? "a100" : "v100");
    usage.add(tree, at(tree, workload.queue), workload);
    running.push_back(workload);
  }
  Usage again(tree);
  for (const Workload& workload : running) again.add(tree, at(tree, workload.queue), workload);
  CHECK(usage == again);
}

}  // namespace
}  // namespace nervex::queue
