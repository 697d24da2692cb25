// Does `nervexctl validate`, which asks no cluster, say what the webhook says?
#include <algorithm>
#include <regex>

#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>

#include "cli/validate/verdict.h"
#include "tests/job/corpus.h"
#include "tests/webhook/samples.h"
#include "webhook/review.h"

namespace nervex::webhook {
namespace {

using Lines = std::vector<std::string>;  // "spec.group: Invalid value: ..."

kube::AdmissionResponse review_object(const Json& object, Hook hook) {
  kube::AdmissionRequest request;
  request.operation = "CREATE";
  request.kind = kube::string_at(object, {"kind"});
  request.user = "alice";
  request.object = object;
  return review(request, hook, {*job_check(), "server"}).response;
}

Lines online(const Json& object) {
  const auto answer = review_object(object, Hook::kMutate);
  Lines lines;
  for (const auto& cause : answer.details.causes) {
    lines.push_back(cause.field + ": " + cause.message);
  }
  return lines;
}

// kubectl's output besides "created".
Lines online_warnings(const Json& object) {
  const auto mutated = review_object(object, Hook::kMutate);
  if (!mutated.allowed) return {};
  Lines lines = mutated.warnings;
  const Json stored = mutated.patch.is_null() ? object : object.patch(mutated.patch);
  const Lines more = review_object(stored, Hook::kValidate).warnings;
  lines.insert(lines.end(), more.begin(), more.end());
  return lines;
}

std::vector<cli::Finding> offline_findings(const Json& object) {
  static const auto kOfJobs =
      job::make_offline_job_check(schemas::nervex_job(), schemas::pod_template());
  static const auto kOfConfigs =
      job::make_offline_config_check(schemas::aggregator_config(), schemas::pod_template());
  REQUIRE(kOfJobs);
  REQUIRE(kOfConfigs);
  const bool is_job = kube::string_at(object, {"kind"}) == "NerveXJob";
  return cli::judge(object, is_job ? **kOfJobs : **kOfConfigs);
}

Lines format_findings(const std::vector<cli::Finding>& findings, bool are_errors) {
  Lines lines;
  for (const auto& [field, message, is_error] : findings) {
    if (is_error != are_errors) continue;
    lines.push_back(field.empty() ? message : field + ": " + message);
  }
  return lines;
}

Lines offline(const Json& object) { return format_findings(offline_findings(object), true); }
Lines offline_warnings(const Json& object) {
  return format_findings(offline_findings(object), false);
}

// Of whom the cluster is, nervexctl cannot know.
Lines without_hint(Lines lines) {
  static const std::regex kHint(R"( \(not in Kubernetes 1\.36; --server asks your cluster\)$)");
  for (auto& line : lines) line = std::regex_replace(line, kHint, "");
  return lines;
}

// The API server checks metadata itself, before it asks the webhook.
Lines without_metadata(Lines lines) {
  std::erase_if(lines, [](const auto& line) { return line.starts_with("metadata"); });
  return lines;
}

}  // namespace

TEST_CASE("without a cluster the verdict on each job of the corpus is the webhook's",
          "[webhook][offline]") {
  for (const char* name : {"wrong.json", "right.json"}) {
    for (const Json& row : testing::corpus_rows(name)) {
      INFO("when " << row["when"].get<std::string>());
      const Json job = testing::corpus_job(row);
      CHECK(without_hint(offline(job)) == online(job));
      CHECK(offline_warnings(job) == online_warnings(job));
    }
  }
}

TEST_CASE("without a cluster the warnings are the webhook's", "[webhook][offline]") {
  struct Row {
    std::string when;
    std::string patch;
    std::size_t warnings;
  };
  const auto row = GENERATE(values<Row>({
      {"there is nothing to warn of", "[]", 0},
      {"admission changes what was sent",
       R"([{"op": "add", "path": "/spec/cleanPodPolicy", "value": "ALL"},
           {"op": "add", "path": "/spec/requests", "value": {"entries": []}}])",
       2},
      {"templates say what the controller overrules",
       R"([{"op": "add", "path": "/spec/learner/template/spec/schedulerName", "value": "x"},
           {"op": "add", "path": "/spec/learner/template/spec/containers/0/env", "value": [
             {"name": "WORLD_SIZE", "value": "1"}, {"name": "A", "value": "1"},
             {"name": "A", "value": "2"}]},
           {"op": "add", "path": "/spec/learner/template/spec/containers/-", "value": {
             "name": "side", "image": "i",
             "ports": [{"name": "nervex-port", "containerPort": 7}]}}])",
       4},
      {"pods reach into their nodes",
       R"([{"op": "add", "path": "/spec/learner/template/spec/hostPID", "value": true}])", 1},
      {"nothing is reserved",
       R"([{"op": "replace", "path": "/spec/learner/replicas", "value": 0},
           {"op": "remove", "path": "/spec/coordinator/template/spec/containers/0/resources"},
           {"op": "add", "path": "/spec/coordinator/template/spec/restartPolicy",
            "value": "Always"}])",
       3},
      {"it is wrong",
       R"([{"op": "replace", "path": "/spec/learner/replicas", "value": -1},
           {"op": "add", "path": "/spec/learner/template/spec/hostPID", "value": true}])",
       0},
  }));
  INFO("when " << row.when);
  const Json job = Json::parse(R"({
    "apiVersion": "nervex.sensetime.com/v1alpha1", "kind": "NerveXJob", "metadata": {"name": "dqn"},
    "spec": {
      "coordinator": {"template": {"spec": {"containers": [
        {"name": "main", "image": "i", "resources": {"limits": {"cpu": 1}}}]}}},
      "learner": {"replicas": 1, "template": {"spec": {"containers": [
        {"name": "main", "image": "i", "resources": {"limits": {"cpu": 1}}}]}}}}})")
                       .patch(Json::parse(row.patch));
  CHECK(offline_warnings(job).size() == row.warnings);
  CHECK(offline_warnings(job) == online_warnings(job));
}

