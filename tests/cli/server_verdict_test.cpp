#include "cli/validate/server_verdict.h"

#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>

#include "kube/access_review.h"
#include "kube/model/watch.h"

namespace nervex::cli {
namespace {

using Catch::Matchers::ContainsSubstring;
using Findings = std::vector<Finding>;

// An API server that answers as told, and notes what it was asked.
class Answers final : public kube::Api {
 public:
  struct Answer {
    int status = 200;
    std::string message;  // of the metav1.Status
  };

  Result<std::string> send(const kube::ApiRequest& request) override {
    if (request.path.find("selfsubjectaccessreviews") != std::string::npos) {
      return Json{{"status", {{"allowed", allowed}}}}.dump();
    }
    asked.push_back(request.method + " " + request.path.substr(0, request.path.find('?')));
    if (request.method == "GET") return answer(request, get, stored.dump());
    bodies.push_back(Json::parse(request.body));
    dry = dry && request.path.find("dryRun=All") != std::string::npos;
    if (request.method == "POST") return answer(request, post, "{}");
    if (conflicts == 0) return answer(request, put, "{}");
    --conflicts;
    return answer(request, {409, "the object has been modified"}, "{}");
  }
  Result<Nothing> stream(const std::string&, const std::function<bool(std::string_view)>&,
                         std::stop_token) override {
    return ok();
  }

  Answer get{404, "not found"};
  Answer post;
  Answer put;
  int conflicts = 0;    // number of changes answered with one
  Json stored;          // what a GET answers
  bool allowed = true;  // what a SelfSubjectAccessReview says
  bool dry = true;      // all that could have written was
  std::vector<std::string> asked;
  std::vector<Json> bodies;

