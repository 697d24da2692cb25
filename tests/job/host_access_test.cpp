// Access of pods to their node: host_access.json has a row for each control, which an end-to-end
// test (test_host_access.py) holds against Kubernetes' own Pod Security admission, too.
#include "job/host_access.h"

#include <array>
#include <fstream>
#include <iterator>
#include <set>
#include <string>

#include <catch2/catch_test_macros.hpp>

#include "job/warnings.h"

namespace nervex::job {
namespace {

using Lines = std::vector<std::string>;

// "CONTAINER" in a row's fields is each of these in turn.
constexpr std::array<const char*, 2> kContainerLists{"containers", "initContainers"};

Json rows() {
  std::ifstream file(NERVEX_SOURCE_DIR "/tests/job/host_access.json");
  return Json::parse(file);
}

Json make_template(const Json& row, const char* list) {
  Json pod = {{"spec", row.value("spec", Json::object())}};
  if (row.contains("metadata")) pod["metadata"] = row["metadata"];
  pod["spec"]["containers"] = Json::array({{{"name", "main"}, {"image", "i"}}});
  Json container = {{"name", "it"}, {"image", "i"}};
  container.update(row.value("container", Json::object()));
  pod["spec"][list] = Json::array({container});
  return pod;
}

Lines error_fields(const FieldErrors& errors) {
  Lines fields;
  for (const auto& error : errors) fields.push_back(error.field);
  return fields;
}

}  // namespace

TEST_CASE("violations of each control of Pod Security's baseline are found", "[job][host_access]") {
  std::set<std::string> refused_controls;
  std::set<std::string> allowed_controls;
  for (const Json& row : rows()) {
    const auto control = row["control"].get<std::string>();
    const auto role = std::string(control < "M" ? "coordinator" : "aggregator");
    for (const char* list : kContainerLists) {
      INFO(control << ": " << row["when"] << " in " << list);
      Lines want;
      for (auto field : row["refused"].get<Lines>()) {
        if (field.starts_with("CONTAINER"))
          field.replace(0, 9, std::string("spec.") + list + "[0]");
        want.push_back("spec." + role + ".template." + field);
      }
      const Json job = {{"spec", {{role, {{"template", make_template(row, list)}}}}}};
      const FieldErrors found = find_host_access(job);
      CHECK(error_fields(found) == want);
      for (const auto& error : found) {
        CHECK(error.type == FieldErrorType::kForbidden);
        CHECK(error.detail.starts_with("gives access to the node"));
      }
      CHECK(host_access_warnings(job).size() == want.size());
    }
    (row["refused"].empty() ? allowed_controls : refused_controls).insert(control);
  }
  // The page Pod Security Standards of Kubernetes 1.36, and what goes beyond it.
  CHECK(refused_controls ==
        std::set<std::string>{"HostProcess", "Host Namespaces", "Privileged Containers",
                              "Capabilities", "HostPath Volumes", "Host Ports",
                              "Host Probes / Lifecycle Hooks", "AppArmor", "SELinux",
                              "/proc Mount Type", "Seccomp", "Sysctls", "Volume Types"});
  refused_controls.erase("Volume Types");
  CHECK(allowed_controls == refused_controls);
}

TEST_CASE("a violation names its control", "[job][host_access]") {
  const Json job = Json::parse(R"({"spec": {
    "volumes": [{"name": "a", "emptyDir": {}}, {"name": "b", "hostPath": {"path": "/b"}},
                {"name": "c", "nfs": {"server": "s", "path": "/"}}],
    "coordinator": {"template": {"spec": {"hostPID": false, "hostIPC": true, "containers": [
      {"ports": [{"hostPort": 80}]}]}}},
    "aggregator": {"template": {"spec": {"hostPID": true}}}}})");
  CHECK(host_access_warnings(job) ==
        Lines{"spec.volumes[1].hostPath: gives access to the node (Pod Security baseline: HostPath "
              "Volumes)",
              "spec.volumes[2].nfs: gives access to the node, which mounts what the job names, as "
              "root: use a persistentVolumeClaim",
              "spec.coordinator.template.spec.hostIPC: gives access to the node (Pod Security "
              "baseline: Host Namespaces)",
              "spec.coordinator.template.spec.containers[0].ports[0].hostPort: gives access to the "
              "node (Pod Security baseline: Host Ports)",
              "spec.aggregator.template.spec.hostPID: gives access to the node (Pod Security "
              "baseline: Host Namespaces)"});
}

TEST_CASE("objects of any shape are checked for access to the node", "[job][host_access]") {
  for (const char* text : {"null", "[]", R"({"spec":{"coordinator":{"template":{"spec":[]}}}})",
                           R"({"spec":{"volumes":[1,{"name":"a","nfs":null},{"csi":true}]}})",
                           R"({"spec":{"coordinator":{"template":{"metadata":{"annotations":[]},
                               "spec":{"containers":[{"ports":[{"hostPort":"1"}],"securityContext":
                               {"capabilities":{"add":{}},"procMount":1}}]}}}}})"}) {
    CHECK(find_host_access(Json::parse(text)).empty());
  }
}

}  // namespace nervex::job
