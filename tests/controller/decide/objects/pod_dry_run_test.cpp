#include "controller/decide/objects/pod_dry_run.h"
#include "controller/decide/make_round.h"
#include "controller/decide/reasons.h"
#include "controller/decide/round/condition.h"

#include <algorithm>

#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators_all.hpp>

#include "controller/decide/attempt/transition.h"
#include "tests/controller/world.h"
#include "tests/support/job_builders.h"

namespace nervex::controller {
namespace {

using job::Role;
using testing::a_job;
using testing::World;

constexpr std::string_view kNoAccount =
    "error looking up service account rl/trainer: serviceaccount \"trainer\" not found";

// One collector and one learner that do not fit.
World a_waiting_world() {
  World world(a_job(1, 1));
  REQUIRE(world.settle() >= 0);
  world.refuse("learner: 1 does not fit");
  REQUIRE(world.settle() >= 0);
  return world;
}

const job::Condition* refused(const World& world) {
  return find_condition(world.seen.job.status, kPodsRefused);
}

bool is_refused(const World& world) { return is_true(world.seen.job.status, kPodsRefused); }

void let_pass(World& world, std::chrono::seconds time) {
  world.seen.now += time;
  REQUIRE(world.settle() >= 0);
}

}  // namespace

TEST_CASE("pods of a waiting gang are tried in a dry run, once", "[controller][dry-run]") {
  World world = a_waiting_world();
  CHECK(world.dry_runs == 1);
  let_pass(world, std::chrono::hours(1));  // no answer yet: nothing waits for it
  CHECK(world.dry_runs == 1);
  world.answer_dry_run({});
  let_pass(world, std::chrono::hours(1));
  CHECK(world.dry_runs == 1);
  CHECK(refused(world) == nullptr);
  CHECK(world.seen.job.status.reason == gang::kReasonUnschedulable);
}

TEST_CASE("only gangs that the planner could not place get a dry run", "[controller][dry-run]") {
  World world(a_job(1, 1));
  const std::string when = GENERATE("not planned yet", "planned", "suspended");
  INFO("when it is " << when);
  REQUIRE(world.settle() >= 0);
  if (when == "planned") world.make_gang();
  if (when == "suspended") {
    world.seen.job.spec.suspend = true;
    ++world.seen.job.meta.generation;
    world.refuse("nothing fits");
  }
  REQUIRE(world.settle() >= 0);
  CHECK(world.dry_runs == 0);
  CHECK(pods_to_dry_run(make_round(world.seen)).empty());
}

TEST_CASE("one pod of each role with base replicas is tried, without a node",
          "[controller][dry-run]") {
  World world(a_job(3, 0));
  world.add_aggregator_config();
  REQUIRE(world.settle() >= 0);
  world.refuse("nothing fits");
  REQUIRE(world.settle() >= 0);
  std::vector<Role> roles;
  for (const auto& [role, manifest] : pods_to_dry_run(make_round(world.seen))) {
    roles.push_back(role);
    CHECK(kube::string_at(manifest, {"metadata", "name"}) == world.name(role));
    CHECK(kube::string_at(manifest, {"spec", "schedulerName"}) == "nervex-scheduler");
    CHECK(kube::find(manifest, {"spec", "affinity"}) == nullptr);
    CHECK(kube::find(manifest, {"spec", "nodeName"}) == nullptr);
  }
  CHECK(roles == std::vector<Role>{Role::kCoordinator, Role::kAggregator, Role::kCollector});
}

TEST_CASE("a changed spec or AggregatorConfig, and a new attempt, cause a new dry run",
          "[controller][dry-run]") {
  World world = a_waiting_world();
  world.answer_dry_run({});
  const std::string what = GENERATE("spec", "config", "attempt");
  INFO("changed: " << what);
  if (what == "spec") ++world.seen.job.meta.generation;
  if (what == "config") {  // the job is planned again, with an aggregator
    world.add_aggregator_config();
    REQUIRE(world.settle() >= 0);
    world.refuse("nothing fits");
  }
  if (what == "attempt") {
    world.seen.job.spec.suspend = true;
    ++world.seen.job.meta.generation;
    REQUIRE(world.settle() >= 0);
    CHECK(world.dry_runs == 1);
    world.seen.job.spec.suspend = false;
    REQUIRE(world.settle() >= 0);
    world.refuse("nothing fits");
  }
  REQUIRE(world.settle() >= 0);
  CHECK(world.dry_runs == 2);
}

TEST_CASE("a refused dry run shows on the job until it is fixed", "[controller][dry-run]") {
  World world = a_waiting_world();
  world.answer_dry_run({{Role::kLearner, std::string(kNoAccount)}});
  REQUIRE(world.settle() >= 0);
  REQUIRE(refused(world) != nullptr);
  CHECK(is_refused(world));
  CHECK(refused(world)->message ==
        "the API server would refuse the job's pods. spec.learner.template: " +
            std::string(kNoAccount));
  CHECK(world.seen.job.status.reason == kPodsRefused);
  CHECK(std::count(world.events.begin(), world.events.end(), kPodsRefused) == 1);
  CHECK_FALSE(is_true(world.seen.job.status, kScheduled));  // that it waits is as true as before
  const int writes = world.status_writes;

  let_pass(world, std::chrono::seconds(59));
  CHECK(world.dry_runs == 1);
  let_pass(world, std::chrono::seconds(1));
  CHECK(world.dry_runs == 2);
  CHECK(is_refused(world));  // until there is another answer
  world.answer_dry_run({}, true);
  let_pass(world, std::chrono::seconds(60));
  CHECK(world.dry_runs == 3);
  CHECK(is_refused(world));
  CHECK(world.status_writes == writes);

  world.answer_dry_run({});  // a user has created the account
  REQUIRE(world.settle() >= 0);
  CHECK_FALSE(is_refused(world));
  CHECK(refused(world)->reason == kPodsAccepted);
  CHECK(world.seen.job.status.reason == gang::kReasonUnschedulable);
  let_pass(world, std::chrono::hours(1));
  CHECK(world.dry_runs == 3);
}

// The refusal of an earlier attempt is not why this one waits. It stays in the status: the back-off
// and the deadlines depend on it.
TEST_CASE("a job that waits for capacity says so, also after earlier refusals",
          "[controller][dry-run]") {
  World world = a_waiting_world();
  world.change_group([&](gang::PodGroup& group) { group.meta.created = world.seen.now; });
  const auto refuse = [&](std::chrono::seconds later) {
    World at = world;
    at.seen.now += later;
    set_condition(at.seen, at.seen.job.status, kPodsCreated, false, kFailedCreate, "no account");
    at.seen.now += std::chrono::seconds(10);
    REQUIRE(at.settle() >= 0);
    CHECK(has_failed_creation(at.seen.job.status));
    return at.seen.job.status.reason;
  };
  CHECK(refuse(-std::chrono::seconds(5)) == gang::kReasonUnschedulable);
  CHECK(refuse(std::chrono::seconds(5)) == kFailedCreate);  // of this attempt: its PodGroup, say
}

TEST_CASE("a due dry run is requested in time", "[controller][dry-run]") {
  World world = a_waiting_world();
  world.answer_dry_run({{Role::kLearner, "no"}});
  REQUIRE(world.settle() >= 0);
  CHECK(time_until_dry_run(make_round(world.seen)) == std::chrono::seconds(60));
  CHECK(reconcile(world.seen).requeue_after == std::chrono::seconds(60));
}

TEST_CASE("a placed gang needs no dry run", "[controller][dry-run]") {
  World world = a_waiting_world();
  world.answer_dry_run({{Role::kLearner, std::string(kNoAccount)}});
  REQUIRE(world.settle() >= 0);
  world.replan("base");
  REQUIRE(world.settle() >= 0);
  CHECK_FALSE(is_refused(world));
  CHECK(world.seen.job.status.reason == kStarting);
}

TEST_CASE("roles that are refused in the same words are named together", "[controller][dry-run]") {
  World world = a_waiting_world();
  world.answer_dry_run({{Role::kCoordinator, "a"},
                        {Role::kAggregator, "b"},
                        {Role::kCollector, "a"},
                        {Role::kLearner, "c"}});
  world.seen.aggregator_config_name = "nervex-system/aggregator-config";
  REQUIRE(world.settle() >= 0);
  CHECK(refused(world)->message ==
        "the API server would refuse the job's pods. spec.coordinator.template, "
        "spec.collector.template: a; AggregatorConfig nervex-system/aggregator-config: b; "
        "spec.learner.template: c");
}

// As kube-apiserver v1.36.3 words them.
TEST_CASE("the answer to a dry run as a finding about the pod", "[controller][dry-run]") {
  enum class Says { kNothing, kUnknown, kRefused };
  struct Row {
    std::string when;
    Code code;
    std::string message;
    Says want;
    std::string words;
  };
  const std::string post = "POST /api/v1/namespaces/rl/pods: ";
  const std::string forbidden = post + "403 pods \"dqn-learner-x\" is forbidden: ";
  const auto row = GENERATE_COPY(values<Row>({
      {"there is no such ServiceAccount", Code::kForbidden, forbidden + std::string(kNoAccount),
       Says::kRefused, std::string(kNoAccount)},
      {"Pod Security", Code::kForbidden,
       forbidden + "violates PodSecurity \"restricted:latest\": runAsNonRoot != true",
       Says::kRefused, "violates PodSecurity \"restricted:latest\": runAsNonRoot != true"},
      {"a LimitRange", Code::kForbidden,
       forbidden + "maximum cpu usage per Container is 1, but limit is 2", Says::kRefused,
       "maximum cpu usage per Container is 1, but limit is 2"},
      {"a wrong field", Code::kInvalid,
       post + "422 Pod \"dqn-learner-x\" is invalid: spec.containers[0].image: Required value",
       Says::kRefused, "spec.containers[0].image: Required value"},
      {"a webhook denies it", Code::kForbidden,
       post + "403 admission webhook \"images.example.com\" denied the request: no registry",
       Says::kRefused, "admission webhook \"images.example.com\" denied the request: no registry"},
      {"a webhook that supports no dry run", Code::kInvalid,
       post + "400 admission webhook \"old.example.com\" does not support dry run", Says::kNothing,
       ""},
      {"a quota that is used up", Code::kForbidden,
       forbidden + "exceeded quota: team, requested: pods=1,requests.cpu=500m, used: "
                   "pods=3,requests.cpu=2, limited: pods=3,requests.cpu=2",
       Says::kNothing, ""},
      {"a quota that the pod is larger than", Code::kForbidden,
       forbidden + "exceeded quota: team, requested: pods=1,requests.memory=3Gi, used: "
                   "pods=3,requests.memory=0, limited: pods=3,requests.memory=2Gi",
       Says::kRefused,
       "exceeded quota: team, requested: pods=1,requests.memory=3Gi, used: "
       "pods=3,requests.memory=0, limited: pods=3,requests.memory=2Gi"},
      {"a quota wants what the pod lacks", Code::kForbidden,
       forbidden + "failed quota: team: must specify limits.cpu for: nervex-container",
       Says::kRefused, "failed quota: team: must specify limits.cpu for: nervex-container"},
      {"no answer", Code::kTransient, post + "timed out", Says::kUnknown, ""},
      {"a webhook does not answer", Code::kTransient,
       post + "500 Internal error occurred: failed calling webhook \"x\"", Says::kUnknown, ""},
      {"the controller may not create pods", Code::kUnauthorized,
       post + "403 pods is forbidden: User \"c\" cannot create resource", Says::kUnknown, ""},
      {"a pod of that name is there", Code::kConflict, post + "409 pods \"x\" already exists",
       Says::kUnknown, ""},
  }));
  INFO("when " << row.when);
  DryRunReport report;
  const Error error{row.code, row.message};
  add_dry_run_answer(Role::kLearner, &error, report);
  CHECK(report.is_incomplete == (row.want == Says::kUnknown));
  REQUIRE(report.refusals.size() == (row.want == Says::kRefused ? 1U : 0U));
  if (row.want != Says::kRefused) return;
  CHECK(report.refusals[0].role == Role::kLearner);
  CHECK(report.refusals[0].words == row.words);
}

TEST_CASE("an accepted dry run reports nothing", "[controller][dry-run]") {
  DryRunReport report;
  add_dry_run_answer(Role::kLearner, nullptr, report);
  CHECK(report == DryRunReport{});
}

// -- a job whose pods were refused

// It was refused for long enough that the back-off is 6 min.
World a_world_that_backs_off() {
  using namespace std::chrono_literals;
  World world(a_job(1, 0));
  world.seen.now = std::chrono::floor<std::chrono::seconds>(world.seen.now);
  REQUIRE(world.settle() >= 0);
  world.plan();
  const auto refuse = [&] {  // in the round that creates the pods
    const Round round = make_round(world.seen);
    const std::string message(kNoAccount);
    world.apply({write_transition(round, requeue_after_failed_creation(round, message)).front()});
    REQUIRE(world.settle() >= 0);
  };
  refuse();
  world.seen.now += 1h;
  REQUIRE(world.settle() >= 0);
  world.plan();
  refuse();
  REQUIRE(world.seen.job.status.next_attempt_time == world.seen.now + 6min);
  REQUIRE(world.seen.pod_groups.empty());
  world.dry_runs = 0;
  return world;
}

TEST_CASE("the back-off after a refusal ends when a dry run shows that the pods would be created",
          "[controller][dry-run]") {
  using namespace std::chrono_literals;
  World world = a_world_that_backs_off();
  CHECK(reconcile(world.seen).requeue_after == 1min);
  let_pass(world, 59s);
  CHECK(world.dry_runs == 0);
  let_pass(world, 1s);
  CHECK(world.dry_runs == 1);
  world.answer_dry_run({{Role::kCoordinator, std::string(kNoAccount)}});
  let_pass(world, 0s);
  CHECK(world.seen.pod_groups.empty());
  CHECK(reconcile(world.seen).requeue_after == 1min);
  let_pass(world, 1min);
  CHECK(world.dry_runs == 2);
  const bool is_known = GENERATE(true, false);
  world.answer_dry_run({}, !is_known);
  let_pass(world, 0s);
  CHECK((world.seen.pod_groups.size() == 1) == is_known);
  CHECK(world.seen.job.status.next_attempt_time.has_value() == !is_known);
}

// It says nothing of what the webhook does: the job would be made and refused each minute.
TEST_CASE("a webhook without dry-run support does not end the back-off after a refusal",
          "[controller][dry-run]") {
  using namespace std::chrono_literals;
  World world = a_world_that_backs_off();
  let_pass(world, 1min);
  REQUIRE(world.dry_runs == 1);
  DryRunReport& report = *world.seen.dry_run;
  const Error error{Code::kInvalid,
                    "POST /api/v1/namespaces/rl/pods: 400 admission webhook \"a.example.com\" does "
                    "not support dry run"};
  world.answer_dry_run({});
  add_dry_run_answer(Role::kCollector, &error, report);
  let_pass(world, 0s);
  CHECK(world.seen.pod_groups.empty());
  CHECK(world.seen.job.status.next_attempt_time.has_value());
  let_pass(world, 5min);
  CHECK(world.seen.pod_groups.size() == 1);
}

TEST_CASE("a job in back-off gets no dry run", "[controller][dry-run]") {
  using namespace std::chrono_literals;
  job::Job job = a_job(1, 0);
  job.spec.backoff_limit = 9;
  World world(std::move(job));
  world.start();
  world.seen.job.status.failed_attempts = 8;
  const bool was_request_refused = GENERATE(false, true);
  if (was_request_refused) {
    job::set_condition(world.seen.job.status, {std::string(kPodsCreated),
                                               false,
                                               "FailedCreate",
                                               "create pod: 403 no such account",
                                               {},
                                               1});
    world.seen.job.status.requeued_gangs = {{"request-1", 1, world.seen.now + 5min, {}}};
  }
  world.end("dqn-coordinator", false);
  REQUIRE(world.settle() >= 0);
  let_pass(world, 2min);
  CHECK(world.seen.pod_groups.empty());
  CHECK(world.dry_runs == 0);
  CHECK_FALSE(has_failed_creation(world.seen.job.status));
}

namespace {

// What the dry run made of the collector.
void answer_size(World& world, const kube::Resources& requests) {
  REQUIRE(world.seen.dry_run);
  world.answer_dry_run({});
  world.seen.dry_run->sizes = {{Role::kCollector, requests}};
  REQUIRE(world.settle() >= 0);
}

gang::AdmittedPod admitted(const World& world) {
  for (const auto& set : gang::all_sets(world.seen.pod_groups.back()->spec.gangs)) {
    if (set.name == "collector") return set.admitted;
  }
  return {};
}

}  // namespace

TEST_CASE("the pod size of a dry run reaches the planner, also when it changes back",
          "[controller][dry-run]") {
  World world = a_waiting_world();
  const kube::Resources large{{"cpu", 64'000}, {"pods", 1}};
  const kube::Resources small{{"pods", 1}};
  SECTION("the template's own size is not reported") {
    answer_size(world, small);
    CHECK(admitted(world) == gang::AdmittedPod{});
    let_pass(world, std::chrono::hours(1));
    CHECK(world.dry_runs == 1);
  }
  SECTION("a LimitRange comes and goes") {
    answer_size(world, large);
    CHECK(admitted(world) == gang::AdmittedPod{1, large});
    let_pass(world, std::chrono::seconds(60));  // asked again for as long as it is so
    CHECK(world.dry_runs == 2);
    answer_size(world, large);
    CHECK(admitted(world) == gang::AdmittedPod{1, large});
    let_pass(world, std::chrono::seconds(60));
    answer_size(world, small);
    CHECK(admitted(world) == gang::AdmittedPod{2, {}});
    let_pass(world, std::chrono::hours(1));
    CHECK(world.dry_runs == 3);
  }
  SECTION("pods were enlarged, and would not be any more") {
    world.change_group([&](gang::PodGroup& group) {
      group.status.enlarged = {{"collector", large, 1, {}, 0}};
    });
    answer_size(world, small);
    CHECK(admitted(world) == gang::AdmittedPod{1, {}});
  }
  SECTION("they are enlarged although the dry run says otherwise") {
    answer_size(world, large);
    answer_size(world, small);
    REQUIRE(admitted(world) == gang::AdmittedPod{2, {}});
    world.change_group([&](gang::PodGroup& group) {
      group.status.enlarged = {{"collector", large, 1, {}, 2}};
    });
    answer_size(world, small);
    CHECK(admitted(world) == gang::AdmittedPod{2, {}});
  }
}

TEST_CASE("a pod that admission leaves as it is has the size of its template",
          "[controller][dry-run]") {
  job::Job job = a_job(1, 1);
  Json pod_template = job.spec.collector->pod_template.get();
  Json& spec = pod_template["spec"];
  Json& main = spec["containers"][0];
  const std::string what = GENERATE("nothing", "ports", "sidecar", "limits", "pod", "apart");
  INFO("with " << what);
  main["resources"] = {{"requests", {{"cpu", "1500m"}, {"memory", "1Gi"}, {"nvidia.com/gpu", 1}}},
                       {"limits", {{"nvidia.com/gpu", 1}}}};
  if (what == "ports") {
    spec["hostNetwork"] = true;
    main["ports"] = {{{"name", "a"}, {"containerPort", 80}, {"hostPort", 80}}};
  }
  if (what == "sidecar") {
    spec["initContainers"] = {
        {{"name", "first"}, {"image", "i"}, {"resources", {{"requests", {{"cpu", 8}}}}}},
        {{"name", "side"},
         {"image", "i"},
         {"restartPolicy", "Always"},
         {"resources", {{"requests", {{"cpu", "0.1"}}}}}}};
    spec["overhead"] = {{"cpu", "250m"}};
  }
  if (what == "limits") main["resources"] = {{"limits", {{"cpu", 2}, {"memory", "1e9"}}}};
  if (what == "pod") spec["resources"] = {{"requests", {{"cpu", 4}}}};
  if (what == "apart") {
    spec["affinity"]["podAntiAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"] = {
        {{"topologyKey", "kubernetes.io/hostname"},
         {"labelSelector", {{"matchLabels", {{"replica-type", "collector"}}}}}}};
  }
  job.spec.collector->pod_template = pod_template;
  World world(std::move(job));
  REQUIRE(world.settle() >= 0);
  world.refuse("learner: 1 does not fit");
  REQUIRE(world.settle() >= 0);
  world.answer_dry_run({});
  for (const auto& [role, manifest] : pods_to_dry_run(make_round(world.seen))) {
    add_dry_run_size(role, kube::to_text(manifest), *world.seen.dry_run);
  }
  REQUIRE(world.seen.dry_run->sizes.size() == 3);
  REQUIRE(world.settle() >= 0);
  CHECK(admitted(world) == gang::AdmittedPod{});
}

// ---- the start check of the PodGroup

namespace {

using State = gang::StartCheck::State;

const gang::Gang& base_spec(const World& world) {
  return *gang::find_gang(world.seen.pod_groups.at(0)->spec, gang::kBaseGang);
}
const gang::StartCheck& start_check(const World& world) { return base_spec(world).start_check; }
int count_generations(const World& world) {
  return static_cast<int>(world.seen.pod_groups.at(0)->meta.generation);
}

}  // namespace

TEST_CASE("the PodGroup of a waiting job says that its check is pending, and then passed",
          "[controller][dry-run][start-check]") {
  World world = a_waiting_world();
  CHECK(start_check(world).state == State::kPending);
  const int before = count_generations(world);
  world.answer_dry_run({});
  let_pass(world, std::chrono::hours(1));
  CHECK(start_check(world).state == State::kPassed);
  CHECK(count_generations(world) <= before + 1);  // the only write of an honest job
}

TEST_CASE("the PodGroup names what would refuse the pods", "[controller][dry-run][start-check]") {
  struct Row {
    std::string words;
    std::string kind;
    std::string name;
  };
  const auto row = GENERATE(values<Row>({
      {std::string(kNoAccount), "ServiceAccount", "trainer"},
      {"exceeded quota: team, requested: cpu=2, used: cpu=0, limited: cpu=1", "ResourceQuota",
       "team"},
      {"insufficient quota to match these scopes: [{PriorityClass In [high]}]", "ResourceQuota",
       ""},
      {"admission webhook \"deny.example.com\" denied the request: no", "Webhook",
       "deny.example.com"},
      {"pod rejected: RuntimeClass \"gvisor\" not found", "RuntimeClass", "gvisor"},
      {"violates PodSecurity \"restricted:latest\": hostNetwork", "Pod", ""},
  }));
  INFO(row.words);
  World world = a_waiting_world();
  world.answer_dry_run({{Role::kLearner, row.words}});
  let_pass(world, std::chrono::seconds(1));
  REQUIRE(start_check(world).state == State::kBlocked);
  CHECK(start_check(world).blocker.kind == row.kind);
  CHECK(start_check(world).blocker.name == row.name);
  CHECK(start_check(world).blocker.message.find(row.words) != std::string::npos);
  SECTION("until the cause is over") {
    let_pass(world, std::chrono::seconds(60));
    world.answer_dry_run({});
    let_pass(world, std::chrono::seconds(1));
    CHECK(start_check(world).state == State::kPassed);
  }
}

TEST_CASE("a check without an answer ends after a while", "[controller][dry-run][start-check]") {
  World world = a_waiting_world();
  world.seen.dry_run->first_asked = world.seen.now;
  world.answer_dry_run({}, true);
  let_pass(world, std::chrono::seconds(1));
  CHECK(start_check(world).state == State::kPending);
  world.seen.now += kLongestCheck;
  world.seen.dry_run->asked = world.seen.now;
  REQUIRE(world.settle() >= 0);
  CHECK(start_check(world).state == State::kPassed);
}

TEST_CASE("a PodGroup without a check, of an older version, gets none",
          "[controller][dry-run][start-check]") {
  World world = a_waiting_world();
  world.change_group([](gang::PodGroup& group) { group.spec.gangs[0].start_check = {}; });
  world.answer_dry_run({{Role::kLearner, std::string(kNoAccount)}});
  CHECK(world.settle() >= 0);
  CHECK(start_check(world).state == State::kNone);
}

TEST_CASE("a quota that is used up for now blocks, unless the planner counts it",
          "[controller][dry-run][start-check]") {
  const Error used_up{
      Code::kForbidden,
      "POST /api/v1/namespaces/rl/pods: 403 pods \"x\" is forbidden: exceeded quota: "
      "team, requested: limits.cpu=2, used: limits.cpu=3, limited: limits.cpu=4"};
  World world = a_waiting_world();
  const bool is_counted = GENERATE(false, true);
  if (is_counted) {
    world.change_group(
        [](gang::PodGroup& group) { group.status.gangs[0].reason = gang::kReasonOverQuota; });
    REQUIRE(world.settle() >= 0);
  }
  world.answer_dry_run({});
  add_dry_run_answer(Role::kLearner, &used_up, *world.seen.dry_run);
  REQUIRE(world.settle() >= 0);
  CHECK_FALSE(is_refused(world));
  CHECK(start_check(world).state == (is_counted ? State::kPassed : State::kBlocked));
  if (is_counted) return;
  CHECK(start_check(world).blocker.kind == "ResourceQuota");
  CHECK(start_check(world).blocker.name == "team");
  const int asked = world.dry_runs;
  let_pass(world, std::chrono::seconds(60));
  CHECK(world.dry_runs == asked + 1);
}

TEST_CASE("a gang whose plan has failed is checked again", "[controller][dry-run][start-check]") {
  World world = a_waiting_world();
  world.answer_dry_run({});
  let_pass(world, std::chrono::seconds(1));
  const int asked = world.dry_runs;
  world.change_group([](gang::PodGroup& group) {
    group.status.gangs[0].refusals = {1, {}, "no pod was bound"};
  });
  let_pass(world, std::chrono::seconds(1));
  CHECK(world.dry_runs == asked + 1);
  CHECK(start_check(world).state == State::kPassed);  // until there is another answer
}

TEST_CASE("a gang with resource claims is checked although it has its nodes",
          "[controller][dry-run][start-check]") {
  job::Job job = a_job(1, 1);
  job.spec.learner->pod_template["spec"]["resourceClaims"] =
      Json::array({{{"name", "gpu"}, {"resourceClaimName", "gpus"}}});
  World world(job);
  REQUIRE(world.settle() >= 0);
  world.plan();
  REQUIRE(world.settle() >= 0);
  REQUIRE(world.dry_runs == 1);
  SECTION("nothing is missing: no write") {
    const int before = count_generations(world);
    world.answer_dry_run({});
    let_pass(world, std::chrono::seconds(1));
    CHECK(count_generations(world) == before);
  }
  SECTION("the claim does not exist") {
    world.answer_dry_run({});
    world.seen.dry_run->missing = {{"ResourceClaim", "gpus", "ResourceClaim gpus does not exist"}};
    let_pass(world, std::chrono::seconds(1));
    CHECK(start_check(world).state == State::kBlocked);
    CHECK(start_check(world).blocker.name == "gpus");
  }
}

}  // namespace nervex::controller
