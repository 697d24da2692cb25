#include "kube/model/foreign_pod_group.h"

#include <catch2/catch_test_macros.hpp>

namespace nervex::kube {
namespace {

TEST_CASE("a PodGroup of scheduler-plugins is read, and its status written back the same",
          "[kube][foreign]") {
  const Json object{{"metadata", {{"name", "train"}, {"namespace", "ns"}, {"uid", "u"}}},
                    {"spec",
                     {{"minMember", 3},
                      {"scheduleTimeoutSeconds", 20},
                      {"minResources", {{"cpu", "1500m"}, {"nvidia.com/gpu", 8}}}}},
                    {"status",
                     {{"phase", "Running"},
                      {"running", 3},
                      {"succeeded", 1},
                      {"failed", 2},
                      {"occupiedBy", "ns/train"},
                      {"scheduleStartTime", "2026-11-22T00:00:00Z"}}}};
  const auto group = decode_foreign_pod_group(to_text(object));
  REQUIRE(group);
  CHECK(group->meta.key() == "ns/train");
  CHECK(group->min_member == 3);
  CHECK(group->schedule_timeout_seconds == 20);
  CHECK(group->min_resources == Resources{{"cpu", 1500}, {"nvidia.com/gpu", 8}});
  CHECK(encode_foreign_status(group->status) == object.at("status"));
}

TEST_CASE("what a PodGroup does not say is absent, not wrong", "[kube][foreign]") {
  const auto group =
      decode_foreign_pod_group(R"({"metadata":{"name":"a"},"spec":{"minMember":-1}})");
  REQUIRE(group);
  CHECK(group->min_member == 0);
  CHECK_FALSE(group->schedule_timeout_seconds);
  CHECK(group->min_resources.empty());
  CHECK(group->status == ForeignPodGroupStatus{});
  CHECK_FALSE(decode_foreign_pod_group("{}"));
  CHECK_FALSE(decode_foreign_pod_group("["));
}

TEST_CASE("a labelled pod is decoded with all fields for planning, in any field order",
          "[kube][foreign]") {
  const std::string metadata =
      R"("metadata":{"name":"p","namespace":"ns","labels":{"scheduling.x-k8s.io/pod-group":"a"}})";
  const std::string spec = R"("spec":{"priority":7,"schedulingGates":[{"name":"g"}],
    "nodeSelector":{"zone":"z"},"tolerations":[{"key":"k","operator":"Exists"}],
    "affinity":{"nodeAffinity":{"requiredDuringSchedulingIgnoredDuringExecution":
      {"nodeSelectorTerms":[{"matchExpressions":[{"key":"x","operator":"Exists"}]}]}}},
    "volumes":[{"persistentVolumeClaim":{"claimName":"data"}}],"containers":[{"name":"c"}]})";
  const auto filter = with_foreign_groups({});
  for (const auto& text : {"{" + metadata + "," + spec + "}", "{" + spec + "," + metadata + "}"}) {
    const auto pod = decode_pod(text, filter);
    REQUIRE(pod);
    CHECK(foreign_group_name(pod->meta) == "a");
    REQUIRE(pod->detail);
    CHECK(pod->priority == 7);
    CHECK(pod->detail->is_gated);
    CHECK(pod->detail->claims == std::vector<std::string>{"data"});
    CHECK(pod->detail->constraints ==
          decode_node_constraints(parse_json("{" + spec + "}")->at("spec")));
  }
  const auto other = decode_pod(R"({"metadata":{"name":"p"},"spec":{"priority":7}})", filter);
  REQUIRE(other);
  CHECK_FALSE(other->detail);
}

TEST_CASE("what planning needs is kept of unbound pods of the scheduler", "[kube][pod]") {
  PodFilter filter;
  filter.spec_scheduler = "ours";
  filter.scheduling_annotation = "gang";
  const auto keeps = [&](const char* meta, const char* spec) {
    const auto pod = decode_pod(
        std::string(R"({"metadata":{"name":"a")") + meta + R"(},"spec":{)" + spec + R"(}})",
        filter);
    REQUIRE(pod);
    return static_cast<bool>(pod->detail);
  };
  CHECK(keeps("", R"("schedulerName":"ours")"));
  CHECK_FALSE(keeps("", R"("schedulerName":"other")"));
  CHECK_FALSE(keeps("", R"("schedulerName":"ours","nodeName":"n1")"));
  CHECK_FALSE(keeps(R"(,"annotations":{"gang":"x"})", R"("schedulerName":"ours")"));
}

}  // namespace
}  // namespace nervex::kube
