// planner/simulation/what_if.h - would a gang start now, and what if there were other nodes? The
// scheduling cycle itself decides, on a changed copy of its input. Pure.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "base/error.h"
#include "gang/no_fit.h"
#include "gang/pod_group.h"
#include "planner/facts/cycle_facts.h"
#include "planner/facts/snapshot.h"

namespace nervex::planner {

// Empty nodes like one that exists.
struct AddedNodes {
  std::string like;  // a node's class, or its name
  int count = 0;
  bool operator==(const AddedNodes&) const = default;
};

// A gang that would be queued, with more or fewer replicas of one role.
struct Candidate {
  std::string gang = std::string(gang::kBaseGang);
  std::string role;  // of the replicas that are counted; empty: none are
  int replicas = 0;  // that are asked for
  // The PodGroup with so many of these replicas.
  std::function<gang::PodGroup(int replicas)> make;
  // The PodGroup of the job as it is; null: the job does not exist.
  gang::PodGroupPtr existing{};
};

struct WhatIf {
  std::string ns;                      // of the reader: only its jobs are named
  std::optional<Candidate> candidate;  // nullopt: only nodes change
  std::vector<AddedNodes> added;
  std::vector<std::string> removed;  // of them no free capacity is used
};

enum class SimulationVerdict {
  kStarts,    // now
  kPreempts,  // when the workloads that it would preempt have ended
  kWaits,
  kNever,    // it does not fit an empty cluster
  kInvalid,  // the question has no answer: Answer::message
};
std::string_view to_string(SimulationVerdict verdict);  // as in JSON: "Starts"

struct NodeUse {
  std::string node;
  std::map<std::string, int> pods;  // by role
  bool operator==(const NodeUse&) const = default;
};

// The largest number of replicas of that role with which the gang would start now.
struct MostReplicas {
  std::string role;
  int count = 0;             // -1: not even without that role
  bool is_at_least = false;  // more were not tried
  bool operator==(const MostReplicas&) const = default;
};

struct Answer {
  SimulationVerdict verdict = SimulationVerdict::kInvalid;
  std::string reason;   // as of a PodGroup's gang
  std::string message;  // a sentence
  std::optional<gang::NoFit> cause{};
  gang::QueuePlace queue{};
  std::vector<NodeUse> nodes{};  // by name
  // Of kPreempts; named if they are of the reader's namespace.
  std::vector<gang::Victim> victims{};
  std::optional<MostReplicas> most{};
  // Of kWaits, by find_latest_start().
  std::optional<SysTime> latest_start{};
  // Jobs with a waiting gang that would start with these nodes, and without them would not.
  std::vector<std::string> started{};  // of the reader's namespace
  int started_elsewhere = 0;
  bool operator==(const Answer&) const = default;
};

Answer refuse(std::string message);  // kInvalid

// Reserves nothing and changes nothing. Gangs that the planner has put off start to be tried. Cost:
// a cycle that plans every waiting gang, two if nodes change, and up to 24 that plan again what
// would start; each makes a copy of the snapshot's PodGroups' pointers.
Answer simulate(Snapshot snapshot, const WhatIf& what, SysTime now,
                const CycleOptions& options = {});

// When enough of what runs now has reached its time limit for the candidate, which would wait, to
// start. nullopt: no such time is known. The snapshot has Snapshot::running. Cost: a cycle with a
// search for what ends first.
std::optional<SysTime> find_latest_start(Snapshot snapshot, const WhatIf& what, SysTime now,
                                         const CycleOptions& options = {});

}  // namespace nervex::planner
