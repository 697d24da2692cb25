#include "kube/freshness.h"

#include <algorithm>
#include <utility>

#include "kube/model/meta.h"

namespace nervex::kube {

void Freshness::listed(Question question) { answered_ = std::max(answered_, question); }

bool Freshness::expect(Question question, std::string version, std::string_view position) {
  expected_for_ = question;
  expected_ = std::move(version);
  if (is_newer_version(position, expected_)) return false;
  reached(position);
  return true;
}

// Versions that are no numbers cannot be compared: then only the very same one counts.
void Freshness::reached(std::string_view position) {
  if (expected_.empty()) return;
  if (position == expected_ || is_newer_version(position, expected_)) listed(expected_for_);
}

}  // namespace nervex::kube
