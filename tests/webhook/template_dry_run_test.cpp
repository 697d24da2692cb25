#include "webhook/template_dry_run.h"

#include <map>
#include <set>

#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators_all.hpp>

#include "job/validate.h"
#include "tests/support/counted_memory.h"
#include "tests/support/fake_api.h"
#include "tests/support/fake_clock.h"
#include "tests/webhook/samples.h"
#include "webhook/facts.h"
#include "webhook/recent_answers.h"

namespace nervex::webhook {
namespace {

// An API server that answers creates of podtemplates, and counts them.
class Verdicts final : public kube::Api {
 public:
  Result<std::string> send(const kube::ApiRequest& request) override {
    ++asked;
    last = request;
    if (!ignoring.empty() && request.path.find("fieldValidation=Ignore") != std::string::npos) {
      request.on_refusal(422, ignoring);
      return Error{Code::kInvalid, "refused"};
    }
    if (status == 0) return Error{Code::kTransient, "connection refused"};
    if (status == 201) return std::string("{}");
    if (request.on_refusal) request.on_refusal(status, body);
    return Error{status == 403   ? Code::kForbidden
                 : status == 409 ? Code::kConflict
                 : status >= 500 ? Code::kTransient
                                 : Code::kInvalid,
                 "refused"};
  }
  Result<Nothing> stream(const std::string&, const std::function<bool(std::string_view)>&,
                         std::stop_token) override {
    return ok();
  }

