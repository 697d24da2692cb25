#include "server/decide/grow.h"

#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>
#include <functional>
#include <set>

#include "server/decide/shrink.h"
#include "tests/server/builders.h"
#include "tests/support/gang_builders.h"

namespace nervex::server {
namespace {

using job::Role;
using testing::an_entry;
using Entries = std::vector<job::RequestEntry>;

AddRequest one_collector() {
  AddRequest request{"rl", "dqn-coordinator", {}, {}};
  request.collectors.replicas = 1;
  return request;
}

gang::GangStatus placed_gang(const job::RequestEntry& entry) {
  gang::GangStatus gang;
  gang.name = "request-" + std::to_string(entry.id);
  gang.planned = gang.committed = true;
  for (const auto& slot : entry.slots) {
    for (const auto& pod : job::replica_pods({entry.role, slot, &entry})) {
      gang.placements.push_back({std::string(to_string(pod.role)),
                                 {pod.slot.ordinal, pod.slot.incarnation},
                                 "n1",
                                 kPlacement});
    }
  }
  return gang;
}

std::vector<PodPtr> pods_of_entry(const job::Job& job, const job::RequestEntry& entry) {
  std::vector<PodPtr> pods;
  for (const auto& slot : entry.slots) {
    for (const auto& pod : job::replica_pods({entry.role, slot, &entry})) {
      pods.push_back(shared_pod(job, pod.role, pod.slot));
    }
  }
  return pods;
}

// A job with these requests, all of them placed, with their pods.
struct Placed {
  explicit Placed(Entries entries) : job(running_job()), group(make_pod_group(job)) {
    for (const auto& entry : entries) {
      group.status.gangs.push_back(placed_gang(entry));
      for (auto& pod : pods_of_entry(job, entry)) pods.push_back(std::move(pod));
    }
    job.spec.requests.entries = std::move(entries);
  }
  Entries merged() const {
    job::Requests requests = job.spec.requests;
    merge_placed({job, pods, &group}, requests);
    return requests.entries;
  }
  job::Job job;
  gang::PodGroup group;
  std::vector<PodPtr> pods;
};

Entries two_collectors() {
  return {an_entry(3, Role::kCollector, 2), an_entry(7, Role::kCollector, 1, 4098)};
}

}  // namespace

TEST_CASE("entries of equal kind become the oldest one when they are placed", "[server][merge]") {
  Entries entries = two_collectors();
  entries.push_back(an_entry(8, Role::kLearner, 1));
  entries.push_back(testing::multi_gpu_entry(9, {4100}, {8, 2}));
  entries.push_back(an_entry(10, Role::kCollector, 1, 4099));
  entries.push_back(testing::multi_gpu_entry(11, {4102}, {8, 2}));
  CHECK(Placed(entries).merged() == Entries{an_entry(3, Role::kCollector, 4),
                                            an_entry(8, Role::kLearner, 1),
                                            testing::multi_gpu_entry(9, {4100, 4102}, {8, 2})});
}

TEST_CASE("merged entries keep the earliest time", "[server][merge]") {
  Entries entries = two_collectors();
  entries[0].requested_at = kPostTime;
  SECTION("of a later entry") {
    entries[1].requested_at = kPostTime - std::chrono::seconds(1);
    CHECK(Placed(entries).merged().at(0).requested_at == entries[1].requested_at);
  }
  SECTION("of the oldest entry") {
    entries[1].requested_at = kPostTime + std::chrono::seconds(1);
    CHECK(Placed(entries).merged().at(0).requested_at == kPostTime);
  }
  SECTION("which counts as the job's if one is unknown") {
    CHECK_FALSE(Placed(entries).merged().at(0).requested_at);
  }
}

TEST_CASE("entries that differ or still wait are not merged", "[server][merge]") {
  struct Row {
    std::string when;
    std::function<void(Placed&)> change;
    std::size_t want;  // entries
  };
  const auto entry = [](Placed& placed) -> job::RequestEntry& {
    return placed.job.spec.requests.entries[1];
  };
  const auto gang = [](Placed& placed) -> gang::GangStatus& {
    return placed.group.status.gangs[1];
  };
  const auto row = GENERATE_COPY(values<Row>({
      {"all is alike and placed", [](Placed&) {}, 1},
      {"the role differs", [=](Placed& p) { entry(p).role = Role::kLearner; }, 2},
      {"the CPUs differ", [=](Placed& p) { entry(p).cpus = "2"; }, 2},
      {"the GPUs differ", [=](Placed& p) { entry(p).gpus = "1"; }, 2},
      {"the memory differs", [=](Placed& p) { entry(p).memory = "1Gi"; }, 2},
      {"the split differs",
       [=](Placed& p) {
         entry(p).gpu_split = {8, 8};
       },
       2},
      {"a pod was not created yet, and may be refused", [](Placed& p) { p.pods.pop_back(); }, 2},
      {"a pod is being deleted",
       [](Placed& p) {
         kube::Pod pod = *p.pods.back();
         pod.meta.deleting = true;
         p.pods.back() = share(std::move(pod));
       },
       2},
      {"a pod is of a place that its slot had before",
       [=](Placed& p) { ++gang(p).placements[0].number; }, 2},
      {"a gang was taken back",
       [](Placed& p) {
         p.job.status.requeued_gangs = {{"request-3", 1, {}}};
       },
       2},
      {"one learner of a gang was taken back",
       [](Placed& p) {
         p.job.status.requeued_gangs = {{"request-9", 1, {}, 4100}};
       },
       1},
      {"the gang is not committed", [=](Placed& p) { gang(p).committed = false; }, 2},
      {"a slot of the gang has no place", [=](Placed& p) { gang(p).planned = false; }, 2},
      {"the gang was not looked at yet", [](Placed& p) { p.group.status.gangs.pop_back(); }, 2},
      {"the oldest one waits", [](Placed& p) { p.group.status.gangs[0].committed = false; }, 2},
      {"a client had one replaced since", [=](Placed& p) { entry(p).slots[0].incarnation = 1; }, 2},
      {"the controller replaced one since",
       [](Placed& p) {
         p.job.status.replaced = {{Role::kCollector, {4098, 1}}};
       },
       2},
      {"one has ended and its placement was removed",
       [=](Placed& p) {
         gang(p).placements.clear();
         p.job.status.ended = {{Role::kCollector, {4098, 0}, true}};
         p.pods.pop_back();
       },
       1},
      {"the controller has moved the slots to the first gang",
       [=](Placed& p) {
         p.group.status.gangs[0].placements.push_back(gang(p).placements[0]);
         p.group.status.gangs.pop_back();
       },
       1},
      {"the PodGroup is of another attempt", [](Placed& p) { p.group.spec.attempt = 2; }, 2},
  }));
  INFO("when " << row.when);
  Placed placed(two_collectors());
  row.change(placed);
  CHECK(placed.merged().size() == row.want);
}

TEST_CASE("merging changes no slot", "[server][merge]") {
  Entries entries;
  for (int i = 0; i < 300; ++i) {
    entries.push_back(
        an_entry(i + 1, i % 3 == 0 ? Role::kLearner : Role::kCollector, 1 + i % 2, 4096 + 2 * i));
  }
  Placed placed(entries);
  const auto slots = [](const job::Job& job) {
    std::vector<std::pair<Role, job::Slot>> all;
    for (const Role role : {Role::kCollector, Role::kLearner}) {
      for (const auto& replica : job::wanted_replicas(job, role))
        all.emplace_back(role, replica.slot);
    }
    return all;
  };
  const auto before = slots(placed.job);
  placed.job.spec.requests.entries = placed.merged();
  CHECK(placed.job.spec.requests.entries.size() == 2);
  CHECK(slots(placed.job) == before);
}

TEST_CASE("entries are merged by the POST that finds many of them", "[server][merge]") {
  Entries entries;
  for (int i = 0; i < static_cast<int>(kMergeAbove); ++i) {
    entries.push_back(an_entry(i + 1, Role::kCollector, 1, 4096 + i));
  }
  const bool is_many = GENERATE(false, true);
  if (!is_many) entries.pop_back();
  Placed placed(entries);
  const auto growth = grow(placed.job, placed.pods, one_collector(), kPostTime, {}, &placed.group);
  REQUIRE(growth);
  CHECK(growth->requests.entries.size() == (is_many ? 2 : kMergeAbove));
  CHECK(growth->requests.next_id == static_cast<std::int64_t>(entries.size()) + 2);
}

TEST_CASE("a client that requests one replica at a time is never refused", "[server][merge]") {
  constexpr std::size_t kAlive = kMaxEntriesPerJob + 100;
  job::Job job = running_job();
  gang::PodGroup group = make_pod_group(job);
  std::vector<PodPtr> pods;
  std::set<std::string> names;
  for (int post = 0; post < 2'500; ++post) {
    INFO("POST " << post);
    const auto growth = grow(job, pods, one_collector(), kPostTime, {}, &group);
    REQUIRE(growth);
    job.spec.requests = growth->requests;
    names.insert(growth->answer.collectors.at(0));
    const auto& entry = job.spec.requests.entries.back();
    group.status.gangs.push_back(placed_gang(entry));
    for (auto& pod : pods_of_entry(job, entry)) pods.push_back(std::move(pod));
    if (names.size() > kAlive) {
      job.spec.requests = shrink({job, {}, &group}, {"rl", "dqn-coordinator", 1, 0}).requests;
    }
  }
  CHECK(names.size() == 2'500);
  CHECK(job::wanted_replicas(job, Role::kCollector).size() == kAlive);
  CHECK(job.spec.requests.entries.size() <= kMergeAbove + 1);
}

TEST_CASE("too many waiting requests are told to retry, too many kinds are refused",
          "[server][merge]") {
  const bool all_differ = GENERATE(false, true);
  INFO("each asks for something else: " << all_differ);
  job::Job job = running_job();
  for (int i = 0; i < kMaxEntriesPerJob; ++i) {
    auto entry = an_entry(i + 1, Role::kCollector, 1, 4096 + i);
    if (all_differ) entry.cpus = std::to_string(i + 1);
    job.spec.requests.entries.push_back(entry);
  }
  const gang::PodGroup group = make_pod_group(job);  // nothing is placed
  const auto growth = grow(job, {}, one_collector(), kPostTime, {}, &group);
  REQUIRE_FALSE(growth);
  CHECK(growth.error().code == (all_differ ? Code::kConflict : Code::kTransient));
  CHECK(growth.error().message.find("at most 1000 ") != std::string::npos);
}

TEST_CASE("a job and its PodGroup at all limits at once can be stored", "[server][merge]") {
  constexpr std::size_t kEtcd = 1'500'000;
  job::Requests requests;
  gang::PodGroup group;
  std::vector<testing::Member> members;
  int left = job::kMaxPodsPerJob;
  for (int i = 0; i < kMaxEntriesPerJob; ++i) {
    const int count = i == 0 ? left - kMaxEntriesPerJob + 1 : 1;
    auto entry = an_entry(100'000 + i, Role::kCollector, count, 60'000 - left);
    entry.cpus = "1500m";
    entry.gpus = "1";
    entry.memory = "12345Mi";
    left -= count;
    auto set = testing::in_request(testing::a_set("collector", 0, {}), entry.id);
    for (const auto& slot : entry.slots) set.slots.push_back({slot.ordinal, slot.incarnation});
    set.shape.requests = {
        {"cpu", 1'500}, {"memory", 12'345'678}, {"nvidia.com/gpu", 1}, {"pods", 1}};
    set = testing::selecting(set, "example.com/pool", "collectors-on-large-nodes");
    members.push_back(std::move(set));
    gang::GangStatus gang = placed_gang(entry);
    gang.reason = gang::kReasonPlanned;
    gang.message = "all 1 pods are placed on 1 nodes";
    group.status.gangs.push_back(gang);
    requests.entries.push_back(std::move(entry));
  }
  group.spec.gangs = testing::make_gangs(members);
  requests.calls.resize(384);
  for (auto& call : requests.calls) {
    call.method = "POST failed";
    call.body_hash.assign(64, 'f');
    call.source = "fd00::10:244:17:200";
    call.writer = "nervex-server-6b7f9c5d8-x2b7k-1234567890abcdef";
    call.replicas.resize(10);
  }
  CHECK(kube::to_text(job::encode_requests(requests)).size() < kEtcd / 2);
  const auto spec = kube::to_text(gang::encode_spec(group.spec)).size();
  const auto status = kube::to_text(gang::encode_status(group.status)).size();
  INFO("spec " << spec << ", status " << status);
  CHECK(spec + status < kEtcd);
}

}  // namespace nervex::server
