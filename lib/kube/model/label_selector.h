// kube/model/label_selector.h - does a metav1.LabelSelector match these labels?
#pragma once

#include <algorithm>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/error.h"
#include "kube/model/json.h"
#include "kube/model/shared.h"

namespace nervex::kube {

struct LabelRequirement {
  enum class Operator { kIn, kNotIn, kExists, kDoesNotExist };
  std::string key;
  Operator op = Operator::kIn;
  std::vector<std::string> values;
  bool operator==(const LabelRequirement&) const = default;
};

// `value`: of the label; nullopt: absent. As in apimachinery, NotIn also holds for an absent label.
bool holds(const LabelRequirement& requirement, std::optional<std::string_view> value);

// All requirements must hold: an empty selector matches everything. An entry of matchLabels is a
// requirement In with one value.
struct LabelSelector {
  std::vector<LabelRequirement> requirements;
  bool operator==(const LabelSelector&) const = default;
};

// `find_label`: from a key to an optional std::string_view of its value.
template <typename FindLabel>
bool matches(const LabelSelector& selector, const FindLabel& find_label) {
  return std::all_of(selector.requirements.begin(), selector.requirements.end(),
                     [&](const auto& each) { return holds(each, find_label(each.key)); });
}
bool matches(const LabelSelector& selector, const StringMap& labels);
// The labels of a pod that is being decoded, or does not exist yet.
using Labels = std::vector<std::pair<std::string_view, std::string_view>>;
// metadata.labels, borrowed; values that are no text are left out.
Labels list_labels(const Json& labels);
bool selects(const LabelSelector& selector, const Labels& labels);

// kInvalid names the field below the selector.
Result<LabelSelector> decode_label_selector(const Json& selector);

// matchLabels as requirements In, sorted by key, then matchExpressions, which are not checked: one
// form for several spellings.
std::vector<Json> list_requirements(const Json& selector);
// Names a term of a selector in PodGroups: programs of several versions have to agree on it.
std::string hash_term(std::string_view text);

}  // namespace nervex::kube
