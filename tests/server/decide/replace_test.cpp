#include "server/decide/replace.h"

#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators_all.hpp>
#include <functional>

#include "tests/server/builders.h"

namespace nervex::server {
namespace {

using job::Role;
using job::Slot;
using testing::an_entry;
using testing::multi_gpu_entry;

using Names = std::vector<std::string>;

// Collectors 0, 1 of the base replicas and 4096, 4097; learner 4096 plain; learner 4097 with GPUs 8
// + 2.
job::Job mixed_job() {
  job::Job job = running_job(2, 0);
  job.spec.requests.entries = {an_entry(1, Role::kCollector, 2), an_entry(2, Role::kLearner, 1),
                               multi_gpu_entry(3, {4097}, {8, 2})};
  job.spec.requests.next_collector = 4100;  // 4098 and 4099 were removed
  job.spec.requests.next_learner = 4099;
  job.spec.requests.next_id = 4;
  return job;
}

std::string name(Role role, Slot slot) { return job::pod_name(mixed_job(), role, slot); }
std::string url(Role role, Slot slot) {
  return replica_address(mixed_job(), role, name(role, slot), 22272);
}

ReplaceRequest failed(Names collectors, Names learners) {
  return {"rl", "dqn-coordinator", std::move(collectors), std::move(learners)};
}

}  // namespace

TEST_CASE("a name is answered with its current replacement", "[server][replace]") {
  struct Row {
    std::string when;
    Names collectors, learners;
    Names want_collectors, want_learners;
    bool changes;
  };
  const auto row = GENERATE(values<Row>({
      {"nothing is named", {}, {}, {}, {}, false},
      {"a requested collector",
       {name(Role::kCollector, {4097, 0})},
       {},
       {url(Role::kCollector, {4097, 1})},
       {},
       true},
      {"one by its address",
       {url(Role::kCollector, {4097, 0})},
       {},
       {url(Role::kCollector, {4097, 1})},
       {},
       true},
      {"a base replica",
       {name(Role::kCollector, {1, 0})},
       {},
       {url(Role::kCollector, {1, 1})},
       {},
       true},
      {"one by name, by address and again",
       {name(Role::kCollector, {4097, 0}), url(Role::kCollector, {4097, 0}),
        name(Role::kCollector, {4097, 0})},
       {},
       {url(Role::kCollector, {4097, 1})},
       {},
       true},
      {"a collector among the learners",
       {},
       {name(Role::kCollector, {4096, 0})},
       {url(Role::kCollector, {4096, 1})},
       {},
       true},
      {"a learner among the collectors",
       {name(Role::kLearner, {4096, 0})},
       {},
       {},
       {url(Role::kLearner, {4096, 1})},
       true},
      {"a multi-GPU learner's aggregator",
       {},
       {name(Role::kAggregator, {4097, 0})},
       {},
       {url(Role::kAggregator, {4097, 1})},
       true},
      {"all pods of a multi-GPU learner",
       {},
       {name(Role::kDdpLearner, {4098, 0}), name(Role::kDdpLearner, {4097, 0}),
        name(Role::kAggregator, {4097, 0})},
       {},
       {url(Role::kAggregator, {4097, 1})},
       true},
      {"a replica that was removed", {name(Role::kCollector, {4099, 0})}, {}, {}, {}, false},
      {"the coordinator and the job's aggregator",
       {"dqn-coordinator"},
       {"dqn-aggregator"},
       {},
       {},
       false},
  }));
  INFO("when " << row.when);
  const job::Job job = mixed_job();
  const auto change = replace({job}, failed(row.collectors, row.learners));
  REQUIRE(change);
  CHECK(change->answer == Listing{"rl", "dqn-coordinator", row.want_collectors, row.want_learners});
  CHECK(change->changes == row.changes);
}

TEST_CASE("a replaced multi-GPU learner is named at its aggregator's port", "[server][replace]") {
  const job::Job job = mixed_job();
  const auto change = replace({.job = job, .aggregator_port = 80},
                              failed({}, {name(Role::kAggregator, {4097, 0})}));
  REQUIRE(change);
  CHECK(change->answer.learners == std::vector{name(Role::kAggregator, {4097, 1}) + ".rl:80"});
}

TEST_CASE("a replacement is written to the entry or base record of the replica",
          "[server][replace]") {
  const job::Job job = mixed_job();
  const auto change =
      replace({job}, failed({name(Role::kCollector, {4097, 0}), name(Role::kCollector, {0, 0})},
                            {name(Role::kDdpLearner, {4098, 0})}));
  REQUIRE(change);
  job::Requests want = job.spec.requests;
  want.entries[0].slots[1].incarnation = 1;
  want.entries[2].slots[0].incarnation = 1;
  want.base = {{1, Role::kCollector, {0, 1}, false}};
  CHECK(change->requests == want);
}

TEST_CASE("asking again changes nothing and gives the same answer", "[server][replace]") {
  job::Job job = mixed_job();
  const auto request = failed({name(Role::kCollector, {4096, 0}), name(Role::kCollector, {1, 0})},
                              {name(Role::kAggregator, {4097, 0})});
  const auto first = replace({job}, request);
  REQUIRE(first);
  job.spec.requests = first->requests;
  const auto second = replace({job}, request);
  REQUIRE(second);
  CHECK_FALSE(second->changes);
  CHECK(second->answer == first->answer);
}

TEST_CASE("a replica that the controller replaced is not replaced again", "[server][replace]") {
  job::Job job = mixed_job();
  job.status.replaced = {{Role::kCollector, {4096, 2}}};
  const auto superseded = replace({job}, failed({name(Role::kCollector, {4096, 1})}, {}));
  REQUIRE(superseded);
  CHECK_FALSE(superseded->changes);
  CHECK(superseded->answer.collectors == Names{url(Role::kCollector, {4096, 2})});

  const auto current = replace({job}, failed({name(Role::kCollector, {4096, 2})}, {}));
  REQUIRE(current);
  CHECK(current->answer.collectors == Names{url(Role::kCollector, {4096, 3})});
}

TEST_CASE("a replica under a new ordinal is found by each of its names", "[server][replace]") {
  job::Job job = mixed_job();
  job.status.replaced = {{Role::kCollector, {4096, 220}}};
  job.status.continued = {{Role::kCollector, {4096, 218}, 61'440, 1}};
  job.status.next_continued_collector = 61'441;
  const auto named = [&](int incarnation) {
    return job::pod_name(job, Role::kCollector, {4096, incarnation});
  };
  const auto address = [&](int incarnation) {
    return replica_address(job, Role::kCollector, named(incarnation), 22272);
  };
  for (const int superseded : {0, 217, 219}) {
    INFO("incarnation " << superseded);
    const auto change = replace({job}, failed({named(superseded)}, {}));
    REQUIRE(change);
    CHECK_FALSE(change->changes);
    CHECK(change->answer.collectors == Names{address(220)});
  }
  const auto current = replace({job}, failed({named(220)}, {}));
  REQUIRE(current);
  CHECK(current->answer.collectors == Names{address(221)});
  CHECK(job::Job(job).spec.requests.next_collector == current->requests.next_collector);
  job.spec.requests = current->requests;
  CHECK(job::wanted_replicas(job, Role::kCollector)[2].slot == Slot{4096, 221});

  // Of an ended attempt: known, without a successor.
  job.status.continued.clear();
  const auto old = "dqn-collector-" + job::name_suffix(job.meta.uid, Role::kCollector, {61'440, 2});
  const auto gone = replace({job}, failed({old}, {}));
  REQUIRE(gone);
  CHECK_FALSE(gone->changes);
}

TEST_CASE("a replica named by an old and by its present name is replaced", "[server][replace]") {
  job::Job job = mixed_job();
  job.status.replaced = {{Role::kCollector, {4096, 1}}, {Role::kLearner, {4097, 1}}};
  const auto change = replace(
      {job}, failed({name(Role::kCollector, {4096, 0}), name(Role::kCollector, {4096, 1})},
                    {name(Role::kDdpLearner, {4098, 0}), name(Role::kAggregator, {4097, 1})}));
  REQUIRE(change);
  CHECK(change->answer.collectors == Names{url(Role::kCollector, {4096, 2})});
  CHECK(change->answer.learners == Names{url(Role::kAggregator, {4097, 2})});
}

TEST_CASE("only names that never belonged to the job are not found", "[server][replace]") {
  struct Row {
    std::string when;
    std::string name;
    bool found;
    bool worth_a_look = false;  // at the API server
  };
  job::Job namesake = mixed_job();
  namesake.meta.uid = "uid-other";
  const auto row = GENERATE_COPY(values<Row>({
      {"it is no name", "???", false},
      {"it climbs in the API's paths", "../pods", false},
      {"it is of another job", "other-collector-bcdfg", false},
      {"it is of a job of that name that was deleted",
       job::pod_name(namesake, Role::kCollector, {4096, 0}), false, true},
      {"its address is in another namespace", name(Role::kCollector, {4096, 0}) + ".prod:80",
       false},
      {"its incarnation is yet to come", name(Role::kCollector, {4096, 1}), false, true},
      {"its ordinal is yet to come", name(Role::kCollector, {4100, 0}), false, true},
      {"the base replicas never reached it", name(Role::kCollector, {2, 0}), false, true},
      {"it was a base replica and removed", name(Role::kCollector, {5, 0}), true},
      {"it was a base replica before they were lowered", name(Role::kCollector, {6, 0}), true},
      {"it was removed", name(Role::kCollector, {4098, 3}), true},
      {"the counts were lost, but its pod is there", name(Role::kCollector, {4096, 4}), true},
  }));
  INFO("when " << row.when);
  job::Job job = mixed_job();
  job.spec.requests.base = {{1, Role::kCollector, {5, 0}, true}};
  job.status.replaced = {{Role::kCollector, {6, 1}}};
  const std::vector<PodPtr> pods = {shared_pod(job, Role::kCollector, {4096, 4})};
  const auto request = failed({name(Role::kCollector, {4097, 0}), row.name}, {});
  const auto change = replace({job, pods}, request);
  CHECK(change.has_value() == row.found);
  if (!row.found) CHECK(change.error().code == Code::kNotFound);
  CHECK(unknown_pods({job, pods}, request) == (row.worth_a_look ? Names{row.name} : Names{}));
}

TEST_CASE("a replica whose incarnations are used up goes on under another ordinal",
          "[server][replace]") {
  struct Row {
    std::string when;
    Role role;
    Slot slot;
    std::string want;
    int next_collector, next_learner;
  };
  const auto row = GENERATE(values<Row>({
      {"it was requested",
       Role::kCollector,
       {4096, 217},
       url(Role::kCollector, {4100, 0}),
       4101,
       4099},
      {"it is a base replica",
       Role::kCollector,
       {1, 217},
       url(Role::kCollector, {4100, 0}),
       4101,
       4099},
      {"it has several GPUs",
       Role::kAggregator,
       {4097, 217},
       url(Role::kAggregator, {4099, 0}),
       4100,
       4101},
  }));
  INFO("when " << row.when);
  job::Job job = mixed_job();
  job.spec.requests.entries[0].slots[0].incarnation = 217;
  job.spec.requests.entries[2].slots[0].incarnation = 217;
  job.spec.requests.base = {{1, Role::kCollector, {1, 217}, false}};
  const auto before = job::wanted_replicas(job, Role::kCollector).size();
  for (int time = 0; time < 2; ++time) {  // asked again, the same successor answers
    const auto change = replace({job}, failed({name(row.role, row.slot)}, {}));
    REQUIRE(change);
    CHECK(change->changes == (time == 0));
    Names named = change->answer.collectors;
    named.insert(named.end(), change->answer.learners.begin(), change->answer.learners.end());
    CHECK(named == Names{row.want});
    job.spec.requests = change->requests;
  }
  CHECK(job.spec.requests.next_collector == row.next_collector);
  CHECK(job.spec.requests.next_learner == row.next_learner);
  CHECK(job::wanted_replicas(job, Role::kCollector).size() == before);
}

TEST_CASE("without an ordinal left even that ends", "[server][replace]") {
  job::Job job = mixed_job();
  job.spec.requests.next_collector = job::kFirstContinuedOrdinal;
  job.spec.requests.entries[0].slots[0].incarnation = 217;
  const auto change = replace({job}, failed({name(Role::kCollector, {4096, 217})}, {}));
  REQUIRE_FALSE(change);
  CHECK(change.error().code == Code::kConflict);
}

}  // namespace nervex::server
