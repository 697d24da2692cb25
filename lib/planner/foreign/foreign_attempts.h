// planner/foreign/foreign_attempts.h - what do the attempts of kube-scheduler to place the
// pods of another operator's gang say about nodes? Pure.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "gang/pod_group.h"
#include "planner/facts/foreign_view.h"
#include "planner/foreign/foreign_wait.h"

namespace nervex::planner {

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
    std::optional<ForeignWait> wait;  // last reported; nullopt: it does not wait
    SysTime reported{};
    std::optional<SysTime> few_since{};  // fewer than minMember pods are there
    // Of PodGroup.status.
    kube::ForeignPodGroupStatus status;  // last written, over that version
    std::string status_base;
    SysTime status_at{};
  };
  std::map<std::string, Gang> gangs;  // by "namespace/name"
};

// By pod, as in ForeignGangSeen::pending.
struct ForeignAttempts {
  std::vector<std::string> nominated;  // the node: stored, or about to be; "": none
  std::vector<bool> is_refused;        // kube-scheduler refuses the nominated node
};

// Which nominations are there, and which attempts have failed since the last cycle? `sets`: by pod,
// equal for pods that are equal to kube-scheduler. Updates `memory`.
ForeignAttempts note_attempts(const ForeignGangSeen& seen, std::span<const std::string_view> sets,
                              SysTime now, ForeignMemory::Gang& memory);

// When a failed start will be judged; nullopt: none is to be.
std::optional<SysTime> find_next_judgement(const ForeignMemory::Gang& memory);

}  // namespace nervex::planner
