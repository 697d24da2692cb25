// The corpus of tests/job/corpus: each wrong job is refused with these fields and words, each right
// one passes. That the API server agrees is test_admission_corpus.py's to show.
#include <fmt/format.h>
#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>

#include "job/template/rules.h"
#include "job/validate.h"
#include "tests/job/corpus.h"
#include "tests/job/texts.h"

namespace nervex::job {
namespace {

using testing::corpus_job;
using testing::corpus_rows;
using testing::texts;
using testing::Texts;

}  // namespace

TEST_CASE("every invalid job of the corpus is refused with its fields and messages",
          "[job][corpus]") {
  const Json rows = corpus_rows("wrong.json");
  CHECK(rows.size() >= 150);
  for (const Json& row : rows) {
    INFO("when " << row["when"].get<std::string>());
    const Texts said = texts(validate_job(corpus_job(row)));
    if (row.contains("by")) continue;  // the schema tells
    CHECK(said == row["says"].get<Texts>());
  }
}

TEST_CASE("every valid job of the corpus passes", "[job][corpus]") {
  const Json rows = corpus_rows("right.json");
  CHECK(rows.size() >= 40);
  for (const Json& row : rows) {
    INFO("when " << row["when"].get<std::string>());
    const FieldErrors errors = validate_job(corpus_job(row));
    INFO(to_string(errors));
    CHECK(errors.empty());
  }
}

TEST_CASE("rules for templates accept values of any type without failing", "[job][corpus]") {
  const Json odd = Json::array({nullptr, 1, -1.5, true, "", "text", Json::array({1, nullptr, "a"}),
                                Json::object({{"a", 1}, {"", Json::array()}})});
  for (const Json& row : corpus_rows("right.json")) {
    // Each value of the template, one after the other, and what holds it, become something odd.
    const Json right = corpus_job(row);
    const Json flat = right.flatten();
    for (const auto& [path, unused] : flat.items()) {
      if (!path.starts_with("/spec/learner/template")) continue;
      const Json::json_pointer pointer(path);
      Json job = right;
      job[pointer] = odd[path.size() % odd.size()];
      static_cast<void>(validate_job(job));
      job[pointer.parent_pointer()] = odd[(path.size() + 1) % odd.size()];
      static_cast<void>(validate_job(job));
    }
  }
}

TEST_CASE("values that Kubernetes accepts but are hardly intended cause a warning",
          "[job][corpus]") {
  struct Row {
    std::string when;
    std::string pointer;  // below the learner's pod
    std::string value;    // JSON
    Texts want;           // below it, too
  };
  const auto row = GENERATE(values<Row>({
      {"nothing is odd", "/hostname", R"("a")", {}},
      {"a variable is set twice",
       "/containers/0/env",
       R"([{"name": "A", "value": "1"}, {"name": "A", "value": "2"}])",
       {"containers[0].env[1]: set twice, the last one wins: A"}},
      {"a variable goes on with what it was",
       "/containers/0/env",
       R"([{"name": "A", "value": "1"}, {"name": "A", "value": "$(A):2"}])",
       {}},
      {"a variable is only what it was",
       "/initContainers/0/env",
       R"-([{"name": "A", "value": "1"}, {"name": "A", "value": "$(A)"}])-",
       {"initContainers[0].env[1]: set twice, the last one wins: A"}},
      {"memory is in thousandths",
       "/containers/0/resources",
       R"({"limits": {"memory": "512m", "cpu": "500m"}, "requests": {"ephemeral-storage": "1000m"}})",
       {"containers[0].resources.limits[memory]: did you mean 512Mi? 512m is a fractional byte "
        "value",
        "containers[0].resources.requests[ephemeral-storage]: did you mean 1000Mi? 1000m is 1 "
        "byte"}},
      {"memory is a fraction",
       "/containers/0/resources",
       R"({"limits": {"memory": 0.5, "cpu": 0.5}})",
       {"containers[0].resources.limits[memory]: 0.5 is a fractional byte value"}},
      {"the pod's memory is in thousandths",
       "/resources",
       R"({"limits": {"memory": "2500m"}})",
       {"resources.limits[memory]: did you mean 2500Mi? 2500m is a fractional byte value"}},
      {"a volume is in thousandths",
       "/volumes/0/emptyDir/sizeLimit",
       R"("100m")",
       {"volumes[0].emptyDir.sizeLimit: did you mean 100Mi? 100m is a fractional byte value"}},
      {"a claim is in thousandths",
       "/volumes/0",
       R"({"name": "data", "ephemeral": {"volumeClaimTemplate": {"spec":
             {"resources": {"requests": {"storage": "1m"}}}}}})",
       {"volumes[0].ephemeral.volumeClaimTemplate.spec.resources.requests[storage]: did you mean "
        "1Mi? 1m is a fractional byte value"}},
      {"a device has its vendor without a domain",
       "/containers/0/resources/limits/nvidia~1gpu",
       "1",
       {"containers[0].resources.limits[nvidia/gpu]: did you mean nvidia.com/gpu?"}},
      {"a device is in the plural",
       "/containers/0/resources/limits/nvidia.com~1gpus",
       "1",
       {"containers[0].resources.limits[nvidia.com/gpus]: did you mean nvidia.com/gpu?"}},
      {"devices have names of their own",
       "/containers/0/resources/limits",
       R"({"nvidia.com/gpu.shared": 1, "gpu.intel.com/i915": 1, "nvidia.com/mig-1g.5gb": 1})",
       {}},
      {"an amount is left blank",
       "/containers/0/resources/limits",
       R"({"nvidia.com/gpu": null, "memory": null})",
       {"containers[0].resources.limits[memory]: is empty, which counts as 0",
        "containers[0].resources.limits[nvidia.com/gpu]: is empty, which counts as 0"}},
      {"a medium is misspelt",
       "/volumes/0",
       R"({"name": "data", "emptyDir": {"medium": "memory"}})",
       {"volumes[0].emptyDir.medium: no pod starts with it: use Memory, HugePages, HugePages-2Mi "
        "or "
        "leave it out"}},
      {"media are right",
       "/volumes",
       R"([{"name": "a", "emptyDir": {"medium": "Memory"}}, {"name": "b", "emptyDir": {}},
           {"name": "c", "emptyDir": {"medium": "HugePages-1Gi"}}])",
       {}},
      {"an image has a blank",
       "/containers/0/image",
       R"("dqn learner:v1")",
       {"containers[0].image: contains a space: no node can pull it: dqn learner:v1"}},
      {"an image has capital letters",
       "/containers/0/image",
       R"("registry.example.com/Research/dqn:v1")",
       {"containers[0].image: contains capital letters: no node can pull it: "
        "registry.example.com/Research/dqn:v1"}},
      {"an image without a registry has capital letters",
       "/containers/0/image",
       R"("DQN:v1")",
       {"containers[0].image: contains capital letters: no node can pull it: DQN:v1"}},
      {"capital letters of an image stand where they may",
       "/containers/0/image",
       R"("Registry:5000/dqn:V1@sha256:ABC")",
       {}},
      {"a spread has no selector",
       "/topologySpreadConstraints",
       R"([{"maxSkew": 1, "topologyKey": "zone", "whenUnsatisfiable": "ScheduleAnyway"}])",
       {"topologySpreadConstraints[0]: a null labelSelector results in matching no pod"}},
      {"terms of affinity have no selector",
       "/affinity",
       R"({"podAffinity": {"requiredDuringSchedulingIgnoredDuringExecution":
             [{"topologyKey": "zone", "labelSelector": {}}, {"topologyKey": "zone"}]},
           "podAntiAffinity": {"preferredDuringSchedulingIgnoredDuringExecution":
             [{"weight": 1, "podAffinityTerm": {"topologyKey": "zone"}}]}})",
       {"affinity.podAffinity: a null labelSelector results in matching no pod in "
        "requiredDuringSchedulingIgnoredDuringExecution[1]",
        "affinity.podAntiAffinity: a null labelSelector results in matching no pod in "
        "preferredDuringSchedulingIgnoredDuringExecution[0]"}},
      {"a pull secret has no name",
       "/imagePullSecrets",
       R"([{"name": "a"}, {}])",
       {"imagePullSecrets[1].name: is empty: no secret is used"}},
      {"the grace period is negative",
       "/terminationGracePeriodSeconds",
       "-1",
       {"terminationGracePeriodSeconds: must be >= 0; negative values are invalid and will be "
        "treated as 1"}},
  }));
  INFO("when " << row.when);
  Json job = corpus_rows("base.json");
  job["spec"]["learner"]["template"]["spec"][Json::json_pointer(row.pointer)] =
      Json::parse(row.value);
  Texts want;
  for (const auto& text : row.want) want.push_back("spec.learner.template.spec." + text);
  CHECK(template_warnings(job) == want);
}