 private:
  static Result<std::string> answer(const kube::ApiRequest& request, const Answer& answer,
                                    const std::string& good) {
    if (answer.status < 300) return good;
    const std::string body = Json{{"message", answer.message}}.dump();
    if (request.on_refusal) request.on_refusal(answer.status, body);
    return kube::status_error(request.method, answer.status, body);
  }
};

const std::string kJobs = "/apis/nervex.sensetime.com/v1alpha1/namespaces/rl/nervexjobs";
const Json kDqn = {
    {"metadata", {{"name", "dqn"}}}, {"spec", {{"group", "g"}}}, {"status", {{"a", 1}}}};
const Json kStored = {{"metadata", {{"name", "dqn"}, {"uid", "u"}, {"resourceVersion", "7"}}},
                      {"spec", {{"group", "old"}}}};
const std::string kOnReplace =
    "the object exists: checked as the change that kubectl replace would make";

Answers with_stored(const Json& stored = kStored) {
  Answers answers;
  answers.get = {200, ""};
  answers.stored = stored;
  return answers;
}

Result<Findings> ask(Answers& answers, const Json& object = kDqn) {
  kube::AccessReviewApi api(answers);
  return ask_server(api, "rl", object);
}

}  // namespace

TEST_CASE("an existing job is checked as a change, never as a creation", "[cli][validate]") {
  Answers answers = with_stored();
  answers.post = {422, "spec.learner: a fault that is stored already"};
  auto said = ask(answers);
  REQUIRE(said);
  CHECK(*said == Findings{{"", kOnReplace, false}});
  CHECK(answers.asked ==
        std::vector<std::string>{"GET " + kJobs + "/dqn", "PUT " + kJobs + "/dqn"});
  CHECK(answers.bodies.at(0) == changed_object(kStored, kDqn));
  CHECK(answers.dry);

  answers.put = {422, "spec.learner.template: may not change while the job starts or runs"};
  said = ask(answers);
  REQUIRE(said);
  CHECK(said->at(0) == Finding{"", answers.put.message});
}

TEST_CASE("a job that does not exist is checked as a creation", "[cli][validate]") {
  Answers answers;
  const auto said = ask(answers);
  REQUIRE(said);
  CHECK(said->empty());
  CHECK(answers.asked == std::vector<std::string>{"GET " + kJobs + "/dqn", "POST " + kJobs});

  answers.asked.clear();
  CHECK(ask(answers, {{"metadata", {{"generateName", "dqn-"}}}}));
  CHECK(answers.asked == std::vector<std::string>{"POST " + kJobs});
}

TEST_CASE("a job that changes during the check is checked again", "[cli][validate]") {
  Answers answers = with_stored();
  answers.conflicts = 2;
  const auto said = ask(answers);
  REQUIRE(said);
  CHECK(answers.asked.size() == 6);

  answers.conflicts = 100;  // more than the retries
  CHECK_FALSE(ask(answers));
}

TEST_CASE("oddities of a change are reported", "[cli][validate]") {
  Json stored = kStored;
  stored["metadata"]["deletionTimestamp"] = "2026-11-24T10:00:00Z";
  Json object = kDqn;
  object["metadata"]["resourceVersion"] = "6";
  object["metadata"]["uid"] = "u";
  Answers answers = with_stored(stored);
  const auto said = ask(answers, object);
  REQUIRE(said);
  CHECK(
      *said ==
      Findings{{"", kOnReplace, false},
               {"metadata.deletionTimestamp",
                "the object is being deleted, so its spec is not checked", false},
               {"metadata.resourceVersion",
                "differs from the stored object, so kubectl would report a conflict: leave it out",
                false}});
  CHECK(answers.bodies.at(0)["metadata"]["resourceVersion"] == "7");
}

TEST_CASE("a change is computed as kubectl does", "[cli][validate]") {
  struct Row {
    std::string when;
    std::string applied;  // the last time; "": it was never applied
    std::string stored;
    std::string object;
    std::string want;
  };
  const auto row = GENERATE(values<Row>({
      {"nothing was applied: what is left out goes", "",
       R"({"spec": {"group": "g", "suspend": true, "learner": {"replicas": 2}}})",
       R"({"spec": {"group": "h", "learner": {}}})", R"({"spec": {"group": "h", "learner": {}}})"},
      {"requests and the status are left to their writers", "",
       R"({"spec": {"group": "g", "requests": {"entries": []}}, "status": {"phase": "Running"}})",
       R"({"spec": {"group": "h"}, "status": {"phase": "Pending"}})",
       R"({"spec": {"group": "h", "requests": {"entries": []}}, "status": {"phase": "Running"}})"},
      {"it brings requests", "", R"({"spec": {"requests": {"entries": []}}})",
       R"({"spec": {"requests": {"entries": [1]}}})",
       R"({"spec": {"requests": {"entries": [1]}}})"},
      {"labels are its own, other metadata are the cluster's", "",
       R"({"metadata": {"labels": {"a": "1", "b": "1"}, "finalizers": ["f"]}})",
       R"({"metadata": {"labels": {"a": "2"}, "creationTimestamp": null}})",
       R"({"metadata": {"labels": {"a": "2"}, "finalizers": ["f"]}})"},
      {"what was applied and is left out goes, and the rest stays",
       R"({"spec": {"group": "g", "backoffLimit": 1, "learner": {"replicas": 1}}})",
       R"({"spec": {"group": "g", "backoffLimit": 3, "suspend": true,
                    "learner": {"replicas": 1, "reservedReplicas": 2}}, "status": {"a": 1}})",
       R"({"spec": {"group": "h", "learner": {"maxReplicas": 9}}, "status": {"a": 2}})",
       R"({"spec": {"group": "h", "suspend": true, "learner": {"maxReplicas": 9, "reservedReplicas": 2}},
           "status": {"a": 1}})"},
      {"lists are taken as a whole, and null removes", R"({"spec": {"volumes": [1, 2]}})",
       R"({"spec": {"volumes": [1, 2], "group": "g"}})",
       R"({"spec": {"volumes": [3], "group": null}})", R"({"spec": {"volumes": [3]}})"},
      {"a spec is none", "", R"({"spec": {"requests": {}}})", R"({"spec": 7})", R"({"spec": 7})"},
      {"there is none", R"({"spec": {}})", R"({"spec": {"requests": {}}})", "{}", "{}"},
      {"what was applied cannot be read", "[", R"({"spec": {"a": 1}})", R"({"spec": {"b": 1}})",
       R"({"spec": {"b": 1}})"},
  }));
  INFO("when " << row.when);
  Json metadata = {{"uid", "u"}, {"resourceVersion", "7"}};
  Json stored = Json::parse(row.stored);
  stored["metadata"].update(metadata);
  stored["metadata"]["managedFields"] = Json::array();
  Json want = Json::parse(row.want);
  want["metadata"].update(metadata);
  Json object = Json::parse(row.object);
  if (!row.applied.empty()) {
    const Json annotations = {{"kubectl.kubernetes.io/last-applied-configuration", row.applied}};
    stored["metadata"]["annotations"] = annotations;
    object["metadata"]["annotations"] = {{"a", "b"}};
    want["metadata"]["annotations"] = row.applied == "[" ? Json() : annotations;
    want["metadata"]["annotations"]["a"] = "b";
  }
  CHECK(changed_object(stored, object) == want);
}

