#include "webhook/review.h"

#include <fmt/format.h>
#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators_all.hpp>

#include "job/validate.h"
#include "tests/webhook/samples.h"

namespace nervex::webhook {
namespace {

constexpr const char* kServer = "system:serviceaccount:nervex-system:nervex-server";

kube::AdmissionRequest create(Json object) {
  kube::AdmissionRequest request;
  request.uid = "u";
  request.operation = "CREATE";
  request.kind = "NerveXJob";
  request.name = kube::string_at(object, {"metadata", "name"});
  request.user = "alice";
  request.object = std::move(object);
  return request;
}

kube::AdmissionRequest update(Json old_object, Json object, const std::string& user = "alice") {
  auto request = create(std::move(object));
  request.operation = "UPDATE";
  request.user = user;
  request.old_object = std::move(old_object);
  return request;
}

kube::AdmissionResponse ask(const kube::AdmissionRequest& request, Hook hook) {
  return review(request, hook, {*job_check(), kServer}).response;
}

// The API server's result of a request: the stored object, or why it was refused.
struct Outcome {
  Json stored;
  std::string refusal;
  std::vector<std::string> warnings;
};

Outcome admit(kube::AdmissionRequest request) {
  const auto mutated = ask(request, Hook::kMutate);
  if (!mutated.allowed) {
    // The backstop says the same.
    CHECK_FALSE(ask(request, Hook::kValidate).allowed);
    return {nullptr, mutated.message, mutated.warnings};
  }
  if (mutated.patch.is_array()) request.object = request.object.patch(mutated.patch);
  const auto again = ask(request, Hook::kMutate);
  CHECK((again.allowed && (again.patch.is_null() || again.patch.empty())));
  const auto validated = ask(request, Hook::kValidate);
  CHECK(validated.patch.is_null());
  Outcome outcome{request.object, validated.message, mutated.warnings};
  outcome.warnings.insert(outcome.warnings.end(), validated.warnings.begin(),
                          validated.warnings.end());
  return outcome;
}

Json with_policy(const Json& policy) {
  Json job = a_job();
  job["spec"]["cleanPodPolicy"] = policy;
  return job;
}

}  // namespace

// Rows W1 to W6 of the contract.
TEST_CASE("the clean-up policy is stored, filled in or refused", "[webhook][review]") {
  struct Row {
    std::string when;
    Json policy;
    Json want;  // null: refused
  };
  const auto row = GENERATE(values<Row>({
      {"W1 it is Running", "Running", "Running"},
      {"W1 it is All", "All", "All"},
      {"W1 it is None", "None", "None"},
      {"it has its old spelling", "ALL", "All"},
      {"W2 it is empty", "", "Running"},
      {"it is null", nullptr, "Running"},
      {"W3 it is unknown", "hello", nullptr},
  }));
  INFO("when " << row.when);
  const bool on_update = GENERATE(false, true);  // W4 to W6
  CAPTURE(on_update);
  Json job = with_policy(row.policy);
  Json old_job = with_policy("None");
  job["spec"]["group"] = "changed";
  const Outcome outcome = admit(on_update ? update(old_job, job) : create(job));
  if (row.want.is_null()) {
    CHECK(
        outcome.refusal ==
        R"(NerveXJob.nervex.sensetime.com "dqn" is invalid: spec.cleanPodPolicy: Unsupported value: )"
        R"("hello": supported values: "All", "None", "Running" (Invalid CleanPodPolicy))");
  } else {
    CHECK(outcome.refusal.empty());
    CHECK(outcome.stored["spec"]["cleanPodPolicy"] == row.want);
  }
}

TEST_CASE("a job is refused with all its errors at once", "[webhook][review]") {
  // C5 of the contract, a misspelt field, a wrong type, a bound, each found by another check.
  Json job = job_with(R"([
    {"op": "add", "path": "/spec/coordinator/template/spec/containers/0/resources/limits/nvidia.com~1gpu",
     "value": "1m"},
    {"op": "add", "path": "/spec/coordinator/template/spec/containers/0/imagee", "value": "x"},
    {"op": "add", "path": "/spec/collector/template/spec/hostNetwork", "value": "yes"},
    {"op": "add", "path": "/spec/collector/replicas", "value": -1}])");
  const auto response = ask(create(job), GENERATE(Hook::kMutate, Hook::kValidate));
  CHECK_FALSE(response.allowed);
  CHECK(response.code == 422);
  CHECK(
      response.message ==
      R"(NerveXJob.nervex.sensetime.com "dqn" is invalid: 4 fields are wrong: )"
      R"(spec.collector.replicas: Invalid value: -1: must be between 0 and 4096; )"
      R"(spec.coordinator.template.spec.containers[0].resources.limits[nvidia.com/gpu]: )"
      R"(Invalid value: "1m": must be an integer; )"
      R"(spec.coordinator.template.spec.containers[0].imagee: Forbidden: unknown field `imagee`, )"
      R"(did you mean `image`?; )"
      R"(spec.collector.template.spec.hostNetwork: Invalid value: "yes": must be a boolean)");
}

