#include "queue/queue.h"

#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>

namespace nervex::queue {
namespace {

Json a_queue_object(std::string_view spec) {
  return Json{{"metadata", {{"name", "vision"}}}, {"spec", *kube::parse_json(spec)}};
}

TEST_CASE("a Queue without a spec has the defaults of its schema", "[queue][object]") {
  const auto queue = decode_queue(a_queue_object("{}"));
  REQUIRE(queue);
  Queue defaults;
  defaults.name = "vision";
  defaults.namespace_selector = {{{"nervex.sensetime.com/queue", {}, {"vision"}}}};
  CHECK(*queue == defaults);
  CHECK(kube::matches(queue->namespace_selector, {{kQueueLabel, "vision"}}));
  CHECK_FALSE(kube::matches(queue->namespace_selector, {{kQueueLabel, "speech"}}));
}

TEST_CASE("every field of a Queue is read", "[queue][object]") {
  const auto queue = decode_queue(a_queue_object(R"({
    "parent": "research", "namespaceSelector": {"matchLabels": {"team": "vision"}}, "weight": 3,
    "quota": [{"resources": {"cpu": "1500m", "nvidia.com/gpu": 16}},
              {"nodeClass": "v100", "resources": {"nvidia.com/gpu": "8"}},
              {"nodeClass": "a100", "resources": {"nvidia.com/gpu": "4"}}],
    "limit": [{"resources": {"memory": "1Gi", "nvidia.com/gpu": "0"}}],
    "order": "FIFO", "fairUsers": true, "reclaim": "Any", "preemption": "LowerPriority",
    "minRuntimeSeconds": 0, "maxRuntimeSeconds": 86400, "stop": "HoldAndDrain"})"));
  REQUIRE(queue);
  const Queue expected{"vision",
                       "research",
                       {{{"team", {}, {"vision"}}}},
                       3,
                       {{"cpu", 1500, {}}, {"nvidia.com/gpu", 16, {{"a100", 4}, {"v100", 8}}}},
                       {{"memory", std::int64_t{1} << 30, {}}, {"nvidia.com/gpu", 0, {}}},
                       Queue::Order::kFifo,
                       true,
                       Queue::Reclaim::kAny,
                       Queue::Preemption::kLowerPriority,
                       0,
                       86400,
                       Queue::Stop::kHoldAndDrain};
  CHECK(*queue == expected);
  CHECK(find_bound(queue->quota, "nvidia.com/gpu") == &queue->quota[1]);
  CHECK(find_bound(queue->quota, "memory") == nullptr);
}

TEST_CASE("a wrong Queue is refused with its field", "[queue][object]") {
  struct Row {
    std::string spec;
    std::string error;
  };
  const auto row = GENERATE(values<Row>({
      {R"({"weight":0})", "spec.weight: must be an integer from 1 to 1000000"},
      {R"({"weight":1000001})", "spec.weight: must be an integer from 1 to 1000000"},
      {R"({"weight":1.5})", "spec.weight: must be an integer from 1 to 1000000"},
      {R"({"weight":18446744073709551615})", "spec.weight: must be an integer from 1 to 1000000"},
      {R"({"minRuntimeSeconds":-1})",
       "spec.minRuntimeSeconds: must be an integer from 0 to 2147483647"},
      {R"({"maxRuntimeSeconds":0})",
       "spec.maxRuntimeSeconds: must be an integer from 1 to 2147483647"},
      {R"({"order":"Fifo"})", "spec.order: must be one of Priority, FIFO"},
      {R"({"reclaim":1})", "spec.reclaim: must be one of Never, LowerPriority, Any"},
      {R"({"preemption":"Any"})", "spec.preemption: must be one of Never, LowerPriority"},
      {R"({"stop":"Drain"})", "spec.stop: must be one of None, Hold, HoldAndDrain"},
      {R"({"limit":[{"resources":{"nvidia.com/gpu":"500m"}}]})",
       "spec.limit[0].resources: nvidia.com/gpu: must be a whole number"},
      {R"({"quota":[{"resources":{"pods":"0.5"}}]})",
       "spec.quota[0].resources: pods: must be a whole number"},
      {R"({"namespaceSelector":{"matchLabels":{"a":1}}})",
       "spec.namespaceSelector: matchLabels.a: must be a string"},
      {R"({"quota":[1]})", "spec.quota[0]: must be an object"},
      {R"({"quota":[{"nodeClass":"a100"}]})", "spec.quota[0].resources: is required"},
      {R"({"quota":[{"resources":{}}]})", "spec.quota[0].resources: is required"},
      {R"({"quota":[{"resources":{"cpu":"1"}},{"resources":{"cpu":"1"}}]})",
       "spec.quota[1].nodeClass: a second entry without a class"},
      {R"({"limit":[{"nodeClass":"a100","resources":{"cpu":"1"}},
                    {"nodeClass":"a100","resources":{"memory":"1"}}]})",
       "spec.limit[1].nodeClass: a100 has an entry already"},
      {R"({"limit":[{"resources":{"cpu":"-1"}}]})",
       "spec.limit[0].resources: cpu: must not be negative"},
  }));
  INFO(row.spec);
  const auto queue = decode_queue(a_queue_object(row.spec));
  REQUIRE(queue);
  CHECK(queue->unreadable == row.error);
  CHECK(queue->name == "vision");
}

TEST_CASE("a Queue needs a name, and an unreadable quantity is named", "[queue][object]") {
  CHECK(decode_queue(Json::object()).error().message == "queue: metadata.name: is required");
  const auto queue = decode_queue(a_queue_object(R"({"quota":[{"resources":{"cpu":"many"}}]})"));
  REQUIRE(queue);
  CHECK(queue->unreadable.starts_with("spec.quota[0].resources: cpu: "));
}

TEST_CASE("a Queue that cannot be read keeps its parent and its namespaces", "[queue][object]") {
  const auto queue = decode_queue(
      a_queue_object(R"({"parent":"lab","namespaceSelector":{},"quota":[{"resources":{}}]})"));
  REQUIRE(queue);
  CHECK(queue->parent == "lab");
  CHECK(queue->namespace_selector.requirements.empty());
  CHECK(queue->quota.empty());
  CHECK(queue->unreadable == "spec.quota[0].resources: is required");
}

}  // namespace
}  // namespace nervex::queue
