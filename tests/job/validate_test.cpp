#include "job/validate.h"

#include <limits>
#include <random>

#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators_all.hpp>

#include "job/types.h"
#include "tests/job/texts.h"

namespace nervex::job {
namespace {

using testing::texts;
using testing::Texts;

Json a_valid_job() {
  return Json::parse(R"({
    "apiVersion": "nervex.sensetime.com/v1alpha1", "kind": "NerveXJob",
    "metadata": {"name": "dqn"},
    "spec": {
      "cleanPodPolicy": "Running",
      "coordinator": {"template": {"spec": {"containers": [{"name": "main", "image": "i"}]}}},
      "collector": {"template": {"spec": {"containers": [{"name": "main", "image": "i"}]}}}
    }})");
}

// a_valid_job() with this JSON merge patch applied.
Json job_with(const std::string& patch) {
  Json job = a_valid_job();
  job.merge_patch(Json::parse(patch));
  return job;
}

// a_valid_job() whose coordinator's container has these resources.
Json job_with_resources(const std::string& resources) {
  Json job = a_valid_job();
  job["spec"]["coordinator"]["template"]["spec"]["containers"][0]["resources"] =
      Json::parse(resources);
  return job;
}

}  // namespace

TEST_CASE("validate_job reports every wrong field of a job with its path", "[job][validate]") {
  struct Row {
    std::string when;
    std::string patch;
    Texts want;
  };
  const auto row = GENERATE(values<Row>({
      {"nothing is wrong", "{}", {}},
      {"worker sections are null", R"({"spec": {"collector": null, "learner": null}})", {}},
      {"a worker section is empty", R"({"spec": {"learner": {}}})", {}},
      {"the policy is empty", R"({"spec": {"cleanPodPolicy": ""}})", {}},
      {"the policy has its old spelling", R"({"spec": {"cleanPodPolicy": "ALL"}})", {}},
      {"the policy is unknown",
       R"({"spec": {"cleanPodPolicy": "hello"}})",
       {R"(spec.cleanPodPolicy: Unsupported value: "hello": supported values: "All", "None", "Running" (Invalid CleanPodPolicy))"}},
      {"the policy is no text",
       R"({"spec": {"cleanPodPolicy": 7}})",
       {R"(spec.cleanPodPolicy: Unsupported value: 7: supported values: "All", "None", )"
        R"("Running" (Invalid CleanPodPolicy))"}},
      {"the aggregator mode is unknown",
       R"({"spec": {"aggregator": "perjob"}})",
       {R"(spec.aggregator: Unsupported value: "perjob": supported values: "OnDemand", "PerJob", "")"}},
      {"the queue is empty", R"({"spec": {"queue": ""}})", {}},
      {"the queue is a subdomain", R"({"spec": {"queue": "vision.example-1"}})", {}},
      {"the queue is no name",
       R"({"spec": {"queue": "Vision_A"}})",
       {R"(spec.queue: Invalid value: "Vision_A": a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character)"}},
      {"topologies and node classes are right",
       R"({"spec": {"topology": {"level": "topology.kubernetes.io/zone"},
           "collector": {"topology": {"level": "rack", "policy": "Preferred"}},
           "learner": {"topology": {"level": "rack", "policy": "Required"},
                       "nodeClasses": ["NVIDIA-H100-80GB-HBM3", "a100"]}}})",
       {}},
      {"topologies and node classes are null or empty",
       R"({"spec": {"topology": null, "learner": {"topology": null, "nodeClasses": []},
                    "collector": {"nodeClasses": null}}})",
       {}},
      {"a level is missing or is no label key",
       R"({"spec": {"topology": {}, "collector": {"topology": {"level": ""}},
                    "learner": {"topology": {"level": "example.com/the rack"}}}})",
       {"spec.topology.level: Required value", "spec.collector.topology.level: Required value",
        R"(spec.learner.topology.level: Invalid value: "example.com/the rack": name part must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character)"}},
      {"a policy is unknown or empty",
       R"({"spec": {"topology": {"level": "rack", "policy": "Always"},
                    "learner": {"topology": {"level": "rack", "policy": ""}}}})",
       {R"(spec.topology.policy: Unsupported value: "Always": supported values: "Required", "Preferred")",
        R"(spec.learner.topology.policy: Unsupported value: "": supported values: "Required", "Preferred")"}},
      {"node classes are empty, invalid or duplicate",
       R"({"spec": {"learner": {"nodeClasses": ["a100", "", null, "a 100", "a100"]}}})",
       {"spec.learner.nodeClasses[1]: Required value",
        "spec.learner.nodeClasses[2]: Required value",
        R"(spec.learner.nodeClasses[3]: Invalid value: "a 100": a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character)",
        R"(spec.learner.nodeClasses[4]: Duplicate value: "a100")"}},
      {"there is no spec", R"({"spec": null})", {"spec.coordinator: Required value"}},
      {"there is no coordinator",
       R"({"spec": {"coordinator": null}})",
       {"spec.coordinator: Required value"}},
      {"the coordinator has no template",
       R"({"spec": {"coordinator": {"template": null}}})",
       {"spec.coordinator.template: Required value"}},
      {"the coordinator's template has no spec",
       R"({"spec": {"coordinator": {"template": {"spec": null}}}})",
       {"spec.coordinator.template.spec.containers: Required value: at least one container is "
        "needed"}},
      {"the coordinator has no container",
       R"({"spec": {"coordinator": {"template": {"spec": {"containers": []}}}}})",
       {"spec.coordinator.template.spec.containers: Required value: at least one container is "
        "needed"}},
      {"a container lacks its image and another its name",
       R"({"spec": {"collector": {"template": {"spec": {
          "containers": [{"name": "a"}, {"image": "i"}]}}}}})",
       {"spec.collector.template.spec.containers[0].image: Required value",
        "spec.collector.template.spec.containers[1].name: Required value"}},
      {"two containers have one name",
       R"({"spec": {"collector": {"template": {"spec": {
          "initContainers": [{"name": "a", "image": "i"}],
          "containers": [{"name": "a", "image": "i"}]}}}}})",
       {R"(spec.collector.template.spec.initContainers[0].name: Duplicate value: "a")"}},
      {"a container has a name that DNS does not allow",
       R"({"spec": {"collector": {"template": {"spec": {
          "containers": [{"name": "My_Main", "image": "i"}]}}}}})",
       {R"(spec.collector.template.spec.containers[0].name: Invalid value: "My_Main": must be at most 63 lower-case letters, digits or '-', with a letter or digit at both ends)"}},
      {"base replicas are negative or too large",
       R"({"spec": {"collector": {"replicas": -1, "reservedReplicas": 4097, "maxReplicas": null}}})",
       {"spec.collector.replicas: Invalid value: -1: must be between 0 and 4096",
        "spec.collector.reservedReplicas: Invalid value: 4097: must be between 0 and 4096"}},
      {"base replicas are above the maximum",
       R"({"spec": {"collector": {"replicas": 3, "reservedReplicas": 4, "maxReplicas": 2}}})",
       {"spec.collector.replicas: Invalid value: 3: must not be more than maxReplicas, 2",
        "spec.collector.reservedReplicas: Invalid value: 4: must not be more than maxReplicas, 2"}},
      {"a number is beyond 64 bits",
       R"({"spec": {"collector": {"replicas": 18446744073709551615}}})",
       {"spec.collector.replicas: Invalid value: 18446744073709551615: must be between 0 and "
        "4096"}},
      {"base replicas have no template",
       R"({"spec": {"learner": {"replicas": 2}}})",
       {"spec.learner.template: Required value: replicas or reservedReplicas is above 0"}},
      {"times are negative",
       R"({"spec": {"reservationSeconds": -1, "activeDeadlineSeconds": 0, "startTimeoutSeconds": 0}})",
       {"spec.reservationSeconds: Invalid value: -1: must be 0 or more",
        "spec.activeDeadlineSeconds: Invalid value: 0: must be 1 or more",
        "spec.startTimeoutSeconds: Invalid value: 0: must be 1 or more"}},
      {"a volume is given twice, and one clashes with a template's",
       R"({"spec": {
          "volumes": [{"name": "a"}, {"name": "a"}, {"name": "shm"}],
          "collector": {"template": {"spec": {"volumes": [{"name": "shm"}]}}}}})",
       {R"(spec.volumes[1].name: Duplicate value: "a")",
        R"(spec.volumes[2].name: Duplicate value: "shm": spec.collector.template.spec.volumes[0] has this name, too)"}},
      {"everything has a wrong type: but for texts in place of numbers, the schema says so",
       R"({"spec": {"volumes": 1, "coordinator": [], "collector": "x", "learner": {"template": 3},
          "reservationSeconds": "soon", "backoffLimit": "3"}})",
       {R"(spec.reservationSeconds: Invalid value: "soon": must be an integer: a number of seconds, without a unit)",
        R"(spec.backoffLimit: Invalid value: "3": must be an integer: write it without quotes)"}},
      {"parts of templates have wrong types",
       R"({"spec": {"coordinator": {"template": {"spec": 1}}, "collector": {"template": {"spec": {
          "containers": [1, null, {"name": 2, "image": "i", "resources": {"limits": []}}],
          "volumes": "x"}}}}})",
       {}},
  }));
  INFO("when " << row.when);
  CHECK(texts(validate_job(job_with(row.patch))) == row.want);
}