// kubectl prints a line for each cause, and nothing of the message then.
TEST_CASE("a refusal names each wrong field as a cause", "[webhook][review]") {
  Json job = with_policy("hello");
  job["spec"]["coordinator"].erase("template");
  job["spec"]["collector"]["replicas"] = -1;
  job["spec"]["collector"]["template"]["spec"]["imagee"] = "x";
  job["spec"]["volumes"].push_back(job["spec"]["volumes"][0]);
  const auto hook = GENERATE(Hook::kMutate, Hook::kValidate);
  const auto response = ask(create(job), hook);
  CHECK(response.code == 422);
  CHECK(response.details.kind == "NerveXJob");
  CHECK(response.details.group == "nervex.sensetime.com");
  CHECK(response.details.name == "dqn");
  const std::vector<kube::StatusCause> want{
      {"FieldValueNotSupported",
       R"(Unsupported value: "hello": supported values: "All", "None", "Running" (Invalid CleanPodPolicy))",
       "spec.cleanPodPolicy"},
      {"FieldValueDuplicate", R"(Duplicate value: "data")", "spec.volumes[1].name"},
      {"FieldValueRequired", "Required value", "spec.coordinator.template"},
      {"FieldValueInvalid", "Invalid value: -1: must be between 0 and 4096",
       "spec.collector.replicas"},
      {"FieldValueForbidden", "Forbidden: unknown field `imagee`",
       "spec.collector.template.spec.imagee"},
  };
  CHECK(response.details.causes == want);
}

TEST_CASE("the causes of a refusal stay readable", "[webhook][review]") {
  Json job = a_job();
  Json& pod = job["spec"]["coordinator"]["template"]["spec"];
  for (int i = 0; i < 100; ++i) pod[fmt::format("unknown-{:02}", i)] = i;
  const auto response = ask(create(job), Hook::kValidate);
  REQUIRE(response.details.causes.size() == job::kMaxListedErrors + 1);
  CHECK(response.details.causes.back() ==
        kube::StatusCause{"FieldValueInvalid", "70 more fields are wrong", "metadata and spec"});
}

TEST_CASE("a refusal without a wrong field names the job, too", "[webhook][review]") {
  auto request = create(a_job());
  request.operation = "CONNECT";
  const auto response = ask(request, Hook::kValidate);
  CHECK(response.code == 400);
  CHECK(response.details.name == "dqn");
  CHECK(response.details.causes.empty());
}

TEST_CASE("an error of one check is not repeated by another", "[webhook][review]") {
  const auto job = job_with(R"([{"op": "remove", "path": "/spec/coordinator/template"}])");
  CHECK(
      admit(create(job)).refusal ==
      R"(NerveXJob.nervex.sensetime.com "dqn" is invalid: spec.coordinator.template: Required value)");
}