TEST_CASE("the first 120 characters of a warning contain its point", "[job][corpus]") {
  const std::string longest(63, 'V');
  Json job = corpus_rows("base.json");
  Json& pod = job["spec"]["coordinator"]["template"]["spec"];
  for (int i = 0; i < 12; ++i) {
    pod["initContainers"].push_back(
        {{"name", fmt::format("i{}", i)},
         {"env", {{{"name", longest}}, {{"name", longest}}}},
         {"resources", {{"requests", {{"ephemeral-storage", "500m"}}}}}});
  }
  const auto warnings = template_warnings(job);
  CHECK(warnings.size() == 20);
  for (const auto& warning : warnings) {
    const std::string shown = warning.substr(0, 120);
    INFO(shown);
    CHECK((shown.find("set twice, the last one wins") != std::string::npos ||
           shown.find("did you mean 500Mi?") != std::string::npos));
  }
}

TEST_CASE("a coordinator's default restartPolicy is Never", "[job][corpus]") {
  Json job = corpus_rows("base.json");
  Json& pod = job["spec"]["coordinator"]["template"]["spec"];
  pod["containers"][0]["resizePolicy"] = {
      {{"resourceName", "cpu"}, {"restartPolicy", "RestartContainer"}}};
  CHECK(texts(validate_job(job)) ==
        Texts{"spec.coordinator.template.spec.containers[0].resizePolicy: Invalid value: "
              "\"RestartContainer\": must be 'NotRequired' when pod `restartPolicy` is 'Never'"});
  pod["restartPolicy"] = "OnFailure";
  CHECK(validate_job(job).empty());
}

TEST_CASE("labels of the controller are labels of the pod", "[job][corpus]") {
  Json job = corpus_rows("base.json");
  Json& pod = job["spec"]["learner"]["template"]["spec"];
  pod["topologySpreadConstraints"] = {
      {{"maxSkew", 1},
       {"topologyKey", "zone"},
       {"whenUnsatisfiable", "ScheduleAnyway"},
       {"labelSelector", {{"matchLabels", {{"replica-type", "x"}}}}},
       {"matchLabelKeys", {"replica-type"}}}};
  CHECK(texts(validate_job(job)) ==
        Texts{"spec.learner.template.spec.topologySpreadConstraints[0].matchLabelKeys[0]: Invalid "
              "value: \"replica-type\": exists in both matchLabelKeys and labelSelector"});
}

TEST_CASE("a hostile template causes a bounded number of errors", "[job][corpus]") {
  Json job = corpus_rows("base.json");
  Json& container = job["spec"]["learner"]["template"]["spec"]["containers"][0];
  for (int i = 0; i < 20'000; ++i) container["ports"].push_back({{"containerPort", 70'000}});
  CHECK(validate_job(job).size() <= kMaxErrors + 10);
}

}  // namespace nervex::job
