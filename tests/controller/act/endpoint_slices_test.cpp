#include "controller/act/endpoint_slices.h"
#include "controller/decide/reasons.h"

#include <algorithm>
#include <set>

#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>

#include "job/names.h"
#include "job/pod_manifest.h"
#include "tests/controller/cluster.h"
#include "tests/support/job_builders.h"

namespace nervex::controller {
namespace {

using testing::Applied;
using testing::ControllerCluster;
using testing::kJobKey;
using Strings = std::vector<std::string>;

const Error kConnectionReset{Code::kTransient, "connection reset"};
const std::string kKey = orphans_key("rl");
constexpr const char* kKubernetes = "endpointslice-controller.k8s.io";

// The job runs, its pods have addresses.
struct NamedCluster : ControllerCluster {
  NamedCluster() : ControllerCluster(true) {
    create_job(1, 0);
    plan_and_run();
    api.clear_writes();
  }
  // After the writes of the last second.
  void process() {
    clock.advance(EndpointSliceWriter::kPeriod);
    sync();
    controller->slices.process(kKey);
  }
  std::vector<Json> slices() const { return api.list(kEndpointSlices); }
  // name=address of all endpoints of our slices
  Strings addresses() const {
    Strings all;
    for (const auto& slice : slices()) {
      for (const auto& endpoint : slice["endpoints"]) {
        all.push_back(endpoint["hostname"].get<std::string>() + "=" +
                      endpoint["addresses"][0].get<std::string>());
      }
    }
    return all;
  }
  Strings wanted() const {
    Strings all;
    for (const auto& pod : api.list(kube::kPods)) {
      const std::string ip = kube::string_at(pod, {"status", "podIP"});
      const std::string phase = kube::string_at(pod, {"status", "phase"});
      if (!ip.empty() && phase == "Running") all.push_back(kube::decode_meta(pod).name + "=" + ip);
    }
    return all;
  }
  std::size_t writes() const {
    return api.writes("POST", "/endpointslices").size() +
           api.writes("PUT", "/endpointslices").size();
  }
};

// Keys that are due.
std::set<std::string> woken(ControllerCluster& cluster) {
  kube::WorkQueue& queue = cluster.controller->queues.endpoint_slices;
  std::set<std::string> keys;
  while (queue.size() > 0) {
    const std::string key = *queue.next();
    keys.insert(key);
    queue.done(key);
  }
  return keys;
}

TEST_CASE("endpoint slices follow the pods of the namespace's jobs",
          "[controller][endpoint_slices]") {
  NamedCluster cluster;
  REQUIRE(cluster.wanted().size() == 2);
  cluster.process();
  CHECK(cluster.addresses() == cluster.wanted());
  CHECK(cluster.writes() == 1);
  cluster.process();
  CHECK(cluster.writes() == 1);

  SECTION("written objects are in the cache before the watch reports them") {
    cluster.end_pod("dqn-coordinator", true);
    cluster.process();
    cluster.clock.advance(EndpointSliceWriter::kPeriod);
    cluster.controller->slices.process(kKey);  // without a sync
    CHECK(cluster.writes() == 2);
    CHECK(cluster.addresses() == cluster.wanted());
  }
  SECTION("a deleted slice is created again") {
    cluster.api.remove(kEndpointSlices, "rl", kube::decode_meta(cluster.slices()[0]).name);
    cluster.process();
    CHECK(cluster.addresses() == cluster.wanted());
  }
  SECTION("slices are deleted with the job") {
    cluster.api.remove(kube::kNervexJobs, "rl", "dqn");
    cluster.process();
    CHECK(cluster.slices().empty());
  }
  SECTION("slices are deleted with the Service") {
    const Json service = cluster.api.get(kube::kServices, "rl", "rl");
    const std::string uid = kube::decode_meta(service).uid;
    CHECK(cluster.slices()[0]["metadata"]["ownerReferences"][0]["uid"] == uid);
    cluster.api.remove(kube::kServices, "rl", "rl");
    cluster.process();
    CHECK(cluster.slices().empty());
  }
}

TEST_CASE("the pods of all jobs share a slice, and leave it with their job",
          "[controller][endpoint_slices]") {
  NamedCluster cluster;
  cluster.api.add(kube::kNervexJobs, "rl",
                  {{"metadata", {{"name", "two"}}},
                   {"spec", {{"coordinator", {{"template", testing::a_template()}}}}}});
  const Json two = cluster.api.get(kube::kNervexJobs, "rl", "two");
  Json pod = cluster.api.get(kube::kPods, "rl", "dqn-coordinator");
  pod["metadata"]["name"] = pod["spec"]["hostname"] = "two-coordinator";
  pod["metadata"]["ownerReferences"][0]["name"] = "two";
  pod["metadata"]["ownerReferences"][0]["uid"] = two["metadata"]["uid"];
  pod["status"]["podIP"] = "10.0.7.7";
  cluster.api.add(kube::kPods, "rl", pod);
  cluster.process();
  CHECK(cluster.slices().size() == 1);
  CHECK(cluster.writes() == 1);
  CHECK(cluster.addresses().size() == 3);
  cluster.api.remove(kube::kNervexJobs, "rl", "dqn");
  cluster.process();
  CHECK(cluster.writes() == 2);
  CHECK(cluster.addresses() == Strings{"two-coordinator=10.0.7.7"});
}

TEST_CASE("while a gang starts its slices are written at intervals",
          "[controller][endpoint_slices]") {
  NamedCluster cluster;
  const auto look = [&] {
    cluster.sync();
    cluster.controller->slices.process(kKey);
    return cluster.writes();
  };
  const auto address = [&](const char* ip) {
    cluster.api.change(kube::kPods, "rl", "dqn-coordinator", {{"status", {{"podIP", ip}}}});
  };
  address("");
  CHECK(look() == 0);
  cluster.clock.advance(EndpointSliceWriter::kPeriod);
  CHECK(woken(cluster).contains(kKey));
  CHECK(look() == 1);
  CHECK(cluster.addresses().size() == 1);
  SECTION("also when all pods have addresses") {
    address("10.0.0.9");
    CHECK(look() == 1);
    cluster.clock.advance(EndpointSliceWriter::kPeriod);
    CHECK(woken(cluster).contains(kKey));
    CHECK(look() == 2);
    CHECK(cluster.addresses() == cluster.wanted());
  }
}

TEST_CASE("a failed write of a slice is retried", "[controller][endpoint_slices]") {
  const std::string method = GENERATE("POST", "PUT", "DELETE");
  const Applied applied = GENERATE(Applied::kYes, Applied::kNo);
  INFO(method << ", applied " << (applied == Applied::kYes));
  NamedCluster cluster;
  if (method != "POST") {
    cluster.process();
    cluster.end_pod("dqn-coordinator", true);
    if (method == "DELETE") cluster.api.remove(kube::kNervexJobs, "rl", "dqn");
  }
  cluster.api.fail_next(method, "/endpointslices", kConnectionReset, applied);
  cluster.process();
  CHECK(cluster.controller->queues.endpoint_slices.failures(kKey) == 1);
  // Also with the cache as it was.
  cluster.controller->slices.process(kKey);
  cluster.process();
  CHECK(cluster.controller->queues.endpoint_slices.failures(kKey) == 0);
  CHECK(cluster.addresses() == (method == "DELETE" ? Strings{} : cluster.wanted()));
}

TEST_CASE("a conflict on a slice leads to a new decision", "[controller][endpoint_slices]") {
  NamedCluster cluster;
  cluster.process();
  cluster.end_pod("dqn-coordinator", true);
  cluster.sync();
  cluster.clock.advance(EndpointSliceWriter::kPeriod);
  const std::string name = kube::decode_meta(cluster.slices()[0]).name;
  cluster.api.change(kEndpointSlices, "rl", name, {{"endpoints", Json::array()}});
  cluster.controller->slices.process(kKey);
  CHECK(cluster.addresses().empty());
  cluster.process();
  CHECK(cluster.addresses() == cluster.wanted());
}

TEST_CASE("edited labels of a slice are restored", "[controller][endpoint_slices]") {
  NamedCluster cluster;
  cluster.process();
  const Json before = cluster.slices()[0];
  const std::string label =
      GENERATE(as<std::string>{}, "group-name", "service.kubernetes.io/headless");
  cluster.api.change(kEndpointSlices, "rl", kube::decode_meta(before).name,
                     {{"metadata", {{"labels", {{label, nullptr}}}}}});
  cluster.sync();
  cluster.clock.advance(EndpointSliceWriter::kPeriod);
  // The watch only reports objects with our label.
  const std::string key = kube::decode_meta(before).key();
  const std::string version = std::to_string(cluster.api.resource_version());
  if (label == "group-name") cluster.controller->stores.endpoint_slices.erase(key, version);
  cluster.controller->slices.process(kKey);
  CHECK(cluster.slices()[0]["metadata"]["labels"] == before["metadata"]["labels"]);
  CHECK(cluster.controller->queues.endpoint_slices.failures(kKey) == 0);
}

TEST_CASE("a slice that cannot be written does not block others", "[controller][endpoint_slices]") {
  NamedCluster cluster;
  cluster.process();
  cluster.api.change(kube::kPods, "rl", "dqn-coordinator", {{"status", {{"podIP", "fd00::1"}}}});
  cluster.api.fail_next("POST", "/endpointslices", {Code::kForbidden, "exceeded quota"},
                        Applied::kNo, 2);
  cluster.process();
  cluster.process();
  CHECK(cluster.addresses().size() == 1);  // the old address of the coordinator is gone
  const Strings events = cluster.event_reasons();
  CHECK(std::count(events.begin(), events.end(), kFailedToUpdateEndpointSlices) == 1);
  cluster.process();
  CHECK(cluster.addresses() == cluster.wanted());
}

TEST_CASE("a recreated Service requeues the slices of its namespace",
          "[controller][endpoint_slices]") {
  NamedCluster cluster;
  woken(cluster);
  cluster.api.add(kube::kNervexJobs, "rl",
                  {{"metadata", {{"name", "two"}}},
                   {"spec", {{"coordinator", {{"template", testing::a_template()}}}}}});
  const bool is_edited = GENERATE(true, false);
  if (is_edited) {
    cluster.api.change(kube::kServices, "rl", "rl", {{"spec", {{"selector", {{"a", "b"}}}}}});
  } else {
    cluster.api.remove(kube::kServices, "rl", "rl");
  }
  cluster.sync();
  cluster.controller->worker.process(kJobKey);  // the watch has nothing to tell of it any more
  cluster.clock.advance(kEndpointSliceDelay);
  CHECK(woken(cluster) == std::set<std::string>{kKey});
}

TEST_CASE("a slice name that is taken by another object is passed over",
          "[controller][endpoint_slices]") {
  NamedCluster cluster;
  cluster.process();
  const bool is_of_the_service = GENERATE(true, false);
  const Json labels =
      is_of_the_service ? Json::object({{"kubernetes.io/service-name", "rl"}}) : Json::object();
  const std::string name = kube::decode_meta(cluster.slices()[0]).name;
  cluster.api.remove(kEndpointSlices, "rl", name);
  const Json foreign = cluster.api.add(
      kEndpointSlices, "rl",
      {{"metadata", {{"name", name}, {"labels", labels}}}, {"endpoints", Json::array()}});
  for (int i = 0; i < 3; ++i) {
    cluster.process();
    cluster.clock.advance(EndpointSliceWriter::kPeriod);
  }
  CHECK(cluster.api.get(kEndpointSlices, "rl", name) == foreign);
  CHECK(cluster.addresses() == cluster.wanted());
}

// -- what Kubernetes' own controllers left

// From before the Service lost its selector.
struct UpgradedCluster : NamedCluster {
  UpgradedCluster() {
    const Json labels = {{job::kGroupLabel, job::kGroupLabelValue},
                         {job::kControllerLabel, job::kControllerLabelValue}};
    api.add(kEndpoints, "rl", {{"metadata", {{"name", "rl"}, {"labels", labels}}}});
    for (const char* name : {"rl-abcde", "rl-fghij"}) {
      Json slice_labels = labels;
      slice_labels["kubernetes.io/service-name"] = "rl";
      slice_labels["endpointslice.kubernetes.io/managed-by"] = kKubernetes;
      api.add(kEndpointSlices, "rl", {{"metadata", {{"name", name}, {"labels", slice_labels}}}});
    }
  }
  bool has_leftovers() const {
    return !api.get(kEndpoints, "rl", "rl").is_null() ||
           !api.get(kEndpointSlices, "rl", "rl-abcde").is_null();
  }
};

TEST_CASE("Kubernetes' own slices are deleted when ours exist", "[controller][endpoint_slices]") {
  UpgradedCluster cluster;
  cluster.api.fail_next("POST", "/endpointslices", kConnectionReset);
  cluster.process();
  CHECK(cluster.has_leftovers());  // else the pods would have no names for a while
  cluster.process();
  CHECK_FALSE(cluster.has_leftovers());
  CHECK(cluster.slices().size() == 1);
  CHECK(cluster.addresses() == cluster.wanted());
}

TEST_CASE("Kubernetes' slices of a Service with a selector stay", "[controller][endpoint_slices]") {
  UpgradedCluster cluster;
  const bool is_ours = GENERATE(true, false);
  const Json patch = is_ours ? Json{{"spec", {{"selector", {{"app", "x"}}}}}}
                             : Json{{"metadata", {{"labels", nullptr}}}};
  cluster.api.change(kube::kServices, "rl", "rl", patch);
  cluster.process();
  CHECK(cluster.has_leftovers());
}

TEST_CASE("an Endpoints object of another owner stays", "[controller][endpoint_slices]") {
  UpgradedCluster cluster;
  cluster.api.change(kEndpoints, "rl", "rl", {{"metadata", {{"labels", nullptr}}}});
  cluster.process();
  CHECK_FALSE(cluster.api.get(kEndpoints, "rl", "rl").is_null());
  CHECK(cluster.slices().size() == 1);
}

TEST_CASE("an upgrade removes the Service's selector and keeps the Service",
          "[controller][services]") {
  NamedCluster cluster;
  const std::string uid = kube::decode_meta(cluster.api.get(kube::kServices, "rl", "rl")).uid;
  cluster.api.change(kube::kServices, "rl", "rl",
                     {{"spec", {{"selector", {{"group-name", "nervex.sensetime.com"}}}}}});
  CHECK(cluster.settle() >= 0);
  const Json service = cluster.api.get(kube::kServices, "rl", "rl");
  CHECK(kube::decode_meta(service).uid == uid);
  CHECK(kube::find(service, {"spec", "selector"}) == nullptr);
}

}  // namespace
}  // namespace nervex::controller