TEST_CASE("spec.requests is written by nervex-server alone", "[webhook][review]") {
  const auto with_requests = [](Json job, const Json& requests) {
    job["spec"]["requests"] = requests;
    return job;
  };
  const auto with_next_id = [&](Json job, int id) {
    return with_requests(std::move(job), {{"nextId", id}});
  };
  Json changed = a_job();
  changed["spec"]["group"] = "changed";
  const std::string kWarning =
      "only nervex-server may change spec.requests: the change was ignored";
  struct Row {
    std::string when;
    kube::AdmissionRequest request;
    Json want;  // spec.requests as stored
    std::vector<std::string> warnings;
  };
  const auto row = GENERATE_COPY(values<Row>({
      {"the server changes them",
       update(with_next_id(a_job(), 2), with_next_id(a_job(), 3), kServer),
       {{"nextId", 3}},
       {}},
      {"the server makes them",
       update(a_job(), with_next_id(a_job(), 1), kServer),
       {{"nextId", 1}},
       {}},
      {"a user changes them",
       update(with_next_id(a_job(), 2), with_next_id(a_job(), 3)),
       {{"nextId", 2}},
       {kWarning}},
      {"a user changes something else, too",
       update(with_next_id(a_job(), 2), with_next_id(changed, 3)),
       {{"nextId", 2}},
       {kWarning}},
      {"a user replaces the job by the file it was made from",
       update(with_next_id(a_job(), 2), changed),
       {{"nextId", 2}},
       {kWarning}},
      {"a user changes something else alone",
       update(with_next_id(a_job(), 2), with_next_id(changed, 2)),
       {{"nextId", 2}},
       {}},
      {"a user makes some",
       update(a_job(), with_requests(a_job(), Json::object())),
       nullptr,
       {kWarning}},
      {"a new job brings some", create(with_next_id(a_job(), 2)), nullptr, {kWarning}},
  }));
  INFO("when " << row.when);
  const Outcome outcome = admit(row.request);
  CHECK(outcome.refusal.empty());
  CHECK(outcome.stored["spec"].value("requests", Json()) == row.want);
  CHECK(outcome.warnings == row.warnings);
  if (!row.warnings.empty()) {
    // Without the mutating hook the validating one refuses the difference.
    const auto validated = ask(row.request, Hook::kValidate);
    CHECK_FALSE(validated.allowed);
    CHECK(
        validated.message ==
        R"(NerveXJob.nervex.sensetime.com "dqn" is invalid: spec.requests: Forbidden: only nervex-server may change it)");
  }
}

TEST_CASE("the annotation of who submitted a job is the webhook's", "[webhook][review]") {
  const std::string key = "nervex.sensetime.com/submitted-by";
  const auto by = [&](const Json& user) {
    Json job = a_job();
    job["metadata"]["annotations"] = {{key, user}, {"mine", "kept"}};
    return job;
  };
  const std::string kWarning =
      "metadata.annotations[nervex.sensetime.com/submitted-by] says who created the job: the "
      "change was ignored";
  const Json alice{{key, "alice"}, {"mine", "kept"}};
  struct Row {
    std::string when;
    kube::AdmissionRequest request;
    Json want;  // annotations as stored
    std::vector<std::string> warnings;
    bool is_refused_without_mutating_hook = true;
  };
  Json mine = a_job();
  mine["metadata"]["annotations"] = {{"mine", "kept"}};
  kube::AdmissionRequest unnamed = create(a_job());
  unnamed.user.clear();
  kube::AdmissionRequest long_name = create(a_job());
  long_name.user = std::string(1025, 'a');
  const auto row = GENERATE_COPY(values<Row>({
      {"a new job has no annotations", create(a_job()), {{key, "alice"}}, {}, false},
      {"a new job has others", create(mine), alice, {}, false},
      {"a new job names another user", create(by("root")), alice, {}},
      {"the user is unknown", unnamed, nullptr, {}, false},
      {"the user's name is long", long_name, {{key, std::string(1024, 'a')}}, {}, false},
      {"another user changes the job", update(by("alice"), by("alice"), "bob"), alice, {}, false},
      {"another user claims the job", update(by("alice"), by("bob"), "bob"), alice, {kWarning}},
      {"a user replaces the job by the file it was made from",
       update(by("alice"), a_job()),
       {{key, "alice"}},
       {}},
      {"the stored job has none", update(a_job(), by("alice")), {{"mine", "kept"}}, {kWarning}},
  }));
  INFO("when " << row.when);
  const Outcome outcome = admit(row.request);
  CHECK(outcome.refusal.empty());
  CHECK(outcome.stored["metadata"].value("annotations", Json()) == row.want);
  CHECK(outcome.warnings == row.warnings);
  const auto validated = ask(row.request, Hook::kValidate);
  CHECK(validated.allowed != row.is_refused_without_mutating_hook);
  if (!validated.allowed) {
    CHECK(validated.message ==
          R"(NerveXJob.nervex.sensetime.com "dqn" is invalid: )"
          R"(metadata.annotations[nervex.sensetime.com/submitted-by]: Forbidden: set by )"
          R"(nervex-webhook to the user who creates the job, and fixed)");
  }
}

