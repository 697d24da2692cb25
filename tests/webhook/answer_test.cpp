#include "webhook/answer.h"

#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators_all.hpp>

#include "kube/model/admission.h"
#include "tests/webhook/samples.h"

namespace nervex::webhook {
namespace {

using namespace std::chrono_literals;

std::string make_review(const Json& object) {
  return Json{{"apiVersion", "admission.k8s.io/v1"},
              {"kind", "AdmissionReview"},
              {"request",
               {{"uid", "u-1"},
                {"operation", "CREATE"},
                {"kind", {{"group", "nervex.sensetime.com"}, {"kind", "NerveXJob"}}},
                {"userInfo", {{"username", "alice"}}},
                {"object", object}}}}
      .dump();
}

HttpReply ask(const std::string& body, Hook hook = Hook::kMutate) {
  return answer(
      {.method = "POST", .path = "/", .query = {}, .headers = {}, .body = body, .peer = ""}, hook,
      sources_with(job_check()));
}

}  // namespace

TEST_CASE("every review is answered with a review", "[webhook][answer]") {
  Json job = a_job();
  job["spec"].erase("cleanPodPolicy");
  const HttpReply allowed = ask(make_review(job));
  CHECK(allowed.status == 200);
  const Json response = Json::parse(allowed.body)["response"];
  CHECK(response["uid"] == "u-1");
  CHECK(response["allowed"] == true);
  CHECK(response["patchType"] == "JSONPatch");
  CHECK(*kube::base64_decode(response["patch"].get<std::string>()) ==
        R"([{"op":"add","path":"/metadata/annotations",)"
        R"("value":{"nervex.sensetime.com/submitted-by":"alice"}},)"
        R"({"op":"add","path":"/spec/cleanPodPolicy","value":"Running"}])");

  job["spec"]["cleanPodPolicy"] = "hello";
  const HttpReply refused = ask(make_review(job), Hook::kValidate);
  CHECK(refused.status == 200);
  CHECK(Json::parse(refused.body)["response"]["allowed"] == false);
  CHECK(Json::parse(refused.body)["response"]["status"]["code"] == 422);
}

TEST_CASE("the levels of topologies are those of the flag", "[webhook][answer]") {
  Json job = a_job();
  job["spec"]["topology"] = {{"level", "rack"}};
  Sources sources = sources_with(job_check());
  const auto is_allowed = [&] {
    const HttpReply reply = answer({.method = "POST",
                                    .path = "/",
                                    .query = {},
                                    .headers = {},
                                    .body = make_review(job),
                                    .peer = ""},
                                   Hook::kValidate, sources);
    return Json::parse(reply.body)["response"]["allowed"] == true;
  };
  CHECK_FALSE(is_allowed());
  sources.topology_levels = {"rack"};
  CHECK(is_allowed());
}

TEST_CASE("the cluster is asked once about a valid job, and not about an invalid one",
          "[webhook][answer]") {
  int asked = 0;
  Sources sources = sources_with(job_check());
  sources.facts = [&](const kube::AdmissionRequest&, Hook, const HttpRequest&) {
    ++asked;
    Facts facts;
    facts.errors = {{job::FieldErrorType::kInvalid, "spec.coordinator.template.spec", "", "said"}};
    return facts;
  };
  const auto causes = [&](const Json& job, Hook hook) {
    HttpRequest request{.method = "POST",
                        .path = "/",
                        .query = {},
                        .headers = {},
                        .body = make_review(job),
                        .peer = ""};
    const Json response = Json::parse(answer(request, hook, sources).body)["response"];
    return response["allowed"] == true ? 0 : response["status"]["details"]["causes"].size();
  };
  Json job = a_job();
  CHECK(causes(job, Hook::kMutate) == 0);
  CHECK(asked == 0);
  CHECK(causes(job, Hook::kValidate) == 1);
  CHECK(asked == 1);
  job["spec"]["cleanPodPolicy"] = "hello";
  CHECK(causes(job, Hook::kMutate) == 2);
  CHECK(asked == 2);
}

TEST_CASE("anything but a review gets an HTTP error", "[webhook][answer]") {
  const auto body =
      GENERATE(as<std::string>{}, "", "{", "[]", "null", R"({"kind": "AdmissionReview"})",
               R"({"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview"})", "\xff",
               R"({"apiVersion": "admission.k8s.io/v1", "kind":
                             "AdmissionReview", "request": []})");
  CHECK(ask(body).status == 400);
  const HttpRequest get{
      .method = "GET", .path = "/", .query = {}, .headers = {}, .body = "", .peer = ""};
  const HttpReply reply = answer(get, Hook::kMutate, sources_with(job_check()));
  CHECK(reply.status == 405);
  CHECK(reply.headers.at("Allow") == "POST");
}

TEST_CASE("fields that are unknown to an old schema are checked against a new one",
          "[webhook][answer]") {
  Json old_document = Json::parse(schemas::pod_template());
  old_document["components"]["schemas"]["io.k8s.api.core.v1.PodSpec"]["properties"].erase(
      "hostUsers");
  const auto old_check = job::make_job_check(schemas::nervex_job(), old_document.dump());
  REQUIRE(old_check);
  auto new_check = GENERATE_COPY(*old_check, job_check());
  int asked = 0;
  Sources sources = sources_with(*old_check);
  sources.newer_check = [&](const job::SchemaCheck& outdated, MonoTime received) {
    CHECK(received == MonoTime(7s));
    CHECK(&outdated == old_check->get());
    ++asked;
    return new_check;
  };
  Json job = a_job();
  const auto answered = [&] {
    const HttpRequest request{.method = "POST",
                              .path = "/",
                              .query = {},
                              .headers = {},
                              .body = make_review(job),
                              .peer = "",
                              .received = MonoTime(7s)};
    return Json::parse(answer(request, Hook::kValidate, sources).body)["response"];
  };
  CHECK(answered()["allowed"] == true);
  CHECK(asked == 0);
  job["spec"]["coordinator"]["template"]["spec"]["hostUsers"] = false;
  const Json response = answered();
  CHECK(response["uid"] == "u-1");
  CHECK(response["allowed"] == (new_check == job_check()));
  CHECK(asked == 1);
  job["spec"]["cleanPodPolicy"] = "hello";
  job["spec"]["coordinator"]["template"]["spec"].erase("hostUsers");
  CHECK(answered()["allowed"] == false);
  CHECK(asked == 1);  // wrong in a way that no schema changes
}

TEST_CASE("a refusal of the HTTP server is a sentence for the user", "[webhook][answer]") {
  const HttpReply reply = refusal(413, "the body is larger than 7340032 bytes");
  CHECK(reply.status == 413);
  CHECK(reply.content_type == "text/plain");
  CHECK(reply.body ==
        "nervex-webhook refused the request: the body is larger than 7340032 bytes\n");
}

TEST_CASE("without a schema both hooks leave it to their failurePolicy", "[webhook][answer]") {
  const HttpRequest post{.method = "POST",
                         .path = "/",
                         .query = {},
                         .headers = {},
                         .body = make_review(a_job()),
                         .peer = ""};
  const HttpReply reply =
      answer(post, GENERATE(Hook::kMutate, Hook::kValidate), sources_with(nullptr));
  CHECK(reply.status == 500);
  CHECK(reply.body == "nervex-webhook is not ready: the cluster's OpenAPI is not loaded yet\n");
}

}  // namespace nervex::webhook
