#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>

#include "kube/model/admission.h"

namespace nervex::kube {
namespace {

constexpr const char* kReview = R"({
  "kind": "AdmissionReview",
  "apiVersion": "admission.k8s.io/v1",
  "request": {
    "uid": "705ab4f5-6393-11e8-b7cc-42010a800002",
    "kind": {"group": "nervex.sensetime.com", "version": "v1alpha1", "kind": "NerveXJob"},
    "resource": {"group": "nervex.sensetime.com", "version": "v1alpha1", "resource": "nervexjobs"},
    "subResource": "scale",
    "requestKind": {"group": "nervex.sensetime.com", "version": "v1alpha1", "kind": "NerveXJob"},
    "name": "dqn",
    "namespace": "team-a",
    "operation": "UPDATE",
    "userInfo": {
      "username": "ada",
      "uid": "014fbff9a07c",
      "groups": ["system:authenticated", "researchers"],
      "extra": {"scopes": ["jobs"]}
    },
    "object": {"spec": {"suspend": true}},
    "oldObject": {"spec": {"suspend": false}},
    "dryRun": true,
    "options": {"kind": "UpdateOptions", "apiVersion": "meta.k8s.io/v1"}
  }
})";

Json parsed(const std::string& text) {
  const auto value = parse_json(text);
  REQUIRE(value);
  return *value;
}

TEST_CASE("decode_review reads user and object", "[kube][admission]") {
  const auto request = decode_review(kReview);
  REQUIRE(request);
  CHECK(request->uid == "705ab4f5-6393-11e8-b7cc-42010a800002");
  CHECK(request->operation == "UPDATE");
  CHECK(request->kind == "NerveXJob");
  CHECK(request->ns == "team-a");
  CHECK(request->name == "dqn");
  CHECK(request->sub_resource == "scale");
  CHECK(request->user == "ada");
  CHECK(request->user_uid == "014fbff9a07c");
  CHECK(request->groups == std::vector<std::string>{"system:authenticated", "researchers"});
  CHECK(request->user_extra == Json{{"scopes", {"jobs"}}});
  CHECK(request->dry_run);
  CHECK(request->object == parsed(R"({"spec":{"suspend":true}})"));
  CHECK(request->old_object == parsed(R"({"spec":{"suspend":false}})"));
}

TEST_CASE("an ordinary review is decoded without managedFields", "[kube][admission]") {
  Json review = parsed(kReview);
  const Json object = {
      {"metadata", {{"labels", {{"managedFields", "x"}}}, {"managedFields", {1, 2}}}}};
  review["request"]["object"] = object;
  review["request"]["oldObject"] = object;
  const auto request = decode_review(to_text(review));
  REQUIRE(request);
  const Json want = {{"metadata", {{"labels", {{"managedFields", "x"}}}}}};
  CHECK(request->object == want);
  CHECK(request->old_object == want);
}

