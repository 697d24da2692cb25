// kube/model/label_selector.h - does a metav1.LabelSelector match these labels?
#pragma once

#include <string>
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

// All requirements must hold: an empty selector matches everything. An entry of matchLabels is a
// requirement In with one value.
struct LabelSelector {
  std::vector<LabelRequirement> requirements;
  bool operator==(const LabelSelector&) const = default;
};

// As in apimachinery, NotIn also holds if the label is absent.
bool matches(const LabelSelector& selector, const StringMap& labels);

// kInvalid names the field below the selector.
Result<LabelSelector> decode_label_selector(const Json& selector);

}  // namespace nervex::kube
