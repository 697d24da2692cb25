#include "kube/reflector_rules.h"

namespace nervex::kube {

NextTry after_watch(const RequestEnd& end, int failures_before) {
  const bool was_long = end.lasted >= kWorthwhile;
  const bool was_silent = !end.brought_something && end.lasted >= kSilence;
  NextTry next;
  next.failures = !end.error || was_long ? 0 : failures_before + 1;
  // Whatever is not a broken connection or a busy server says something about the position.
  const bool is_refused = end.error && *end.error != Code::kTransient;
  next.list = is_refused || was_silent || next.failures >= kFailuresBeforeList;
  next.at_once = was_long && !end.error && end.is_complete;
  return next;
}

bool refuses_streaming(const RequestEnd& end) {
  return !end.is_complete && end.error == Code::kInvalid;
}

bool broke_off(const RequestEnd& end) {
  return !end.is_complete && (!end.error || end.brought_something);
}

}  // namespace nervex::kube