TEST_CASE("a large review keeps managedFields, because its size is checked", "[kube][admission]") {
  Json review = parsed(kReview);
  const Json object = {
      {"metadata", {{"labels", {{"a", std::string(300'000, 'x')}}}, {"managedFields", {1, 2}}}}};
  review["request"]["object"] = object;
  const auto request = decode_review(to_text(review));
  REQUIRE(request);
  CHECK(request->object == object);
}

TEST_CASE("objects that a review does not carry are null", "[kube][admission]") {
  const auto request = decode_review(
      R"({"kind":"AdmissionReview","apiVersion":"admission.k8s.io/v1",
          "request":{"uid":"u","operation":"DELETE","object":null}})");
  REQUIRE(request);
  CHECK(request->object.is_null());
  CHECK(request->old_object.is_null());
  CHECK(request->groups.empty());
  CHECK(request->user_extra == Json::object());
  CHECK_FALSE(request->dry_run);
}

TEST_CASE("decode_review refuses anything but a v1 review", "[kube][admission]") {
  const auto* const body = GENERATE(
      "", "null", "[]", "{}",
      R"({"kind":"AdmissionReview","apiVersion":"admission.k8s.io/v1beta1"})",
      R"({"kind":"Pod","apiVersion":"admission.k8s.io/v1","request":{"uid":"u"}})",
      R"({"kind":"AdmissionReview","apiVersion":"admission.k8s.io/v1"})",
      R"({"kind":"AdmissionReview","apiVersion":"admission.k8s.io/v1","request":null})",
      R"({"kind":"AdmissionReview","apiVersion":"admission.k8s.io/v1","request":{"uid":""}})",
      R"({"kind":"AdmissionReview","apiVersion":"admission.k8s.io/v1","request":{"uid":7}})");
  INFO(body);
  const auto request = decode_review(body);
  REQUIRE_FALSE(request);
  CHECK(request.error().code == Code::kInvalid);
}

AdmissionResponse refused(int code, const std::string& message, const Json& patch = Json()) {
  AdmissionResponse response;
  response.allowed = false;
  response.code = code;
  response.message = message;
  response.patch = patch;
  return response;
}

AdmissionResponse refused_for(std::vector<StatusCause> causes) {
  AdmissionResponse response = refused(422, "no");
  response.details = {
      .group = "example.com", .kind = "Job", .name = "dqn", .causes = std::move(causes)};
  return response;
}

AdmissionResponse allowed(const Json& patch, std::vector<std::string> warnings = {}) {
  AdmissionResponse response;
  response.patch = patch;
  response.warnings = std::move(warnings);
  return response;
}

TEST_CASE("encode_review answers in the review's own shape", "[kube][admission]") {
  struct Row {
    std::string when;
    AdmissionResponse response;
    std::string want;  // of "response"
  };
  const auto row = GENERATE(values<Row>({
      {"it is allowed", {}, R"({"uid":"u","allowed":true})"},
      {"it is refused", refused(422, "spec.group: Required value"),
       R"({"uid":"u","allowed":false,
           "status":{"code":422,"reason":"Invalid","message":"spec.group: Required value"}})"},
      {"it is refused without a code", refused(0, "no"),
       R"({"uid":"u","allowed":false,
           "status":{"code":403,"reason":"Forbidden","message":"no"}})"},
      {"the refused object is named", refused_for({}),
       R"({"uid":"u","allowed":false,
           "status":{"code":422,"reason":"Invalid","message":"no",
                     "details":{"group":"example.com","kind":"Job","name":"dqn"}}})"},
      {"its wrong fields are named",
       refused_for({{"FieldValueRequired", "Required value", "spec.a"},
                    {"FieldValueInvalid", "Invalid value: 1: must be 2", "spec.b"}}),
       R"({"uid":"u","allowed":false,
           "status":{"code":422,"reason":"Invalid","message":"no",
                     "details":{"group":"example.com","kind":"Job","name":"dqn","causes":[
             {"reason":"FieldValueRequired","message":"Required value","field":"spec.a"},
             {"reason":"FieldValueInvalid","message":"Invalid value: 1: must be 2","field":"spec.b"}
           ]}}})"},
      {"the patch is empty", allowed(Json::array()), R"({"uid":"u","allowed":true})"},
      {"there is a patch", allowed(parsed(R"([{"op":"add","path":"/x","value":1}])")),
       R"({"uid":"u","allowed":true,"patchType":"JSONPatch",
           "patch":"W3sib3AiOiJhZGQiLCJwYXRoIjoiL3giLCJ2YWx1ZSI6MX1d"})"},
      {"what is refused is not patched", refused(400, "no", parsed(R"([{"op":"x"}])")),
       R"({"uid":"u","allowed":false,
           "status":{"code":400,"reason":"BadRequest","message":"no"}})"},
      {"a warning is long",
       allowed(Json(),
               {"spec.learner: 1 of 3 can never fit: each needs nvidia.com/gpu 64; the "
                "largest node has 8 of it, so ask for less for each, or add a larger node"}),
       R"({"uid":"u","allowed":true,"warnings":["spec.learner: 1 of 3 can never fit: each needs )"
       R"(nvidia.com/gpu 64; the largest node has 8 of it, so ask for less for...",)"
       R"("...each, or add a larger node"]})"},
      {"there are warnings", allowed(Json(), {"spec.x is deprecated", std::string(200, 'w')}),
       R"({"uid":"u","allowed":true,"warnings":["spec.x is deprecated",")" + std::string(117, 'w') +
           R"(..."]})"},
  }));
  INFO("when " << row.when);
  const Json review = parsed(encode_review("u", row.response));
  CHECK(review["apiVersion"] == "admission.k8s.io/v1");
  CHECK(review["kind"] == "AdmissionReview");
  CHECK(review["response"] == parsed(row.want));
}

TEST_CASE("a warning is cut between characters", "[kube][admission]") {
  std::string text;
  while (text.size() < 200) text += "\xe2\x82\xac";
  const Json review = parsed(encode_review("u", allowed(Json(), {text})));
  const std::string cut = review["response"]["warnings"][0];
  CHECK(cut.size() <= 120);
  CHECK(cut.find("\xef\xbf\xbd") == std::string::npos);
}

TEST_CASE("base64 is that of RFC 4648", "[kube][admission]") {
  struct Row {
    std::string bytes;
    std::string text;
  };
  const auto row = GENERATE(values<Row>({{"", ""},
                                         {"f", "Zg=="},
                                         {"fo", "Zm8="},
                                         {"foo", "Zm9v"},
                                         {"foob", "Zm9vYg=="},
                                         {"fooba", "Zm9vYmE="},
                                         {"foobar", "Zm9vYmFy"},
                                         {"\xff\xfe\xfd", "//79"}}));
  CHECK(base64_encode(row.bytes) == row.text);
  const auto back = base64_decode(row.text);
  REQUIRE(back);
  CHECK(*back == row.bytes);
}

TEST_CASE("base64_decode refuses anything else", "[kube][admission]") {
  const auto* const text = GENERATE("Z", "Zg", "Zg=", "Zg===", "====", "Zh==", "Zm9=", "Z m9v",
                                    "Zm9v\n", "Zg==Zg==", "_-8=");
  INFO(text);
  CHECK_FALSE(base64_decode(text));
}

}  // namespace
}  // namespace nervex::kube
