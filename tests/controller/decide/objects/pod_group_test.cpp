#include "controller/decide/objects/pod_group.h"
#include "controller/decide/make_round.h"

#include <algorithm>

#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>

#include "tests/support/job_builders.h"

namespace nervex::controller {
namespace {

using job::Role;
using testing::a_job;
using testing::a_template;
using testing::an_entry;

job::PodContext a_context(bool has_aggregator = false) {
  return {.server_url = "server:8080",
          .server_token = false,
          .has_aggregator = has_aggregator,
          .aggregator_template = has_aggregator ? a_template() : Json()};
}

using Names = std::vector<std::string>;
using Slots = std::vector<gang::SlotId>;

// A job and its PodGroup, which follows.
struct Followed {
  explicit Followed(job::Job followed_job, job::PodContext with = a_context())
      : job(std::move(followed_job)), context(std::move(with)) {
    if (job.status.attempt == 0) job.status.attempt = 1;
    Attempt none;
    none.has_aggregator = context.has_aggregator;
    const Observed seen = observed();
    const Round round = make_round(seen, none);
    group = *gang::decode_pod_group(pod_group_manifest(round, desired_spec(round, context)));
  }
  job::Job job;
  job::PodContext context;
  gang::PodGroup group;
  std::vector<AttemptPod> pods;
  SysTime now{};

  Observed observed() const {
    Observed seen;
    seen.job = job;
    seen.now = now;
    return seen;
  }

