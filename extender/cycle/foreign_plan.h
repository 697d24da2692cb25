// extender/cycle/foreign_plan.h - which pods of other operators' gangs are nominated for which
// nodes? Pure.
//
// The plan of such a gang is stored in status.nominatedNodeName of its pods. kube-scheduler tries
// that node first and clears the name when the attempt fails. docs/adr/2026-11-22-foreign-gangs.md.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "extender/cycle/foreign_view.h"
#include "extender/cycle/ledger.h"
#include "gang/pod_group.h"
#include "placement/explain.h"
#include "queue/order.h"

namespace nervex::extender {

// The planner's in-memory state of a gang. A new leader begins without it: it sees the nominations
// in the API, and learns again what kube-scheduler refuses.
struct ForeignMemory {
  // The last write to a pod.
  struct Nomination {
    std::string node;          // "": cleared, by us or after a failed attempt
    std::string base_version;  // of the pod, at the decision
    std::string version;       // of the pod as stored; "": not stored, or unknown
    SysTime at{};              // when it was written
    std::string refused_on;    // the node where the last attempts failed, ...
    int strikes = 0;           // ... and how likely the node was the reason
  };
  struct Gang {
    std::map<std::string, Nomination> nominations;  // by pod UID
    std::vector<gang::AvoidedNode> avoid;           // sets are named by their pods' shape
    std::string refusal;                            // kube-scheduler's last message
    int failures = 0;                               // consecutive failed starts for other reasons
    std::optional<SysTime> failed_at{};             // the last failure, until it is judged
    SysTime not_before{};                           // no new nomination before
    std::int64_t bound = 0;
    std::optional<placement::NoFit> no_fit;  // explained by `message`
    std::string message;                     // last reported; "": it does not wait
    SysTime reported{};
    std::optional<SysTime> few_since{};  // fewer than minMember pods are there
    // Of PodGroup.status.
    kube::ForeignPodGroupStatus status;  // last written, over that version
    std::string status_base;
    SysTime status_at{};
  };
  std::map<std::string, Gang> gangs;  // by "namespace/name"
};

struct NominationWrite {
  PodPtr pod;        // at the decision
  std::string node;  // "": none
};

// Actions for one gang.
struct ForeignDecision {
  ForeignGroupPtr group;
  std::vector<NominationWrite> nominations;
  std::string message;           // why it waits; "": it does not
  bool is_news = false;          // `message` is to be reported
  std::int64_t placed = 0;       // pods that now have a node
  ForeignMemory::Gang memory{};  // for the next cycle, if nothing is written
  std::optional<SysTime> look_again{};
};

// After this many failed starts that say nothing about nodes, other gangs get the capacity for a
// while.
inline constexpr int kStartsBeforePause = 3;

// One gang within a scheduling cycle. Borrows its arguments.
class ForeignWork {
 public:
  ForeignWork(const ForeignGangSeen& seen, const ForeignMemory::Gang* before, SysTime now);

  int priority() const;  // the highest of its unbound pods
  queue::Rank rank() const;
  // Takes the capacity of the nominated pods, if all fit and they are enough.
  void recheck(Ledger& ledger);
  // Gives nodes to all pods without one; or to as many as minMember needs, and then to each other
  // one that fits; or to none. True if any pod got one.
  bool complete(Ledger& ledger);
  ForeignDecision decide() const;

  // Its plan was taken from the ledger, by recheck() or complete().
  bool is_reserved() const { return is_reserved_; }
  // Gives back that capacity only; the plan stays.
  void lend(Ledger& ledger) const;
  void take_again(Ledger& ledger) const;
  // Gives the plan up until recheck() or complete().
  void yield(Ledger& ledger);
  // Some pods run, but fewer than minMember: waiting gangs must not prolong that.
  bool runs_in_part() const { return seen_.counts.bound > 0 && needed() > 0; }
  // It has nodes from the ledger that no nomination of its pods shows yet.
  bool holds_unseen() const;

 private:
  struct Shape {
    gang::MemberSet set;  // without slots
    std::size_t pods = 0;
  };
  void add_shape(const ForeignPod& pod);
  void note_attempts();
  void note_failed_start(bool has_failed);
  void note_refusal(std::size_t pod, ForeignMemory::Nomination& nomination);
  void avoid(std::size_t pod, const std::string& node);
  std::int64_t needed() const { return seen_.counts.needed(seen_.group->min_member); }
  std::int64_t placed() const;
  bool has_started() const { return placed() >= needed(); }
  bool has_enough_pods() const;
  bool is_paused() const;
  std::optional<std::string> lacking_in_total(const Ledger& ledger) const;
  bool place(const std::vector<std::size_t>& pods, Ledger& ledger);
  bool place_needed(Ledger& ledger);
  bool place_extras(Ledger& ledger);
  void take(std::size_t pod, std::string node, Ledger& ledger);
  void give_back_all(Ledger& ledger);
  void retake_nominated(Ledger& ledger);
  void note_dropped(Ledger& ledger) const;
  std::vector<std::size_t> unplaced() const;
  std::string waiting_text() const;
  void report(ForeignDecision& out) const;

  const ForeignGangSeen& seen_;
  const SysTime now_;
  ForeignMemory::Gang memory_;
  std::vector<Shape> shapes_;
  std::vector<std::size_t> shape_of_;   // by pod, as in seen_.pending
  std::vector<std::string> nominated_;  // by pod: stored, or about to be; "": none
  std::vector<bool> is_refused_;        // by pod: kube-scheduler refuses the nominated node
  std::vector<std::string> node_;       // by pod: the node in this cycle; "": none
  bool is_reserved_ = false;            // the capacity of node_ was taken from the ledger
  std::optional<placement::NoFit> no_fit_;
  std::string lacking_;  // of minResources
};

// ---- PodGroup.status

// The desired status of the gang; only its counts and phase follow from the pods.
kube::ForeignPodGroupStatus foreign_status(const ForeignGangSeen& seen, SysTime now);

}  // namespace nervex::extender