TEST_CASE("a job above the limit of pods may change except for its size", "[webhook][review]") {
  Json large = a_job();
  large["spec"]["collector"]["replicas"] = 4000;
  large["spec"]["learner"] = large["spec"]["collector"];
  CHECK(admit(create(large)).refusal.find("at most 5000 are allowed") != std::string::npos);
  Json suspended = large;
  suspended["spec"]["suspend"] = true;
  CHECK(admit(update(large, suspended)).refusal.empty());
  Json larger = large;
  larger["spec"]["learner"]["replicas"] = 4001;
  const auto response = ask(update(large, larger), Hook::kValidate);
  REQUIRE(response.details.causes.size() == 2);
  CHECK(response.details.causes[1].field == "spec.learner.replicas");
}

TEST_CASE("updates without a change of the spec are never refused", "[webhook][review]") {
  const Json broken = with_policy("hello");  // stored before the webhook was installed
  Json relabelled = broken;
  relabelled["metadata"]["labels"] = {{"a", "b"}};
  Json deleting = a_job();
  deleting["metadata"]["deletionTimestamp"] = "2026-11-21T13:56:04Z";
  deleting["spec"] = nullptr;
  Json grown = broken;
  grown["spec"]["requests"] = {{"nextId", 2}};
  const auto request = GENERATE_COPY(update(broken, relabelled), update(a_job(), deleting),
                                     update(broken, grown, kServer));
  const auto hook = GENERATE(Hook::kMutate, Hook::kValidate);
  const auto response = ask(request, hook);
  CHECK(response.allowed);
  CHECK((response.patch.is_null() || response.patch.empty()));
}

TEST_CASE("an update is refused for new errors, not for stored ones", "[webhook][review]") {
  // Stored before the webhook was installed, or by an older version of it.
  Json broken = with_policy("hello");
  broken["spec"]["coordinator"]["template"]["spec"]["containers"][0]["imagee"] = "x";
  struct Row {
    std::string when;
    std::string patch;
    std::string refused_for;  // empty: allowed
  };
  const std::string other = R"(spec.collector.template.spec.hostNetwork: Invalid value: "yes": )"
                            "must be a boolean";
  const auto row = GENERATE_COPY(values<Row>({
      {"a field changes", R"([{"op": "replace", "path": "/spec/group", "value": "h"}])", ""},
      {"it is suspended", R"([{"op": "add", "path": "/spec/suspend", "value": true}])", ""},
      {"it gets a deadline",
       R"([{"op": "add", "path": "/spec/activeDeadlineSeconds", "value": 60}])", ""},
      {"a field goes", R"([{"op": "remove", "path": "/spec/group"}])", ""},
      {"what is wrong goes", R"([{"op": "remove", "path": "/spec/cleanPodPolicy"}])", ""},
      {"something else becomes wrong",
       R"([{"op": "add", "path": "/spec/collector/template/spec/hostNetwork", "value": "yes"}])",
       other},
      {"the spec goes", R"([{"op": "remove", "path": "/spec"}])",
       "spec.coordinator: Required value"},
      {"the spec is no object", R"([{"op": "replace", "path": "/spec", "value": 1}])",
       "spec: Invalid value: 1: must be an object"},
  }));
  INFO("when " << row.when);
  const auto request = update(broken, broken.patch(Json::parse(row.patch)));
  const auto response = ask(request, GENERATE(Hook::kMutate, Hook::kValidate));
  CHECK(response.allowed == row.refused_for.empty());
  CHECK(response.message.find(row.refused_for) != std::string::npos);
  CHECK(response.message.find("hello") == std::string::npos);
}