TEST_CASE("validate_job requires names that are valid for services", "[job][validate]") {
  struct Row {
    std::string when;
    std::string metadata;
    Texts want;
  };
  const std::string kForm =
      "must consist of lower-case letters, digits or '-', start with a letter and end with a "
      "letter or digit: the job's services are named after it";
  const std::string kLong = ": the pod name <name>-collector-xxxxx may have at most 63";
  const auto row = GENERATE_COPY(values<Row>({
      {"it is as long as can be",
       R"({"name": "a23456789-b23456789-c23456789-d23456789-e234567"})",
       {}},
      {"it is too long",
       R"({"name": "a23456789-b23456789-c23456789-d23456789-e2345678"})",
       {"metadata.name: Too long: may not be more than 47 bytes, cut 1" + kLong}},
      {"it begins with a digit",
       R"({"name": "4dqn"})",
       {R"(metadata.name: Invalid value: "4dqn": )" + kForm}},
      {"it has dots", R"({"name": "a.b"})", {R"(metadata.name: Invalid value: "a.b": )" + kForm}},
      {"it ends with a dash",
       R"({"name": "a-"})",
       {R"(metadata.name: Invalid value: "a-": )" + kForm}},
      {"the API server will complete it", R"({"name": null, "generateName": "dqn-"})", {}},
      {"what will be completed is too long",
       R"({"name": "", "generateName": "a23456789-b23456789-c23456789-d23456789-e2345"})",
       {"metadata.generateName: Too long: may not be more than 42 bytes, cut 3" + kLong}},
      {"there is none", R"({"name": null})", {"metadata.name: Required value"}},
  }));
  INFO("when " << row.when);
  CHECK(texts(validate_job(job_with(R"({"metadata": )" + row.metadata + "}"))) == row.want);
}

