#include "queue/line.h"

#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>
#include <catch2/generators/catch_generators_range.hpp>

#include <algorithm>
#include <random>

#include "tests/queue/toy_cluster.h"

namespace nervex::queue {
namespace {

using testing::a_queue;
using testing::below;
using testing::by_user;
using testing::elastic;
using testing::kGpu;
using testing::names;
using testing::queued;

const kube::Resources kCapacity{{"cpu", 1000}, {kGpu, 100}};

Line a_line(const Queue& queue, const std::vector<Workload>& waiting,
            const Usage::ByUser& users = {}) {
  std::vector<const Workload*> pointers;
  for (const Workload& workload : waiting) pointers.push_back(&workload);
  return Line(queue, kCapacity, users, pointers);
}

Queue fair(Queue queue) {
  queue.fair_users = true;
  return queue;
}
Queue fifo(Queue queue) {
  queue.order = Queue::Order::kFifo;
  return queue;
}

TEST_CASE("a queue serves priority, then the longer wait, then the name", "[queue][line]") {
  const std::vector<Workload> waiting{
      queued("q", "young", 1, 9),         queued("q", "old", 1, 1),
      queued("q", "important", 1, 20, 5), queued("q", "same-b", 1, 5),
      queued("q", "same-a", 1, 5),        elastic(queued("q", "elastic", 1, 0, 9)),
  };
  CHECK(names(serving_order(a_line(a_queue("q"), waiting))) ==
        std::vector<std::string>{"important", "old", "same-a", "same-b", "young", "elastic"});
  CHECK(names(serving_order(a_line(fifo(a_queue("q")), waiting))) ==
        std::vector<std::string>{"old", "same-a", "same-b", "young", "important", "elastic"});
  CHECK(serving_order(a_line(a_queue("q"), {})).empty());
}

TEST_CASE("gangs of one job that wait since one time are served in its PodGroup's order",
          "[queue][line]") {
  auto seventh = queued("q", "dqn", 1);
  seventh.id = "uid-dqn/request-7";
  seventh.position = 1;
  auto tenth = queued("q", "dqn", 1);
  tenth.id = "uid-dqn/request-10";
  tenth.position = 2;
  const std::vector<Workload> waiting{tenth, seventh, queued("q", "dqn", 2)};
  const auto order = serving_order(a_line(a_queue("q"), waiting));
  CHECK(order[0]->id == "uid-dqn/base");
  CHECK(order[1]->id == "uid-dqn/request-7");
}

TEST_CASE("with fairUsers the user who uses least is served first", "[queue][line]") {
  const std::vector<Workload> waiting{
      by_user(queued("q", "ann-1", 4, 1), "ann"), by_user(queued("q", "ann-2", 4, 2), "ann"),
      by_user(queued("q", "ann-3", 4, 3), "ann"), by_user(queued("q", "bob-1", 2, 4), "bob"),
      by_user(queued("q", "bob-2", 2, 5), "bob"), by_user(queued("q", "bob-3", 2, 6), "bob"),
  };
  // One of ann's as large as two of bob's.
  CHECK(names(serving_order(a_line(fair(a_queue("q")), waiting))) ==
        std::vector<std::string>{"ann-1", "bob-1", "bob-2", "ann-2", "bob-3", "ann-3"});
  // Ann has 8 GPUs already.
  CHECK(names(serving_order(a_line(fair(a_queue("q")), waiting, {{"ann", {{kGpu, 8}}}}))) ==
        std::vector<std::string>{"bob-1", "bob-2", "bob-3", "ann-1", "ann-2", "ann-3"});
  // Bob has 1 % of the GPUs, ann 5 % of the CPUs, and still not more with 4 % of the GPUs.
  CHECK(names(serving_order(
            a_line(fair(a_queue("q")), waiting, {{"ann", {{"cpu", 50}}}, {"bob", {{kGpu, 1}}}}))) ==
        std::vector<std::string>{"bob-1", "bob-2", "ann-1", "ann-2", "bob-3", "ann-3"});
  CHECK(names(serving_order(a_line(a_queue("q"), waiting))).front() == "ann-1");
}

TEST_CASE("fairUsers never passes a higher priority", "[queue][line]") {
  const std::vector<Workload> waiting{
      by_user(queued("q", "bob", 1, 1), "bob"),
      by_user(queued("q", "ann-high", 1, 2, 5), "ann"),
  };
  CHECK(names(serving_order(a_line(fair(a_queue("q")), waiting, {{"ann", {{kGpu, 50}}}}))) ==
        std::vector<std::string>{"ann-high", "bob"});
}

TEST_CASE("a skipped workload does not count as use of its user", "[queue][line]") {
  const std::vector<Workload> waiting{
      by_user(queued("q", "ann-1", 4, 1), "ann"),
      by_user(queued("q", "ann-2", 4, 2), "ann"),
      by_user(queued("q", "bob-1", 2, 3), "bob"),
  };
  Line line = a_line(fair(a_queue("q")), waiting);
  line.skip();
  CHECK(line.head()->name == "ann-2");
  const Workload& placed = *line.head();
  line.skip();
  line.charge(placed);
  CHECK(line.head()->name == "bob-1");
}

TEST_CASE("the order of service does not depend on the order of input", "[queue][line][property]") {
  const auto seed = GENERATE(range(1U, 200U));
  INFO("seed " << seed);
  std::mt19937 rng(seed);
  Queue queue = a_queue("q");
  queue.fair_users = below(rng, 2) == 0;
  if (below(rng, 2) == 0) queue = fifo(queue);
  std::vector<Workload> waiting;
  for (unsigned i = 0; i < 20; ++i) {
    auto workload = queued("q", std::to_string(below(rng, 15)), below(rng, 4), below(rng, 4),
                           static_cast<int>(below(rng, 3)));
    workload.id = std::to_string(i);
    workload.user = std::string(1, static_cast<char>('a' + below(rng, 3)));
    workload.is_elastic = below(rng, 5) == 0;
    waiting.push_back(workload);
  }
  const auto ids = [](const std::vector<const Workload*>& workloads) {
    std::vector<std::string> out;
    for (const Workload* workload : workloads) out.push_back(workload->id);
    return out;
  };
  const Usage::ByUser users{{"a", {{kGpu, 3}}}};
  const auto order = ids(serving_order(a_line(queue, waiting, users)));
  CHECK(order.size() == waiting.size());
  std::shuffle(waiting.begin(), waiting.end(), rng);
  CHECK(ids(serving_order(a_line(queue, waiting, users))) == order);
}

// Looks at all that wait in each step.
std::vector<const Workload*> serve_one_by_one(const Queue& queue, const kube::Resources& capacity,
                                              std::vector<const Workload*> waiting) {
  Usage::ByUser users;
  std::vector<const Workload*> served;
  while (!waiting.empty()) {
    const auto key = [&](const Workload& one) {
      const auto share = queue.fair_users ? dominant_share(users[one.user], capacity) : Fraction();
      return std::tuple(-one.priority, share.to_double(), one.queued_since, one.name);
    };
    const auto next =
        std::min_element(waiting.begin(), waiting.end(),
                         [&](const Workload* a, const Workload* b) { return key(*a) < key(*b); });
    users[(*next)->user] += (*next)->requests;
    served.push_back(*next);
    waiting.erase(next);
  }
  return served;
}

TEST_CASE("users are served as if all were compared in each step", "[queue][line][property]") {
  const auto seed = GENERATE(range(1U, 200U));
  INFO("seed " << seed);
  std::mt19937 rng(seed);
  Queue queue = a_queue("q");
  queue.fair_users = below(rng, 4) > 0;
  const kube::Resources capacity{{testing::kGpu, 64}};
  std::vector<Workload> all;
  const unsigned users = 1 + below(rng, 12);
  for (unsigned i = 0; i < 40; ++i) {
    all.push_back(by_user(queued("q", "job-" + std::to_string(i), 1 + below(rng, 4), below(rng, 20),
                                 static_cast<int>(below(rng, 2))),
                          "user-" + std::to_string(below(rng, users))));
  }
  std::vector<const Workload*> waiting;
  for (const Workload& one : all) waiting.push_back(&one);
  CHECK(serving_order(Line(queue, capacity, {}, waiting)) ==
        serve_one_by_one(queue, capacity, waiting));
}

TEST_CASE("a coarse position is the largest step that was reached", "[queue][line]") {
  const std::pair<std::size_t, int> rows[] = {{1, 1},   {2, 2},   {3, 3},     {4, 3},     {5, 5},
                                              {9, 5},   {10, 10}, {19, 10},   {20, 20},   {49, 20},
                                              {50, 50}, {99, 50}, {100, 100}, {5000, 100}};
  for (const auto& [position, coarse] : rows) {
    INFO(position);
    CHECK(coarse_position(position) == coarse);
  }
}

}  // namespace
}  // namespace nervex::queue
