#include "view/json.h"

#include <catch2/catch_test_macros.hpp>
#include <fstream>
#include <set>
#include <sstream>

#include "tests/support/job_snapshots.h"

namespace nervex::view {
namespace {

// rl/dqn runs; a request for a collector waits, capacity is reserved, and a learner failed.
JobSnapshot busy_job() {
  JobSnapshot seen = a_snapshot(job::Phase::kRunning);
  seen.job.status.reason = "RequestsUnschedulable";
  seen.job.status.coordinator.active = 1;
  seen.job.status.learner = {1, 0, 1};
  seen.group = a_group();
  seen.group->spec.gangs.push_back(a_request(1, {{"collector", 1}}));
  seen.group->status.gangs = {
      a_planned_gang("base", {{"coordinator", {0, 0}, "cpu-0", 1}, {"learner", {0, 0}, "n1", 2}}),
      a_waiting_gang("request-1", "collector: does not fit")};
  seen.group->status.gangs[0].reserved = {{"learner", "n1", 2}};
  seen.group->status.avoid = {{"request-1-collector", "n1", 0, 1, at("2026-11-21T14:06:00Z")}};
  kube::Pod failed;
  failed.meta.name = "dqn-learner-x";
  failed.phase = kube::PodPhase::kFailed;
  failed.containers = {{"main", false, 2, true, 137, "OOMKilled", ""}};
  seen.pods = {failed};
  seen.events = {{at("2026-11-21T14:04:00Z"), true, "FailedCreate", "forbidden", 3}};
  job::set_condition(seen.job.status, a_condition("Requeued", true, "learner/1 lost its node"));
  return seen;
}

void collect_fields(const Json& json, std::set<std::string>& fields) {
  if (json.is_array()) {
    for (const Json& item : json) collect_fields(item, fields);
  }
  if (!json.is_object()) return;
  for (const auto& [key, value] : json.items()) {
    if (key == "pods" || key == "reserved") {
      fields.insert(key);
      if (value.contains("pods")) collect_fields(value, fields);
      continue;  // keys of the inner object are roles
    }
    fields.insert(key);
    collect_fields(value, fields);
  }
}

}  // namespace

TEST_CASE("a job's view as JSON has codes beside each sentence", "[view][json][golden]") {
  CHECK(to_json(summarize(busy_job())) == Json::parse(R"({
    "namespace": "rl", "name": "dqn", "time": "2026-11-21T14:05:00Z",
    "created": "2026-11-21T14:00:00Z", "since": "2026-11-21T14:00:00Z",
    "phase": "Running", "reason": "RequestsUnschedulable",
    "waits": [{"subject": "Gang", "gang": "request-1", "pods": {"collector": 1},
               "since": "2026-11-21T14:00:02Z", "reason": "Unschedulable",
               "message": "collector: does not fit"}],
    "avoidedNodes": [
      {"node": "n1", "set": "request-1-collector", "until": "2026-11-21T14:06:00Z"}],
    "reserved": {"pods": {"learner": 2}, "until": "2026-11-21T14:10:00Z"},
    "notes": [{"code": "Requeued", "message": "learner/1 lost its node"}],
    "roles": [
      {"role": "coordinator", "wanted": 1, "placed": 1, "running": 1, "succeeded": 0, "failed": 0},
      {"role": "collector", "wanted": 1, "placed": 0, "running": 0, "succeeded": 0, "failed": 0},
      {"role": "learner", "wanted": 2, "placed": 1, "running": 1, "succeeded": 0, "failed": 1}],
    "nodes": [{"name": "cpu-0", "slots": ["coordinator/0"]},
              {"name": "n1", "slots": ["learner/0"], "reserved": {"learner": 2}}],
    "problems": [{"pod": "dqn-learner-x", "code": "ContainerFailed", "reason": "OOMKilled",
                  "exitCode": 137, "restarts": 2,
                  "message": "OOMKilled, exit code 137, 2 restarts"}],
    "events": [{"time": "2026-11-21T14:04:00Z", "type": "Warning", "reason": "FailedCreate",
                "message": "forbidden", "count": 3}],
    "advice": {"code": "RequestWaits", "message": "wait: the requested replicas start by themselves, all together, as soon as they fit. The job keeps running. Who uses the accelerators: kubectl nervex top; other resources: kubectl describe nodes"}
  })"));
}

TEST_CASE("a gang with reserved nodes names them, and when they are free", "[view][json]") {
  JobSnapshot seen = a_snapshot(job::Phase::kCreated);
  seen.group = a_group();
  seen.group->status.gangs = {a_waiting_gang("base", "learner: does not fit")};
  seen.group->status.gangs[0].reservation =
      gang::Reservation{{{"learner", "n2", 1}, {"coordinator", "n1", 1}, {"learner", "n1", 1}},
                        at("2026-11-21T14:03:00Z"),
                        at("2026-11-21T16:00:00Z")};
  gang::PodGroup other = a_group();
  other.meta.name = "other-1";
  other.status.gangs = {a_planned_gang("base", {{"learner", {0, 0}, "n2", 1}})};
  other.status.gangs[0].committed = true;
  seen.others = {other};
  CHECK(to_json(summarize(seen))["waits"][0]["reservation"] == Json::parse(R"({
    "nodes": ["n1", "n2"], "since": "2026-11-21T14:03:00Z", "due": "2026-11-21T16:00:00Z",
    "usedBy": [{"job": "other-1"}]
  })"));
}

TEST_CASE("a job without a status has a view of what is known", "[view][json]") {
  JobSnapshot seen = a_snapshot(job::Phase::kNone);
  seen.job.status = {};
  const Json json = to_json(summarize(seen));
  CHECK(json["phase"].get<std::string>().empty());
  CHECK(json["waits"][0]["reason"] == "NotObserved");
  CHECK(json["advice"]["code"] == "NotObserved");
  CHECK_FALSE(json.contains("since"));
  CHECK_FALSE(json.contains("failsAt"));
}

TEST_CASE("every field and code of the JSON form is documented", "[view][json]") {
  std::ifstream file(NERVEX_SOURCE_DIR "/docs/reference/job-view.md");
  std::ostringstream text;
  text << file.rdbuf();
  REQUIRE(file.is_open());
  const std::string document = text.str();

  std::set<std::string> names;
  JobSnapshot seen = busy_job();
  collect_fields(to_json(summarize(seen)), names);
  seen.job.status.phase = job::Phase::kCreated;
  seen.job.spec.schedule_timeout_seconds = 600;
  seen.job.status.waiting_since = at("2026-11-21T14:00:00Z");
  seen.pods[0].containers = {};
  seen.pods[0].reason = "Evicted";
  collect_fields(to_json(summarize(seen)), names);
  for (int code = 0; code <= static_cast<int>(AdviceCode::kRunning); ++code) {
    names.emplace(to_string(static_cast<AdviceCode>(code)));
  }
  for (int code = 0; code <= static_cast<int>(PodProblem::Code::kUnschedulable); ++code) {
    names.emplace(to_string(static_cast<PodProblem::Code>(code)));
  }
  for (int subject = 0; subject <= static_cast<int>(Wait::Subject::kRequests); ++subject) {
    names.emplace(to_string(static_cast<Wait::Subject>(subject)));
  }
  for (const auto& name : names) {
    INFO(name);
    CHECK(document.find("`" + name + "`") != std::string::npos);
  }
}

}  // namespace nervex::view