TEST_CASE("the roles of a job decide how long its name may be", "[job][validate]") {
  const std::string name(51, 'j');
  Json job = job_with(R"({"metadata": {"name": ")" + name + R"("}, "spec": {"collector": null}})");
  CHECK(validate_job(job).empty());
  job["spec"]["learner"] = {{"template", job["spec"]["coordinator"]["template"]}};
  CHECK(texts(validate_job(job)) ==
        Texts{"metadata.name: Too long: may not be more than 45 bytes, cut 6: the pod name "
              "<name>-ddp-learner-xxxxx may have at most 63"});
}

TEST_CASE("validate_job checks the resources of containers", "[job][validate]") {
  struct Row {
    std::string when;
    std::string resources;
    Texts want;  // without the path of the container's resources
  };
  const std::string kDevice =
      "must be cpu, memory, ephemeral-storage or the full name of a device, such as nvidia.com/gpu";
  const auto row = GENERATE_COPY(values<Row>({
      {"all is well",
       R"({"requests": {"cpu": 0.5, "memory": "1Gi", "nvidia.com/gpu": 1},
           "limits": {"cpu": "1", "memory": "2Gi", "nvidia.com/gpu": "1"}})",
       {}},
      {"lists are null", R"({"requests": null, "limits": null})", {}},
      {"a part of a GPU is asked for",  // C5 of the contract
       R"({"limits": {"nvidia.com/gpu": "1m"}})",
       {R"(limits[nvidia.com/gpu]: Invalid value: "1m": must be an integer)"}},
      {"a number is no whole device",
       R"({"limits": {"example.com/fpga": 1.5}})",
       {R"(limits[example.com/fpga]: Invalid value: 1.5: must be an integer)"}},
      {"huge pages are halved",
       R"({"limits": {"hugepages-2Mi": "100m", "cpu": "1"}})",
       {R"(limits[hugepages-2Mi]: Invalid value: "100m": 100m is not positive integer multiple of hugepages-2Mi)"}},
      {"a device has no domain",
       R"({"limits": {"gpu": 1}})",
       {"limits[gpu]: Invalid value: 1: " + kDevice + ": did you mean nvidia.com/gpu?"}},
      {"no quantity stands there",
       R"({"requests": {"cpu": "two"}, "limits": {"memory": "4GB"}})",
       {R"(limits[memory]: Invalid value: "4GB": must be a quantity such as 500m, 2 or 4Gi: did you mean 4G or 4Gi?)",
        R"(requests[cpu]: Invalid value: "two": must be a quantity such as 500m, 2 or 4Gi)"}},
      {"more than can be counted, which the API server takes",
       R"({"limits": {"cpu": "9223372036854775807", "memory": "10Ei", "ephemeral-storage": "1e99"}})",
       {}},
      {"an amount is negative",
       R"({"requests": {"cpu": "-1m"}})",
       {R"(requests[cpu]: Invalid value: "-1m": must be greater than or equal to 0)"}},
      {"more is requested than allowed",
       R"({"requests": {"cpu": "1500m"}, "limits": {"cpu": "1"}})",
       {R"(requests[cpu]: Invalid value: "1500m": must not be more than the limit of 1)"}},
      {"devices are requested without a limit",
       R"({"requests": {"nvidia.com/gpu": "1"}})",
       {"limits[nvidia.com/gpu]: Required value: devices need a limit, equal to the request"}},
      {"fewer devices are requested than allowed",
       R"({"requests": {"nvidia.com/gpu": "1"}, "limits": {"nvidia.com/gpu": 2}})",
       {R"(requests[nvidia.com/gpu]: Invalid value: "1": must be equal to the limit of 2)"}},
      {"types are wrong: that is for the schema to say",
       R"({"requests": {"cpu": true}, "limits": 5})",
       {}},
  }));
  INFO("when " << row.when);
  Texts want;
  for (const auto& text : row.want) {
    want.push_back("spec.coordinator.template.spec.containers[0].resources." + text);
  }
  CHECK(texts(validate_job(job_with_resources(row.resources))) == want);
}

