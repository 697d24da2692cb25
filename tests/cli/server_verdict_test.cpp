#include "cli/server_verdict.h"

#include <catch2/catch_test_macros.hpp>
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
    bodies.push_back(Json::parse(request.body));
    dry = dry && request.path.find("dryRun=All") != std::string::npos;
    const Answer& answer = request.method == "POST" ? post : patch;
    if (answer.status < 300) return std::string("{}");
    const std::string body = Json{{"message", answer.message}}.dump();
    if (request.on_refusal) request.on_refusal(answer.status, body);
    return kube::status_error(request.method, answer.status, body);
  }
  Result<Nothing> stream(const std::string&, const std::function<bool(std::string_view)>&,
                         std::stop_token) override {
    return ok();
  }

  Answer post;
  Answer patch;
  bool allowed = true;  // what a SelfSubjectAccessReview says
  bool dry = true;      // all of it was
  std::vector<std::string> asked;
  std::vector<Json> bodies;
};

const std::string kJobs = "/apis/nervex.sensetime.com/v1alpha1/namespaces/rl/nervexjobs";
const Json kDqn = {
    {"metadata", {{"name", "dqn"}}}, {"spec", {{"group", "g"}}}, {"status", {{"a", 1}}}};

Result<Findings> ask(Answers& answers) {
  kube::AccessReviewApi api(answers);
  return ask_server(api, "rl", kDqn);
}

}  // namespace

TEST_CASE("a job that exists is judged as a change of it", "[cli][validate]") {
  Answers answers;
  answers.post = {409, "nervexjobs \"dqn\" already exists"};
  auto said = ask(answers);
  REQUIRE(said);
  CHECK(*said == Findings{{"", "it exists: this is the verdict on changing it", false}});
  CHECK(answers.asked == std::vector<std::string>{"POST " + kJobs, "PATCH " + kJobs + "/dqn"});
  CHECK_FALSE(answers.bodies.at(1).contains("status"));
  CHECK(answers.dry);

  answers.patch = {422, "spec.learner.template: may not change while the job runs"};
  said = ask(answers);
  REQUIRE(said);
  CHECK(said->at(0) == Finding{"", answers.patch.message});
}

TEST_CASE("an AggregatorConfig is asked about as what it is", "[cli][validate]") {
  Answers answers;
  kube::AccessReviewApi api(answers);
  const Json config = {{"kind", "AggregatorConfig"},
                       {"metadata", {{"name", "aggregator-config"}, {"namespace", "system"}}}};
  const auto said = ask_server(api, "rl", config);
  REQUIRE(said);
  CHECK(said->empty());
  CHECK(answers.asked ==
        std::vector<std::string>{
            "POST /apis/nervex.sensetime.com/v1alpha1/namespaces/system/aggregatorconfigs"});
}

TEST_CASE("a missing right of the caller is no verdict, and says what to do", "[cli][validate]") {
  Answers answers;
  answers.allowed = false;
  answers.post = {403, R"(User "ann" cannot create resource "nervexjobs" in API group)"};
  const auto said = ask(answers);
  REQUIRE_FALSE(said);
  CHECK_THAT(said.error().message,
             ContainsSubstring("you may not create nervexjobs in namespace rl") &&
                 ContainsSubstring("-n") && ContainsSubstring("leave out --server"));
}

TEST_CASE("a missing right to change the job that exists says so, too", "[cli][validate]") {
  Answers answers;
  answers.allowed = false;
  answers.post = {409, "already exists"};
  answers.patch = {403, R"(User "ann" cannot patch resource "nervexjobs" in API group)"};
  const auto said = ask(answers);
  REQUIRE_FALSE(said);
  CHECK_THAT(said.error().message, ContainsSubstring("you may not patch nervexjobs"));
}

TEST_CASE("what a policy or a hook forbids is a verdict", "[cli][validate]") {
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
}

}  // namespace nervex::cli
