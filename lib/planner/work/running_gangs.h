// planner/work/running_gangs.h - which committed gangs run, and which of them could
// end for another one? Pure.
#pragma once

#include <cstddef>
#include <optional>
#include <set>
#include <string_view>
#include <utility>
#include <vector>

#include "planner/facts/snapshot.h"
#include "planner/work/ending.h"
#include "planner/work/group_work.h"
#include "queue/preemption.h"

namespace nervex::planner {

struct RunningGang {
  const gang::PodGroup* group = nullptr;
  const FinishedPlacements* finished = nullptr;
  const queue::OtherUses* uses = nullptr;
  const gang::Gang* spec = nullptr;
  // Null: a request of a running job that is not committed, and counts in its queue for its plan or
  // its last pods. It ends with the job, and no longer counts. The nodes of its plan are not given
  // back: victims that it waits for run on then.
  const gang::GangStatus* status = nullptr;
};

// Pods of a set on a node.
struct SlotUse {
  const gang::MemberSet* set = nullptr;
  std::string_view node;
  int count = 1;
};

// Borrows its arguments. Cost: gangs; what one uses is listed when it is asked for.
class RunningGangs {
 public:
  RunningGangs(const Snapshot& snapshot, const CycleWork& work, const Ending& ending);
  RunningGangs(const RunningGangs&) = delete;
  RunningGangs& operator=(const RunningGangs&) = delete;

  // Cheapest first. Not gangs that are ending, released or incomplete (what grows aside), nor
  // those of a job that changes in this cycle.
  const std::vector<queue::PreemptionCandidate>& candidates() const { return candidates_; }
  // Of a workload of a candidate.
  std::size_t index(const queue::Workload& workload) const {
    return static_cast<std::size_t>(&workload - workloads_.data());
  }
  const RunningGang& gang(std::size_t index) const { return gangs_[index]; }
  const queue::Workload& workload(std::size_t index) const { return workloads_[index]; }
  // What its end gives back, beside what Ending lends.
  const std::vector<SlotUse>& use(std::size_t index);

 private:
  // Of either a GroupSeen or a RunningGroup.
  template <typename Seen>
  void add(const Seen& seen, const Snapshot& snapshot);
  void add_waiting(const GroupWork& work, const Snapshot& snapshot);
  void make_candidates(const std::set<std::string_view>& changing);

  const Ending& ending_;
  std::vector<RunningGang> gangs_;          // those of a PodGroup follow each other
  std::vector<queue::Workload> workloads_;  // same indices; never grows after the constructor
  std::vector<std::optional<std::vector<SlotUse>>> uses_;
  std::vector<queue::PreemptionCandidate> candidates_;
};

// As a victim of a gang of namespace `ns`: names of other namespaces are private.
gang::Victim name_victim(const RunningGang& gang, std::string_view ns);

}  // namespace nervex::planner