TEST_CASE("an AggregatorConfig is checked as its own kind", "[cli][validate]") {
  Answers answers;
  kube::AccessReviewApi api(answers);
  const Json config = {{"kind", "AggregatorConfig"},
                       {"metadata", {{"name", "aggregator-config"}, {"namespace", "system"}}}};
  const auto said = ask_server(api, "rl", config);
  REQUIRE(said);
  CHECK(said->empty());
  CHECK(answers.asked.back() ==
        "POST /apis/nervex.sensetime.com/v1alpha1/namespaces/system/aggregatorconfigs");
}

TEST_CASE("a missing right of the caller gives no verdict, and says what to do",
          "[cli][validate]") {
  Answers answers;
  answers.allowed = false;
  answers.post = {403, R"(User "ann" cannot create resource "nervexjobs" in API group)"};
  const auto said = ask(answers);
  REQUIRE_FALSE(said);
  CHECK_THAT(said.error().message,
             ContainsSubstring("you may not create nervexjobs in namespace rl") &&
                 ContainsSubstring("-n") && ContainsSubstring("leave out --server"));
}

TEST_CASE("a missing right to change an existing job is reported, too", "[cli][validate]") {
  Answers answers = with_stored();
  answers.allowed = false;
  answers.put = {403, R"(User "ann" cannot update resource "nervexjobs" in API group)"};
  auto said = ask(answers);
  REQUIRE_FALSE(said);
  CHECK(said.error().code == Code::kForbidden);
  CHECK_THAT(said.error().message, ContainsSubstring("you may not update nervexjobs"));

  answers.get = {403, R"(User "ann" cannot get resource "nervexjobs" in API group)"};
  said = ask(answers);
  REQUIRE_FALSE(said);
  CHECK_THAT(said.error().message, ContainsSubstring("you may not get nervexjobs"));
}

TEST_CASE("a refusal by a policy or a hook is a verdict", "[cli][validate]") {
  Answers answers;
  answers.post = {403, "ann may not create pods in namespace rl"};
  const auto said = ask(answers);
  REQUIRE(said);
  CHECK(*said == Findings{{"", "ann may not create pods in namespace rl"}});
}

TEST_CASE("an API server that does not answer gives no verdict", "[cli][validate]") {
  Answers answers;
  answers.post = {503, "try again"};
  CHECK_FALSE(ask(answers));
  answers.get = {401, "Unauthorized"};
  const auto said = ask(answers);
  REQUIRE_FALSE(said);
  CHECK(said.error().code == Code::kUnauthorized);
}

}  // namespace nervex::cli
