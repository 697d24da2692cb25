#include "server/base_changes.h"

#include <algorithm>

namespace nervex::server {

void change_base(job::Requests& requests, const job::BaseChange& change) {
  const auto at = std::find_if(requests.base.begin(), requests.base.end(), [&](const auto& one) {
    return one.attempt == change.attempt && one.role == change.role &&
           one.slot.ordinal == change.slot.ordinal;
  });
  if (at == requests.base.end()) {
    requests.base.push_back(change);
  } else {
    *at = change;
  }
}

job::Slot* find_slot(job::Requests& requests, job::Role role, int attempt, int ordinal) {
  for (auto& entry : requests.entries) {
    if (entry.role != role || entry.attempt != attempt) continue;
    for (auto& slot : entry.slots) {
      if (slot.ordinal == ordinal) return &slot;
    }
  }
  return nullptr;
}

}  // namespace nervex::server
