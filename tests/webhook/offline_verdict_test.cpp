// Does `nervexctl validate`, which asks no cluster, say what the webhook says?
#include <algorithm>
#include <regex>

#include <catch2/catch_test_macros.hpp>

#include "cli/verdict.h"
#include "tests/job/corpus.h"
#include "tests/webhook/samples.h"
#include "webhook/review.h"

namespace nervex::webhook {
namespace {

using Lines = std::vector<std::string>;  // "spec.group: Invalid value: ..."

Lines online(const Json& object) {
  kube::AdmissionRequest request;
  request.operation = "CREATE";
  request.kind = kube::string_at(object, {"kind"});
  request.user = "alice";
  request.object = object;
  const auto answer = review(request, Hook::kMutate, {*job_check(), "server"}).response;
  Lines lines;
  for (const auto& cause : answer.details.causes) {
    lines.push_back(cause.field + ": " + cause.message);
  }
  return lines;
}

Lines offline(const Json& object) {
  static const auto kOfJobs =
      job::make_offline_job_check(schemas::nervex_job(), schemas::pod_template());
  static const auto kOfConfigs =
      job::make_offline_config_check(schemas::aggregator_config(), schemas::pod_template());
  REQUIRE(kOfJobs);
  REQUIRE(kOfConfigs);
  const bool is_job = kube::string_at(object, {"kind"}) == "NerveXJob";
  Lines lines;
  for (const auto& finding : cli::judge(object, is_job ? **kOfJobs : **kOfConfigs)) {
    if (finding.is_error) lines.push_back(finding.field + ": " + finding.message);
  }
  return lines;
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
    }
  }
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
  job["spec"]["holdSeconds"] = 3;
  job["spec"]["activeDeadlineSeconds"] = 3;
  job["spec"]["collector"]["minReplicas"] = 1;
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