TEST_CASE("a job that runs keeps its templates, no matter who changes them", "[webhook][review]") {
  Json running = a_job();
  running["status"]["phase"] = "Running";
  Json changed = running;
  changed["spec"]["collector"]["template"]["spec"]["containers"][0]["image"] = "j";
  const auto hook = GENERATE(Hook::kMutate, Hook::kValidate);
  const auto response = ask(update(running, changed), hook);
  REQUIRE_FALSE(response.allowed);
  REQUIRE(response.details.causes.size() == 1);
  CHECK(response.details.causes[0].field == "spec.collector.template");
  CHECK(response.details.causes[0].reason == "FieldValueForbidden");
  changed["spec"]["suspend"] = true;
  CHECK(ask(update(running, changed), hook).allowed);
}

TEST_CASE("a job's topology names levels of the cluster only", "[webhook][review]") {
  Rules rules{*job_check(), kServer};
  rules.topology_levels = {"zone", "rack"};
  const auto hook = GENERATE(Hook::kMutate, Hook::kValidate);
  const auto judge = [&](const kube::AdmissionRequest& request) {
    return review(request, hook, rules).response;
  };
  Json job = a_job();
  job["spec"]["collector"]["topology"] = {{"level", "rack"}};
  CHECK(judge(create(job)).allowed);
  job["spec"]["collector"]["topology"]["level"] = "row";
  const auto refused = judge(create(job));
  REQUIRE(refused.details.causes.size() == 1);
  CHECK(refused.details.causes[0].field == "spec.collector.topology.level");
  CHECK(
      refused.details.causes[0].message ==
      R"(Unsupported value: "row": must be one of: zone, rack; an administrator adds node labels )"
      "with --topology-levels of nervex-webhook and nervex-extender");

  SECTION("a level that was removed from the list stays, but is not chosen again") {
    Json changed = job;
    changed["spec"]["group"] = "h";
    CHECK(judge(update(job, changed)).allowed);
    changed["spec"]["topology"] = {{"level", "row"}};
    CHECK(judge(update(job, changed)).details.causes.at(0).field == "spec.topology.level");
    changed["spec"].erase("topology");
    changed["spec"]["collector"]["topology"]["level"] = "column";
    CHECK_FALSE(judge(update(job, changed)).allowed);
    changed["spec"]["collector"]["topology"]["level"] = "zone";
    CHECK(judge(update(job, changed)).allowed);
  }
  SECTION("a level that is no label key has one error") {
    job["spec"]["collector"]["topology"]["level"] = "a row";
    const auto causes = judge(create(job)).details.causes;
    REQUIRE(causes.size() == 1);
    CHECK(causes[0].message.find("name part") != std::string::npos);
  }
}

TEST_CASE("requests outside our configuration pass the mutating hook, not the validating one",
          "[webhook][review]") {
  struct Row {
    std::string when;
    std::string operation;
    std::string kind;
    std::string sub_resource;
    bool mutating_allows;
    bool validating_allows;
  };
  const auto row = GENERATE(values<Row>({
      {"another kind is created", "CREATE", "Pod", "", true, false},
      {"the operation is CONNECT", "CONNECT", "NerveXJob", "", true, false},
      {"a job is deleted", "DELETE", "NerveXJob", "", true, true},
      {"its status is written", "UPDATE", "NerveXJob", "status", true, true},
      {"the object is missing", "CREATE", "NerveXJob", "", false, false},
  }));
  INFO("when " << row.when);
  auto request = create(nullptr);
  request.operation = row.operation;
  request.kind = row.kind;
  request.sub_resource = row.sub_resource;
  CHECK(ask(request, Hook::kMutate).allowed == row.mutating_allows);
  CHECK(ask(request, Hook::kValidate).allowed == row.validating_allows);
}

