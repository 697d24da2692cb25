#include "queue/settled.h"

#include <catch2/catch_test_macros.hpp>

#include "queue/facts.h"
#include "tests/queue/builders.h"

namespace nervex::queue {
namespace {

using testing::share;

Workload a_workload(std::string queue, std::string name, std::int64_t gpus) {
  Workload workload;
  workload.id = name + "/base";
  workload.queue = std::move(queue);
  workload.name = std::move(name);
  workload.requests = {{"nvidia.com/gpu", gpus}};
  return workload;
}

TEST_CASE("settled workloads add up by queue until they go", "[queue][settled]") {
  const auto tree = std::make_shared<const QueueTree>(
      std::vector<QueuePtr>{std::make_shared<const Queue>(testing::a_queue("rl")),
                            std::make_shared<const Queue>(testing::a_queue("ml"))});
  SettledWorkloads settled;
  const auto gpus = [&](const char* queue) {
    const auto now = settled.get();
    return now->usage.rigid(now->tree->find(queue).value()).total.get("nvidia.com/gpu");
  };
  settled.set("a", share({a_workload("rl", "a", 8), a_workload("rl", "a", 4)}));
  settled.set("b", share({a_workload("rl", "b", 1)}));
  settled.set_tree(tree);  // counts what is there
  settled.set("c", share({a_workload("ml", "c", 2)}));
  CHECK(gpus("rl") == 13);
  CHECK(gpus("ml") == 2);
  CHECK(gpus("") == 15);
  settled.set("a", share({a_workload("rl", "a", 8)}));
  settled.erase("c");
  settled.erase("unknown");
  CHECK(settled.get()->groups.size() == 2);
  CHECK(gpus("rl") == 9);
  CHECK(gpus("ml") == 0);
  settled.set("a", nullptr);
  settled.set("b", nullptr);
  CHECK(settled.get()->groups.empty());
  CHECK(settled.get()->usage == Usage(*tree));
}

TEST_CASE("a workload of a deleted queue counts in the root", "[queue][settled]") {
  SettledWorkloads settled;
  settled.set("a", share({a_workload("gone", "a", 8)}));
  CHECK(settled.get()->usage.rigid(kRoot).total.get("nvidia.com/gpu") == 8);
  CHECK(settled.get()->usage.own(kRoot).get("nvidia.com/gpu") == 8);
}

TEST_CASE("what runs in a deleted queue has another home", "[queue][settled]") {
  const auto tree = testing::a_tree({testing::a_queue("company"), testing::a_queue("vision"),
                                     testing::a_queue("research", "company")});
  auto ns = std::make_shared<kube::Namespace>();
  ns->meta.name = "rl";
  Namespaces namespaces{{"rl", ns}};
  gang::QueuePlace place{"vision"};
  CHECK(tree.list_parents(testing::at(tree, "research")) == std::vector<std::string>{"company"});
  CHECK(find_home(tree, namespaces, place, "rl") == "vision");
  place = {"old", 0, {}, {"gone", "research", "company"}};
  CHECK(find_home(tree, namespaces, place, "rl") == "research");
  CHECK(find_home(tree, namespaces, place, "unknown") == "research");
  ns->meta.labels = {{kQueueLabel, "vision"}};
  CHECK(find_home(tree, namespaces, place, "rl") == "vision");
  ns->meta.labels = {{kQueueLabel, "old"}};
  CHECK(find_home(tree, namespaces, place, "rl") == "research");
  place.parents.clear();
  CHECK(find_home(tree, namespaces, place, "rl").empty());
}

TEST_CASE("workloads without requests leave nothing behind", "[queue][settled]") {
  Workload empty = a_workload("rl", "a", 0);
  empty.requests = {};
  SettledWorkloads settled;
  settled.set("a", share({empty, empty}));
  settled.set("b", share({empty}));
  settled.erase("a");
  settled.erase("b");
  CHECK(settled.get()->groups.empty());
  CHECK(settled.get()->usage == Usage(*settled.get()->tree));
}

TEST_CASE("a snapshot of settled workloads is immutable, and shared until something changes",
          "[queue][settled]") {
  SettledWorkloads settled;
  settled.set("a", share({a_workload("rl", "a", 8)}));
  const auto before = settled.get();
  settled.set("a", share({a_workload("rl", "a", 8)}));
  CHECK(settled.get() == before);
  settled.erase("a");
  CHECK(settled.get() != before);
  CHECK(before->groups.size() == 1);
}

}  // namespace
}  // namespace nervex::queue
