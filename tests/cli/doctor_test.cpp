#include "cli/doctor/checks.h"

#include <catch2/catch_test_macros.hpp>

#include <algorithm>
#include <functional>

#include "certs/x509.h"
#include "cli/suite_namespace.h"
#include "kube/model/admission.h"
#include "tests/support/job_snapshots.h"

namespace nervex::cli {
namespace {

using view::at;

const SysTime kVisit = at("2026-11-21T14:05:00Z");
const Error kHidden{Code::kForbidden, "403 cannot get"};

std::string a_certificate(std::chrono::days valid_for) {
  return certs::make_authority("test", {kVisit - std::chrono::days(1), kVisit + valid_for}).cert;
}

Json a_configuration(const std::string& ca) {
  return {{"webhooks", Json::array({{{"name", "hook"},
                                     {"clientConfig", {{"caBundle", kube::base64_encode(ca)}}}}})}};
}

Json a_lease(const std::string& holder, const std::string& renewed) {
  return {
      {"spec", {{"holderIdentity", holder}, {"leaseDurationSeconds", 15}, {"renewTime", renewed}}}};
}

SuiteFacts healthy_facts() {
  const std::string ca = a_certificate(std::chrono::days(400));
  const Json names = Json::array({{{"name", "nervexjobs"}},
                                  {{"name", "podgroups"}},
                                  {{"name", "aggregatorconfigs"}},
                                  {{"name", "queues"}},
                                  {{"name", "simulations"}}});
  const Json deployment = {
      {"metadata", {{"name", "nervex-server"}}},
      {"spec",
       {{"replicas", 2},
        {"template",
         {{"spec", {{"containers", Json::array({{{"image", "r:5000/nervex-server:1.2.3"}}})}}}}}}},
      {"status", {{"readyReplicas", 2}, {"updatedReplicas", 2}}}};
  const Json scheduler = {
      {"metadata", {{"name", "nervex-scheduler"}}},
      {"spec",
       {{"template",
         {{"spec",
           {{"containers", Json::array({{{"name", "kube-scheduler"},
                                         {"image", "r:5000/kube-scheduler:v1.36.3"}}})}}}}}}}};
  return {.now = kVisit,
          .cli_version = "1.2.3",
          .ns = "rl",
          .suite_ns = "tools",
          .server_version = Json{{"gitVersion", "v1.36.0"}},
          .our_resources = Json{{"resources", names}},
          .wrong_job = Error{Code::kInvalid,
                             "422 admission webhook \"vnervexjob.kb.io\" denied the request: no"},
          .webhook_configurations = {a_configuration(ca), a_configuration(ca)},
          .serving_secret = Json{{"data", {{"tls.crt", kube::base64_encode(ca)}}}},
          .leases = {{"nervex-extender", a_lease("pod_1", "2026-11-21T14:04:55.000000Z")}},
          .deployments = Json{{"items", Json::array({deployment, scheduler})}},
          .rights = {{"list", "nervexjobs", "rl", true}, {"list", "nodes", "", true}}};
}

// The health of the subject whose name begins so, and what was found.
const Check& find_check(const std::vector<Check>& checks, std::string_view subject) {
  const auto found = std::find_if(checks.begin(), checks.end(), [&](const Check& check) {
    return check.subject.starts_with(subject);
  });
  REQUIRE(found != checks.end());
  return *found;
}

TEST_CASE("a healthy suite passes every check", "[cli][doctor]") {
  const auto checks = examine(healthy_facts());
  for (const auto& check : checks) {
    INFO(check.subject << ": " << check.finding);
    CHECK(check.health == Health::kGood);
    CHECK(check.remedy.empty());
  }
  CHECK(checks.size() == 9);
}

TEST_CASE("remedies name the namespace of the suite", "[cli][doctor]") {
  SuiteFacts facts = healthy_facts();
  facts.leases = {{"nervex-extender", Error{Code::kNotFound, "404"}}};
  facts.serving_secret = Error{Code::kNotFound, "404"};
  facts.deployments = Json{{"items", Json::array()}};
  const auto checks = examine(facts);
  CHECK(find_check(checks, "Leader").remedy.ends_with(" -n tools"));
  CHECK(find_check(checks, "Webhook certificate").remedy.ends_with("--install -n tools"));
  CHECK(find_check(checks, "Deployments").finding == "none in namespace tools runs the suite");
}

TEST_CASE("the namespace of the suite is that of the webhook's Service", "[cli][doctor]") {
  const Json service = {{"clientConfig", {{"service", {{"namespace", "tools"}}}}}};
  CHECK(suite_namespace(Json{{"webhooks", Json::array({service})}}) == "tools");
  CHECK(suite_namespace(Json::object()) == "nervex-system");
  CHECK(suite_namespace(kHidden) == "nervex-system");
}

TEST_CASE("each failure is found, with what to do", "[cli][doctor]") {
  struct Row {
    std::string when;
    std::function<void(SuiteFacts&)> change;
    std::string subject;
    Health health;
  };
  const std::vector<Row> rows = {
      {"kinds are missing",
       [](SuiteFacts& f) {
         f.our_resources = Error{Code::kNotFound, "404"};
       },
       "CustomResourceDefinitions", Health::kBad},
      {"a kind is missing",
       [](SuiteFacts& f) {
         f.our_resources = Json{{"resources", Json::array()}};
       },
       "CustomResourceDefinitions", Health::kBad},
      {"the webhook is not asked", [](SuiteFacts& f) { f.wrong_job = ok(); }, "Webhook",
       Health::kBad},
      {"the webhook does not answer",
       [](SuiteFacts& f) {
         f.wrong_job = Error{Code::kTransient, "500 failed calling webhook \"vnervexjob.kb.io\""};
       },
       "Webhook", Health::kBad},
      {"the authority expires soon",
       [](SuiteFacts& f) {
         f.webhook_configurations[1] = a_configuration(a_certificate(std::chrono::days(3)));
       },
       "Webhook configurations", Health::kWarning},
      {"the caBundle is empty",
       [](SuiteFacts& f) { f.webhook_configurations[0] = a_configuration(""); },
       "Webhook configurations", Health::kBad},
      {"the certificate has expired",
       [](SuiteFacts& f) {
         f.serving_secret = Json{
             {"data", {{"tls.crt", kube::base64_encode(a_certificate(std::chrono::days(0)))}}}};
       },
       "Webhook certificate", Health::kBad},
      {"the leader is gone",
       [](SuiteFacts& f) { f.leases[0].lease = a_lease("", "2026-11-21T14:04:55Z"); },
       "Leader of nervex-extender", Health::kBad},
      {"the leader hangs",
       [](SuiteFacts& f) { f.leases[0].lease = a_lease("pod_1", "2026-11-21T14:00:00Z"); },
       "Leader of nervex-extender", Health::kBad},
      {"no pod is ready",
       [](SuiteFacts& f) { (*f.deployments)["items"][0]["status"]["readyReplicas"] = 0; },
       "Deployment nervex-server", Health::kBad},
      {"new pods do not start, those before go on",
       [](SuiteFacts& f) {
         Json& status = (*f.deployments)["items"][0]["status"];
         status["updatedReplicas"] = 1;
         status["unavailableReplicas"] = 1;
       },
       "Deployment nervex-server", Health::kWarning},
      {"a change of a Deployment has not been seen yet",
       [](SuiteFacts& f) {
         Json& server = (*f.deployments)["items"][0];
         server["metadata"]["generation"] = 4;
         server["status"]["observedGeneration"] = 3;
       },
       "Deployment nervex-server", Health::kWarning},
      {"nervexctl is of another version", [](SuiteFacts& f) { f.cli_version = "1.3.0"; },
       "Deployment nervex-server", Health::kWarning},
      {"the cluster is too old",
       [](SuiteFacts& f) {
         f.server_version = Json{{"gitVersion", "v1.30.9"}};
       },
       "API server", Health::kBad},
      {"kube-scheduler is newer than the API server",
       [](SuiteFacts& f) {
         f.server_version = Json{{"gitVersion", "v1.35.4-gke.100"}};
       },
       "Version of kube-scheduler", Health::kWarning},
      {"kube-scheduler is two versions older",
       [](SuiteFacts& f) {
         f.server_version = Json{{"gitVersion", "v1.38.0"}};
       },
       "Version of kube-scheduler", Health::kWarning},
      {"a right is missing", [](SuiteFacts& f) { f.rights[0].is_allowed = false; }, "Your rights",
       Health::kWarning},
  };
  for (const auto& row : rows) {
    INFO("when " << row.when);
    SuiteFacts facts = healthy_facts();
    row.change(facts);
    const auto checks = examine(facts);
    const Check& check = find_check(checks, row.subject);
    INFO(check.finding);
    CHECK(check.health == row.health);
    CHECK_FALSE(check.remedy.empty());
  }
}

TEST_CASE("what a user may not see is hidden, not failed", "[cli][doctor]") {
  SuiteFacts facts = healthy_facts();
  facts.wrong_job = kHidden;
  facts.webhook_configurations = {kHidden, kHidden};
  facts.serving_secret = kHidden;
  facts.leases[0].lease = kHidden;
  facts.deployments = kHidden;
  facts.rights[1].is_allowed = false;  // nodes
  const auto checks = examine(facts);
  for (const auto& check : checks) {
    INFO(check.subject);
    CHECK((check.health == Health::kGood || check.health == Health::kHidden));
  }
  CHECK(find_check(checks, "Webhook certificate").health == Health::kHidden);
}

TEST_CASE("without an API server nothing else is checked", "[cli][doctor]") {
  SuiteFacts facts = healthy_facts();
  facts.server_version = Error{Code::kTransient, "connection refused"};
  const auto checks = examine(facts);
  REQUIRE(checks.size() == 1);
  CHECK(checks[0].remedy == "is the API server reachable? kubectl cluster-info");
  CHECK(to_text(checks, Paint(false)) ==
        "Failed  API server  connection refused\n"
        "                    what to do: is the API server reachable? kubectl cluster-info\n");
}

}  // namespace
}  // namespace nervex::cli
