// view/job_view.h - how is a job, why does it wait, and what can one do? Values with codes, for a
// terminal, a page or a program; json.h writes them as JSON. Pure.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "view/advice.h"
#include "view/job_snapshot.h"
#include "view/pod_problem.h"

namespace nervex::view {

using PodsByRole = std::map<std::string, int>;  // "collector" -> pods

// Something of the job that waits.
struct Wait {
  enum class Subject {
    kGang,      // a gang without a plan
    kLostPods,  // a committed gang that lost pods
    kPods,      // pods of the base gang, without a PodGroup that says more
    kRequests,  // requested replicas, the same
  };
  Subject subject = Subject::kGang;
  std::string gang;  // its name in the PodGroup; "" of kRequests
  PodsByRole pods;   // of the gang
  SysTime since{};
  std::string reason;   // of the PodGroup's gang, or of the job's condition: CamelCase
  std::string message;  // for people
  bool operator==(const Wait&) const = default;
};
std::string_view to_string(Wait::Subject subject);

struct Reservation {  // capacity for the coordinator's first requests
  PodsByRole pods;
  // When it is given back. nullopt: `seconds_after_start` after the coordinator begins to run.
  std::optional<SysTime> until;
  std::int64_t seconds_after_start = 0;
  bool operator==(const Reservation&) const = default;
};

struct Note {
  std::string code;  // a condition's type, or "PodDisruptionBudget"
  std::string message;
  bool operator==(const Note&) const = default;
};

struct RoleView {
  job::Role role = job::Role::kCoordinator;
  int wanted = 0;  // by the PodGroup; without one by the job's base replicas and requests
  int placed = 0;  // in the plan
  job::RoleCounts counts;
  bool operator==(const RoleView&) const = default;
};

struct PlannedNode {
  std::string name;
  std::vector<std::string> slots;  // "learner/0"
  PodsByRole reserved;
  bool operator==(const PlannedNode&) const = default;
};

struct JobView {
  std::string ns;
  std::string name;
  SysTime now{};  // when it was looked at
  SysTime created{};
  job::Phase phase = job::Phase::kNone;
  std::string reason;               // of the phase; "" if it needs none
  std::optional<SysTime> since;     // of the phase, where the job says so
  std::vector<Wait> waits;          // the base gang's is not always the first
  std::optional<SysTime> fails_at;  // by scheduleTimeoutSeconds, if it has not started by then
  std::vector<gang::AvoidedNode> avoided;
  std::optional<Reservation> reservation;
  std::vector<Note> notes;
  std::vector<RoleView> roles;       // those that the job has
  std::vector<PlannedNode> nodes;    // by name
  std::vector<PodProblem> problems;  // by pod
  std::vector<Event> events;         // oldest first
  Advice advice;
};

// Cost: linear in pods and placements.
JobView summarize(const JobSnapshot& seen);

}  // namespace nervex::view
