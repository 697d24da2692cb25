#include "kube/model/topology_spread.h"

#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>

#include "kube/model/pod.h"
#include "kube/model/resources.h"

namespace nervex::kube {
namespace {

const Labels kLabels{{"app", "rl"}, {"hash", "7f"}};

TEST_CASE("a constraint is read with Kubernetes' defaults", "[kube][topology_spread]") {
  struct Row {
    std::string when;
    std::string constraint;
    std::string want;  // encoded again; "": refused
  };
  const auto row = GENERATE(values<Row>({
      {"it states what it must",
       R"({"maxSkew":2,"topologyKey":"z","whenUnsatisfiable":"DoNotSchedule",
           "labelSelector":{"matchLabels":{"app":"rl"}}})",
       R"({"labelSelector":{"matchExpressions":[{"key":"app","operator":"In","values":["rl"]}]},)"
       R"("maxSkew":2,"topologyKey":"z"})"},
      {"it states all",
       R"({"maxSkew":1,"topologyKey":"z","whenUnsatisfiable":"ScheduleAnyway","minDomains":3,
           "nodeAffinityPolicy":"Ignore","nodeTaintsPolicy":"Honor","labelSelector":{}})",
       R"({"labelSelector":{"matchExpressions":[]},"maxSkew":1,"minDomains":3,)"
       R"("nodeAffinityPolicy":"Ignore","nodeTaintsPolicy":"Honor","topologyKey":"z",)"
       R"("whenUnsatisfiable":"ScheduleAnyway"})"},
      {"the pod's own labels are part of the selector",
       R"({"maxSkew":1,"topologyKey":"z","labelSelector":{},"matchLabelKeys":["hash","absent"]})",
       R"({"labelSelector":{"matchExpressions":[{"key":"hash","operator":"In","values":["7f"]}]},)"
       R"("maxSkew":1,"topologyKey":"z"})"},
      {"it has no selector: it counts no pod, and asks for nodes with the label",
       R"({"maxSkew":1,"topologyKey":"z"})", R"({"maxSkew":1,"topologyKey":"z"})"},
      {"it has no key", R"({"maxSkew":1,"labelSelector":{}})", ""},
      {"its selector is invalid",
       R"({"topologyKey":"z","labelSelector":{"matchExpressions":[{"key":"a","operator":"?"}]}})",
       ""},
      {"it is no object", "5", ""},
  }));
  INFO("when " << row.when);
  const auto spread = decode_topology_spread(*parse_json(row.constraint), "team-a", kLabels);
  CHECK((spread ? to_text(encode_topology_spread(*spread)) : "") == row.want);
  if (!spread) return;
  CHECK(decode_topology_spread(encode_topology_spread(*spread), "team-a", {}) == spread);
}

TEST_CASE("a counter stands for the pods of one namespace that a selector matches",
          "[kube][topology_spread]") {
  const auto counter = [](const char* ns, const char* selector) {
    const Json constraint{{"topologyKey", "z"}, {"labelSelector", *parse_json(selector)}};
    return decode_topology_spread(constraint, ns, {})->pods.counter;
  };
  const std::string one = counter("a", R"({"matchLabels":{"app":"rl"}})");
  CHECK(is_counter(one));
  CHECK(one ==
        counter("a", R"({"matchExpressions":[{"key":"app","operator":"In","values":["rl"]}]})"));
  CHECK(one != counter("b", R"({"matchLabels":{"app":"rl"}})"));
  CHECK(one != counter("a", R"({"matchLabels":{"app":"x"}})"));
}

TEST_CASE("a node has any amount of a counter", "[kube][topology_spread]") {
  const Resources pod{{"matchingPods:1", 1}, {"pods", 1}};
  Resources free{{"matchingPods:1", -7}, {"pods", 3}};
  CHECK(pod.fits_in(free));
  CHECK(pod.times_in(free, 9) == 3);
  CHECK(pod.first_lacking({{"matchingPods:1", -7}}) == "pods");
}

TEST_CASE("a pod that waits for its plan has its constraints", "[kube][topology_spread][pod]") {
  PodFilter filter;
  filter.spec_scheduler = "ours";
  filter.keeps_all_labels = true;
  const auto pod = decode_pod(R"({"metadata":{"name":"p","namespace":"a","labels":{"app":"rl"}},
      "spec":{"schedulerName":"ours","topologySpreadConstraints":[
        {"maxSkew":1,"topologyKey":"z","labelSelector":{"matchLabels":{"app":"rl"}}}]}})",
                              filter);
  REQUIRE(pod);
  REQUIRE(pod->detail->spread.size() == 1);
  const auto selector = decode_selector(pod->detail->spread.front().pods);
  REQUIRE(selector);
  CHECK(matches(*selector, pod->meta.labels));
}

}  // namespace
}  // namespace nervex::kube
