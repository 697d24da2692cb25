#include "queue/tree.h"

#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>
#include <catch2/generators/catch_generators_range.hpp>

#include <algorithm>
#include <random>

#include "tests/queue/builders.h"

namespace nervex::queue {
namespace {

kube::Namespace a_namespace(std::string name, const kube::StringMap& labels) {
  kube::Namespace ns;
  ns.meta.name = std::move(name);
  ns.meta.labels = labels;
  return ns;
}

using testing::a_queue;
using testing::a_tree;
using testing::at;
using testing::below;
using testing::kGpu;
using testing::with_quota;
using testing::with_stop;

TEST_CASE("without a Queue there is the root", "[queue][tree]") {
  const QueueTree tree;
  CHECK(tree.size() == 1);
  CHECK(tree.find("") == kRoot);
  CHECK_FALSE(tree.find("vision"));
  CHECK(std::get<QueueIndex>(find_queue(tree, "", a_namespace("rl", {}))) == kRoot);
  CHECK(tree.problem(kRoot) == nullptr);
}

TEST_CASE("queues are nested by their parents, in any order", "[queue][tree]") {
  const auto tree =
      a_tree({a_queue("vision", "research"), a_queue("research"), a_queue("speech", "research")});
  CHECK(tree.parent(at(tree, "research")) == kRoot);
  CHECK(tree.parent(at(tree, "vision")) == at(tree, "research"));
  CHECK(tree.depth(at(tree, "speech")) == 2);
  const auto parts = tree.children(at(tree, "research"));
  CHECK(std::vector(parts.begin(), parts.end()) ==
        std::vector{at(tree, "speech"), at(tree, "vision")});
}

TEST_CASE("nothing starts in a broken part of the tree, and the rest goes on", "[queue][tree]") {
  struct Row {
    std::string when;
    std::vector<Queue> queues;
    std::string queue;
    std::optional<Inadmissible> problem;
  };
  const std::vector<Queue> orphans{a_queue("lab", "gone"), a_queue("vision", "lab"),
                                   a_queue("speech")};
  const std::vector<Queue> cycle{a_queue("b", "c"), a_queue("c", "a"),       a_queue("a", "b"),
                                 a_queue("d", "c"), a_queue("self", "self"), a_queue("e")};
  Queue unreadable = a_queue("lab");
  unreadable.unreadable = "spec.weight: no";
  const std::vector<Queue> broken{unreadable, a_queue("vision", "lab"), a_queue("speech")};
  const auto row = GENERATE_REF(values<Row>({
      {"it cannot be read", broken, "lab", QueueUnreadable{"lab", "spec.weight: no"}},
      {"its parent cannot be read", broken, "vision", QueueUnreadable{"lab", "spec.weight: no"}},
      {"it is beside one that cannot be read", broken, "speech", std::nullopt},
      {"its parent does not exist", orphans, "lab", ParentNotFound{"lab", "gone"}},
      {"the parent of its parent does not exist", orphans, "vision", ParentNotFound{"lab", "gone"}},
      {"it is beside", orphans, "speech", std::nullopt},
      {"it is in a cycle", cycle, "b", QueueCycle{{"a", "b", "c"}}},
      {"another one of the cycle says the same", cycle, "a", QueueCycle{{"a", "b", "c"}}},
      {"it is below a cycle", cycle, "d", QueueCycle{{"a", "b", "c"}}},
      {"it is its own parent", cycle, "self", QueueCycle{{"self"}}},
      {"it is beside a cycle", cycle, "e", std::nullopt},
  }));
  INFO(row.when);
  const auto tree = a_tree(row.queues);
  const Inadmissible* problem = tree.problem(at(tree, row.queue));
  CHECK((problem == nullptr ? std::nullopt : std::optional(*problem)) == row.problem);
  // Running workloads count up to the root in any case.
  QueueIndex up = at(tree, row.queue);
  for (std::size_t steps = tree.depth(up); steps > 0; --steps) up = tree.parent(up);
  CHECK(up == kRoot);
}

TEST_CASE("random parents always make a tree, the same for any order", "[queue][tree][property]") {
  const auto seed = GENERATE(range(1U, 200U));
  INFO("seed " << seed);
  std::mt19937 rng(seed);
  std::vector<Queue> queues;
  const auto name = [](unsigned i) { return "q" + std::to_string(i); };
  const unsigned count = 1 + below(rng, 12);
  for (unsigned i = 0; i < count; ++i) {
    queues.push_back(a_queue(name(i), below(rng, 3) == 0 ? "" : name(below(rng, count + 1))));
  }
  const auto tree = a_tree(queues);
  std::shuffle(queues.begin(), queues.end(), rng);
  const auto shuffled = a_tree(queues);
  std::size_t reached = 0;
  for (QueueIndex queue = 0; queue < tree.size(); ++queue) {
    reached += tree.children(queue).size();
    REQUIRE(tree.depth(queue) < tree.size());
    CHECK(tree.parent(queue) == shuffled.parent(queue));
    const Inadmissible* problem = tree.problem(queue);
    const Inadmissible* other = shuffled.problem(queue);
    REQUIRE((problem == nullptr) == (other == nullptr));
    if (problem != nullptr) CHECK(*problem == *other);
  }
  CHECK(reached == count);
}

TEST_CASE("a stop holds for all parts of a queue", "[queue][tree]") {
  const auto tree =
      a_tree({with_stop(a_queue("research"), Queue::Stop::kHold),
              with_stop(a_queue("vision", "research"), Queue::Stop::kHoldAndDrain),
              a_queue("images", "vision"), a_queue("speech", "research"), a_queue("other")});
  const Inadmissible stopped = QueueStopped{"research"};
  for (const char* name : {"research", "vision", "images", "speech"}) {
    INFO(name);
    REQUIRE(tree.problem(at(tree, name)) != nullptr);
    CHECK(*tree.problem(at(tree, name)) == stopped);
  }
  CHECK(tree.problem(at(tree, "other")) == nullptr);
  CHECK(tree.is_drained(at(tree, "images")));
  CHECK_FALSE(tree.is_drained(at(tree, "speech")));
}

TEST_CASE("the shortest maxRuntimeSeconds of the path counts", "[queue][tree]") {
  auto research = a_queue("research");
  research.max_runtime_seconds = 100;
  auto vision = a_queue("vision", "research");
  vision.max_runtime_seconds = 300;
  auto speech = a_queue("speech", "research");
  speech.max_runtime_seconds = 30;
  const auto tree = a_tree({research, vision, speech, a_queue("other")});
  CHECK(tree.max_runtime_seconds(at(tree, "vision")) == 100);
  CHECK(tree.max_runtime_seconds(at(tree, "speech")) == 30);
  CHECK_FALSE(tree.max_runtime_seconds(at(tree, "other")));
}

TEST_CASE("a queue is guaranteed at least what its parts are", "[queue][tree]") {
  struct Row {
    std::string when;
    Queue parent;
    std::vector<Queue> parts;
    Bounds quota;
  };
  const auto row = GENERATE(values<Row>({
      {"it has no quota",
       a_queue("p"),
       {with_quota(a_queue("a", "p"), 2), with_quota(a_queue("b", "p"), 3), a_queue("c", "p")},
       {{kGpu, 5, {}}}},
      {"its quota is larger",
       with_quota(a_queue("p"), 8),
       {with_quota(a_queue("a", "p"), 2)},
       {{kGpu, 8, {}}}},
      {"its quota is smaller",
       with_quota(a_queue("p"), 1),
       {with_quota(a_queue("a", "p"), 2)},
       {{kGpu, 2, {}}}},
      {"of classes",
       a_queue("p"),
       {with_quota(a_queue("a", "p"), {{"a100", 2}}),
        with_quota(a_queue("b", "p"), {{"a100", 1}, {"v100", 4}})},
       {{kGpu, std::nullopt, {{"a100", 3}, {"v100", 4}}}}},
      {"classes of its own are raised",
       with_quota(a_queue("p"), {{"h100", 1}, {"v100", 8}}),
       {with_quota(a_queue("a", "p"), {{"a100", 2}, {"v100", 4}})},
       {{kGpu, std::nullopt, {{"a100", 2}, {"h100", 1}, {"v100", 8}}}}},
      {"it names no class, its part does",
       with_quota(a_queue("p"), 1),
       {with_quota(a_queue("a", "p"), {{"a100", 2}, {"v100", 4}})},
       {{kGpu, 6, {}}}},
      {"one part names classes, the other does not",
       a_queue("p"),
       {with_quota(a_queue("a", "p"), {{"a100", 2}}), with_quota(a_queue("b", "p"), 3)},
       {{kGpu, 5, {}}}},
  }));
  INFO(row.when);
  auto queues = row.parts;
  queues.push_back(row.parent);
  const auto tree = a_tree(queues);
  CHECK(tree.quota(at(tree, "p")) == row.quota);
}

Queue selecting(Queue queue, const std::string& team) {
  queue.namespace_selector = {{{"team", {}, {team}}}};
  return queue;
}
Queue open_for_all(Queue queue) {
  queue.namespace_selector = {};
  return queue;
}

TEST_CASE("a job belongs to the queue that it, its namespace or a selector names",
          "[queue][tree]") {
  using Answer = std::variant<std::string, Inadmissible>;
  struct Row {
    std::string when;
    std::string wanted;  // spec.queue
    kube::StringMap labels;
    Answer answer;
  };
  const auto tree =
      a_tree({a_queue("labelled"), selecting(a_queue("vision"), "vision"),
              selecting(a_queue("images", "vision"), "images"), open_for_all(a_queue("shared"))});
  const auto row = GENERATE(values<Row>({
      {"the job names one that selects the namespace", "vision", {{"team", "vision"}}, "vision"},
      {"the job names one that allows all", "shared", {{kQueueLabel, "labelled"}}, "shared"},
      {"the job names one of others",
       "vision",
       {{"team", "speech"}},
       NamespaceNotSelected{"vision", "rl"}},
      {"the job names one that does not exist",
       "gone",
       {{"team", "vision"}},
       QueueNotFound{"gone"}},
      {"the namespace names one", "", {{kQueueLabel, "labelled"}}, "labelled"},
      {"the namespace names one of others",
       "",
       {{kQueueLabel, "vision"}},
       NamespaceNotSelected{"vision", "rl"}},
      {"the namespace names one that does not exist",
       "",
       {{kQueueLabel, "gone"}},
       QueueNotFound{"gone"}},
      {"one queue selects the namespace", "", {{"team", "speech"}}, "shared"},
      {"two queues select it",
       "",
       {{"team", "vision"}},
       QueueAmbiguous{"rl", {"shared", "vision"}}},
      {"two select it, and the namespace names one",
       "",
       {{"team", "vision"}, {kQueueLabel, "shared"}},
       "shared"},
  }));
  INFO(row.when);
  const auto found = find_queue(tree, row.wanted, a_namespace("rl", row.labels));
  if (const auto* queue = std::get_if<QueueIndex>(&found)) {
    CHECK(Answer(tree[*queue].name) == row.answer);
  } else {
    CHECK(Answer(std::get<Inadmissible>(found)) == row.answer);
  }
}

TEST_CASE("of a queue and its part that select a namespace the part counts", "[queue][tree]") {
  const auto tree = a_tree({selecting(a_queue("research"), "vision"), a_queue("lab", "research"),
                            selecting(a_queue("vision", "lab"), "vision")});
  CHECK(std::get<QueueIndex>(find_queue(tree, "", a_namespace("rl", {{"team", "vision"}}))) ==
        at(tree, "vision"));
}

TEST_CASE("a job that no queue selects uses the root", "[queue][tree]") {
  const auto tree = a_tree({a_queue("vision")});
  CHECK(std::get<QueueIndex>(find_queue(tree, "", a_namespace("rl", {}))) == kRoot);
}

TEST_CASE("ambiguous namespaces are listed", "[queue][tree]") {
  const auto tree = a_tree({selecting(a_queue("vision"), "vision"), open_for_all(a_queue("all"))});
  const std::vector<kube::Namespace> namespaces{
      a_namespace("a", {{"team", "vision"}}),
      a_namespace("b", {{"team", "speech"}}),
      a_namespace("c", {{"team", "vision"}, {kQueueLabel, "vision"}}),
      a_namespace("d", {{"team", "vision"}}),
  };
  CHECK(find_ambiguous(tree, namespaces) ==
        std::vector<QueueAmbiguous>{{"a", {"all", "vision"}}, {"d", {"all", "vision"}}});
}

}  // namespace
}  // namespace nervex::queue