  int status = 201;
  std::string body;
  std::string ignoring;  // the answer, a 422, where unknown fields are ignored
  int asked = 0;
  kube::ApiRequest last;
};

// As kube-apiserver v1.36.3 answers.
std::string invalid(const std::string& field, const std::string& reason = "FieldValueInvalid",
                    const std::string& message = "Invalid value: 0: must be between 1 and 65535") {
  return Json{
      {"kind", "Status"},
      {"code", 422},
      {"reason", "Invalid"},
      {"message", "PodTemplate \"nervex-admission-dry-run\" is invalid: ..."},
      {"details",
       {{"causes", Json::array({{{"field", field}, {"reason", reason}, {"message", message}}})}}}}
      .dump();
}

kube::AdmissionRequest request_for(Json object, Json stored = nullptr) {
  kube::AdmissionRequest request;
  request.uid = "u";
  request.operation = stored.is_null() ? "CREATE" : "UPDATE";
  request.kind = "NerveXJob";
  request.user = "alice";
  request.object = std::move(object);
  request.old_object = std::move(stored);
  return request;
}

std::vector<std::string> review_causes(const kube::AdmissionRequest& request, const Facts& facts) {
  const auto reviewed = review(request, Hook::kValidate, {*job_check(), "server"}, facts);
  std::vector<std::string> causes;
  for (const auto& cause : reviewed.response.details.causes) {
    causes.push_back(cause.field + ": " + cause.message);
  }
  return causes;
}

}  // namespace

TEST_CASE("equal templates of different jobs and roles ask the same", "[webhook][dry_run]") {
  Json job = a_job();
  job["spec"]["learner"] = {{"template", job["spec"]["coordinator"]["template"]}};
  const Json asked = pod_template_to_ask(job, "learner");
  CHECK(asked["metadata"] == Json({{"name", "nervex-admission-dry-run"}}));
  CHECK(asked["template"]["metadata"]["labels"] == Json({{"app", "dqn"}}));
  CHECK(asked["template"]["spec"]["volumes"] == job["spec"]["volumes"]);
  CHECK(asked["template"]["spec"]["schedulerName"] == "nervex-scheduler");
  Json other = job;
  other["metadata"]["name"] = "other";
  CHECK(pod_template_to_ask(other, "learner") == asked);
  CHECK(pod_template_to_ask(a_job(), "learner").is_null());
  // Except for what the controller fills in.
  Json coordinator = pod_template_to_ask(job, "coordinator");
  CHECK(coordinator["template"]["spec"]["restartPolicy"] == "Never");
  coordinator["template"]["spec"].erase("restartPolicy");
  CHECK(coordinator == asked);
}

TEST_CASE("the dry-run object follows from its key", "[webhook][dry_run][property]") {
  Json job = a_job();
  for (const char* role : {"collector", "learner"}) {
    job["spec"][role] = {{"template", job["spec"]["coordinator"]["template"]}};
  }
  job["spec"]["priorityClassName"] = "high";
  std::map<std::uint64_t, Json> asked;
  std::set<std::string> texts;
  with_odd_parts(job, [&](const Json& changed) {
    for (const auto role : job::kTemplateRoles) {
      const Json pod_template = pod_template_to_ask(changed, role);
      const auto key = template_key(SipHash({1, 2}), changed, role);
      REQUIRE(key.has_value() == !pod_template.is_null());
      if (!key) continue;
      CHECK(asked.try_emplace(key->low, pod_template).first->second == pod_template);
      texts.insert(kube::to_text(pod_template));
    }
  });
  CHECK(texts.size() > 50);
  CHECK(asked.size() < 3 * texts.size());  // few keys ask the same
}

TEST_CASE("a job of any shape can be sent as a dry run", "[webhook][dry_run][property]") {
  with_odd_parts(a_job(), [](const Json& changed) {
    for (const auto role : job::kTemplateRoles) pod_template_to_ask(changed, role);
    templates_to_ask(request_for(changed, a_job()));
  });
}

TEST_CASE("errors of the API server have the field of the job", "[webhook][dry_run]") {
  struct Row {
    std::string when;
    std::string field;
    std::string want;
  };
  const auto row = GENERATE(values<Row>({
      {"it is in the template", "template.spec.containers[0].ports[0].containerPort",
       "spec.coordinator.template.spec.containers[0].ports[0].containerPort"},
      {"it is in the template's metadata", "template.metadata.labels",
       "spec.coordinator.template.metadata.labels"},
      {"it is in a volume of the template", "template.spec.volumes[0].emptyDir",
       "spec.coordinator.template.spec.volumes[0].emptyDir"},
      {"it is in a volume of the job", "template.spec.volumes[2]", "spec.volumes[1]"},
      {"it is in a part of a volume of the job", "template.spec.volumes[1].hostPath.path",
       "spec.volumes[0].hostPath.path"},
      {"it is no volume's number", "template.spec.volumes[x",
       "spec.coordinator.template.spec.volumes[x"},
      {"it is all of it", "template", "spec.coordinator.template"},
  }));
  INFO("when " << row.when);
  Json job = a_job();
  job["spec"]["coordinator"]["template"]["spec"]["volumes"] = {{{"name", "own"}, {"emptyDir", {}}}};
  const auto verdict = parse_verdict(422, invalid(row.field));
  REQUIRE(verdict);
  const auto errors = errors_in_job(*verdict, job, "coordinator");
  REQUIRE(errors.size() == 1);
  CHECK(to_string(errors[0]) == row.want + ": Invalid value: 0: must be between 1 and 65535");
}

TEST_CASE("errors of the API server have the field that the user wrote", "[webhook][dry_run]") {
  Json job = a_job();
  Json& spec = job["spec"]["coordinator"]["template"]["spec"];
  spec["nodeName"] = "A_B";
  spec["volumes"] = {{{"name", "data"}, {"hostPath", {{"path", ""}}}}};
  const auto fields = [&](const std::string& field, const std::string& reason,
                          const std::string& words) {
    std::vector<std::string> found;
    const TemplateVerdict verdict = *parse_verdict(422, invalid(field, reason, words));
    for (const auto& error : errors_in_job(verdict, job, "coordinator")) {
      found.push_back(error.field);
    }
    return found;
  };
  using Fields = std::vector<std::string>;
  const std::string kRole = "spec.coordinator.template";
  CHECK(fields("template.labels", "FieldValueInvalid", "x") == Fields{kRole + ".metadata.labels"});
  CHECK(fields("template.spec.affinity.nodeAffinity.x[0].matchFields[0].values[0]",
               "FieldValueInvalid",
               "Invalid value: \"A_B\": x") == Fields{kRole + ".spec.nodeName"});
  // A mount of a volume that is there follows from what is wrong with the volume.
  const std::string kMount = "template.spec.containers[0].volumeMounts[0].name";
  CHECK(fields(kMount, "FieldValueNotFound", "Not found: \"data\"").empty());
  CHECK(fields(kMount, "FieldValueNotFound", "Not found: \"other\"").size() == 1);
}

TEST_CASE("only refusals of the template are verdicts", "[webhook][dry_run]") {
  for (const int status : {0, 401, 403, 404, 409, 413, 429, 500, 504}) {
    CHECK_FALSE(parse_verdict(status, invalid("template.spec")));
  }
  CHECK_FALSE(parse_verdict(422, "<html>"));
  // Of policies for all kinds of objects, which judge ours and not the job:
  CHECK_FALSE(parse_verdict(422, invalid("")));
  CHECK_FALSE(parse_verdict(422, invalid("metadata.labels")));
  CHECK_FALSE(parse_verdict(422, R"({"message": "denied by policy team-label"})"));
  CHECK_FALSE(parse_verdict(400, R"({"message": "admission webhook x does not support dry run"})"));
  const auto unreadable =
      parse_verdict(400, R"({"message": "strict decoding error: unknown field \"template.x\""})");
  REQUIRE(unreadable);
  CHECK(unreadable->is_unreadable);
  CHECK(to_string(errors_in_job(*unreadable, a_job(), "coordinator")[0]) ==
        R"(spec.coordinator.template: strict decoding error: unknown field "template.x")");
  const auto long_words =
      parse_verdict(422, invalid("template", "FieldValueInvalid", std::string(100'000, 'x')));
  CHECK(field_error_message(long_words->errors[0]).size() < 1000);
}

TEST_CASE("the API server's message is part of the answer", "[webhook][dry_run]") {
  Verdicts api;
  testing::FakeClock clock;
  TemplateDryRuns dry_runs(api, "nervex-system", clock);
  api.status = 422;
  api.body = invalid("template.spec.containers[0].ports[0].containerPort");
  Json job = a_job();
  job["spec"].erase("collector");
  job["spec"]["cleanPodPolicy"] = "hello";
  const auto request = request_for(job);
  CHECK(review_causes(request, gather_facts(request, dry_runs, "1")) ==
        std::vector<std::string>{
            R"(spec.cleanPodPolicy: Unsupported value: "hello": supported values: "All", "None", )"
            R"("Running" (Invalid CleanPodPolicy))",
            "spec.coordinator.template.spec.containers[0].ports[0].containerPort: Invalid value: "
            "0: must be between 1 and 65535"});
  CHECK(
      api.last.path ==
      "/api/v1/namespaces/nervex-system/podtemplates?dryRun=All&fieldValidation=Strict&timeout=1s");
}

TEST_CASE("errors of our own checks are not repeated", "[webhook][dry_run]") {
  Verdicts api;
  testing::FakeClock clock;
  TemplateDryRuns dry_runs(api, "nervex-system", clock);
  Json job = a_job();
  job["spec"].erase("collector");
  Json& container = job["spec"]["coordinator"]["template"]["spec"]["containers"][0];
  container["resources"] = {{"requests", {{"cpu", "2"}}}, {"limits", {{"cpu", "1"}}}};
  const std::string path = "template.spec.containers[0].resources.requests";
  api.status = GENERATE(400, 422);
  api.body = api.status == 400 ? R"({"message": "cannot be handled"})" : invalid(path);
  const auto request = request_for(job);
  CHECK(review_causes(request, gather_facts(request, dry_runs, "1")) ==
        std::vector<std::string>{
            "spec.coordinator." + path +
            "[cpu]: Invalid value: \"2\": must not be more than the limit of 1"});
}

TEST_CASE(
    "an error of a field that all roles get from the job is reported once, at the job's field",
    "[webhook][dry_run]") {
  Verdicts api;
  testing::FakeClock clock;
  TemplateDryRuns dry_runs(api, "nervex-system", clock);
  Json job = a_job();  // two roles
  job["spec"]["priorityClassName"] = "high";
  job["spec"]["coordinator"]["template"]["spec"]["volumes"] = {{{"name", "own"}, {"emptyDir", {}}}};
  Json stored = job;
  stored["spec"]["volumes"][0]["emptyDir"] = Json::object();
  api.status = 422;
  const auto causes = [&](const std::string& field, const kube::AdmissionRequest& request) {
    api.body = invalid(field);
    clock.advance(std::chrono::minutes(2));  // verdicts are asked for again
    return review_causes(request, gather_facts(request, dry_runs, "1"));
  };
  const std::string words = ": Invalid value: 0: must be between 1 and 65535";
  using Causes = std::vector<std::string>;
  CHECK(causes("template.spec.priorityClassName", request_for(job)) ==
        Causes{"spec.priorityClassName" + words});
  CHECK(causes("template.spec.priorityClassName", request_for(job, stored)).empty());
  // The coordinator has one volume before those of the job.
  CHECK(causes("template.spec.volumes[0].emptyDir", request_for(job)) ==
        Causes{"spec.coordinator.template.spec.volumes[0].emptyDir" + words,
               "spec.volumes[0].emptyDir" + words});
  job["spec"]["coordinator"]["template"]["spec"].erase("volumes");
  CHECK(causes("template.spec.volumes[0].emptyDir", request_for(job)) ==
        Causes{"spec.volumes[0].emptyDir" + words});
  // A role's own field is reported for each role.
  CHECK(causes("template.spec.dnsPolicy", request_for(job)).size() == 2);
  // The class of a template is the template's, if the job has none.
  job["spec"].erase("priorityClassName");
  CHECK(causes("template.spec.priorityClassName", request_for(job)).size() == 2);
}

TEST_CASE("an unreadable volume of the job is reported once, by our own check",
          "[webhook][dry_run]") {
  Verdicts api;
  testing::FakeClock clock;
  TemplateDryRuns dry_runs(api, "nervex-system", clock);
  Json job = a_job();  // two roles
  job["spec"]["volumes"][0]["emptyDir"]["sizeLimt"] = "1Gi";
  const std::string where = GENERATE("[0].emptyDir.sizeLimt", ".emptyDir");
  const std::string decoding = "strict decoding error: unknown field \"template.spec.volumes";
  api.status = 400;
  api.body = Json{{"message", decoding + where + "\""}}.dump();
  const auto request = request_for(job);
  CHECK(review_causes(request, gather_facts(request, dry_runs, "1")) ==
        std::vector<std::string>{
            "spec.volumes[0].emptyDir.sizeLimt: Forbidden: unknown field `sizeLimt`, did you mean "
            "`sizeLimit`?"});

  // Something else cannot be read, too: the cause is unknown.
  clock.advance(std::chrono::minutes(2));
  api.body = Json{{"message", decoding + where + "\", unknown field \"template.spec.x\""}}.dump();
  CHECK(review_causes(request, gather_facts(request, dry_runs, "1")).size() == 3);
}

TEST_CASE("an unknown field hides nothing else", "[webhook][dry_run]") {
  Verdicts api;
  testing::FakeClock clock;
  TemplateDryRuns dry_runs(api, "nervex-system", clock);
  Json job = a_job();
  job["spec"].erase("collector");
  job["spec"]["coordinator"]["template"]["spec"]["containers"][0]["imagee"] = "x";
  api.status = 400;
  api.body = R"({"message": "strict decoding error: unknown field"})";
  api.ignoring = invalid("template.spec.containers[0].ports[0].containerPort");
  const auto request = request_for(job);
  CHECK(review_causes(request, gather_facts(request, dry_runs, "1")) ==
        std::vector<std::string>{
            "spec.coordinator.template.spec.containers[0].imagee: Forbidden: unknown field "
            "`imagee`, did you mean `image`?",
            "spec.coordinator.template.spec.containers[0].ports[0].containerPort: Invalid value: "
            "0: must be between 1 and 65535"});
}

TEST_CASE("one dry run is sent for each template and version of the cluster",
          "[webhook][dry_run]") {
  Verdicts api;
  testing::FakeClock clock;
  TemplateDryRuns dry_runs(api, "nervex-system", clock);
  const auto request = request_for(a_job());  // two roles
  gather_facts(request, dry_runs, "1");
  CHECK(api.asked == 2);
  gather_facts(request, dry_runs, "1");
  CHECK(api.asked == 2);
  gather_facts(request, dry_runs, "2");
  CHECK(api.asked == 4);
}

TEST_CASE("verdicts take little memory, also for repetitive answers", "[webhook][dry_run]") {
  Verdicts api;
  testing::FakeClock clock;
  TemplateDryRuns dry_runs(api, "nervex-system", clock);
  api.status = 422;
  api.body = invalid("template.spec.nodeSelector[" + std::string(200'000, 'k') + "]");
  const auto request = request_for(a_job());
  const std::size_t before = testing::allocated_now();
  for (int i = 0; i < 200; ++i) {
    const Facts facts = gather_facts(request, dry_runs, std::to_string(i));
    REQUIRE(facts.errors.size() == 2);
    CHECK(facts.errors[0].field.size() < 600);
  }
  CHECK(testing::allocated_now() - before < 1'000'000);
}

TEST_CASE("kept verdicts are bounded in bytes", "[webhook][dry_run]") {
  Verdicts api;
  testing::FakeClock clock;
  TemplateDryRuns dry_runs(api, "nervex-system", clock);
  Json causes = Json::array();
  for (int i = 0; i < 100; ++i) {
    causes.push_back({{"reason", "FieldValueInvalid"},
                      {"field", fmt::format("template.spec.{}{}", i, std::string(1'000, 'f'))},
                      {"message", std::string(1'000, 'm')}});
  }
  api.status = 422;
  api.body = kube::to_text({{"details", {{"causes", causes}}}});
  const std::size_t before = testing::allocated_now();
  for (int i = 0; i < 200; ++i) gather_facts(request_for(a_job()), dry_runs, std::to_string(i));
  CHECK(testing::allocated_now() - before < kMaxVerdictBytes * 5 / 4);
}

TEST_CASE("only a template without a verdict takes a turn", "[webhook][dry_run]") {
  Verdicts api;
  testing::FakeClock clock;
  TemplateDryRuns dry_runs(api, "nervex-system", clock);
  const auto request = request_for(a_job());
  bool may = false;
  const auto gather = [&] {
    return gather_facts(
        request, dry_runs, "1", [] { return false; },
        [&](const std::function<bool()>&) -> Result<Nothing> {
          if (may) return ok();
          return Error{Code::kTransient, "too many"};
        });
  };
  CHECK(gather().warnings.size() == 1);
  CHECK(gather().template_error == "too many");
  CHECK(api.asked == 0);
  may = true;  // at once: the API server has not failed
  CHECK(gather().warnings.empty());
  CHECK(api.asked == 2);
  may = false;
  CHECK(gather().warnings.empty());
}

TEST_CASE("a refusal is checked again after a minute", "[webhook][dry_run]") {
  Verdicts api;
  testing::FakeClock clock;
  TemplateDryRuns dry_runs(api, "nervex-system", clock);
  api.status = 422;
  api.body = invalid("template.spec");
  const auto request = request_for(a_job());
  CHECK_FALSE(gather_facts(request, dry_runs, "1").errors.empty());
  api.status = 201;
  clock.advance(std::chrono::seconds(59));
  CHECK_FALSE(gather_facts(request, dry_runs, "1").errors.empty());
  clock.advance(std::chrono::seconds(1));
  CHECK(gather_facts(request, dry_runs, "1").errors.empty());
}

TEST_CASE("without a verdict the job gets a warning, and the API server is not called for a while",
          "[webhook][dry_run]") {
  Verdicts api;
  testing::FakeClock clock;
  TemplateDryRuns dry_runs(api, "nervex-system", clock);
  api.status = GENERATE(0, 500);
  api.body = invalid("template.spec");
  const auto request = request_for(a_job());
  const Facts facts = gather_facts(request, dry_runs, "1");
  CHECK(facts.errors.empty());
  REQUIRE(facts.warnings.size() == 1);
  CHECK(facts.warnings[0].size() < 120);
  const auto reviewed = review(request, Hook::kValidate, {*job_check(), "server"}, facts);
  CHECK(reviewed.response.allowed);
  CHECK(reviewed.response.warnings == facts.warnings);
  CHECK(api.asked == 1);
  api.status = 201;
  CHECK_FALSE(gather_facts(request, dry_runs, "1").warnings.empty());
  CHECK(api.asked == 1);
  clock.advance(std::chrono::seconds(5));
  CHECK(gather_facts(request, dry_runs, "1").warnings.empty());
  CHECK(api.asked == 3);
}

TEST_CASE("a template that a policy refuses does not block others", "[webhook][dry_run]") {
  Verdicts api;
  testing::FakeClock clock;
  TemplateDryRuns dry_runs(api, "nervex-system", clock);
  api.status = 403;
  CHECK(gather_facts(request_for(a_job()), dry_runs, "1").warnings.size() == 1);
  api.status = 422;
  api.body = invalid("template.spec");
  Json other = a_job();
  other["spec"]["coordinator"]["template"]["spec"]["containers"][0]["image"] = "j";
  CHECK_FALSE(gather_facts(request_for(other), dry_runs, "1").errors.empty());
}

TEST_CASE("an existing object with the dry run's name is no obstacle", "[webhook][dry_run]") {
  Verdicts api;
  testing::FakeClock clock;
  TemplateDryRuns dry_runs(api, "nervex-system", clock);
  api.status = 409;  // comes after validation
  const Facts facts = gather_facts(request_for(a_job()), dry_runs, "1");
  CHECK((facts.warnings.empty() && facts.errors.empty()));
}

TEST_CASE("an acceptance is checked again after ten minutes", "[webhook][dry_run]") {
  Verdicts api;
  testing::FakeClock clock;
  TemplateDryRuns dry_runs(api, "nervex-system", clock);
  const auto request = request_for(a_job());
  gather_facts(request, dry_runs, "1");
  api.status = 422;
  api.body = invalid("template.spec");
  clock.advance(std::chrono::minutes(10));
  CHECK_FALSE(gather_facts(request, dry_runs, "1").errors.empty());
}

TEST_CASE("no dry run is sent when the review is late", "[webhook][dry_run]") {
  Verdicts api;
  testing::FakeClock clock;
  TemplateDryRuns dry_runs(api, "nervex-system", clock);
  int left = 1;
  const Facts facts =
      gather_facts(request_for(a_job()), dry_runs, "1", [&left] { return left-- == 0; });
  CHECK(api.asked == 1);  // of two
  CHECK(facts.warnings.size() == 1);
}

TEST_CASE("an update sends dry runs of the templates that it changes", "[webhook][dry_run]") {
  struct Row {
    std::string when;
    std::string patch;
    std::vector<std::string_view> want;
  };
  const auto row = GENERATE(values<Row>({
      {"nothing of a pod changes",
       R"([{"op": "add", "path": "/spec/suspend", "value": true}])",
       {}},
      {"a template changes",
       R"([{"op": "add", "path": "/spec/collector/template/spec/hostNetwork", "value": true}])",
       {"collector"}},
      {"a role goes", R"([{"op": "remove", "path": "/spec/collector"}])", {}},
      {"the volumes change",
       R"([{"op": "add", "path": "/spec/volumes/-", "value": {"name": "more", "emptyDir": {}}}])",
       {"coordinator", "collector"}},
      {"the job is being deleted",
       R"([{"op": "add", "path": "/metadata/deletionTimestamp", "value": "2026-01-01T00:00:00Z"},
           {"op": "remove", "path": "/spec/volumes"}])",
       {}},
  }));
  INFO("when " << row.when);
  const auto request = request_for(job_with(row.patch), a_job());
  CHECK(templates_to_ask(request) == row.want);
}

TEST_CASE("an update is accepted if the API server refuses the stored template, too",
          "[webhook][dry_run]") {
  Verdicts api;
  testing::FakeClock clock;
  TemplateDryRuns dry_runs(api, "nervex-system", clock);
  api.status = 422;
  api.body = invalid("template.spec.containers[0].ports[0].containerPort");
  const auto request =
      request_for(job_with(R"([{"op": "add", "path": "/spec/coordinator/template/spec/hostNetwork",
                    "value": true}])"),
                  a_job());
  const Facts facts = gather_facts(request, dry_runs, "1");
  CHECK(facts.errors.size() == 1);
  CHECK(facts.stored_errors.size() == 1);
  CHECK(review_causes(request, facts).empty());
}

TEST_CASE("the access review for creating pods has all attributes of the user",
          "[webhook][facts]") {
  testing::FakeApi api;
  Json asked;
  bool allowed = GENERATE(true, false);
  api.answer("subjectaccessreviews", [&](const Json& body) -> Result<Json> {
    asked = body["spec"];
    return Json{{"status", {{"allowed", allowed}}}};
  });
  auto request = request_for(a_job());
  request.ns = "rl";
  request.user_uid = "u-7";
  request.groups = {"team"};
  request.user_extra = {{"scopes", {"a"}}};
  const testing::FakeClock clock;
  RecentAnswers answers(api, clock);
  Facts facts;
  ask_pod_access(request, answers, facts);
  CHECK(facts.may_create_pods == allowed);
  CHECK(asked == Json::parse(R"({"user": "alice", "uid": "u-7", "groups": ["team"],
    "extra": {"scopes": ["a"]},
    "resourceAttributes": {"namespace": "rl", "verb": "create", "resource": "pods"}})"));

  // The controller makes an aggregator's pods in the namespace of any job.
  request.kind = "AggregatorConfig";
  request.object = {
      {"spec", {{"aggregator", {{"template", a_job()["spec"]["coordinator"]["template"]}}}}}};
  ask_pod_access(request, answers, facts);
  CHECK(asked["resourceAttributes"] == Json{{"verb", "create"}, {"resource", "pods"}});
  request = request_for(a_job());

  asked = nullptr;
  ask_pod_access(
      request_for(job_with(R"([{"op": "add", "path": "/spec/suspend", "value": true}])"), a_job()),
      answers, facts);
  CHECK(asked.is_null());  // a user who suspends a job brings no pods

  api.answer("subjectaccessreviews", [](const Json&) -> Result<Json> {
    return Error{Code::kTransient, "timeout"};
  });
  Facts unknown;
  ask_pod_access(request, answers, unknown);
  CHECK_FALSE(unknown.may_create_pods.has_value());
  CHECK_FALSE(unknown.access_error.empty());
}

TEST_CASE("a user with too many attributes gets no access review", "[webhook][facts]") {
  testing::FakeApi api;
  auto request = request_for(a_job());
  request.user_extra = {{"scopes", {std::string(300'000, 'x')}}};
  const testing::FakeClock clock;
  RecentAnswers answers(api, clock);
  Facts facts;
  ask_pod_access(request, answers, facts);
  CHECK_FALSE(facts.may_create_pods.has_value());
  CHECK_FALSE(facts.access_error.empty());
  CHECK(api.requests() == 0);
}

TEST_CASE("a template that is answered while a review waits gets no second dry run",
          "[webhook][facts]") {
  Verdicts api;
  testing::FakeClock clock;
  TemplateDryRuns dry_runs(api, "nervex-system", clock);
  const auto request = request_for(a_job());
  std::vector<bool> answered;
  // Another review of the same template, which came first.
  const MayAsk wait = [&](const std::function<bool()>& is_answered) -> Result<Nothing> {
    answered.push_back(is_answered());
    gather_facts(request, dry_runs, "1");
    answered.push_back(is_answered());
    return Error{Code::kTransient, "no turn in time"};
  };
  gather_facts(request, dry_runs, "2");
  const int templates = api.asked;
  const Facts facts = gather_facts(
      request, dry_runs, "1", [] { return false; }, wait);
  CHECK(answered == std::vector<bool>{false, true});
  CHECK(facts.warnings.empty());
  CHECK(api.asked == 2 * templates);

  // So it is if the API server does not answer: that is known, too.
  api.status = 0;
  const MayAsk fail = [&](const std::function<bool()>& is_answered) -> Result<Nothing> {
    gather_facts(request, dry_runs, "3");
    CHECK(is_answered());
    return ok();
  };
  api.asked = 0;
  CHECK_FALSE(gather_facts(
                  request, dry_runs, "3", [] { return false; }, fail)
                  .warnings.empty());
  CHECK(api.asked == 1);
}

TEST_CASE("known answers take no turn", "[webhook][facts]") {
  testing::FakeApi api;
  testing::FakeClock clock;
  api.add({"scheduling.k8s.io", "v1", "priorityclasses"}, "",
          {{"metadata", {{"name", "high"}}}, {"value", 7}});
  api.add(kube::kAggregatorConfigs, "nervex-system", {{"metadata", {{"name", "config"}}}});
  RecentAnswers recent(api, clock);
  Json job = a_job();
  job["spec"]["priorityClassName"] = "high";
  job["spec"]["coordinator"]["template"]["spec"]["priority"] = 8;
  const auto request = request_for(job);
  int turns = 0;
  const MayAsk count = [&](const std::function<bool()>&) {
    ++turns;
    return ok();
  };
  for (int i = 0; i < 3; ++i) {
    Facts facts;
    ask_priorities(request, recent, facts, count);
    CHECK(facts.errors.size() == 1);
    ask_aggregator_config(request, recent, "nervex-system/config", facts, count);
    CHECK(facts.warnings.empty());
  }
  CHECK(turns == 2);
  CHECK(api.requests() == 2);
}

TEST_CASE("without a turn no AggregatorConfig is read", "[webhook][facts]") {
  testing::FakeApi api;
  const MayAsk refuse = [](const std::function<bool()>&) -> Result<Nothing> {
    return Error{Code::kTransient, "no turn in time"};
  };
  const testing::FakeClock clock;
  RecentAnswers answers(api, clock);
  Facts facts;
  ask_aggregator_config(request_for(a_job()), answers, "nervex-system/config", facts, refuse);
  CHECK(facts.warnings.empty());
  CHECK(api.requests() == 0);
}

TEST_CASE("a PriorityClass's name cannot change the API path", "[webhook][facts]") {
  testing::FakeApi api;
  Json job = a_job();
  job["spec"]["coordinator"]["template"]["spec"]["priority"] = 8;
  job["spec"]["priorityClassName"] =
      GENERATE("../../../../api/v1/nodes", "high/status", "..", "high?watch=true");
  const testing::FakeClock clock;
  RecentAnswers answers(api, clock);
  Facts facts;
  ask_priorities(request_for(job), answers, facts);
  CHECK(facts.errors.empty());
  CHECK(facts.priority_error.empty());
  CHECK(api.requests() == 0);
}

TEST_CASE("a job without an AggregatorConfig gets a warning", "[webhook][facts]") {
  testing::FakeApi api;
  const auto warnings = [&](const Json& job) {
    const testing::FakeClock clock;
    RecentAnswers answers(api, clock);
    Facts facts;
    ask_aggregator_config(request_for(job), answers, "nervex-system/aggregator-config", facts);
    return facts.warnings;
  };
  Json per_job = a_job();
  per_job["spec"]["aggregator"] = "PerJob";
  Json on_demand = a_job();
  on_demand["spec"]["aggregator"] = "OnDemand";
  using Warnings = std::vector<std::string>;
  const std::string none = "no AggregatorConfig nervex-system/aggregator-config: the job ";
  CHECK(warnings(a_job()) == Warnings{none + "starts without an aggregator"});
  CHECK(warnings(per_job) == Warnings{none + "waits until it exists"});
  CHECK(warnings(on_demand).empty());
  api.fail_next("GET", "aggregatorconfigs", {Code::kTransient, "timeout"});
  CHECK(warnings(a_job()).empty());
  api.add(kube::kAggregatorConfigs, "nervex-system",
          {{"metadata", {{"name", "aggregator-config"}}}});
  CHECK(warnings(a_job()).empty());
}

TEST_CASE("an unused AggregatorConfig causes a warning", "[webhook][facts]") {
  struct Row {
    std::string ns;
    std::string name;
    std::string operation;
    bool is_warned;
  };
  const auto row = GENERATE(values<Row>({
      {"nervex-system", "aggregator-config", "CREATE", false},
      {"nervex-system", "mine", "CREATE", true},
      {"rl", "aggregator-config", "CREATE", true},
      {"rl", "aggregator-config", "UPDATE", false},
  }));
  INFO(row.operation << " " << row.ns << "/" << row.name);
  testing::FakeApi api;
  kube::AdmissionRequest request;
  request.operation = row.operation;
  request.kind = "AggregatorConfig";
  request.ns = row.ns;
  request.name = row.name;
  const testing::FakeClock clock;
  RecentAnswers answers(api, clock);
  Facts facts;
  ask_aggregator_config(request, answers, "nervex-system/aggregator-config", facts);
  REQUIRE(facts.warnings.size() == (row.is_warned ? 1U : 0U));
  if (!row.is_warned) return;
  CHECK(facts.warnings[0] ==
        "AggregatorConfig " + row.ns + "/" + row.name +
            " is not used: aggregators come from nervex-system/aggregator-config");
}

}  // namespace nervex::webhook