TEST_CASE("an AggregatorConfig is checked as a job's templates are", "[webhook][review]") {
  const Json good = Json::parse(R"({
    "kind": "AggregatorConfig", "metadata": {"name": "aggregator-config"},
    "spec": {"aggregator": {"template": {"spec": {"containers": [
      {"name": "nervex-container", "image": "i"}]}}}}})");
  struct Row {
    std::string when;
    std::string patch;
    std::vector<std::string> want;
  };
  const auto row = GENERATE(values<Row>({
      {"nothing is wrong", "[]", {}},
      {"a field is misspelt and another missing",
       R"([{"op": "add", "path": "/spec/aggregator/template/spec/containers/0/imagee", "value": 1},
           {"op": "remove", "path": "/spec/aggregator/template/spec/containers/0/image"}])",
       {"spec.aggregator.template.spec.containers[0].image",
        "spec.aggregator.template.spec.containers[0].imagee"}},
      {"there is no template",
       R"([{"op": "remove", "path": "/spec/aggregator/template"}])",
       {"spec.aggregator.template"}},
  }));
  INFO("when " << row.when);
  const Json config = good.patch(Json::parse(row.patch));
  const auto hook = GENERATE(Hook::kMutate, Hook::kValidate);
  auto request = create(config);
  request.kind = "AggregatorConfig";
  const auto response = ask(request, hook);
  CHECK(response.allowed == row.want.empty());
  std::vector<std::string> fields;
  for (const auto& cause : response.details.causes) fields.push_back(cause.field);
  CHECK(fields == row.want);
  if (!response.allowed) {
    CHECK(response.details.kind == "AggregatorConfig");
    CHECK(response.message.starts_with("AggregatorConfig.nervex.sensetime.com"));
    // A stored fault does not block changes of other fields.
    auto later = update(config, config);
    later.kind = "AggregatorConfig";
    later.object["spec"]["aggregator"]["note"] = 1;
    CHECK(ask(later, hook).allowed);
  }
}

TEST_CASE("access to the node causes a warning, a refusal or nothing", "[webhook][review]") {
  Json job = a_job();
  job["spec"]["volumes"][0] = {{"name", "data"}, {"hostPath", {{"path", "/data"}}}};
  const auto with = [](Strictness host_access) {
    return Rules{*job_check(), kServer, host_access, Strictness::kOff};
  };
  const auto off = review(create(job), Hook::kValidate, with(Strictness::kOff)).response;
  const auto warned = review(create(job), Hook::kValidate, with(Strictness::kWarn)).response;
  CHECK(off.allowed);
  CHECK(warned.allowed);
  CHECK(warned.warnings.size() == off.warnings.size() + 1);
  const auto refused = review(create(job), Hook::kValidate, with(Strictness::kRefuse)).response;
  CHECK_FALSE(refused.allowed);
  REQUIRE(refused.details.causes.size() == 1);
  CHECK(refused.details.causes[0].field == "spec.volumes[0].hostPath");
  Json changed = job;  // stored before it was refused
  changed["spec"]["group"] = "h";
  CHECK(review(update(job, changed), Hook::kValidate, with(Strictness::kRefuse)).response.allowed);
}

TEST_CASE("stored access to the node does not excuse other access", "[webhook][review]") {
  const Rules rules{*job_check(), kServer, Strictness::kRefuse, Strictness::kOff};
  Json job = a_job();
  job["spec"]["volumes"][0] = {{"name", "data"}, {"hostPath", {{"path", "/data"}}}};
  Json& container = job["spec"]["coordinator"]["template"]["spec"]["containers"][0];
  container["securityContext"]["capabilities"]["add"] = {"IPC_LOCK"};
  const auto field = [&](const Json& changed) {
    const auto answer = review(update(job, changed), Hook::kValidate, rules).response;
    return answer.details.causes.empty() ? std::string() : answer.details.causes[0].field;
  };
  Json changed = job;
  changed["spec"]["coordinator"]["template"]["spec"]["containers"][0]["image"] = "j";
  CHECK(field(changed).empty());
  changed["spec"]["volumes"][0]["hostPath"]["path"] = "/";
  CHECK(field(changed) == "spec.volumes[0].hostPath");
  changed = job;
  changed["spec"]["coordinator"]["template"]["spec"]["containers"][0]["securityContext"]
         ["capabilities"]["add"] = {"SYS_ADMIN"};
  CHECK(field(changed) ==
        "spec.coordinator.template.spec.containers[0].securityContext.capabilities.add[0]");
}

