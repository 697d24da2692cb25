#include "webhook/capacity.h"

#include <malloc.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include <fmt/format.h>
#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators_all.hpp>

#include "tests/support/fake_api.h"
#include "tests/support/fake_clock.h"
#include "tests/support/sanitized.h"
#include "tests/support/wait_until.h"
#include "tests/webhook/samples.h"
#include "webhook/nodes.h"

namespace nervex::webhook {
namespace {

Json node_json(const std::string& name, const std::string& gpus, bool tainted = false) {
  Json node = {{"metadata", {{"name", name}, {"labels", {{"zone", name}}}}},
               {"status",
                {{"allocatable",
                  {{"cpu", "8"}, {"memory", "32Gi"}, {"pods", "110"}, {"nvidia.com/gpu", gpus}}},
                 {"conditions", Json::array({{{"type", "Ready"}, {"status", "True"}}})}}}};
  if (tainted) node["spec"]["taints"] = {{{"key", "a"}, {"effect", "NoSchedule"}}};
  return node;
}

placement::Cluster two_nodes(bool tainted = false) {
  std::vector<placement::NodeView> views;
  for (const auto& [name, gpus] : {std::pair("a", "8"), std::pair("b", "4")}) {
    auto node = kube::decode_node(node_json(name, gpus, tainted).dump());
    REQUIRE(node);
    const auto shared = std::make_shared<const kube::Node>(*std::move(node));
    views.push_back({shared, shared->allocatable});
  }
  return views;
}

// nullopt also for a job that cannot be judged.
std::optional<NeverFits> judge(const Json& job, const placement::Cluster& nodes) {
  const auto judged = find_never_fitting(job, nodes);
  return judged ? *judged : std::nullopt;
}

Json job_with_learners(int replicas, const std::string& gpus) {
  return Json::parse(R"({"metadata": {"name": "dqn", "namespace": "rl"}, "spec": {
    "coordinator": {"template": {"spec": {"containers": [{"name": "m", "image": "i"}]}}},
    "learner": {"replicas": )" +
                     std::to_string(replicas) + R"(, "template": {"spec": {"containers": [
      {"name": "m", "image": "i", "resources": {"limits": {"nvidia.com/gpu": ")" +
                     gpus + R"("}}}]}}}}})");
}

}  // namespace

TEST_CASE("a job that not even empty nodes could hold is found", "[webhook][capacity]") {
  struct Row {
    std::string when;
    Json job;
    std::string field;  // empty: it may run one day
    std::string says;
  };
  Json reserved = job_with_learners(0, "8");
  reserved["spec"]["learner"]["reservedReplicas"] = 2;
  Json elsewhere = job_with_learners(1, "1");
  elsewhere["spec"]["learner"]["template"]["spec"]["nodeSelector"] = {{"zone", "c"}};
  const auto constrained = [](const char* where, int count, const Json& value) {
    Json job = job_with_learners(1, "16");
    Json& spec = job["spec"]["learner"]["template"]["spec"];
    spec[Json::json_pointer(where)] = Json::array();
    for (int i = 0; i < count; ++i) spec[Json::json_pointer(where)].push_back(value);
    return job;
  };
  const Json toleration = {{"key", "b"}, {"operator", "Exists"}};
  const Json term = {
      {"matchExpressions", Json::array({{{"key", "zone"}, {"operator", "Exists"}}})}};
  const char* const terms =
      "/affinity/nodeAffinity/requiredDuringSchedulingIgnoredDuringExecution/nodeSelectorTerms";
  const auto near = [](int replicas, const char* where) {
    Json job = job_with_learners(replicas, "4");
    job[Json::json_pointer(where)] = {{"level", "zone"}};
    return job;
  };
  const auto row = GENERATE_COPY(values<Row>({
      {"one zone holds the learners", near(2, "/spec/learner/topology"), "", ""},
      {"no zone holds the learners", near(3, "/spec/learner/topology"),
       "spec.learner.topology.level", "1 of 3 can never fit in one zone: one has capacity"},
      {"no zone holds the job", near(3, "/spec/topology"), "spec.topology.level",
       "1 of 3 can never fit in one zone: one has capacity"},
      {"it fits", job_with_learners(3, "4"), "", ""},
      {"one pod is larger than any node", job_with_learners(1, "16"), "spec.learner.template",
       "nvidia.com/gpu 16"},
      {"there are too many pods", job_with_learners(4, "4"), "spec.learner.template",
       "1 of 4 can never fit"},
      {"what is to be reserved is too much", reserved, "spec.learner.template",
       "1 of 2 can never fit"},
      {"no node is selected, which a label on a node changes", elsewhere, "", ""},
      {"it tolerates much", constrained("/tolerations", 300, toleration), "spec.learner.template",
       "nvidia.com/gpu 16"},
      {"it tolerates too much to be judged", constrained("/tolerations", 400, toleration), "", ""},
      {"it names many terms", constrained(terms, 150, term), "spec.learner.template",
       "nvidia.com/gpu 16"},
      {"it names too many terms to be judged", constrained(terms, 250, term), "", ""},
      {"it cannot be read", Json{{"spec", 5}}, "", ""},
  }));
  INFO("when " << row.when);
  const auto found = judge(row.job, two_nodes());
  CHECK(found.value_or(NeverFits{}).field == row.field);
  INFO(found.value_or(NeverFits{}).why);
  CHECK(found.value_or(NeverFits{}).why.find(row.says) != std::string::npos);
  CHECK_FALSE(found.value_or(NeverFits{}).why.starts_with("learner"));
  CHECK_FALSE(judge(row.job, two_nodes(true)));  // taints may go
  CHECK_FALSE(judge(row.job, placement::Cluster()));
}