TEST_CASE("without a cluster the verdict on an AggregatorConfig is the webhook's",
          "[webhook][offline]") {
  std::size_t wrong = 0;
  for (const char* name : {"wrong.json", "right.json"}) {
    for (const Json& row : testing::corpus_rows(name)) {
      INFO("when " << row["when"].get<std::string>());
      const Json job = testing::corpus_job(row);
      Json config = {{"apiVersion", "nervex.sensetime.com/v1alpha1"},
                     {"kind", "AggregatorConfig"},
                     {"metadata", {{"name", "aggregator-config"}}},
                     {"spec", {{"aggregator", Json::object()}}}};
      if (const Json* found = kube::find(job, {"spec", "learner", "template"})) {
        config["spec"]["aggregator"]["template"] = *found;
      }
      CHECK(offline_warnings(config) == online_warnings(config));
      const Lines want = online(config);
      wrong += want.empty() ? 0 : 1;
      CHECK(without_hint(offline(config)) == want);
    }
  }
  CHECK(wrong > 50);  // else nothing was compared
}

TEST_CASE("without a cluster wrong types are found as the webhook does",
          "[webhook][offline][property]") {
  Json job = a_job();
  job["spec"]["aggregator"] = "OnDemand";
  job["spec"]["priorityClassName"] = "high";
  job["spec"]["suspend"] = true;
  job["spec"]["backoffLimit"] = 3;
  job["spec"]["reservationSeconds"] = 3;
  job["spec"]["activeDeadlineSeconds"] = 3;
  job["spec"]["collector"]["reservedReplicas"] = 1;
  job["spec"]["collector"]["maxReplicas"] = 1;
  std::size_t wrong = 0;
  with_odd_parts(job, [&](const Json& changed) {
    // Another kind or version is no business of the webhook's.
    if (changed.value("kind", Json()) != job["kind"]) return;
    if (changed.value("apiVersion", Json()) != job["apiVersion"]) return;
    const Lines want = without_metadata(online(changed));
    wrong += want.empty() ? 0 : 1;
    CHECK(without_metadata(offline(changed)) == want);
  });
  CHECK(wrong > 50);  // else nothing was compared
}

}  // namespace nervex::webhook