TEST_CASE("a stored error hides no new one", "[webhook][review]") {
  const Rules rules{*job_check(), kServer, Strictness::kOff, Strictness::kOff};
  Json job = a_job();
  Json& container = job["spec"]["coordinator"]["template"]["spec"]["containers"][0];
  container["image"] = "";
  Json changed = job;
  changed["spec"]["group"] = "h";
  Facts facts;  // of the API server: in a place that ours lies within
  const std::string field = "spec.coordinator.template.spec.containers[0]";
  facts.errors = {{job::FieldErrorType::kInvalid, field, "", "something else"}};
  const auto answer = [&] {
    return review(update(job, changed), Hook::kValidate, rules, facts).response;
  };
  REQUIRE(answer().details.causes.size() == 1);
  CHECK(answer().details.causes[0].field == field);

  SECTION("and a fixed error does not cause a refusal for another stored one") {
    facts.stored_errors = facts.errors;
    changed["spec"]["coordinator"]["template"]["spec"]["containers"][0]["image"] = "i";
    CHECK(answer().allowed);
  }
}

TEST_CASE("a user who may not create pods creates no job", "[webhook][review]") {
  const auto answer = [](Strictness pod_access, const Facts& facts) {
    auto request = create(a_job());
    request.ns = "rl";
    return review(request, Hook::kValidate, {*job_check(), kServer, Strictness::kWarn, pod_access},
                  facts)
        .response;
  };
  Facts may;
  may.may_create_pods = true;
  Facts may_not;
  may_not.may_create_pods = false;
  Facts unknown;
  unknown.access_error = "timeout";
  CHECK(answer(Strictness::kRefuse, may).allowed);
  CHECK(answer(Strictness::kRefuse, {}).allowed);
  const auto refused = answer(Strictness::kRefuse, may_not);
  CHECK_FALSE(refused.allowed);
  CHECK(refused.code == 403);
  CHECK(refused.message ==
        "alice may not create pods in namespace rl, as the controller would for this job");
  CHECK(answer(Strictness::kRefuse, unknown).code == 500);
  CHECK(answer(Strictness::kWarn, unknown).allowed);
  const auto warned = answer(Strictness::kWarn, may_not);
  CHECK(warned.allowed);
  CHECK(warned.warnings[0] == "alice may not create pods in namespace rl");
}

TEST_CASE("the old spelling of a policy causes a warning", "[webhook][review]") {
  const auto response = ask(create(with_policy("ALL")), Hook::kMutate);
  REQUIRE(response.warnings.size() == 1);
  CHECK(response.warnings[0].size() < 120);
  CHECK(ask(create(with_policy("All")), Hook::kMutate).warnings.empty());
}

TEST_CASE("a coordinator that may be restarted in place causes a warning", "[webhook][review]") {
  const std::string policy = GENERATE("Always", "OnFailure", "Never", "");
  Json job = a_job();
  job["spec"]["coordinator"]["template"]["spec"]["restartPolicy"] = policy;
  const Outcome outcome = admit(create(job));
  CHECK(outcome.refusal.empty());
  const bool may_restart = policy == "Always" || policy == "OnFailure";
  const auto tells = [](const std::string& warning) {
    return warning.find("a restart of the coordinator") != std::string::npos;
  };
  CHECK(std::count_if(outcome.warnings.begin(), outcome.warnings.end(), tells) ==
        (may_restart ? 1 : 0));
  for (const auto& warning : outcome.warnings) CHECK(warning.size() < 120);
}

}  // namespace nervex::webhook