TEST_CASE("a job that could never run is warned of, refused or accepted", "[webhook][capacity]") {
  kube::AdmissionRequest request;
  request.uid = "u";
  request.operation = "CREATE";
  request.kind = "NerveXJob";
  request.object = a_job();
  Facts facts;
  facts.never_fits = NeverFits{"spec.collector.template", "1 of 1 can never fit"};
  const auto answer = [&](Strictness capacity) {
    return review(request, Hook::kValidate,
                  {*job_check(), "server", Strictness::kWarn, Strictness::kOff, capacity}, facts)
        .response;
  };
  CHECK(answer(Strictness::kOff).warnings.empty());
  CHECK(answer(Strictness::kWarn).warnings ==
        std::vector<std::string>{"spec.collector.template: 1 of 1 can never fit"});
  const auto refused = answer(Strictness::kRefuse);
  CHECK_FALSE(refused.allowed);
  CHECK(refused.details.causes[0].field == "spec.collector.template");

  request.operation = "UPDATE";
  request.old_object = request.object;
  request.object["spec"]["suspend"] = true;
  CHECK_FALSE(answer(Strictness::kRefuse).allowed);
  facts.stored_never_fits = facts.never_fits;  // as it was before
  CHECK(answer(Strictness::kRefuse).allowed);
  CHECK(answer(Strictness::kWarn).warnings.empty());
  // Fewer of them, perhaps on the way to a size that fits; or another role is named now. The user
  // is warned but not blocked.
  facts.never_fits = GENERATE(NeverFits{"spec.collector.template", "2 of 8 can never fit"},
                              NeverFits{"spec.learner.template", "1 of 2 can never fit"});
  CHECK(answer(Strictness::kRefuse).allowed);
  CHECK(answer(Strictness::kRefuse).warnings.size() == 1);
  CHECK(answer(Strictness::kWarn).warnings.size() == 1);
}

TEST_CASE("nodes are used from their first complete list on", "[webhook][capacity]") {
  testing::FakeApi api;
  testing::FakeClock clock;
  api.add(kube::kNodes, "", node_json("a", "8"));
  kube::Reflectors watches(api);
  Nodes nodes(watches, clock);
  const Json job = job_with_learners(1, "16");
  CHECK_FALSE(nodes.find_never_fitting(job).object);
  CHECK(watches.check_synced());  // nothing waits for nodes
  watches.start();
  CHECK(testing::wait_until([&] { return nodes.find_never_fitting(job).object.has_value(); }));
  CHECK_FALSE(nodes.find_never_fitting(job).stored);
  CHECK(nodes.find_never_fitting(job, job).stored);
  CHECK_FALSE(nodes.find_never_fitting(job, job_with_learners(1, "8")).stored);
  api.add(kube::kNodes, "", node_json("b", "16"));
  CHECK(testing::wait_until([&] {
    clock.advance(std::chrono::seconds(5));
    return !nodes.find_never_fitting(job).object;
  }));
  watches.stop();
}

