#include "job/ports.h"

#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>

#include "tests/support/job_builders.h"

namespace nervex::job {
namespace {

using testing::a_job;
using testing::an_entry;

Job with_learner_port(int port) {
  Job job = a_job(0, 1);
  job.spec.learner->pod_template["spec"]["containers"][0]["ports"] =
      Json::array({{{"name", "nervex-port"}, {"containerPort", port}}});
  return job;
}

RequestEntry an_entry_with_split(std::vector<int> gpu_split) {
  RequestEntry entry = an_entry(1, Role::kLearner, 1);
  entry.gpu_split = std::move(gpu_split);
  return entry;
}

std::vector<Port> ports(const Job& job, const RequestEntry& entry, Slot slot) {
  return make_ports(job, Role::kDdpLearner, slot, &entry, {});
}

TEST_CASE("every other role has its main port alone", "[job][ports]") {
  const Role role =
      GENERATE(Role::kCoordinator, Role::kAggregator, Role::kCollector, Role::kLearner);
  const RequestEntry entry = an_entry_with_split({8});
  const Job job = with_learner_port(80);
  const int want = role == Role::kLearner ? 80 : default_port(role);
  CHECK(make_ports(job, role, {4096, 0}, &entry, {}) == std::vector<Port>{{"nervex-port", want}});
}

TEST_CASE("the port that is added to a main container is returned", "[job][ports]") {
  const auto pod = [](const char* ports) {
    return Json{{"containers", {{{"name", "c"}, {"ports", Json::parse(ports)}}}}};
  };
  CHECK(added_main_port(pod("[]"), Role::kAggregator) == 22272);
  CHECK(added_main_port(pod(R"([{"name": "web", "containerPort": 80}])"), Role::kCoordinator) ==
        22273);
  CHECK(added_main_port(pod(R"([{"name": "nervex-port", "containerPort": 80}])"),
                        Role::kCoordinator) == 0);
  CHECK(added_main_port(Json::object(), Role::kCoordinator) == 0);
}

// Fault 9 of the predecessor: local ranks, so that two pods advertised the same ones.
TEST_CASE("a GPU's port follows from its rank among all of the learner", "[job][ports]") {
  const RequestEntry entry = an_entry_with_split({3, 2});
  CHECK(ports(with_learner_port(80), entry, {4096, 0}) ==
        std::vector<Port>{
            {"nervex-port", 80}, {"gpu-port-1", 81}, {"gpu-port-2", 82}, {"master-port", 10314}});
  CHECK(ports(with_learner_port(80), entry, {4097, 0}) ==
        std::vector<Port>{
            {"nervex-port", 80}, {"gpu-port-3", 83}, {"gpu-port-4", 84}, {"master-port", 10314}});
}

TEST_CASE("the numbers of all pods together are one per GPU, in a row", "[job][ports]") {
  const RequestEntry entry = an_entry_with_split({3, 2});
  CHECK(make_gpu_ports(80, *place_of_ddp_learner(entry, {4096, 0})) ==
        std::vector<int>{80, 81, 82});
  CHECK(make_gpu_ports(80, *place_of_ddp_learner(entry, {4097, 0})) == std::vector<int>{83, 84});
}

TEST_CASE("ports that Kubernetes would refuse are never requested", "[job][ports]") {
  CHECK(
      ports(with_learner_port(65'534), an_entry_with_split({4}), {4096, 0}) ==
      std::vector<Port>{{"nervex-port", 65'534}, {"gpu-port-1", 65'535}, {"master-port", 10'314}});
  CHECK(ports(with_learner_port(10'313), an_entry_with_split({2}), {4096, 0}) ==
        std::vector<Port>{{"nervex-port", 10'313}, {"gpu-port-1", 10'314}});
  CHECK(ports(with_learner_port(2'000'000'000), an_entry_with_split({2}), {4096, 0}).size() == 2);
  CHECK(ports(with_learner_port(-5), an_entry_with_split({2}), {4096, 0}).size() == 1);
}

TEST_CASE("a learner whose GPUs cannot all have a port is refused", "[job][ports]") {
  struct Row {
    std::string when;
    int main_port;
    std::vector<int> gpu_split;
    std::string want;  // in the refusal; empty: fine
  };
  const auto row = GENERATE(values<Row>({
      {"there is capacity", 80, {8, 8}, ""},
      {"the last port is used", 65'528, {8}, ""},
      {"there is one port too few", 65'528, {8, 1}, "GPU 8 would be 65536"},
      {"the master port is next to them", 10'306, {8}, ""},
      {"a GPU of the first pod would have the master port", 10'306, {9}, "GPU 8 "},
      {"a GPU of another pod has that number", 10'306, {8, 2}, ""},
      {"the main port is the master port", 10'314, {2}, "GPU 0 "},
      {"the main port is behind the master port", 10'315, {8}, ""},
  }));
  INFO("when " << row.when);
  const auto checked = check_gpu_ports(row.main_port, row.gpu_split);
  REQUIRE(checked.has_value() == row.want.empty());
  if (checked) return;
  CHECK(checked.error().code == Code::kInvalid);
  CHECK(checked.error().message.find(row.want) != std::string::npos);
}

TEST_CASE("the user's ports stay, except for those with our names", "[job][ports]") {
  Json container = Json::parse(R"({"ports":[
    {"name":"metrics","containerPort":81},{"name":"gpu-port-1","containerPort":9},
    {"name":"nervex-port","containerPort":80,"protocol":"TCP"},{"containerPort":7}]})");
  declare_ports(container, {{"nervex-port", 80}, {"gpu-port-1", 81}});
  CHECK(container["ports"] == Json::parse(R"([
    {"name":"metrics","containerPort":81},
    {"name":"nervex-port","containerPort":80,"protocol":"TCP"},{"containerPort":7},
    {"name":"gpu-port-1","containerPort":81,"protocol":"TCP"}])"));
}

TEST_CASE("a pod and its service have the same ports", "[job][ports]") {
  const Job job = with_learner_port(80);
  const RequestEntry entry = an_entry_with_split({3, 2});
  PodOrder order;
  order.role = Role::kDdpLearner;
  order.slot = {4097, 0};
  order.entry = &entry;
  const Json pod = pod_manifest(job, order, {});
  const Json service = service_manifest(job, order.role, order.slot, &entry, {});
  std::vector<Port> of_pod, of_service;
  for (const auto& port : pod["spec"]["containers"][0]["ports"]) {
    of_pod.push_back({port["name"], port["containerPort"]});
  }
  for (const auto& port : service["spec"]["ports"]) {
    of_service.push_back({port["name"], port["port"]});
    CHECK(port["targetPort"] == port["port"]);
  }
  CHECK(of_pod == ports(job, entry, order.slot));
  CHECK(of_service == of_pod);
  CHECK(service["spec"]["publishNotReadyAddresses"] == true);  // MASTER_ADDR, from the start
}

}  // namespace
}  // namespace nervex::job
