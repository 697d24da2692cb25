// Any body gets an answer; an admitted job is valid with its patch, and needs no second one.
#include <cstdint>

#include "kube/model/admission.h"
#include "tests/fuzz/admission.h"
#include "webhook/answer.h"

namespace nervex::testing {
namespace {

using webhook::Hook;

webhook::Sources sources() {
  return {.check = [] { return job_check(); },
          .newer_check = [](const job::SchemaCheck&, MonoTime) { return job_check(); },
          .facts = [](const kube::AdmissionRequest&, Hook,
                      const HttpRequest&) { return webhook::Facts{}; },
          .server_user = "server",
          .host_access = webhook::Strictness::kWarn,
          .pod_access = webhook::Strictness::kRefuse,
          .capacity = webhook::Strictness::kWarn};
}

// The response of the review that answers `body`; null if it is not one that can be judged.
Json ask(const std::string& body, Hook hook) {
  static const webhook::Sources kSources = sources();
  const HttpReply reply = webhook::answer(
      {.method = "POST", .path = "/", .query = {}, .headers = {}, .body = body, .peer = ""}, hook,
      kSources);
  require(reply.status == 200 || reply.status == 400, "a review gets 200 or 400");
  if (reply.status != 200) return nullptr;
  const auto review = kube::parse_json(reply.body);
  require(review.has_value() && kube::find(*review, {"response", "allowed"}) != nullptr,
          "the answer is a review");
  return review->at("response");
}

Json patch_in(const Json& response) {
  if (!response.contains("patch")) return Json::array();
  const auto text = kube::base64_decode(response["patch"].get<std::string>());
  require(text.has_value(), "a patch is base64");
  return Json::parse(*text);
}

void check_review(const std::string& body) {
  const Json response = ask(body, Hook::kMutate);
  const Json verdict = ask(body, Hook::kValidate);
  require(response.is_null() == verdict.is_null(), "both hooks read the same");
  if (response.is_null() || response["allowed"] != true) return;

  auto review = kube::parse_json(body);
  Json& request = (*review)["request"];
  if (!request.contains("object") || !request["object"].is_object()) return;
  request["object"] = request["object"].patch(patch_in(response));
  const std::string patched = kube::to_text(*review);
  require(patch_in(ask(patched, Hook::kMutate)).empty(), "a second patch is not needed");
  const bool is_ours = !kube::string_at(request, {"kind", "kind"}).empty();
  if (is_ours && (request["kind"]["kind"] == "NerveXJob") &&
      (request["operation"] == "CREATE" || request["operation"] == "UPDATE")) {
    require(ask(patched, Hook::kValidate)["allowed"] == true, "what is mutated is valid");
  }
}

}  // namespace
}  // namespace nervex::testing

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  nervex::testing::check_review(std::string(reinterpret_cast<const char*>(data), size));
  return 0;
}