namespace {

Json tolerating(int count, const std::string& key) {
  Json job = job_with_learners(1, "16");
  Json& tolerations = job["spec"]["learner"]["template"]["spec"]["tolerations"];
  for (int i = 0; i < count; ++i) {
    tolerations.push_back({{"key", key + std::to_string(i)}, {"operator", "Exists"}});
  }
  return job;
}

Json kept_from(int count) {
  Json job = job_with_learners(1, "1");
  Json requirement = {{"key", "zone"}, {"operator", "NotIn"}, {"values", Json::array()}};
  for (int i = 0; i < count; ++i) requirement["values"].push_back("x" + std::to_string(i));
  const Json term = {{"matchExpressions", Json::array({requirement})}};
  job["spec"]["learner"]["template"]["spec"]["affinity"]["nodeAffinity"] = {
      {"requiredDuringSchedulingIgnoredDuringExecution",
       {{"nodeSelectorTerms", Json::array({term})}}}};
  return job;
}

}  // namespace

TEST_CASE("no memory is kept for a job after its review", "[webhook][capacity][memory]") {
  if (testing::kSanitized) SKIP("a sanitizer counts memory of its own");
  const placement::Cluster nodes = two_nodes();
  const int count = GENERATE(300, 9'500);
  judge(tolerating(count, "first"), nodes);
  const std::size_t before = mallinfo2().uordblks;
  for (int i = 0; i < 90; ++i) judge(tolerating(count, std::to_string(i)), nodes);
  CHECK(mallinfo2().uordblks < before + (1 << 20));
}

TEST_CASE("jobs with equal needs get the same answer", "[webhook][capacity][property]") {
  Json job = job_with_learners(2, "8");
  job["spec"]["learner"]["reservedReplicas"] = 1;
  Json& spec = job["spec"]["learner"]["template"]["spec"];
  job["spec"]["learner"]["template"]["metadata"]["labels"]["app"] = "dqn";
  spec["nodeSelector"] = {{"zone", "a"}};
  spec["initContainers"] = spec["containers"];
  spec["initContainers"][0]["restartPolicy"] = "Always";
  Json& container = spec["containers"][0];
  container["env"] = Json::array({{{"name", "A"}, {"value", "1"}}});
  container["envFrom"] = Json::array({{{"prefix", "B"}}});
  container["args"] = Json::array({"x"});
  container["command"] = container["args"];
  container["ports"] = Json::array({{{"containerPort", 80}, {"hostPort", 80}}});
  container["volumeMounts"] = Json::array({{{"name", "v"}, {"mountPath", "/v"}}});
  std::map<std::uint64_t, std::optional<NeverFits>> answers;
  int jobs = 0;
  const auto compare = [&](const Json& changed) {
    const auto answer = find_never_fitting(changed, two_nodes());
    if (!answer) return;  // not kept
    ++jobs;
    const auto needs = hash_needs(SipHash({1, 2}), changed);
    CHECK(answers.try_emplace(needs.low, *answer).first->second == *answer);
  };
  with_odd_parts(job, compare);
  for (const char* gpus : {"1", "2", "4", "8", "16"}) {
    for (int replicas = 0; replicas < 5; ++replicas) compare(job_with_learners(replicas, gpus));
  }
  CHECK(jobs > 200);
  CHECK(static_cast<int>(answers.size()) < jobs / 2);  // odd names, images, variables
  std::set<std::string> reasons;
  for (const auto& [unused, answer] : answers) reasons.insert(answer ? answer->why : "");
  CHECK(reasons.size() > 3);
}

namespace {

// Nodes that are watched in a fake cluster.
struct Watched {
  testing::FakeApi api;
  testing::FakeClock clock;
  kube::Reflectors watches{api};
  Nodes nodes{watches, clock};

  explicit Watched(const Json& node) {
    api.add(kube::kNodes, "", node);
    watches.start();
    const Json never = job_with_learners(1, "1000");
    REQUIRE(testing::wait_until([&] { return judged(never); }));
  }
  ~Watched() { watches.stop(); }

  bool judged(const Json& job) { return nodes.find_never_fitting(job).object.has_value(); }
};

Json with_many_variables(Json job) {
  Json& env = job["spec"]["learner"]["template"]["spec"]["containers"][0]["env"];
  for (int i = 0; i < 20'000; ++i) env.push_back({{"name", "A"}, {"value", "1"}});
  return job;
}

}  // namespace

TEST_CASE("an answer about capacity is kept for jobs with equal needs", "[webhook][capacity]") {
  Watched cluster(node_json("a", "8"));
  const Json never = job_with_learners(1, "16");
  const Json huge = with_many_variables(never);  // is not judged itself
  CHECK_FALSE(cluster.judged(huge));
  CHECK(cluster.judged(never));
  CHECK(cluster.judged(huge));
  CHECK_FALSE(cluster.judged(with_many_variables(job_with_learners(2, "16"))));
  // The answer is not kept the other way round either.
  CHECK(cluster.judged(job_with_learners(2, "16")));
}

TEST_CASE("another size of a node changes a kept answer", "[webhook][capacity]") {
  Watched cluster(node_json("a", "8"));
  const Json job = job_with_learners(1, "16");
  CHECK(cluster.judged(job));
  CHECK(cluster.judged(job));
  const auto change = [&](const Json& patch, const char* sub_resource, bool fits) {
    INFO(patch);
    REQUIRE(kube::merge_patch(cluster.api, kube::kNodes, "", "a", patch, sub_resource));
    CHECK(testing::wait_until([&] {
      cluster.clock.advance(std::chrono::seconds(5));
      return cluster.judged(job) != fits;
    }));
  };
  change({{"status", {{"allocatable", {{"nvidia.com/gpu", "16"}}}}}}, "status", true);
  change({{"status", {{"allocatable", {{"nvidia.com/gpu", "8"}}}}}}, "status", false);
  // A taint proves nothing, but hides the proof.
  const Json taint = {{"key", "a"}, {"effect", "NoSchedule"}};
  change({{"spec", {{"taints", Json::array({taint})}}}}, "", true);
}

TEST_CASE("a resource that a DeviceClass backs never counts against a job", "[webhook][capacity]") {
  const char* resource =
      GENERATE("example.com/gpu", "deviceclass.resource.kubernetes.io/gpu.example.com");
  INFO(resource);
  Watched cluster(node_json("a", "8"));
  Json job = job_with_learners(1, "1");
  Json& container = job["spec"]["learner"]["template"]["spec"]["containers"][0];
  container["resources"]["limits"] = {{resource, "1"}};
  CHECK(cluster.judged(job));
  const auto wait_for = [&](bool never_fits) {
    return testing::wait_until([&] {
      cluster.clock.advance(std::chrono::seconds(5));
      return cluster.judged(job) == never_fits;
    });
  };
  cluster.api.add(kube::kDeviceClasses, "",
                  {{"metadata", {{"name", "gpu.example.com"}}},
                   {"spec", {{"extendedResourceName", "example.com/gpu"}}}});
  CHECK(wait_for(false));
  cluster.api.remove(kube::kDeviceClasses, "", "gpu.example.com");
  CHECK(wait_for(true));
}

TEST_CASE("kept answers about capacity are bounded in bytes", "[webhook][capacity][memory]") {
  if (testing::kSanitized) SKIP("a sanitizer counts memory of its own");
  Watched cluster(node_json("a", "8"));
  const auto ask = [&](int i) {
    Json job = job_with_learners(1, "16");
    job["spec"]["group"] = std::to_string(i);
    return cluster.judged(job);
  };
  CHECK(ask(0));
  const std::size_t before = mallinfo2().uordblks;
  for (int i = 1; i < 10'000; ++i) ask(i);
  CHECK(mallinfo2().uordblks < before + (2 << 20));
}

TEST_CASE("jobs are judged side by side", "[webhook][capacity]") {
  testing::FakeApi api;
  testing::FakeClock clock;
  api.add(kube::kNodes, "", node_json("a", "8"));
  kube::Reflectors watches(api);
  Nodes nodes(watches, clock);
  watches.start();
  const Json job = kept_from(100);
  const Json never = tolerating(100, "x");
  CHECK(testing::wait_until([&] { return nodes.find_never_fitting(never).object.has_value(); }));
  std::atomic<int> wrong = 0;
  std::vector<std::jthread> reviews;
  for (int i = 0; i < 4; ++i) {
    reviews.emplace_back([&] {
      for (int k = 0; k < 20; ++k) {
        nodes.find_never_fitting(never);
        if (nodes.find_never_fitting(job).object) ++wrong;
      }
    });
  }
  reviews.clear();
  CHECK(wrong == 0);
  watches.stop();
}

}  // namespace nervex::webhook
