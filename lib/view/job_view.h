// view/job_view.h - what is a job's state, why does it wait, and what helps? Values with codes, for
// a terminal, a page or a program; json.h writes them as JSON. Pure.
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

// Nodes that are reserved for a gang that waits.
struct NodeReservation {
  struct User {
    std::string job;               // of this namespace
    std::optional<SysTime> until;  // it has ended by then; nullopt: it has no time limit
    bool operator==(const User&) const = default;
  };
  std::vector<std::string> nodes;  // by name
  SysTime since{};
  // All jobs that it waits for have ended by then; nullopt: one of them has no time limit.
  std::optional<SysTime> due;
  std::vector<User> users;  // who is on the nodes; who ends first comes first
  bool operator==(const NodeReservation&) const = default;
};

// A part of the job that waits.
struct Wait {
  enum class Subject {
    kGang,      // a gang without a plan
    kLostPods,  // a committed gang that lost pods
    kPods,      // pods of the base gang, without a PodGroup that tells more
    kRequests,  // requested replicas, likewise
  };
  Subject subject = Subject::kGang;
  std::string gang;  // its name in the PodGroup; "" for kRequests
  PodsByRole pods;   // of the gang
  SysTime since{};
  std::string reason;   // of the PodGroup's gang or the job's condition: CamelCase
  std::string message;  // for people
  std::optional<NodeReservation> reservation{};
  bool operator==(const Wait&) const = default;
};
std::string_view to_string(Wait::Subject subject);

struct Reservation {  // capacity for the coordinator's first requests
  PodsByRole pods;
  // When it is given back. nullopt: `seconds_after_start` after the coordinator starts.
  std::optional<SysTime> until;
  std::int64_t seconds_after_start = 0;
  bool operator==(const Reservation&) const = default;
};

struct Note {
  std::string code;  // a condition's type, "ReplicasRemoved" or "PodDisruptionBudget"
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
  SysTime now{};  // time of the snapshot
  SysTime created{};
  job::Phase phase = job::Phase::kNone;
  std::string reason;            // of the phase; "" if not needed
  std::optional<SysTime> since;  // of the phase, if the job states it
  std::vector<Wait> waits;       // the base gang's first
  job::QueuePlace queue{};
  std::optional<SysTime> fails_at;  // by scheduleTimeoutSeconds, unless it starts before
  std::vector<gang::AvoidedNode> avoided;
  std::optional<Reservation> reservation;
  std::vector<Note> notes;
  std::vector<RoleView> roles;       // those of the job
  std::vector<PlannedNode> nodes;    // by name
  std::vector<PodProblem> problems;  // by pod
  std::vector<Event> events;         // oldest first
  Advice advice;
};

// Nodes that are reserved for the gang, without `users`. nullopt: there are none, or others are
// ending on them, as the gang's message says.
std::optional<NodeReservation> find_reserved_nodes(const gang::GangStatus& gang);
// The name of its job.
std::string job_name(const gang::PodGroup& group);

// Cost: linear in pods and placements.
JobView summarize(const JobSnapshot& seen);

}  // namespace nervex::view
