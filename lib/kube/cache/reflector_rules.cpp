#include "kube/cache/reflector_rules.h"

#include <algorithm>
#include <utility>

#include "kube/model/meta.h"

namespace nervex::kube {

NextTry after_watch(const RequestEnd& end, int failures_before) {
  const bool was_long = end.lasted >= kWorthwhile;
  const bool was_silent = !end.brought_something && end.lasted >= kSilence;
  NextTry next;
  next.failures = !end.error || was_long ? 0 : failures_before + 1;
  // Any error other than a broken connection or a busy server concerns the position.
  const bool is_refused = end.error && *end.error != Code::kTransient;
  next.list = is_refused || was_silent || next.failures >= kFailuresBeforeList;
  const bool is_overtaken = end.error == Code::kExpired && !end.follows_list;
  next.at_once = is_overtaken || (was_long && !end.error && end.is_complete);
  return next;
}

bool refuses_streaming(const RequestEnd& end) {
  return !end.is_complete && end.error == Code::kInvalid;
}

bool broke_off(const RequestEnd& end) {
  return !end.is_complete && (!end.error || end.brought_something);
}

void Freshness::listed(Question question) { answered_ = std::max(answered_, question); }

bool Freshness::expect(Question question, std::string version, std::string_view position) {
  expected_for_ = question;
  expected_ = std::move(version);
  if (is_newer_version(position, expected_)) return false;
  reached(position);
  return true;
}

// Non-numeric versions cannot be compared: only an equal one counts.
void Freshness::reached(std::string_view position) {
  if (expected_.empty()) return;
  if (position == expected_ || is_newer_version(position, expected_)) listed(expected_for_);
}

}  // namespace nervex::kube
