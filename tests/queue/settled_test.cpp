#include "queue/settled.h"

#include <catch2/catch_test_macros.hpp>

namespace nervex::queue {
namespace {

Workload a_workload(std::string ns, std::string name, std::int64_t gpus) {
  Workload workload;
  workload.id = name + "/base";
  workload.ns = std::move(ns);
  workload.name = std::move(name);
  workload.requests = {{"nvidia.com/gpu", gpus}};
  return workload;
}

TEST_CASE("settled workloads add up by namespace until they go", "[queue][settled]") {
  SettledWorkloads settled;
  settled.set("a", {a_workload("rl", "a", 8), a_workload("rl", "a", 4)});
  settled.set("b", {a_workload("rl", "b", 1)});
  settled.set("c", {a_workload("ml", "c", 2)});
  CHECK(settled.get()->use ==
        std::map<std::string, kube::Resources, std::less<>>{{"ml", {{"nvidia.com/gpu", 2}}},
                                                            {"rl", {{"nvidia.com/gpu", 13}}}});
  settled.set("a", {a_workload("rl", "a", 8)});
  settled.erase("c");
  settled.erase("unknown");
  const auto now = settled.get();
  CHECK(now->groups.size() == 2);
  CHECK(now->use ==
        std::map<std::string, kube::Resources, std::less<>>{{"rl", {{"nvidia.com/gpu", 9}}}});
  settled.set("a", {});
  settled.set("b", {});
  CHECK(settled.get()->groups.empty());
  CHECK(settled.get()->use.empty());
}

TEST_CASE("workloads without requests leave nothing behind", "[queue][settled]") {
  Workload empty = a_workload("rl", "a", 0);
  empty.requests = {};
  SettledWorkloads settled;
  settled.set("a", {empty, empty});
  settled.set("b", {empty});
  settled.erase("a");
  settled.erase("b");
  CHECK(settled.get()->groups.empty());
  CHECK(settled.get()->use.empty());
}

TEST_CASE("a snapshot of settled workloads is immutable, and shared until something changes",
          "[queue][settled]") {
  SettledWorkloads settled;
  settled.set("a", {a_workload("rl", "a", 8)});
  const auto before = settled.get();
  settled.set("a", {a_workload("rl", "a", 8)});
  CHECK(settled.get() == before);
  settled.erase("a");
  CHECK(settled.get() != before);
  CHECK(before->groups.size() == 1);
}

}  // namespace
}  // namespace nervex::queue