TEST_CASE("validate_job survives any JSON at any place", "[job][validate][property]") {
  const auto seed = GENERATE(take(300, random(0U, 1'000'000U)));
  INFO("seed " << seed);
  std::mt19937 rng(seed);
  const std::array<Json, 9> odd{
      nullptr,    true,           -1, 1.5, std::string(300, 'x'), Json::array(), Json::object(),
      "\xff\xfe", {{"name", "x"}}};
  Json job = job_with_resources(R"({"limits": {"cpu": "1"}})");
  job["spec"]["volumes"] = {{{"name", "a"}}};
  const Json flat = job.flatten();
  for (int changes = 0; changes < 3; ++changes) {
    // A random prefix of a random path gets a random value.
    auto at = flat.begin();
    std::advance(at, static_cast<std::ptrdiff_t>(rng() % flat.size()));
    Json::json_pointer pointer(at.key());
    for (auto up = rng() % 6; up > 0 && !pointer.parent_pointer().empty(); --up) pointer.pop_back();
    if (job.contains(pointer)) job[pointer] = odd[rng() % odd.size()];
  }
  for (const auto& error : validate_job(job)) {
    CHECK_FALSE(error.field.empty());
    CHECK(error.value.size() <= 110);
  }
  CHECK(default_patch(job.patch(default_patch(job))).empty());
}

