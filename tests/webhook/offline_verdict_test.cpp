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

Lines online(const Json& job) {
  kube::AdmissionRequest request;
  request.operation = "CREATE";
  request.kind = "NerveXJob";
  request.user = "alice";
  request.object = job;
  const auto answer = review(request, Hook::kMutate, {*job_check(), "server"}).response;
  Lines lines;
  for (const auto& cause : answer.details.causes) {
    lines.push_back(cause.field + ": " + cause.message);
  }
  return lines;
}

Lines offline(const Json& job) {
  static const auto kSchema =
      job::make_offline_job_check(schemas::nervex_job(), schemas::pod_template());
  REQUIRE(kSchema);
  Lines lines;
  for (const auto& finding : cli::judge(job, **kSchema)) {
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
