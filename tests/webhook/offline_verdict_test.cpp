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

// The schema alone tells of it, and a cluster alone knows the schema: a field within a template or
// a volume.
bool is_of_cluster(const std::string& line) {
  static const std::regex kWithin(
      R"(^spec\.((coordinator|collector|learner)\.template[.]|volumes\[\d+\]\.(?!name:)).*)");
  return std::regex_match(line.substr(0, line.find(' ')), kWithin);
}

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
  static const auto kSchema = job::make_offline_job_check(schemas::nervex_job());
  REQUIRE(kSchema);
  Lines lines;
  for (const auto& finding : cli::judge(job, **kSchema)) {
    if (finding.is_error) lines.push_back(finding.field + ": " + finding.message);
  }
  return lines;
}

Lines without_cluster(Lines lines) {
  std::erase_if(lines, is_of_cluster);
  return lines;
}

}  // namespace

TEST_CASE("without a cluster the verdict on each job of the corpus is the webhook's",
          "[webhook][offline]") {
  for (const char* name : {"wrong.json", "right.json"}) {
    for (const Json& row : testing::corpus_rows(name)) {
      INFO("when " << row["when"].get<std::string>());
      const Json job = testing::corpus_job(row);
      if (row.contains("by")) {
        CHECK(without_cluster(offline(job)) == without_cluster(online(job)));
      } else {
        CHECK(offline(job) == online(job));
      }
    }
  }
}

TEST_CASE("without a cluster wrong types of the job's own fields are found as the webhook does",
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
    const Lines want = without_cluster(online(changed));
    wrong += want.empty() ? 0 : 1;
    CHECK(without_cluster(offline(changed)) == want);
  });
  CHECK(wrong > 50);  // else nothing was compared
}

}  // namespace nervex::webhook
