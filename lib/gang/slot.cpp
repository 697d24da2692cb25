#include "gang/slot.h"

#include <fmt/format.h>

#include <charconv>

#include "gang/outage_tolerations.h"

namespace nervex::gang {
namespace {

// No PodGroup comes near this. A user who may annotate pods must not make numbers overflow.
constexpr std::int64_t kMostPlacement = std::int64_t{1} << 53;

// Only decimal digits, as annotations_for() writes them.
template <typename T>
std::optional<T> parse_count(std::string_view text) {
  T value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size() || value < 0) return std::nullopt;
  return value;
}

}  // namespace

std::optional<PodSlot> pod_slot(const kube::Pod& pod) {
  const std::string& uid = kube::annotation(pod.meta, kPodGroupUidAnnotation);
  const std::string& key = kube::annotation(pod.meta, kSlotAnnotation);
  const std::size_t slash = key.rfind('/');
  if (uid.empty() || slash == std::string::npos || slash == 0) return std::nullopt;
  const auto ordinal = parse_count<int>(std::string_view(key).substr(slash + 1));
  const auto incarnation = parse_count<int>(kube::annotation(pod.meta, kIncarnationAnnotation));
  const auto number = parse_count<std::int64_t>(kube::annotation(pod.meta, kPlacementAnnotation));
  if (!ordinal || !incarnation || !number || *number > kMostPlacement) return std::nullopt;
  return PodSlot{uid, key.substr(0, slash), {*ordinal, *incarnation}, *number};
}

std::map<std::string, std::string> annotations_for(const PodSlot& slot) {
  return {{std::string(kPodGroupUidAnnotation), slot.pod_group_uid},
          {std::string(kSlotAnnotation), slot_key(slot.role, slot.slot.ordinal)},
          {std::string(kIncarnationAnnotation), std::to_string(slot.slot.incarnation)},
          {std::string(kPlacementAnnotation), std::to_string(slot.placement)}};
}

std::string slot_key(std::string_view role, int ordinal) {
  return fmt::format("{}/{}", role, ordinal);
}

std::vector<std::string> slot_annotation_keys() {
  return {std::string(kPodGroupUidAnnotation), std::string(kSlotAnnotation),
          std::string(kIncarnationAnnotation), std::string(kPlacementAnnotation),
          std::string(kQueueAnnotation)};
}

kube::PodFilter with_slot_annotations(kube::PodFilter filter) {
  for (auto& key : slot_annotation_keys()) filter.annotation_keys.push_back(std::move(key));
  for (auto& key : outage_annotation_keys()) filter.annotation_keys.push_back(std::move(key));
  filter.scheduling_annotation = kPodGroupUidAnnotation;
  return filter;
}

}  // namespace nervex::gang
