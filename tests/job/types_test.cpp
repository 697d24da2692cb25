#include "job/types.h"

#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>

#include "schemas/schemas.h"
#include "tests/support/job_builders.h"

namespace nervex::job {
namespace {

using testing::a_template;
using testing::an_entry;

SysTime at(std::string_view text) { return *parse_rfc3339(text); }

Json minimal() {
  return {{"metadata", {{"name", "dqn"}, {"namespace", "rl"}}},
          {"spec", {{"coordinator", {{"template", a_template()}}}}}};
}

Status full_status() {
  Status status;
  status.phase = Phase::kRunning;
  status.reason = "Running";
  status.attempt = 2;
  status.observed_generation = 7;
  status.queued_since = at("2026-11-21T09:00:00.125Z");
  status.queue = {"vision", 20};
  status.waiting_since = at("2026-11-21T10:00:00.250Z");
  status.active_since = at("2026-11-21T10:00:03Z");
  status.active_seconds = 77;
  status.gang_started_time = at("2026-11-21T10:00:06Z");
  status.max_reservation_seconds = 3600;
  status.start_time = at("2026-11-21T10:00:05Z");
  status.completion_time = at("2026-11-21T11:00:00Z");
  status.failed_attempts = 1;
  status.next_attempt_time = at("2026-11-21T10:00:04Z");
  status.last_attempt = {1, "CoordinatorFailed", 3, "no such map", at("2026-11-21T10:00:01Z")};
  status.disrupted_attempts = 3;
  status.avoid = {{Role::kCoordinator, "n1", 0, 2, at("2026-11-21T10:01:00.5Z")}};
  status.replaced = {{Role::kLearner, {4097, 1}}};
  status.continued = {{Role::kCollector, {1, 218}, 61'440, 1},
                      {Role::kLearner, {4096, 436}, 61'441, 2}};
  status.next_continued_collector = 61'441;
  status.next_continued_learner = 61'443;
  status.created_through = {"uid-7", {{"base", 4}, {"request-1", 9'000'000'000}}};
  status.requeued_gangs = {{"request-1", 2, at("2026-11-21T10:01:00Z"), 4096},
                           {"base-learner-2",
                            1,
                            at("2026-11-21T10:02:00Z"),
                            std::nullopt,
                            {{Role::kLearner, 2, at("2026-11-21T10:00:07.5Z")}},
                            "Preempted"}};
  status.next_collector = 4098;
  status.services = ServiceMode::kShared;
  status.naming_version = 1;
  status.selector = "nervexjob-name=dqn,replica-type=collector";
  status.ready = 3;
  status.desired = 4;
  status.coordinator = {1, 0, 0};
  status.learner = {1, 2, 3};
  status.ended = {{Role::kCollector, {4096, 2}, true}, {Role::kLearner, {0, 0}, false}};
  status.conditions = {
      {"Running", true, "NerveXJobRunning", "the coordinator runs", at("2026-11-21T10:00:05Z"), 6}};
  return status;
}

TEST_CASE("a job decodes with defaults where fields are absent", "[job][types]") {
  const auto job = decode_job(minimal());
  INFO((job ? "" : job.error().message));
  REQUIRE(job);
  Job want;
  want.meta.name = "dqn";
  want.meta.ns = "rl";
  want.spec.coordinator_template = a_template();
  CHECK(*job == want);
}

TEST_CASE("a job may name its queue", "[job][types]") {
  Json object = minimal();
  object["spec"]["queue"] = "vision";
  const auto job = decode_job(object);
  REQUIRE(job);
  CHECK(job->spec.queue == "vision");
}

TEST_CASE("a job and its roles may have a topology, a role also node classes", "[job][types]") {
  Json object = minimal();
  object["spec"]["topology"] = {{"level", "topology.kubernetes.io/zone"}};
  object["spec"]["learner"] = {{"topology", {{"level", "rack"}, {"policy", "Required"}}},
                               {"nodeClasses", {"h100", "a100"}}};
  object["spec"]["collector"] = {{"topology", {{"level", "rack"}, {"policy", "Preferred"}}}};
  const auto job = decode_job(object);
  INFO((job ? "" : job.error().message));
  REQUIRE(job);
  CHECK(job->spec.topology == Topology{"topology.kubernetes.io/zone", true});
  REQUIRE(job->spec.learner);
  CHECK(job->spec.learner->topology == Topology{"rack", true});
  CHECK(job->spec.learner->node_classes == std::vector<std::string>{"h100", "a100"});
  REQUIRE(job->spec.collector);
  CHECK(job->spec.collector->topology == Topology{"rack", false});
  CHECK(job->spec.collector->node_classes.empty());
}

TEST_CASE("limits in time and number are absent unless given", "[job][types]") {
  Json object = minimal();
  const auto without = decode_job(object);
  REQUIRE(without);
  CHECK_FALSE(without->spec.preemptible);
  CHECK_FALSE(without->spec.backoff_limit);
  CHECK_FALSE(without->spec.ttl_seconds_after_finished);
  CHECK_FALSE(without->spec.active_deadline_seconds);
  CHECK_FALSE(without->spec.start_timeout_seconds);

  object["spec"].update({{"suspend", true},
                         {"preemptible", true},
                         {"activeDeadlineSeconds", 60},
                         {"scheduleTimeoutSeconds", 9'000'000'000'000'000'000},
                         {"startTimeoutSeconds", 90},
                         {"backoffLimit", 0},
                         {"ttlSecondsAfterFinished", 0},
                         {"reservationSeconds", 5}});
  const auto job = decode_job(object);
  REQUIRE(job);
  CHECK(job->spec.suspend);
  CHECK(job->spec.preemptible);
  CHECK(job->spec.active_deadline_seconds == 60);
  CHECK(job->spec.schedule_timeout_seconds == 100LL * 365 * 24 * 3600);  // a time can be made of it
  CHECK(job->spec.start_timeout_seconds == 90);
  CHECK(job->spec.backoff_limit == 0);
  CHECK(job->spec.ttl_seconds_after_finished == 0);
  CHECK(job->spec.reservation_seconds == 5);
}

TEST_CASE("a job that waited before an upgrade keeps its waiting time", "[job][types]") {
  Json object = minimal();
  object["status"]["queuedTime"] = "2026-11-21T10:00:00.250Z";
  const auto job = decode_job(object);
  REQUIRE(job);
  CHECK(job->status.waiting_since == at("2026-11-21T10:00:00.250Z"));
  CHECK_FALSE(job->status.queued_since);
}

TEST_CASE("an encoded status decodes to the same value", "[job][types]") {
  Requests requests;
  requests.next_collector = 4098;
  requests.next_id = 3;
  requests.base = {{1, Role::kLearner, {1, 2}, false}, {2, Role::kCollector, {0, 0}, true, 7, 4}};
  requests.entries = {an_entry(1, Role::kCollector, 2), an_entry(2, Role::kLearner, 1)};
  requests.entries[0].cpus = "500m";
  requests.entries[0].requested_at = at("2026-11-21T10:00:05.125Z");
  requests.moved = {{2, Role::kLearner, 4096, 5000}};
  requests.calls = {{2,
                     "POST failed",
                     "0123456789abcdef",
                     "again",
                     "10.0.0.7",
                     "nervex-server-x_uuid",
                     7,
                     at("2026-11-21T10:00:05.250Z"),
                     {{Role::kCollector, {4096, 1}, 3}, {Role::kAggregator, {4100, 0}, 1}}},
                    {2, "DELETE", "", "", "", "", 0, SysTime{}, {}}};
  requests.entries[1].gpu_split = {8, 2};

  Json object = minimal();
  object["spec"]["requests"] = encode_requests(requests);
  object["status"] = encode_status(full_status());
  const auto job = decode_job(object);
  INFO((job ? "" : job.error().message));
  REQUIRE(job);
  CHECK(job->spec.requests == requests);
  CHECK(job->status == full_status());
}

TEST_CASE("a status keeps the fields that only a newer version knows", "[job][types]") {
  Json object = minimal();
  object["status"] = encode_status(full_status());
  object["status"]["forecast"] = {{"start", "soon"}};
  const auto job = decode_job(object);
  REQUIRE(job);
  CHECK(job->status.unknown.get() == Json{{"forecast", {{"start", "soon"}}}});
  CHECK(encode_status(job->status) == object["status"]);
}

// A value that the schema of a field accepts.
Json sample(const Json& schema) {
  const std::string type = schema.at("type");
  if (type == "object") return Json::object();
  if (type == "array") return Json::array();
  if (type == "integer") return 1;
  return schema.value("format", "") == "date-time" ? "2026-11-21T10:00:00Z" : "";
}

TEST_CASE("what the schema says of a status is known, and nothing else", "[job][types]") {
  const Json schema = Json::parse(schemas::nervex_job());
  const Json& fields = schema.at("properties").at("status").at("properties");
  REQUIRE(fields.size() > 20);
  for (const auto& [name, of_field] : fields.items()) {
    INFO("status." << name);
    Json object = minimal();
    object["status"][name] = sample(of_field);
    object["status"]["not-" + name] = 1;
    const auto job = decode_job(object);
    INFO((job ? "" : job.error().message));
    REQUIRE(job);
    CHECK(job->status.unknown.get() == Json{{"not-" + name, 1}});
  }
}

TEST_CASE("a status has all four roles and leaves out times that are not known", "[job][types]") {
  const Json status = encode_status({});
  CHECK(status["replicaStatus"].size() == 4);
  CHECK(status["ready"] == "0/0");
  CHECK_FALSE(status.contains("queue"));
  CHECK_FALSE(status.contains("startTime"));
  CHECK_FALSE(status.contains("waitingSince"));
}

TEST_CASE("every spelling of the clean-up policy is accepted", "[job][types]") {
  struct Row {
    std::string when;
    CleanPodPolicy want;
  };
  const auto row = GENERATE(values<Row>({{"Running", CleanPodPolicy::kRunning},
                                         {"", CleanPodPolicy::kRunning},
                                         {"All", CleanPodPolicy::kAll},
                                         {"ALL", CleanPodPolicy::kAll},
                                         {"None", CleanPodPolicy::kNone}}));
  INFO("when " << row.when);
  Json object = minimal();
  object["spec"]["cleanPodPolicy"] = row.when;
  CHECK(decode_job(object)->spec.clean_pod_policy == row.want);
}

TEST_CASE("an invalid job is refused with the field's name", "[job][types]") {
  struct Row {
    std::string field;
    std::string pointer;
    Json value;
  };
  const auto row = GENERATE(values<Row>({
      {"metadata.name", "/metadata/name", nullptr},
      {"spec", "/spec", "text"},
      {"spec.cleanPodPolicy", "/spec/cleanPodPolicy", "hello"},
      {"spec.coordinator.template", "/spec/coordinator/template", 3},
      {"spec.collector.replicas", "/spec/collector/replicas", "2"},
      {"spec.collector.replicas", "/spec/collector/replicas", -1},
      {"spec.learner.maxReplicas", "/spec/learner/maxReplicas", 1e30},
      {"spec.topology", "/spec/topology", "rack"},
      {"spec.topology.level", "/spec/topology", Json::object()},
      {"spec.topology.policy", "/spec/topology", {{"level", "rack"}, {"policy", "Always"}}},
      {"spec.learner.topology.level", "/spec/learner/topology", {{"level", 1}}},
      {"spec.learner.nodeClasses", "/spec/learner/nodeClasses", "a100"},
      {"spec.learner.nodeClasses", "/spec/learner/nodeClasses", {"a100", 1}},
      {"spec.volumes", "/spec/volumes", Json::object()},
      {"spec.requests.entries[0].role", "/spec/requests/entries/0/role", "boss"},
      {"spec.requests.entries[0]", "/spec/requests/entries/0", 1},
      {"spec.requests.entries[0].slots[0].ordinal", "/spec/requests/entries/0/slots/0/ordinal",
       70000},
      {"status.phase", "/status/phase", "Done"},
      {"status.startTime", "/status/startTime", "yesterday"},
  }));
  INFO("field " << row.field);
  Json object = minimal();
  object["spec"]["requests"]["entries"] =
      Json::array({{{"role", "collector"}, {"slots", Json::array({{{"ordinal", 4096}}})}}});
  object[Json::json_pointer(row.pointer)] = row.value;
  const auto job = decode_job(object);
  REQUIRE_FALSE(job);
  CHECK(job.error().code == Code::kInvalid);
  CHECK(job.error().message.find(row.field + ":") != std::string::npos);
}

TEST_CASE("a condition's transition time moves only with its status", "[job][types]") {
  Status status;
  const SysTime first = at("2026-11-21T10:00:00Z");
  const SysTime second = at("2026-11-21T10:01:00Z");
  set_condition(status, {"Scheduled", false, "Unschedulable", "no capacity", first, 1});
  set_condition(status, {"Scheduled", false, "Unschedulable", "still no capacity", second, 1});
  CHECK(find_condition(status, "Scheduled")->last_transition == first);
  CHECK(find_condition(status, "Scheduled")->message == "still no capacity");
  set_condition(status, {"Scheduled", true, "Planned", "", second, 1});
  CHECK(find_condition(status, "Scheduled")->last_transition == second);
  CHECK(status.conditions.size() == 1);
}

TEST_CASE("a role's name is read back", "[job][types]") {
  for (const Role role : {Role::kCoordinator, Role::kAggregator, Role::kCollector, Role::kLearner,
                          Role::kDdpLearner}) {
    CHECK(parse_role(to_string(role)) == role);
  }
  CHECK(parse_role("Collector") == std::nullopt);
}

}  // namespace
}  // namespace nervex::job
