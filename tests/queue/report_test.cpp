#include "queue/report.h"

#include <catch2/catch_test_macros.hpp>

#include "tests/queue/builders.h"

namespace nervex::queue {
namespace {

using testing::a_queue;
using testing::kGpu;
using testing::share;
using testing::with_quota;

const SysTime kNow{std::chrono::seconds(1000)};

struct World {
  explicit World(std::vector<Queue> queues) {
    std::vector<QueuePtr> shared;
    for (Queue& queue : queues) shared.push_back(std::make_shared<const Queue>(std::move(queue)));
    settled.set_tree(std::make_shared<const QueueTree>(std::move(shared)));
  }
  static Workload a_workload(const std::string& queue, std::int64_t gpus, int seconds = 0) {
    Workload workload;
    workload.id = queue + std::to_string(seconds);
    workload.queue = queue;
    workload.queued_since = SysTime(std::chrono::seconds(seconds));
    workload.requests = {{kGpu, gpus}};
    return workload;
  }
  std::vector<Report> report() {
    Facts facts;
    facts.settled = settled.get();
    facts.namespaces = std::make_shared<const Namespaces>(namespaces);
    return report_queues(facts, facts.settled->usage, {{kGpu, 16}}, waiting);
  }

  SettledWorkloads settled;
  Namespaces namespaces;
  std::vector<Workload> waiting;
};

TEST_CASE("a report counts the queue with its parts", "[queue][report]") {
  World world({with_quota(a_queue("lab"), 4), a_queue("vision", "lab")});
  world.settled.set("a", share({World::a_workload("vision", 6)}));
  world.settled.set("b", share({World::a_workload("lab", 2)}));
  world.waiting = {World::a_workload("vision", 1, 20), World::a_workload("vision", 1, 10),
                   World::a_workload("lab", 1, 30), World::a_workload("", 1, 5)};
  const std::vector<Report> reports = world.report();
  REQUIRE(reports.size() == 2);
  const Report& lab = reports[0];
  CHECK(lab.queue == "lab");
  CHECK(lab.pending == 3);
  CHECK(lab.running == 2);
  CHECK(lab.use == kube::Resources{{kGpu, 8}});
  CHECK(lab.borrowed == kube::Resources{{kGpu, 4}});
  CHECK(lab.share.to_percent() == "25.0%");
  REQUIRE(lab.head);
  CHECK(lab.head->since == SysTime(std::chrono::seconds(30)));  // its own
  const Report& vision = reports[1];
  CHECK(vision.pending == 2);
  CHECK(vision.running == 1);
  CHECK(vision.borrowed == kube::Resources{{kGpu, 6}});
  REQUIRE(vision.head);
  CHECK(vision.head->since == SysTime(std::chrono::seconds(10)));
}

TEST_CASE("a report says what keeps the queue's jobs from starting", "[queue][report]") {
  Queue stopped = a_queue("stopped");
  stopped.stop = Queue::Stop::kHold;
  Queue all = a_queue("all");
  all.namespace_selector = {};
  Queue every = a_queue("every");
  every.namespace_selector = {};
  World world({stopped, all, every});
  auto ns = std::make_shared<kube::Namespace>();
  ns->meta.name = "rl";
  world.namespaces.emplace("rl", ns);
  const std::vector<Report> reports = world.report();
  CHECK(reports[0].ambiguous == 1);
  CHECK_FALSE(reports[0].problem.has_value());
  CHECK(reports[2].problem == Inadmissible(QueueStopped{"stopped"}));
  CHECK(reports[2].ambiguous == 0);
}

TEST_CASE("a new leader reads from the status when the queue has preempted", "[queue][report]") {
  Report report;
  report.queue = "vision";
  report.preemptions = {kNow, kNow + std::chrono::milliseconds(1'500)};
  const Json object{{"metadata", {{"name", "vision"}}},
                    {"spec", Json::object()},
                    {"status", encode_status(report, Json(), kNow)}};
  const auto queue = decode_queue(object);
  REQUIRE(queue.has_value());
  CHECK(queue->preemptions == report.preemptions);
}

TEST_CASE("a condition keeps the time of its last transition", "[queue][report]") {
  Report report;
  report.queue = "vision";
  report.generation = 3;
  const auto ready = [](const Json& status) {
    for (const Json& one : status.at("conditions")) {
      if (one.at("type") == "Ready") return one;
    }
    return Json();
  };
  const Json first = encode_status(report, Json(), kNow);
  CHECK(first.contains("use") == !report.use.empty());
  CHECK(ready(first).at("lastTransitionTime") == "1970-01-01T00:16:40Z");
  const SysTime later = kNow + std::chrono::hours(1);
  CHECK(ready(encode_status(report, first, later)).at("lastTransitionTime") ==
        "1970-01-01T00:16:40Z");
  report.problem = QueueStopped{"vision"};
  const Json stopped = encode_status(report, first, later);
  CHECK(ready(stopped).at("lastTransitionTime") == "1970-01-01T01:16:40Z");
  CHECK(ready(stopped).at("reason") == "QueueStopped");
  CHECK(ready(stopped).at("message") == "queue vision is stopped");
}

}  // namespace
}  // namespace nervex::queue