// A job that is accepted and cannot be read is invisible to all programs.
TEST_CASE("every accepted number can be decoded", "[job][validate]") {
  const std::string field =
      GENERATE("backoffLimit", "ttlSecondsAfterFinished", "reservationSeconds",
               "activeDeadlineSeconds", "scheduleTimeoutSeconds", "startTimeoutSeconds",
               "collector.replicas", "collector.reservedReplicas", "collector.maxReplicas",
               "learner.replicas", "learner.reservedReplicas", "learner.maxReplicas");
  const std::int64_t number =
      GENERATE(-1, 0, 1, 4'096, 4'097, 65'536, 65'537, 1'000'000'000, 1'000'000'001, 2'147'483'647,
               2'147'483'648, std::numeric_limits<std::int64_t>::max());
  CAPTURE(field, number);
  Json job = a_valid_job();
  job["spec"]["learner"] = job["spec"]["collector"];
  const auto dot = field.find('.');
  if (dot == std::string::npos) {
    job["spec"][field] = number;
  } else {
    job["spec"][field.substr(0, dot)][field.substr(dot + 1)] = number;
  }
  job["metadata"]["namespace"] = "rl";
  if (validate_job(job).empty()) CHECK(decode_job(job).has_value());
}

TEST_CASE("a role has at most 16 node classes", "[job][validate]") {
  Json job = a_valid_job();
  Json& classes = job["spec"]["collector"]["nodeClasses"];
  for (int i = 0; i < 16; ++i) classes.push_back("class-" + std::to_string(i));
  CHECK(validate_job(job).empty());
  classes.push_back("class-16");
  CHECK(texts(validate_job(job)) ==
        Texts{"spec.collector.nodeClasses: Too many: 17: must have at most 16 items"});
  classes = {std::string(63, 'a')};
  CHECK(validate_job(job).empty());
  classes = {std::string(64, 'a')};
  CHECK(validate_job(job).size() == 1);
}

TEST_CASE("default_patch fills in the clean-up policy once", "[job][default]") {
  struct Row {
    std::string when;
    std::string patch;
    Json want;  // spec.cleanPodPolicy afterwards
  };
  const auto row = GENERATE(values<Row>({
      {"it is absent", R"({"spec": {"cleanPodPolicy": null}})", "Running"},
      {"it is empty", R"({"spec": {"cleanPodPolicy": ""}})", "Running"},
      {"it has its old spelling", R"({"spec": {"cleanPodPolicy": "ALL"}})", "All"},
      {"it is set", R"({"spec": {"cleanPodPolicy": "None"}})", "None"},
      {"it is wrong", R"({"spec": {"cleanPodPolicy": "hello"}})", "hello"},
      {"it has a wrong type", R"({"spec": {"cleanPodPolicy": 7}})", 7},
  }));
  INFO("when " << row.when);
  const Json job = job_with(row.patch);
  const Json patched = job.patch(default_patch(job));
  CHECK(patched["spec"]["cleanPodPolicy"] == row.want);
  CHECK(default_patch(patched).empty());
}

TEST_CASE("the node constraints of a template have a bound", "[job][validate]") {
  Json job = a_valid_job();
  Json& spec = job["spec"]["collector"]["template"]["spec"];
  const auto fill = [](int count, auto make) {
    Json list = Json::array();
    for (int i = 0; i < count; ++i) list.push_back(make(std::to_string(i)));
    return list;
  };
  const auto tolerate = [](const std::string& i) {
    return Json{{"key", "k" + i}, {"operator", "Exists"}};
  };
  const auto name = [](const std::string& i) { return Json("node-" + i + ".example"); };
  const auto be_near = [&](int count) {
    const Json expression{
        {"key", "kubernetes.io/hostname"}, {"operator", "In"}, {"values", fill(count, name)}};
    return Json{{"nodeAffinity",
                 {{"requiredDuringSchedulingIgnoredDuringExecution",
                   {{"nodeSelectorTerms",
                     Json::array({{{"matchExpressions", Json::array({expression})}}})}}}}}};
  };
  spec["affinity"] = be_near(1'000);  // an operator's list of good nodes
  CHECK(texts(validate_job(job)).empty());
  spec["tolerations"] = fill(600, tolerate);
  CHECK(texts(validate_job(job)) ==
        Texts{"spec.collector.template.spec: Forbidden: nodeSelector, affinity, tolerations and "
              "topologySpreadConstraints may have at most 32 KiB together, as JSON"});
  spec.erase("affinity");
  CHECK(texts(validate_job(job)).empty());
  spec["tolerations"] = fill(20'000, tolerate);
  CHECK(texts(validate_job(job)).size() == 1);
}

TEST_CASE("a template has as many spread constraints as can be planned", "[job][validate]") {
  Json job = a_valid_job();
  const auto texts_for = [&](int count, std::size_t selector_bytes) {
    Json spreads = Json::array();
    for (int i = 0; i < count; ++i) {
      Json values = Json::array({"v"});
      while (kube::to_text(values).size() < selector_bytes) {
        values.push_back(std::string(60, 'v'));
      }
      const Json requirement{{"key", "a"}, {"operator", "In"}, {"values", values}};
      spreads.push_back({{"maxSkew", 1},
                         {"topologyKey", "k" + std::to_string(i)},
                         {"whenUnsatisfiable", "DoNotSchedule"},
                         {"labelSelector", {{"matchExpressions", Json::array({requirement})}}}});
    }
    job["spec"]["collector"]["template"]["spec"]["topologySpreadConstraints"] = spreads;
    return texts(validate_job(job));
  };
  const Texts refused{
      "spec.collector.template.spec.topologySpreadConstraints: Forbidden: may have at most 16 "
      "constraints, each labelSelector at most 4 KiB as JSON in matchExpressions"};
  CHECK(texts_for(16, 0).empty());
  CHECK(texts_for(17, 0) == refused);
  CHECK(texts_for(1, 3'900).empty());
  CHECK(texts_for(1, 5'000) == refused);
}

TEST_CASE("a job has at most 5,000 pods", "[job][validate]") {
  struct Row {
    std::string when;
    std::string spec;
    std::string old_spec;  // empty: the job is new
    std::vector<std::string> want;
  };
  const std::string kWhy =
      ": the job would have 5001 pods: coordinator, aggregator, collectors and learners; at most "
      "5000 are allowed";
  const std::string kWhyRequested =
      ": the job would have 5001 pods: coordinator, aggregator, collectors and learners, 106 of "
      "them "
      "requested by the coordinator; at most 5000 are allowed";
  Json requests = {{"entries", Json::array()}};
  for (const auto& [attempt, role, split, count] :
       {std::tuple{1, "collector", Json::array(), 101},
        {1, "learner", Json{8, 2}, 2},
        {2, "collector", Json::array(), 500}}) {  // of another attempt
    Json entry = {{"id", requests["entries"].size() + 1}, {"attempt", attempt}, {"role", role}};
    entry["gpuSplit"] = split;
    for (int i = 0; i < count; ++i) entry["slots"].push_back({{"ordinal", 4096 + i}});
    requests["entries"].push_back(entry);
  }
  const std::string kRequests = requests.dump();
  const auto row = GENERATE_COPY(values<Row>({
      {"it has as many",
       R"({"collector": {"replicas": 4096}, "learner": {"replicas": 902}})",
       "",
       {}},
      {"it has one more",
       R"({"collector": {"replicas": 4096}, "learner": {"replicas": 903}})",
       "",
       {"spec.collector.replicas: Invalid value: 4096" + kWhy,
        "spec.learner.replicas: Invalid value: 903" + kWhy}},
      {"reserved capacity counts as pods do",
       R"({"collector": {"replicas": 1, "reservedReplicas": 4096},
           "learner": {"replicas": 903, "reservedReplicas": 2}})",
       "",
       {"spec.collector.reservedReplicas: Invalid value: 4096" + kWhy,
        "spec.learner.replicas: Invalid value: 903" + kWhy}},
      {"the aggregator comes later, if at all",
       R"({"aggregator": "OnDemand", "collector": {"replicas": 4096}, "learner": {"replicas": 903}})",
       "",
       {}},
      {"it was beyond the limit before",
       R"({"collector": {"replicas": 4096}, "learner": {"replicas": 2000}})",
       R"({"collector": {"replicas": 4096}, "learner": {"replicas": 2000}})",
       {}},
      {"it was, and has fewer now",
       R"({"collector": {"replicas": 4000}, "learner": {"replicas": 1500}})",
       R"({"collector": {"replicas": 4096}, "learner": {"replicas": 2000}})",
       {}},
      {"it was, and has more now",
       R"({"collector": {"replicas": 4096}, "learner": {"replicas": 903}})",
       R"({"collector": {"replicas": 4096}, "learner": {"replicas": 902}})",
       {"spec.collector.replicas: Invalid value: 4096" + kWhy,
        "spec.learner.replicas: Invalid value: 903" + kWhy}},
      {"the coordinator has requested 100 in this attempt, and 2 learners of 3 pods",
       R"({"collector": {"replicas": 4000}, "learner": {"replicas": 893}, "requests": )" +
           kRequests + "}",
       R"({"collector": {"replicas": 4000}, "learner": {"replicas": 892}, "requests": )" +
           kRequests + "}",
       {"spec.collector.replicas: Invalid value: 4000" + kWhyRequested,
        "spec.learner.replicas: Invalid value: 893" + kWhyRequested}},
      {"the same, and one fewer",
       R"({"collector": {"replicas": 4000}, "learner": {"replicas": 892}, "requests": )" +
           kRequests + "}",
       R"({"collector": {"replicas": 4000}, "learner": {"replicas": 891}, "requests": )" +
           kRequests + "}",
       {}},
      {"numbers and types are wrong: other checks tell",
       R"({"collector": {"replicas": "many"}, "learner": 3})",
       R"([])",
       {}},
  }));
  INFO("when " << row.when);
  const Json old_object = row.old_spec.empty() ? Json() : Json{{"spec", Json::parse(row.old_spec)}};
  const Json object = {
      {"metadata", {{"name", "dqn"}, {"namespace", "rl"}, {"uid", "1"}}},
      {"spec", Json::parse(row.spec)},
      {"status",
       {{"attempt", 1}, {"ended", Json::array({{{"role", "collector"}, {"ordinal", 4196}}})}}}};
  CHECK(texts(check_pod_count(object, old_object)) == row.want);
  const Json absurd = {{"spec", {{"learner", {{"replicas", 18446744073709551615U}}}}}};
  CHECK(check_pod_count(absurd, Json()).size() == 1);
}

TEST_CASE("a list of errors stays readable", "[job][validate]") {
  const FieldError one{FieldErrorType::kInvalid, "spec.a", "1", "must be 2"};
  CHECK(to_string(FieldErrors{one}) == "spec.a: Invalid value: 1: must be 2");
  CHECK(
      to_string(FieldErrors{one, {FieldErrorType::kForbidden, "spec.b", "", "unknown field"}}) ==
      "2 fields are wrong: spec.a: Invalid value: 1: must be 2; spec.b: Forbidden: unknown field");
  const std::string many = to_string(FieldErrors(1000, one));
  CHECK(many.starts_with("1000 fields are wrong: "));
  CHECK(many.ends_with("; and 970 more"));
  CHECK(shown_value(Json(std::string(300, 'x'))).size() == 102);
}

}  // namespace nervex::job
