#include "gang/slot.h"

#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>

namespace nervex::gang {
namespace {

kube::Pod pod_with(const std::map<std::string, std::string>& annotations) {
  kube::Pod pod;
  pod.meta.annotations.insert(annotations.begin(), annotations.end());
  return pod;
}

TEST_CASE("a slot is the same after writing and reading annotations", "[gang][slot]") {
  const PodSlot slot{"uid-1", "ddp-learner", {4097, 3}, 12};
  CHECK(pod_slot(pod_with(annotations_for(slot))) == slot);
}

TEST_CASE("the pod filter keeps the annotations of a slot", "[gang][slot]") {
  for (const auto& [key, value] : annotations_for({"uid-1", "learner", {0, 0}, 1})) {
    const auto kept = slot_annotation_keys();
    CHECK(std::find(kept.begin(), kept.end(), key) != kept.end());
  }
}

TEST_CASE("a pod with missing or invalid annotations has no slot", "[gang][slot]") {
  struct Row {
    std::string when;
    std::string_view key;
    std::string value;
  };
  const auto row = GENERATE(values<Row>({
      {"the uid is empty", kPodGroupUidAnnotation, ""},
      {"the slot lacks its ordinal", kSlotAnnotation, "learner"},
      {"the slot lacks its role", kSlotAnnotation, "/3"},
      {"the ordinal is no number", kSlotAnnotation, "learner/x"},
      {"the ordinal is negative", kSlotAnnotation, "learner/-1"},
      {"the ordinal is beyond int", kSlotAnnotation, "learner/99999999999"},
      {"the incarnation has a tail", kIncarnationAnnotation, "1x"},
      {"the incarnation is empty", kIncarnationAnnotation, ""},
      {"the placement is no number", kPlacementAnnotation, "one"},
      {"the placement is one that nothing counts to", kPlacementAnnotation, "9007199254740993"},
  }));
  INFO("when " << row.when);
  auto annotations = annotations_for({"uid-1", "learner", {3, 1}, 7});
  annotations[std::string(row.key)] = row.value;
  CHECK(pod_slot(pod_with(annotations)) == std::nullopt);
  annotations.erase(std::string(row.key));
  CHECK(pod_slot(pod_with(annotations)) == std::nullopt);
}

}  // namespace
}  // namespace nervex::gang
