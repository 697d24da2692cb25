#include "kube/model/volume.h"

#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>

#include "kube/model/node.h"

namespace nervex::kube {
namespace {

TEST_CASE("a claim is kept with the volume that it is bound to", "[kube][volume]") {
  const auto claim = decode_claim(
      R"({"metadata":{"name":"data","namespace":"rl","uid":"u","resourceVersion":"7",
                      "labels":{"a":"b"}},"spec":{"volumeName":"pv-1"}})");
  REQUIRE(claim);
  CHECK(claim->meta.key() == "rl/data");
  CHECK(claim->meta.uid == "u");
  CHECK(claim->meta.resource_version == "7");
  CHECK(claim->meta.labels.empty());
  CHECK(claim->volume == "pv-1");
  CHECK(decode_claim(R"({"metadata":{"name":"data"}})")->volume.empty());
  CHECK_FALSE(decode_claim("{}"));
  CHECK_FALSE(decode_volume("no JSON"));
}

TEST_CASE("a node is allowed where every bound volume can be used", "[kube][volume]") {
  struct Row {
    std::string when;
    std::string volume;  // beside its name
    StringMap labels;    // of the node
    NodeFit want;
  };
  const std::string in_a = R"(,"spec":{"nodeAffinity":{"required":{"nodeSelectorTerms":[
      {"matchExpressions":[{"key":"zone","operator":"In","values":["a"]}]},
      {"matchExpressions":[{"key":"zone","operator":"In","values":["b"]}]}]}}}})";
  const std::string zone = "topology.kubernetes.io/zone";
  const std::string by_label = R"(,"labels":{"topology.kubernetes.io/zone":"a__b"}}})";
  const auto labels = [](const std::string& key, const std::string& value) {
    StringMap out;
    out[key] = value;
    return out;
  };
  const auto row = GENERATE_COPY(values<Row>({
      {"it can be used everywhere", "}}", {}, NodeFit::kAllowed},
      {"the node meets one of its terms", "}" + in_a, labels("zone", "b"), NodeFit::kAllowed},
      {"the node meets none of its terms", "}" + in_a, labels("zone", "c"),
       NodeFit::kVolumeElsewhere},
      {"its label names the node's zone", by_label, labels(zone, "b"), NodeFit::kAllowed},
      {"its label names other zones", by_label, labels(zone, "c"), NodeFit::kVolumeElsewhere},
      {"the node has a region, but no zone", by_label, labels("topology.kubernetes.io/region", "r"),
       NodeFit::kVolumeElsewhere},
      {"the node is in no zone", by_label, {}, NodeFit::kAllowed},
  }));
  INFO("when " << row.when);
  const auto volume = decode_volume(R"({"metadata":{"name":"pv")" + row.volume);
  REQUIRE(volume);
  NodeConstraints constraints;
  if (!volume->node_terms.empty()) constraints.volume_terms = *parse_json(volume->node_terms);
  Node node;
  node.ready = true;
  node.labels = row.labels;
  CHECK(judge(node, constraints) == row.want);
}

TEST_CASE("the claims of a pod spec are those that exist before the pod", "[kube][volume]") {
  const auto spec = parse_json(R"({"volumes":[
      {"name":"b","persistentVolumeClaim":{"claimName":"two"}},
      {"name":"a","persistentVolumeClaim":{"claimName":"one"}},
      {"name":"c","persistentVolumeClaim":{"claimName":"one"}},
      {"name":"e","ephemeral":{"volumeClaimTemplate":{}}},{"name":"d","emptyDir":{}}]})");
  CHECK(claim_names(*spec) == std::vector<std::string>{"one", "two"});
  CHECK(claim_names(Json()).empty());
}

}  // namespace
}  // namespace nervex::kube
