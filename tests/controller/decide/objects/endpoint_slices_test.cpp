#include "controller/decide/objects/endpoint_slices.h"

#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>

#include "job/names.h"
#include "job/pod_manifest.h"
#include "tests/controller/world.h"
#include "tests/support/job_builders.h"

namespace nervex::controller {
namespace {

using job::Role;
using testing::a_job;
using testing::World;
using Strings = std::vector<std::string>;

// Pods of one or more jobs, which start in a namespace with a shared Service.
struct NamedWorld : World {
  explicit NamedWorld(int collectors = 1, int learners = 0) : World(a_job(collectors, learners)) {
    seen.shared_services = true;
    make_gang();
  }
  // The kubelet has given it an address.
  void address(std::string_view pod, const std::string& ip) {
    change_pod(pod, [&](kube::Pod& p) {
      p.node = "n1";
      p.ip = ip;
    });
  }
  void address_all() {
    int number = 1;
    for (const auto& pod : pod_names()) {
      address(pod, fmt::format("10.0.{}.{}", number / 250, number % 250));
      ++number;
    }
  }
  EndpointSliceWrites writes(const Ptrs<EndpointSlice>& slices = {}) const {
    return endpoint_slice_writes("rl", seen.pods, seen.shared_service.get(), slices);
  }
};

// As the API server would have it.
std::shared_ptr<const EndpointSlice> stored(Json manifest, const std::string& version = "5") {
  Json& meta = manifest["metadata"];
  meta["uid"] = "uid of " + meta["name"].get<std::string>();
  meta["resourceVersion"] = version;
  return std::make_shared<const EndpointSlice>(*decode_endpoint_slice(kube::to_text(manifest)));
}

Ptrs<EndpointSlice> stored(const std::vector<Json>& manifests) {
  Ptrs<EndpointSlice> slices;
  for (const auto& manifest : manifests) slices.push_back(stored(manifest));
  return slices;
}

Strings hostnames(const Json& slice) {
  Strings names;
  for (const auto& endpoint : slice["endpoints"]) names.push_back(endpoint["hostname"]);
  return names;
}

TEST_CASE("pods with addresses are in a slice of their namespace",
          "[controller][endpoint_slices]") {
  NamedWorld job;
  CHECK(job.writes().empty());  // no pod has an address yet
  job.address("dqn-coordinator", "10.0.0.7");
  const EndpointSliceWrites writes = job.writes();
  REQUIRE(writes.create.size() == 1);
  const Json& slice = writes.create[0];
  CHECK(slice["metadata"]["labels"]["kubernetes.io/service-name"] == "rl");
  CHECK(slice["metadata"]["labels"]["service.kubernetes.io/headless"].get<std::string>().empty());
  CHECK(slice["metadata"]["ownerReferences"][0]["uid"] == job.seen.shared_service->meta.uid);
  CHECK(slice["addressType"] == "IPv4");
  REQUIRE(hostnames(slice) == Strings{"dqn-coordinator"});
  const Json& endpoint = slice["endpoints"][0];
  CHECK(endpoint["addresses"] == Json{"10.0.0.7"});
  CHECK(endpoint["conditions"]["ready"] == true);
  CHECK(endpoint["targetRef"]["name"] == "dqn-coordinator");
  CHECK(job.writes(stored(writes.create)).empty());

  SECTION("pods that get addresses later are added to it") {
    job.address_all();
    const EndpointSliceWrites more = job.writes(stored(writes.create));
    CHECK(more.create.empty());
    REQUIRE(more.update.size() == 1);
    CHECK(hostnames(more.update[0]) == Strings{"dqn-coordinator", job.name(Role::kCollector)});
    CHECK(more.update[0]["metadata"]["resourceVersion"] == "5");
  }
}

TEST_CASE("which pods are in a slice", "[controller][endpoint_slices]") {
  struct Row {
    const char* when;
    std::function<void(kube::Pod&)> change;
    bool has_name;
  };
  const auto row = GENERATE(values<Row>({
      {"it runs", [](kube::Pod&) {}, true},
      {"it is not ready", [](kube::Pod& pod) { pod.ready = false; }, true},
      {"it is on its way out", [](kube::Pod& pod) { pod.meta.deleting = true; }, true},
      {"it has ended well", [](kube::Pod& pod) { pod.phase = kube::PodPhase::kSucceeded; }, false},
      {"it has failed", [](kube::Pod& pod) { pod.phase = kube::PodPhase::kFailed; }, false},
      {"its address is gone", [](kube::Pod& pod) { pod.ip = ""; }, false},
      {"its template names it", [](kube::Pod& pod) { pod.is_named_by_namespace = false; }, false},
  }));
  INFO("when " << row.when);
  NamedWorld job;
  job.address_all();
  const Ptrs<EndpointSlice> before = stored(job.writes().create);
  const kube::Pod pod = *job.seen.pods[0];
  job.change_pod(pod.meta.name, row.change);
  CHECK(changes_endpoint(&pod, job.seen.pods[0].get()) == !row.has_name);
  const EndpointSliceWrites writes = job.writes(before);
  CHECK(writes.empty() == row.has_name);
  if (!row.has_name) CHECK(hostnames(writes.update.at(0)) == Strings{"dqn-coordinator"});
}

TEST_CASE("a pod's endpoint is another one when its address, node or uid is",
          "[controller][endpoint_slices]") {
  NamedWorld job;
  job.address_all();
  const Ptrs<EndpointSlice> before = stored(job.writes().create);
  const kube::Pod pod = *job.seen.pods[0];
  job.change_pod(pod.meta.name, GENERATE(values<std::function<void(kube::Pod&)>>({
                                    [](kube::Pod& p) { p.ip = "10.0.0.99"; },
                                    [](kube::Pod& p) { p.node = "n2"; },
                                    [](kube::Pod& p) { p.meta.uid = "another"; },
                                })));
  CHECK(changes_endpoint(&pod, job.seen.pods[0].get()));
  CHECK(job.writes(before).update.size() == 1);
}

TEST_CASE("changes that do not affect slices", "[controller][endpoint_slices]") {
  NamedWorld job;
  const kube::Pod pod = *job.seen.pods[0];
  CHECK_FALSE(changes_endpoint(nullptr, &pod));  // it has no address yet
  CHECK_FALSE(changes_endpoint(&pod, nullptr));
  kube::Pod bound = pod;
  bound.node = "n1";
  CHECK_FALSE(changes_endpoint(&pod, &bound));
  kube::Pod running = bound;
  running.ip = "10.0.0.1";
  CHECK(changes_endpoint(&bound, &running));
  CHECK(changes_endpoint(nullptr, &running));
  CHECK(changes_endpoint(&running, nullptr));
}

TEST_CASE("more pods than one slice takes are in several", "[controller][endpoint_slices]") {
  constexpr int kMax = static_cast<int>(kMaxEndpointsPerSlice);
  NamedWorld job(kMax + 9, 0);  // and the coordinator
  job.address_all();
  const EndpointSliceWrites first = job.writes();
  REQUIRE(first.create.size() == 2);
  CHECK(hostnames(first.create[0]).size() == kMaxEndpointsPerSlice);
  CHECK(hostnames(first.create[1]).size() == 10);
  const Ptrs<EndpointSlice> before = stored(first.create);
  CHECK(job.writes(before).empty());
  const Strings full = hostnames(first.create[0]);
  const Strings rest = hostnames(first.create[1]);
  const auto end = [&](const std::string& name) {
    job.change_pod(name, [](kube::Pod& pod) { pod.phase = kube::PodPhase::kFailed; });
  };

  SECTION("an ended pod changes only the slice that has it") {
    end(rest[3]);
    const EndpointSliceWrites writes = job.writes(before);
    REQUIRE(writes.update.size() == 1);
    CHECK(writes.update[0]["metadata"]["name"] == first.create[1]["metadata"]["name"]);
    CHECK(hostnames(writes.update[0]).size() == 9);
    CHECK((writes.create.empty() && writes.remove.empty()));
  }
  SECTION("a slice is deleted with its last pod") {
    for (const auto& name : rest) end(name);
    const EndpointSliceWrites writes = job.writes(before);
    CHECK(writes.remove ==
          std::vector<Target>{{before[1]->meta.name, before[1]->meta.uid, false, "5"}});
    CHECK((writes.create.empty() && writes.update.empty()));
  }
  SECTION("a new pod goes to a slice that is written anyway") {
    job.change_pod(rest[0], [](kube::Pod& pod) { pod.ip = ""; });
    const Ptrs<EndpointSlice> without = stored(job.writes(before).update);
    job.address(rest[0], "10.9.9.9");
    end(full[0]);
    const EndpointSliceWrites writes = job.writes({before[0], without[0]});
    REQUIRE(writes.update.size() == 1);
    CHECK(writes.update[0]["metadata"]["name"] == first.create[0]["metadata"]["name"]);
    CHECK(hostnames(writes.update[0]).back() == rest[0]);
  }
  SECTION("else to the one with the most space") {
    Ptrs<EndpointSlice> slices = before;
    for (const auto& name : {full[0], full[1], rest[0]}) {
      job.change_pod(name, [](kube::Pod& pod) { pod.ip = ""; });
    }
    slices = stored(job.writes(before).update);
    REQUIRE(slices.size() == 2);
    for (const auto& name : {full[0], full[1], rest[0]}) job.address(name, "10.9.9.9");
    const EndpointSliceWrites writes = job.writes(slices);
    REQUIRE(writes.update.size() == 1);
    CHECK(writes.update[0]["metadata"]["name"] == first.create[1]["metadata"]["name"]);
    CHECK(hostnames(writes.update[0]).size() == 12);
  }
}

TEST_CASE("a pod that two slices name is removed from one", "[controller][endpoint_slices]") {
  NamedWorld job;
  job.address_all();
  Json twin = job.writes().create.at(0);
  const auto one = stored(twin);
  twin["metadata"]["name"] = "rl-twin";
  const EndpointSliceWrites writes = job.writes({one, stored(twin)});
  CHECK((writes.create.empty() && writes.update.empty()));
  REQUIRE(writes.remove.size() == 1);
  CHECK(writes.remove[0].name == "rl-twin");
}

TEST_CASE("a slice that is terminating does not count, and its name is not used",
          "[controller][endpoint_slices]") {
  NamedWorld job;
  job.address_all();
  const Json slice = job.writes().create.at(0);
  EndpointSlice leaving = *stored(slice);
  leaving.meta.deleting = true;
  const EndpointSliceWrites writes = job.writes({std::make_shared<const EndpointSlice>(leaving)});
  REQUIRE(writes.create.size() == 1);
  CHECK(writes.create[0]["metadata"]["name"] != slice["metadata"]["name"]);
  CHECK((writes.update.empty() && writes.remove.empty()));
}

TEST_CASE("addresses of both families have slices of their own", "[controller][endpoint_slices]") {
  NamedWorld job;
  job.address("dqn-coordinator", "10.0.0.1");
  job.address(job.name(Role::kCollector), "fd00::1");
  const EndpointSliceWrites writes = job.writes();
  REQUIRE(writes.create.size() == 2);
  CHECK(writes.create[0]["addressType"] == "IPv4");
  CHECK(writes.create[1]["addressType"] == "IPv6");
  CHECK(hostnames(writes.create[1]) == Strings{job.name(Role::kCollector)});
}

TEST_CASE("empty slices are deleted", "[controller][endpoint_slices]") {
  NamedWorld job;
  job.address_all();
  const Ptrs<EndpointSlice> slices = stored(job.writes().create);
  const Service* service = job.seen.shared_service.get();
  const auto is_all_removed = [&](const EndpointSliceWrites& writes) {
    return writes.create.empty() && writes.update.empty() && writes.remove.size() == 1;
  };
  CHECK(is_all_removed(endpoint_slice_writes("rl", {}, service, slices)));
  // They would add addresses to another owner's Service.
  CHECK(is_all_removed(endpoint_slice_writes("rl", job.seen.pods, nullptr, slices)));
  Service foreign = *service;
  foreign.has_owner = true;
  CHECK(is_all_removed(endpoint_slice_writes("rl", job.seen.pods, &foreign, slices)));
}

TEST_CASE("an edited slice is written again", "[controller][endpoint_slices]") {
  NamedWorld job;
  job.address_all();
  Json slice = job.writes().create.at(0);
  const auto edit = GENERATE(values<std::function<void(Json&)>>({
      [](Json& s) { s["endpoints"][0]["addresses"][0] = "10.9.9.9"; },
      [](Json& s) { s["endpoints"][0]["addresses"].push_back("10.9.9.9"); },
      [](Json& s) { s["endpoints"][0]["hostname"] = "another"; },
      [](Json& s) { s["endpoints"][0]["conditions"]["ready"] = false; },
      [](Json& s) { s["endpoints"][0].erase("conditions"); },
      [](Json& s) { s["endpoints"].erase(0); },
      [](Json& s) { s["metadata"]["ownerReferences"][0]["uid"] = "an earlier Service"; },
      [](Json& s) { s["metadata"]["labels"].erase("service.kubernetes.io/headless"); },
  }));
  edit(slice);
  CHECK(job.writes({stored(slice)}).update.size() == 1);
}

TEST_CASE("which slices are ours", "[controller][endpoint_slices]") {
  NamedWorld job;
  job.address_all();
  Json slice = job.writes().create.at(0);
  Json& labels = slice["metadata"]["labels"];
  CHECK(is_ours(*stored(slice)));
  CHECK_FALSE(is_leftover(*stored(slice)));
  labels["endpointslice.kubernetes.io/managed-by"] =
      GENERATE("endpointslice-controller.k8s.io", "endpointslicemirroring-controller.k8s.io");
  CHECK_FALSE(is_ours(*stored(slice)));
  CHECK(is_leftover(*stored(slice)));
  labels["kubernetes.io/service-name"] = "dqn-coordinator";  // a pod's own Service
  CHECK(decode_endpoint_slice(kube::to_text(slice)).error().code == Code::kNotFound);
}

}  // namespace
}  // namespace nervex::controller
