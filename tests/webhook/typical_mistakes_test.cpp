// What a new user types wrong into the example, and what the webhook answers: typical_mistakes.json
// has the table, which an end-to-end test (test_typical_mistakes.py) reads, too. Each answer, read
// alone, has to say what to change.
#include <fstream>
#include <iterator>
#include <string>

#include <catch2/catch_test_macros.hpp>

#include "cli/validate/manifests.h"
#include "tests/webhook/samples.h"
#include "webhook/review.h"

namespace nervex::webhook {
namespace {

std::string read_source_file(const std::string& path) {
  std::ifstream file(NERVEX_SOURCE_DIR "/" + path);
  return {std::istreambuf_iterator<char>(file), {}};
}

// "spec.learner...: Required value", each that the mutating hook answers with.
std::vector<std::string> answer_to(const std::string& yaml) {
  const auto manifests = cli::parse_manifests(yaml);
  REQUIRE(manifests);
  kube::AdmissionRequest request;
  request.uid = "u";
  request.operation = "CREATE";
  request.kind = "NerveXJob";
  request.ns = "default";
  request.user = "alice";
  request.object = manifests->at(0).object;
  request.name = kube::string_at(request.object, {"metadata", "name"});
  const auto answer = review(request, Hook::kMutate, {*job_check(), "server"}).response;
  std::vector<std::string> lines;
  for (const auto& cause : answer.details.causes)
    lines.push_back(cause.field + ": " + cause.message);
  return lines;
}

}  // namespace

TEST_CASE("a typical mistake in the example is answered with what to change",
          "[webhook][mistakes]") {
  const std::string example = read_source_file("examples/nervex-mock-nervexjob.yaml");
  CHECK(answer_to(example).empty());
  const Json mistakes = Json::parse(read_source_file("tests/webhook/typical_mistakes.json"));
  CHECK(mistakes.size() >= 20);
  for (const Json& mistake : mistakes) {
    INFO(mistake["mistake"].get<std::string>());
    const auto right = mistake["right"].get<std::string>();
    const std::size_t at = example.find(right);
    REQUIRE(at != std::string::npos);
    std::string typed = example;
    typed.replace(at, right.size(), mistake["typed"].get<std::string>());
    if (mistake.contains("answer")) {  // by the webhook; else the API server or kubectl is sooner
      CHECK(answer_to(typed) == mistake["answer"].get<std::vector<std::string>>());
    }
  }
}

}  // namespace nervex::webhook