  // True if the PodGroup had to be changed; then it is as it should be, or that shows.
  bool follow() {
    Attempt attempt;
    attempt.group = &group;
    attempt.pods = pods;
    attempt.has_aggregator = context.has_aggregator;
    const Observed seen = observed();
    const Round round = make_round(seen, attempt);
    gang::PodGroupSpec spec = desired_spec(round, context);
    if (spec == group.spec) return false;
    group.spec = std::move(spec);
    CHECK(desired_spec(round, context) == group.spec);
    return true;
  }
  void commit() {
    gang::GangStatus base;
    base.name = gang::kBaseGang;
    base.planned = base.committed = true;
    group.status.gangs = {base};
  }
  Names sets() const {
    Names names;
    for (const auto& set : gang::all_sets(group.spec.gangs)) names.push_back(set.name);
    return names;
  }
  const gang::MemberSet& set(std::string_view name) const {
    for (const auto& set : gang::all_sets(group.spec.gangs)) {
      if (set.name == name) return set;
    }
    throw std::logic_error("no set " + std::string(name));
  }
  // The gang of that set.
  const gang::Gang& gang(std::string_view name) const {
    for (const auto& gang : group.spec.gangs) {
      for (const auto& set : gang.members) {
        if (set.name == name) return gang;
      }
    }
    throw std::logic_error("no set " + std::string(name));
  }
};

TEST_CASE("the PodGroup follows how long the job may keep its nodes", "[controller][pod-group]") {
  Followed one(a_job(1, 0));
  CHECK_FALSE(one.group.spec.active_deadline_seconds);
  CHECK(one.group.spec.grace_seconds == 30);
  one.job.spec.active_deadline_seconds = 60;
  one.job.spec.preemptible = true;
  CHECK(one.follow());
  CHECK(one.group.spec.active_deadline_seconds == 60);
  CHECK(one.group.spec.preemptible);
  one.job.spec.clean_pod_policy = job::CleanPodPolicy::kNone;
  CHECK(one.follow());
  CHECK_FALSE(one.group.spec.grace_seconds);
}

TEST_CASE("sets of an earlier version get the topology spread of their templates",
          "[controller][pod-group][spread]") {
  job::Job job = a_job(2, 0);
  Json pods = job.spec.collector->pod_template.get();
  pods["spec"]["topologySpreadConstraints"] =
      Json::array({{{"maxSkew", 1}, {"topologyKey", "zone"}, {"labelSelector", Json::object()}}});
  job.spec.collector->pod_template = pods;
  Followed one(job);
  const gang::PodShape shape = one.set("collector").shape;
  REQUIRE(shape.spread.size() == 1);
  CHECK(shape.requests.get(shape.spread[0].pods.counter) == 1);
  for (gang::MemberSet& set : gang::all_sets(one.group.spec.gangs)) {
    set.shape.spread = {};
    set.shape.requests.set(shape.spread[0].pods.counter, 0);
  }
  CHECK_FALSE(one.follow());  // an older CustomResourceDefinition would drop it again
  one.job.spec.preemptible = true;
  CHECK(one.follow());
  CHECK(one.set("collector").shape == shape);
}

TEST_CASE("a gang that has started stays preemptible and keeps the longest grace period",
          "[controller][pod-group]") {
  job::Job job = a_job(1, 0);
  job.spec.preemptible = true;
  const bool has_started = GENERATE(false, true);
  INFO("it has started: " << has_started);
  Followed one(job);
  one.group.spec.grace_seconds = 90;
  if (has_started) one.commit();
  one.job.spec.preemptible = false;
  CHECK(one.follow() == !has_started);
  CHECK(one.group.spec.preemptible == has_started);
  CHECK(one.group.spec.grace_seconds == (has_started ? 90 : 30));
}

TEST_CASE("limits that an older CustomResourceDefinition drops are not written again and again",
          "[controller][pod-group]") {
  job::Job job = a_job(1, 0);
  job.spec.active_deadline_seconds = 60;
  Followed one(job);
  one.group.spec.active_deadline_seconds.reset();
  one.group.spec.grace_seconds.reset();
  CHECK_FALSE(one.follow());
  one.job.spec.queue = "vision";
  CHECK(one.follow());
  CHECK(one.group.spec.active_deadline_seconds == 60);
  CHECK(one.group.spec.grace_seconds == 30);
}

TEST_CASE("the PodGroup says how long the job was active before its attempt",
          "[controller][pod-group]") {
  job::Job job = a_job(1, 0);
  job.status.active_seconds = 40;
  Followed one(job);
  CHECK(one.group.spec.active_seconds == 40);
  CHECK_FALSE(one.group.spec.active_deadline_seconds);
  // An older CustomResourceDefinition drops this field and keeps graceSeconds.
  one.group.spec.active_seconds = 0;
  CHECK_FALSE(one.follow());
  one.job.spec.queue = "vision";
  CHECK(one.follow());
  CHECK(one.group.spec.active_seconds == 40);
}

TEST_CASE("a job's base gang is its coordinator, aggregator and base replicas",
          "[controller][desired_pod_group]") {
  struct Row {
    std::string when;
    job::Job job;
    bool has_aggregator;
    Names want;
  };
  const auto row = GENERATE(values<Row>({
      {"it is serial", a_job(), false, {"coordinator"}},
      {"base replicas are zero", a_job(0, 0), false, {"coordinator"}},
      {"it has everything",
       a_job(2, 1),
       true,
       {"coordinator", "aggregator", "collector", "learner"}},
  }));
  INFO("when " << row.when);
  const Followed followed(row.job, a_context(row.has_aggregator));
  CHECK(followed.sets() == row.want);
  REQUIRE(followed.group.spec.gangs.size() == 1);
  CHECK(followed.group.spec.gangs[0].name == "base");
  CHECK(followed.group.spec.gangs[0].kind == gang::GangKind::kBase);
}

TEST_CASE("a PodGroup contains everything the extender needs to plan it",
          "[controller][desired_pod_group]") {
  job::Job job = a_job(2, 1);
  job.status.attempt = 3;
  job.status.queued_since = *parse_rfc3339("2026-11-21T10:00:00.250Z");
  job.spec.learner->pod_template["spec"]["nodeSelector"]["zone"] = "a";
  const gang::PodGroup group = Followed(job).group;
  CHECK(group.meta.name == "dqn-3");
  CHECK(group.meta.owner->uid == "uid-dqn");
  CHECK(group.spec.attempt == 3);
  CHECK(group.spec.queued_since == *job.status.queued_since);
  const gang::MemberSet& learner = group.spec.gangs.at(0).members.at(2);
  CHECK(learner.slots == Slots{{0, 0}});
  CHECK(learner.shape.requests ==
        kube::Resources{{"cpu", 1000}, {"nvidia.com/gpu", 1}, {"pods", 1}});
  CHECK(learner.shape.constraints.unpack().node_selector == Json{{"zone", "a"}});
  for (const gang::MemberSet& set : gang::all_sets(group.spec.gangs)) {
    CHECK(set.bind_last == (set.role == "coordinator"));
    CHECK(set.heals_alone == (set.role == "aggregator"));
  }
}

TEST_CASE("a PodGroup says which queue the job names and who submitted the job",
          "[controller][desired_pod_group]") {
  Followed followed(a_job());
  CHECK(followed.group.spec.queue.empty());
  CHECK(followed.group.spec.user.empty());
  followed.job.spec.queue = "vision";
  followed.job.meta.annotations["nervex.sensetime.com/submitted-by"] = "alice";
  CHECK(followed.follow());
  CHECK(followed.group.spec.queue == "vision");
  CHECK(followed.group.spec.user == "alice");
  CHECK_FALSE(followed.follow());

  followed.job.meta.annotations["nervex.sensetime.com/submitted-by"] =
      "system:serviceaccount:team-a:ci-7";
  followed.follow();
  CHECK(followed.group.spec.user == "system:serviceaccount:team-a:*");
  followed.job.meta.annotations["nervex.sensetime.com/submitted-by"] = std::string(1025, 'a');
  followed.follow();
  CHECK(followed.group.spec.user == std::string(1024, 'a'));
}

TEST_CASE("pod-level resources are planned", "[controller][desired_pod_group]") {
  job::Job job = a_job(0, 1);
  Json& spec = job.spec.learner->pod_template["spec"];
  spec["containers"][0].erase("resources");
  spec["resources"] = {{"requests", {{"cpu", "3"}}}};
  const gang::PodGroup group = Followed(job).group;
  const gang::MemberSet* learner = gang::find_set(group.spec, "learner");
  REQUIRE(learner != nullptr);
  CHECK(learner->shape.requests == kube::Resources{{"cpu", 3000}, {"pods", 1}});
}

TEST_CASE("a set's host ports are those that its pods will take",
          "[controller][desired_pod_group]") {
  job::Job job = a_job(2, 1);
  Json& learner = job.spec.learner->pod_template["spec"];
  learner["containers"][0]["ports"] = {{{"containerPort", 9000}, {"hostPort", 9000}}};
  // The main port is declared by the controller, and made a host port by the API server.
  job.spec.collector->pod_template["spec"]["hostNetwork"] = true;
  const gang::PodGroup group = Followed(job).group;
  const auto ports = [&](std::size_t set) {
    return gang::encode_spec(group.spec)["gangs"][0]["members"][set].value("hostPorts", Json());
  };
  CHECK(ports(0).is_null());
  CHECK(ports(1) == Json{"TCP/22270"});
  CHECK(ports(2) == Json{"TCP/9000"});
}

TEST_CASE("a set has the anti-affinity of its pods", "[controller][desired_pod_group]") {
  job::Job job = a_job(2, 1);
  const auto apart_from = [](const Json& labels) -> Json {
    return {{"podAntiAffinity",
             {{"requiredDuringSchedulingIgnoredDuringExecution",
               Json::array({{{"labelSelector", {{"matchLabels", labels}}},
                             {"topologyKey", "kubernetes.io/hostname"}}})}}}};
  };
  job.spec.collector->pod_template["spec"]["affinity"] =
      apart_from({{std::string(job::kJobLabel), job.meta.name}});  // that the controller gives it
  job.spec.learner->pod_template["spec"]["affinity"] = apart_from({{"app", "other"}});
  const gang::PodGroup group = Followed(job).group;
  const Json members = gang::encode_spec(group.spec)["gangs"][0]["members"];
  REQUIRE(members[1].contains("podAntiAffinity"));
  CHECK(members[1]["podAntiAffinity"].size() == 1);
  CHECK_FALSE(members[2].contains("podAntiAffinity"));
}

TEST_CASE("a set names the claims of its pods, the job's own included",
          "[controller][desired_pod_group]") {
  job::Job job = a_job(1, 0);
  const auto claim = [](const std::string& name) -> Json {
    return {{"name", name}, {"persistentVolumeClaim", {{"claimName", name}}}};
  };
  job.spec.volumes = Json::array({claim("shared")});
  job.spec.collector->pod_template["spec"]["volumes"] = Json::array({claim("data")});
  const gang::PodGroup group = Followed(job).group;
  CHECK(group.spec.gangs[0].members[0].shape.claims == std::vector<std::string>{"shared"});
  CHECK(group.spec.gangs[0].members[1].shape.claims == std::vector<std::string>{"data", "shared"});
}

TEST_CASE("each request of the attempt is a gang of its own", "[controller][desired_pod_group]") {
  Followed followed(a_job(0, 0));
  auto& entries = followed.job.spec.requests.entries;
  entries = {an_entry(3, Role::kLearner, 1), an_entry(12, Role::kCollector, 2)};
  entries[0].gpus = "4";
  SECTION("in the order they were asked for") {
    CHECK(followed.follow());
    CHECK(followed.sets() == Names{"coordinator", "request-3-learner", "request-12-collector"});
    CHECK(followed.set("request-12-collector").slots == Slots{{4096, 0}, {4097, 0}});
    CHECK(followed.gang("request-3-learner").name == "request-3");
    CHECK(followed.gang("request-3-learner").kind == gang::GangKind::kRequest);
    CHECK(followed.gang("request-3-learner").request_id == 3);
    CHECK(followed.set("request-3-learner").shape.requests.get("nvidia.com/gpu") == 4);
    CHECK_FALSE(followed.follow());
  }
  SECTION("queued since they were asked for") {
    entries[0].requested_at = SysTime(std::chrono::seconds(60));
    followed.follow();
    CHECK(followed.gang("request-3-learner").queued_since == entries[0].requested_at);
    CHECK_FALSE(followed.gang("request-12-collector").queued_since);
    CHECK_FALSE(followed.gang("coordinator").queued_since);
    SECTION("a user edits the times") {
      auto& gangs = followed.group.spec.gangs;
      const auto before = gangs;
      for (auto& gang : gangs) gang.queued_since = SysTime(std::chrono::seconds(30));
      CHECK(followed.follow());
      CHECK(followed.group.spec.gangs == before);
    }
  }
  SECTION("requests of another attempt count as absent") {
    entries[0].attempt = 2;
    followed.follow();
    CHECK(followed.sets() == Names{"coordinator", "request-12-collector"});
  }
  SECTION("requests without a template are ignored") {
    followed.job.spec.learner.reset();
    followed.follow();
    CHECK(followed.sets() == Names{"coordinator", "request-12-collector"});
  }
}

job::RequestEntry a_multi_gpu_entry(std::int64_t id, int learners) {
  job::RequestEntry entry = an_entry(id, Role::kLearner, 0);
  entry.gpus = "10";
  entry.gpu_split = {8, 2};
  for (int i = 0; i < learners; ++i) entry.slots.push_back({4096 + 2 * i, 0});
  return entry;
}

TEST_CASE("a multi-GPU learner is an aggregator and a set per item of its split, in one gang",
          "[controller][desired_pod_group]") {
  Followed followed(a_job(0, 0), a_context(true));
  followed.job.spec.requests.entries = {a_multi_gpu_entry(5, 2)};
  CHECK(followed.follow());
  CHECK(followed.sets() == Names{"coordinator", "aggregator", "request-5-aggregator",
                                 "request-5-ddp-learner-0", "request-5-ddp-learner-1"});
  CHECK(followed.set("request-5-aggregator").slots == Slots{{4096, 0}, {4098, 0}});
  CHECK(followed.set("request-5-ddp-learner-0").slots == Slots{{4096, 0}, {4098, 0}});
  CHECK(followed.set("request-5-ddp-learner-1").slots == Slots{{4097, 0}, {4099, 0}});
  CHECK(followed.set("request-5-ddp-learner-0").shape.requests.get("nvidia.com/gpu") == 8);
  CHECK(followed.set("request-5-ddp-learner-1").shape.requests.get("nvidia.com/gpu") == 2);
  for (const char* set : {"request-5-aggregator", "request-5-ddp-learner-1"}) {
    CHECK(followed.gang(set).name == "request-5");
  }
  CHECK(followed.set("request-5-ddp-learner-1").part == 1);
  SECTION("a multi-GPU learner is replaced as a whole") {
    followed.job.status.replaced = {{Role::kLearner, {4098, 1}}};
    CHECK(followed.follow());
    CHECK(followed.set("request-5-aggregator").slots == Slots{{4096, 0}, {4098, 1}});
    CHECK(followed.set("request-5-ddp-learner-1").slots == Slots{{4097, 0}, {4099, 1}});
  }
  SECTION("it waits for the template of its aggregator") {
    Followed waiting(a_job(0, 0));
    waiting.job.spec.requests.entries = {a_multi_gpu_entry(5, 1)};
    CHECK_FALSE(waiting.follow());
  }
}

TEST_CASE("the sets follow what is wanted", "[controller][desired_pod_group]") {
  Followed followed(a_job(2, 1), a_context(true));
  followed.job.spec.requests.entries = {an_entry(3, Role::kCollector, 2)};
  followed.follow();
  followed.commit();
  auto& requests = followed.job.spec.requests;
  const std::string requested = "request-3-collector";
  SECTION("a request that shrinks") {
    requests.entries[0].slots.pop_back();
    CHECK(followed.follow());
    CHECK(followed.set(requested).slots == Slots{{4096, 0}});
  }
  SECTION("a request that is empty, or gone, takes its set along") {
    if (GENERATE(true, false)) {
      requests.entries[0].slots.clear();
    } else {
      requests.entries.clear();
    }
    CHECK(followed.follow());
    CHECK(followed.sets() == Names{"coordinator", "aggregator", "collector", "learner"});
  }
  SECTION("a slot with another incarnation") {
    requests.entries[0].slots[1].incarnation = 2;
    requests.base = {{1, Role::kCollector, {0, 1}, false}};
    CHECK(followed.follow());
    CHECK(followed.set(requested).slots == Slots{{4096, 0}, {4097, 2}});
    CHECK(followed.set("collector").slots == Slots{{0, 1}, {1, 0}});
  }
  SECTION("a base replica that a client removed") {
    requests.base = {{1, Role::kCollector, {0, 0}, true}};
    CHECK(followed.follow());
    CHECK(followed.set("collector").slots == Slots{{1, 0}});
  }
  SECTION("base replicas that are lowered") {
    followed.job.spec.collector->replicas = 1;
    CHECK(followed.follow());
    CHECK(followed.set("collector").slots == Slots{{0, 0}});
  }
  SECTION("the aggregator is healed in its place") {
    followed.job.status.replaced = {{Role::kAggregator, {0, 1}}};
    CHECK(followed.follow());
    CHECK(followed.set("aggregator").slots == Slots{{0, 1}});
  }
  SECTION("merged entries leave every slot in the gang of its placement") {
    requests.entries.push_back(an_entry(4, Role::kCollector, 1, 4098));
    followed.follow();
    requests.entries.pop_back();
    requests.entries[0].slots.push_back({4098, 0});
    CHECK_FALSE(followed.follow());
    CHECK(followed.set("request-4-collector").slots == Slots{{4098, 0}});
  }
  SECTION("requests and constraints of an existing set never change") {
    followed.job.spec.collector->pod_template["spec"]["nodeSelector"]["zone"] = "b";
    requests.entries[0].cpus = "7";
    CHECK_FALSE(followed.follow());
  }
}

// Of what the sets of the gang name now.
gang::GangStatus make_gang_status(const Followed& followed, const std::string& gang) {
  gang::GangStatus status;
  status.name = gang;
  status.planned = status.committed = true;
  for (const auto& set : gang::find_gang(followed.group.spec, gang)->members) {
    for (const auto slot : set.slots) status.placements.push_back({set.role, slot, "n1", 1});
  }
  return status;
}

void placement(Followed& followed, const std::vector<std::string>& gangs) {
  followed.commit();
  for (const auto& gang : gangs) {
    followed.group.status.gangs.push_back(make_gang_status(followed, gang));
  }
  followed.pods.clear();  // each slot has its pod
  for (const auto& set : gang::all_sets(followed.group.spec.gangs)) {
    for (const auto slot : set.slots) {
      followed.pods.push_back({.role = *job::parse_role(set.role), .slot = job_slot(slot)});
    }
  }
}

// What nervex-server does (server/decide/grow.h).
void merge_entries(job::Requests& requests) {
  auto& entries = requests.entries;
  for (std::size_t i = 1; i < entries.size(); ++i) {
    for (const auto slot : entries[i].slots) entries[0].slots.push_back(slot);
  }
  entries.resize(1);
}

TEST_CASE("gangs whose requests were merged become one when they are placed",
          "[controller][desired_pod_group]") {
  Followed followed(a_job(0, 0));
  auto& requests = followed.job.spec.requests;
  requests.entries = {an_entry(3, Role::kCollector, 2), an_entry(4, Role::kCollector, 1, 4098),
                      an_entry(5, Role::kCollector, 1, 4099)};
  followed.follow();
  placement(followed, {"request-3", "request-4", "request-5"});
  auto& gangs = followed.group.status.gangs;
  SECTION("all of them") {
    merge_entries(requests);
    CHECK(followed.follow());
    CHECK(followed.sets() == Names{"coordinator", "request-3-collector"});
    CHECK(followed.set("request-3-collector").slots ==
          Slots{{4096, 0}, {4097, 0}, {4098, 0}, {4099, 0}});
    CHECK_FALSE(followed.follow());
    SECTION("and later ones, when the planner has followed") {
      requests.entries.push_back(an_entry(6, Role::kCollector, 1, 4100));
      CHECK(followed.follow());
      gangs.push_back(make_gang_status(followed, "request-6"));
      merge_entries(requests);
      CHECK_FALSE(followed.follow());  // of two gangs one is not whole
      placement(followed, {"request-3", "request-6"});
      CHECK(followed.follow());
      CHECK(followed.set("request-3-collector").slots.size() == 5);
    }
  }
  SECTION("with the request that comes next, in one write") {
    merge_entries(requests);
    requests.entries.push_back(an_entry(6, Role::kCollector, 1, 4100));
    CHECK(followed.follow());
    CHECK(followed.sets() == Names{"coordinator", "request-3-collector", "request-6-collector"});
  }
  SECTION("but for one that is not committed") {
    gangs[2].committed = false;
    merge_entries(requests);
    CHECK(followed.follow());
    CHECK(followed.sets() == Names{"coordinator", "request-3-collector", "request-4-collector"});
    CHECK(followed.set("request-4-collector").slots == Slots{{4098, 0}});
  }
  SECTION("but for one with a pod that was not created yet") {
    std::erase_if(followed.pods, [](const auto& pod) { return pod.slot.ordinal == 4098; });
    merge_entries(requests);
    followed.follow();
    CHECK(followed.set("request-4-collector").slots == Slots{{4098, 0}});
  }
  SECTION("but for one that has lost a place") {
    gangs[2].planned = false;
    gangs[2].placements.clear();
    merge_entries(requests);
    followed.follow();
    CHECK(followed.set("request-4-collector").slots == Slots{{4098, 0}});
  }
  SECTION("but for one with a slot that is replaced in the same write") {
    merge_entries(requests);
    requests.entries[0].slots[2].incarnation = 1;
    followed.follow();
    CHECK(followed.set("request-4-collector").slots == Slots{{4098, 1}});
    CHECK(followed.set("request-3-collector").slots.size() == 3);
  }
  SECTION("into another one if the oldest waits") {
    gangs[1].planned = false;
    gangs[1].placements.pop_back();
    merge_entries(requests);
    followed.follow();
    CHECK(followed.sets() == Names{"coordinator", "request-3-collector", "request-4-collector"});
    CHECK(followed.set("request-4-collector").slots == Slots{{4098, 0}, {4099, 0}});
  }
  SECTION("with the time of the oldest") {
    requests.entries[0].requested_at = SysTime(std::chrono::seconds(60));
    requests.entries[1].requested_at = SysTime(std::chrono::seconds(70));
    gangs[1].planned = false;
    followed.follow();
    merge_entries(requests);
    followed.follow();
    CHECK(followed.gang("request-3-collector").queued_since == SysTime(std::chrono::seconds(60)));
    CHECK(followed.gang("request-4-collector").queued_since == SysTime(std::chrono::seconds(70)));
  }
  SECTION("those of equal shape: the template has changed since the oldest one") {
    for (auto& gang : followed.group.spec.gangs) {
      if (gang.name == "request-3") gang.members[0].shape.requests = {{"cpu", 7}};
    }
    merge_entries(requests);
    followed.follow();
    CHECK(followed.sets() == Names{"coordinator", "request-3-collector", "request-4-collector"});
    CHECK(followed.set("request-3-collector").shape.requests == kube::Resources{{"cpu", 7}});
    CHECK(followed.set("request-4-collector").slots == Slots{{4098, 0}, {4099, 0}});
  }
  SECTION("none whose requests are two still") { CHECK_FALSE(followed.follow()); }
  SECTION("none while the requests are lost") {
    requests.entries.clear();
    followed.job.status.next_collector = 4100;
    followed.follow();
    CHECK(followed.sets().size() == 4);
  }
}

TEST_CASE("a merged multi-GPU learner moves with all of its pods",
          "[controller][desired_pod_group]") {
  Followed followed(a_job(0, 0), a_context(true));
  auto& requests = followed.job.spec.requests;
  requests.entries = {a_multi_gpu_entry(5, 1), a_multi_gpu_entry(6, 1)};
  requests.entries[1].slots = {{4098, 0}};
  followed.follow();
  placement(followed, {"request-5", "request-6"});
  merge_entries(requests);
  const bool is_whole = GENERATE(true, false);
  INFO("each of its pods has a place: " << is_whole);
  if (!is_whole) followed.group.status.gangs[2].placements.pop_back();
  CHECK(followed.follow() == is_whole);
  CHECK(followed.sets().size() == (is_whole ? 5 : 8));
  if (!is_whole) return;
  CHECK(followed.set("request-5-aggregator").slots == Slots{{4096, 0}, {4098, 0}});
  CHECK(followed.set("request-5-ddp-learner-1").slots == Slots{{4097, 0}, {4099, 0}});
}

TEST_CASE("base replicas that are raised", "[controller][desired_pod_group]") {
  Followed followed(a_job(2, 1));
  auto& replicas = followed.job.spec.collector->replicas;
  SECTION("belongs to the base gang as long as that may still be planned again") {
    replicas = 4;
    CHECK(followed.follow());
    CHECK(followed.set("collector").slots.size() == 4);
  }
  SECTION("is a gang of its own beside one that is committed") {
    followed.commit();
    replicas = 4;
    followed.job.spec.learner->replicas = 2;
    CHECK(followed.follow());
    CHECK(followed.set("collector").slots.size() == 2);
    CHECK(followed.set("base-collector-2").slots == Slots{{2, 0}, {3, 0}});
    CHECK(followed.gang("base-collector-2").kind == gang::GangKind::kAddedReplicas);
    CHECK(followed.gang("base-collector-2").first_ordinal == 2);
    CHECK(followed.set("base-learner-1").slots == Slots{{1, 0}});
    SECTION("each time") {
      replicas = 5;
      CHECK(followed.follow());
      CHECK(followed.set("base-collector-2").slots.size() == 2);
      CHECK(followed.set("base-collector-4").slots == Slots{{4, 0}});
    }
    SECTION("and is removed when it is lowered again") {
      replicas = 2;
      followed.job.spec.learner->replicas = 1;
      CHECK(followed.follow());
      CHECK(followed.sets() == Names{"coordinator", "collector", "learner"});
    }
  }
  SECTION("which was lowered before: another incarnation") {
    followed.commit();
    replicas = 1;
    followed.follow();
    replicas = 2;
    followed.job.status.replaced = {{Role::kCollector, {1, 1}}};
    CHECK(followed.follow());
    CHECK(followed.set("collector").slots == Slots{{0, 0}});
    CHECK(followed.set("base-collector-1").slots == Slots{{1, 1}});
  }
}

TEST_CASE("base replicas that are added wait since then, not since the creation of their job",
          "[controller][desired_pod_group]") {
  using std::chrono::hours;
  Followed followed(a_job(2, 0));
  followed.commit();
  auto& replicas = followed.job.spec.collector->replicas;
  const SysTime added = followed.now + hours(55);
  followed.now = added;
  replicas = 4;
  REQUIRE(followed.follow());
  CHECK(followed.gang("base-collector-2").queued_since == added);
  CHECK_FALSE(followed.gang("collector").queued_since);
  SECTION("each gang since its own time") {
    followed.now += hours(1);
    CHECK_FALSE(followed.follow());
    replicas = 5;
    CHECK(followed.follow());
    CHECK(followed.gang("base-collector-2").queued_since == added);
    CHECK(followed.gang("base-collector-4").queued_since == followed.now);
  }
  SECTION("also when they were requeued, and the PodGroup did not have them meanwhile") {
    followed.job.status.phase = job::Phase::kRunning;
    followed.now += hours(1);
    auto& requeued = followed.job.status.requeued_gangs;
    requeued = {{"base-collector-2",
                 1,
                 followed.now + std::chrono::seconds(10),
                 std::nullopt,
                 {{Role::kCollector, 2, added}},
                 "Preempted"}};
    CHECK(followed.follow());
    REQUIRE(followed.sets() == Names{"coordinator", "collector"});
    followed.now += hours(1);
    CHECK(followed.follow());
    CHECK(followed.gang("base-collector-2").queued_since == added);
  }
}

TEST_CASE("a gang of added replicas that the spec lost gets its name again",
          "[controller][desired_pod_group]") {
  Followed followed(a_job(2, 0));
  followed.follow();
  followed.commit();
  followed.job.spec.collector->replicas = 4;
  REQUIRE(followed.follow());
  REQUIRE(followed.group.spec.gangs.size() == 2);
  // Its first replica has ended, and the slot is gone.
  followed.group.status.gangs = {make_gang_status(followed, "base"),
                                 make_gang_status(followed, "base-collector-2")};
  auto& placements = followed.group.status.gangs[1].placements;
  placements.erase(placements.begin());
  followed.job.status.ended = {{Role::kCollector, {2, 0}, true}};
  followed.group.spec.gangs.pop_back();
  CHECK(followed.follow());
  REQUIRE(followed.group.spec.gangs.size() == 2);
  CHECK(followed.group.spec.gangs[1].name == "base-collector-2");
  CHECK(followed.group.spec.gangs[1].first_ordinal == 2);
}

TEST_CASE("a PodGroup that a user edited is corrected", "[controller][desired_pod_group]") {
  Followed followed(a_job(2, 1));
  followed.job.spec.requests.entries = {an_entry(3, Role::kCollector, 2)};
  followed.follow();
  followed.commit();
  followed.group.status.gangs[0] = make_gang_status(followed, "base");
  const gang::PodGroupSpec before = followed.group.spec;
  auto& spec = followed.group.spec;
  SECTION("priority, queue, user, place in the queue, attempt, timeout") {
    spec.priority = 1000;
    spec.queue = "vision";
    spec.user = "alice";
    spec.queued_since = SysTime{};
    spec.attempt = 7;
    spec.schedule_timeout_seconds = 3;
  }
  auto& base = spec.gangs[0].members;
  SECTION("slots added and taken away") { base[1].slots = {{0, 0}, {7, 0}}; }
  SECTION("another incarnation") { base[1].slots[0].incarnation = 5; }
  SECTION("a gang taken away") { spec.gangs.pop_back(); }
  SECTION("a set of the base gang taken away") { base.erase(base.begin() + 2); }
  SECTION("unknown sets") {
    base.push_back(base[1]);
    base.push_back(base[1]);
    base.back().name = "mine";
  }
  SECTION("a set in another gang") {
    spec.gangs[1].members.push_back(base[1]);
    base.erase(base.begin() + 1);
  }
  SECTION("the role of a set") { base[1].role = "learner"; }
  SECTION("an unknown gang") { spec.gangs[1].name = "mine"; }
  SECTION("the kind of a gang") { spec.gangs[1].kind = gang::GangKind::kAddedReplicas; }
  SECTION("the request of a gang") { spec.gangs[1].request_id = 4; }
  CHECK(followed.follow());
  const auto by_name = [](const auto& a, const auto& b) { return a.name < b.name; };
  for (auto& gang : spec.gangs) std::sort(gang.members.begin(), gang.members.end(), by_name);
  auto want = before;
  for (auto& gang : want.gangs) std::sort(gang.members.begin(), gang.members.end(), by_name);
  CHECK(spec == want);
}

TEST_CASE("a worker that has ended releases its capacity when its pod is deleted",
          "[controller][desired_pod_group]") {
  Followed followed(a_job(2, 1));
  followed.commit();
  followed.job.status.ended = {{Role::kCollector, {0, 0}, true}, {Role::kCollector, {1, 0}, false}};
  SECTION("one pod is kept for its logs") {
    followed.pods.push_back({nullptr, Role::kCollector, {1, 0}, 2, job::PodState::kFailed});
    CHECK(followed.follow());
    CHECK(followed.set("collector").slots == Slots{{1, 0}});
    CHECK_FALSE(followed.follow());
  }
  SECTION("both pods are gone") {
    CHECK(followed.follow());
    CHECK(followed.sets() == Names{"coordinator", "learner"});
    SECTION("and a client asks for another in the place of one") {
      followed.job.spec.requests.base = {{1, Role::kCollector, {1, 1}, false}};
      CHECK(followed.follow());
      CHECK(followed.set("base-collector-1").slots == Slots{{1, 1}});
    }
  }
  SECTION("no pod has ended") {
    followed.job.status.ended.clear();
    CHECK_FALSE(followed.follow());
  }
}

TEST_CASE("a worker that has ended and is reported failed grows: its gang does not heal for it",
          "[controller][desired_pod_group]") {
  Followed followed(a_job(2, 1));
  followed.follow();
  followed.commit();
  followed.job.status.ended = {{Role::kCollector, {1, 0}, false}};
  followed.pods.push_back({nullptr, Role::kCollector, {1, 0}, 2, job::PodState::kFailed});
  followed.job.spec.requests.base = {{1, Role::kCollector, {1, 1}, false}};
  CHECK(followed.follow());
  CHECK(followed.set("collector").slots == Slots{{0, 0}, {1, 1}});
  CHECK(followed.set("collector").growing == std::vector{1});
  SECTION("the next one is lost") {
    followed.job.status.replaced = {{Role::kCollector, {1, 2}}};
    CHECK(followed.follow());
    CHECK(followed.set("collector").slots == Slots{{0, 0}, {1, 2}});
    CHECK(followed.set("collector").growing.empty());
  }
  SECTION("an older CustomResourceDefinition drops the field: it is not written again and again") {
    for (gang::MemberSet& set : gang::all_sets(followed.group.spec.gangs)) set.growing.clear();
    CHECK_FALSE(followed.follow());
  }
}

TEST_CASE("all pods of a multi-GPU learner grow if one of them had ended",
          "[controller][desired_pod_group]") {
  Followed followed(a_job(0, 0), a_context(true));
  followed.job.spec.requests.entries = {a_multi_gpu_entry(5, 1)};
  followed.follow();
  followed.job.status.ended = {{Role::kDdpLearner, {4097, 0}, false}};
  followed.pods = {{nullptr, Role::kAggregator, {4096, 0}, 1, job::PodState::kRunning},
                   {nullptr, Role::kDdpLearner, {4097, 0}, 3, job::PodState::kFailed}};
  followed.job.status.replaced = {{Role::kLearner, {4096, 1}}};
  CHECK(followed.follow());
  CHECK(followed.set("request-5-aggregator").growing == std::vector{4096});
  CHECK(followed.set("request-5-ddp-learner-1").growing == std::vector{4097});
}

TEST_CASE("a multi-GPU learner is finished as a whole when one of its pods has ended",
          "[controller][desired_pod_group]") {
  Followed followed(a_job(0, 0), a_context(true));
  followed.job.spec.requests.entries = {a_multi_gpu_entry(5, 1)};
  followed.follow();
  followed.job.status.ended = {{Role::kDdpLearner, {4097, 0}, false}};
  followed.pods = {{nullptr, Role::kAggregator, {4096, 0}, 1, job::PodState::kRunning},
                   {nullptr, Role::kDdpLearner, {4097, 0}, 3, job::PodState::kFailed}};
  CHECK(followed.follow());  // its first pod is gone, and stays so
  CHECK(followed.sets() ==
        Names{"coordinator", "aggregator", "request-5-aggregator", "request-5-ddp-learner-1"});
}

TEST_CASE("an evicted pod of a finished multi-GPU learner has no slot",
          "[controller][desired_pod_group]") {
  Followed followed(a_job(0, 0), a_context(true));
  followed.job.spec.requests.entries = {a_multi_gpu_entry(5, 1)};
  followed.follow();
  followed.job.status.ended = {{Role::kDdpLearner, {4097, 0}, true}};
  const auto evicted = std::make_shared<kube::Pod>();
  evicted->phase = kube::PodPhase::kFailed;
  evicted->reason = "Evicted";
  followed.pods = {{nullptr, Role::kAggregator, {4096, 0}, 1, job::PodState::kRunning},
                   {evicted.get(), Role::kDdpLearner, {4096, 0}, 2, job::PodState::kFailed},
                   {nullptr, Role::kDdpLearner, {4097, 0}, 3, job::PodState::kSucceeded}};
  CHECK(followed.follow());
  CHECK(followed.sets() ==
        Names{"coordinator", "aggregator", "request-5-aggregator", "request-5-ddp-learner-1"});
}

TEST_CASE("while requests are lost nothing is removed", "[controller][desired_pod_group]") {
  Followed followed(a_job(1, 0));
  followed.job.spec.requests.entries = {an_entry(3, Role::kCollector, 2)};
  followed.job.spec.requests.next_collector = 4098;
  followed.job.spec.requests.base = {{1, Role::kCollector, {0, 1}, false}};
  followed.follow();
  followed.job.status.next_collector = 4098;
  const auto before = followed.group.spec;
  followed.job.spec.requests = {};
  CHECK_FALSE(followed.follow());
  CHECK(followed.group.spec == before);
}

TEST_CASE("whether a job gets an aggregator", "[controller][desired_pod_group]") {
  struct Row {
    std::string aggregator;
    bool config_exists;
    bool want;
    bool waits;
  };
  const auto row = GENERATE(values<Row>({{"", true, true, false},
                                         {"", false, false, false},
                                         {"PerJob", true, true, false},
                                         {"PerJob", false, false, true},
                                         {"OnDemand", true, false, false},
                                         {"OnDemand", false, false, false}}));
  INFO("aggregator " << row.aggregator << ", config " << row.config_exists);
  job::Spec spec;
  spec.aggregator = row.aggregator;
  CHECK(wants_aggregator(spec, row.config_exists) == row.want);
  CHECK(waits_for_aggregator(spec, row.config_exists) == row.waits);
}

}  // namespace
}  // namespace nervex::controller
