// controller/wanted.h - which pods does the plan call for?
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "gang/pod_group.h"
#include "job/types.h"

namespace nervex::controller {

// One slot that has a place, and whose pod is wanted. Borrows from the job and the PodGroup.
struct WantedPod {
  std::string name;
  job::Role role = job::Role::kCollector;
  job::Slot slot;
  const job::RequestEntry* entry = nullptr;  // null: of the base gang
  const gang::Placement* place = nullptr;
};

// Of the gangs that are planned, by role and slot. Borrows from the status.
using Places = std::map<std::pair<std::string_view, gang::SlotId>, const gang::Placement*>;
Places places_of(const gang::PodGroupStatus& status);

struct Wanted {
  std::vector<WantedPod> pods;  // in the order of the PodGroup's sets and slots
  bool base_is_placed = true;   // every slot of the base gang is among them
};

// A slot is wanted while its gang has places and the request it was made for still stands. Cost:
// slots x log(slots).
Wanted wanted_pods(const job::Job& job, const gang::PodGroup& group, const Places& places);

}  // namespace nervex::controller
