#include "gang/outage_tolerations.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdint>
#include <utility>

namespace nervex::gang {
namespace {

using std::chrono::seconds;

// Longer than any pod lives. A larger value would overflow when added to a time.
constexpr std::int64_t kMostSeconds = 100LL * 365 * 24 * 3600;

constexpr std::array<std::pair<std::string_view, std::string_view>, 2> kTaints{{
    {kNotReadyTaint, kToleratesNotReadyAnnotation},
    {kUnreachableTaint, kToleratesUnreachableAnnotation},
}};

// The taint has no value, and its effect NoExecute is what evicts pods.
bool tolerates(const Json& toleration, std::string_view key) {
  const std::string effect = kube::string_at(toleration, {"effect"});
  const bool is_any_value = kube::string_at(toleration, {"operator"}) == "Exists";
  return kube::string_at(toleration, {"key"}) == key && (effect.empty() || effect == "NoExecute") &&
         (is_any_value || kube::string_at(toleration, {"value"}).empty());
}

std::string describe_toleration(const Json& toleration) {
  const Json* lasts = kube::find(toleration, {"tolerationSeconds"});
  if (lasts == nullptr || lasts->is_null()) return std::string(kToleratesAlways);
  const auto limit = kube::int_at(toleration, {"tolerationSeconds"});
  return std::to_string(std::clamp<std::int64_t>(limit, 0, kMostSeconds));
}

}  // namespace

std::map<std::string, std::string> outage_annotations(const Json& tolerations) {
  std::map<std::string, std::string> annotations;
  if (!tolerations.is_array()) return annotations;
  for (const auto& [taint, annotation] : kTaints) {
    const auto first = std::find_if(tolerations.begin(), tolerations.end(),
                                    [key = taint](const Json& one) { return tolerates(one, key); });
    if (first != tolerations.end()) annotations.emplace(annotation, describe_toleration(*first));
  }
  return annotations;
}

std::optional<seconds> tolerated_outage(const kube::Pod& pod, const kube::Node& node) {
  const std::string& text =
      kube::annotation(pod.meta, node.is_unreachable ? kToleratesUnreachableAnnotation
                                                     : kToleratesNotReadyAnnotation);
  if (text == kToleratesAlways) return seconds::max();
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  const bool is_number = error == std::errc{} && end == text.data() + text.size();
  if (!is_number || value < 0 || value > kMostSeconds) return std::nullopt;
  return seconds(value);
}

std::vector<std::string> outage_annotation_keys() {
  return {std::string(kToleratesNotReadyAnnotation), std::string(kToleratesUnreachableAnnotation)};
}

}  // namespace nervex::gang
