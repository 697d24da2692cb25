// extender/bind/holds.h - which bind calls are held, and when does each continue?
//
// kube-scheduler binds each pod in a separate call, after its filters, reservations and volume
// bindings have accepted the pod, and keeps the pod's capacity during the call. The call of a
// gang's pod is held until the calls of all other members are here: then the gang starts as a
// whole, even under constraints that the planner does not know; otherwise none of its pods is
// bound. docs/adr/2026-11-22-held-binds.md.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "base/clock.h"
#include "base/mutex.h"
#include "extender/observe/bind_cache.h"
#include "gang/slot.h"
#include "planner/bind/hold_rules.h"
#include "planner/recovery/refusals.h"

namespace nervex::extender {

struct HoldOptions {
  // Larger gangs are not held: their first bind commits them. 0: no gang is held.
  std::size_t largest_gang = 1000;
  // Held calls of all gangs together: each has a thread and a connection. A gang that would exceed
  // this must retry.
  std::size_t most_calls = 4000;
  // A call is held for this long after the last call of its gang arrived, ...
  std::chrono::milliseconds arrival_timeout{10'000};
  // ... and never longer than this. kube-scheduler's timeout has to be longer.
  std::chrono::milliseconds longest{60'000};
};

// Thread-safe.
class Holds {
 public:
  // Both must outlive this.
  Holds(BindCache& cache, const Clock& clock, const HoldOptions& options = {})
      : cache_(cache), clock_(clock), options_(options) {}
  Holds(const Holds&) = delete;
  Holds& operator=(const Holds&) = delete;

  struct Call {
    gang::PodSlot slot;
    std::string gang;
    std::string pod_uid;
    planner::HoldUntil until = planner::HoldUntil::kAllHere;
    // Only for a foreign gang, whose pods have no slot; `gang` is then its "namespace/name". Before
    // the calls continue, all of their pods are assumed (BindCache::assume_foreign), or the calls
    // fail.
    ForeignBind foreign{};
  };
  // Ok: continue. Otherwise kube-scheduler has to retry; the message is for people.
  struct Outcome {
    Result<Nothing> result = ok();
    // Pods that kube-scheduler had refused when the time was up. Only one call of the gang gets
    // them, and has to act on them.
    std::vector<planner::Refusal> refusals{};
  };

  // Waits until the gang's calls may continue or fail: the time is up, the pod, its placement or
  // its PodGroup was deleted, the caller has left (checked each second), or stop(). Cost:
  // log(calls), and that of BindCache::gang_seen() where the last call may have arrived.
  Outcome wait(const Call& call, const std::function<bool()>& has_caller_left);

  // The same without a waiting thread, for simulations: nullopt while the call is held. A ticket
  // ends with the first outcome. leave(): its caller has left.
  using Ticket = std::uint64_t;
  Ticket begin(const Call& call);
  std::optional<Outcome> poll(Ticket ticket);
  void leave(Ticket ticket);

  // Watch changes, after the cluster cache has them. A PodGroup changed:
  void group_changed(const std::string& uid);
  // A pod of that PodGroup was bound, or its kubelet has started it; or it was deleted.
  void pod_bound(const std::string& group_uid);
  void pod_deleted(const std::string& group_uid, const std::string& pod_uid);

  // That foreign gang or one of its pods changed.
  void foreign_changed(const std::string& gang);
  // A pod of the gang was deleted, or its plan was dropped: the pod's call fails.
  void foreign_pod_gone(const std::string& gang, const std::string& pod_uid,
                        const std::string& why);

  // All current and later calls fail at once: the program ends.
  void stop();

  // Calls that are held now, for metrics.
  std::size_t size() const;

 private:
  // The calls of one gang with the same condition.
  struct Gate {
    MonoTime first{};
    MonoTime last{};
    std::size_t members = 0;  // of the gang when the gate was made
    // Missing at the last count, less the calls since; at 0 the members are counted again.
    std::size_t lacking = 0;
    std::map<Ticket, Call> calls;
    std::multiset<std::int64_t> numbers;  // of the calls' placements
    CondVar ended;
    std::chrono::milliseconds longest{};  // since `first`
  };
  using GateKey = std::tuple<std::string, std::string, planner::HoldUntil>;  // PodGroup UID, gang
  using Gates = std::map<GateKey, std::shared_ptr<Gate>>;

  static GateKey gate_key(const Call& call);
  Ticket add(const Call& call) REQUIRES(mutex_);
  void admit(Ticket ticket, const Call& call, const planner::GangSeen& gang, Gates::iterator at)
      REQUIRES(mutex_);
  // The immediate answer to the first call of a gang, or the number of calls to make a gate for.
  struct Opening {
    std::optional<Outcome> outcome{};
    std::size_t calls = 0;
    std::chrono::milliseconds longest{};
  };
  Opening open(const Call& call) REQUIRES(mutex_);
  Opening open_foreign(const Call& call) REQUIRES(mutex_);
  void judge(Gates::iterator at) REQUIRES(mutex_);
  void judge_foreign(Gates::iterator at, bool is_late) REQUIRES(mutex_);
  void end_foreign_late(Gates::iterator at) REQUIRES(mutex_);
  std::vector<GateKey> find_gates(const std::string& group_uid) const REQUIRES(mutex_);
  void end_late(Gates::iterator at) REQUIRES(mutex_);
  void end_all(Gates::iterator at, const Result<Nothing>& result) REQUIRES(mutex_);
  void end_pod_calls(Gates::iterator at, const std::string& pod_uid, const std::string& why)
      REQUIRES(mutex_);
  // Does not wake the call's thread: that would wake those of all other calls.
  void end_one(Gate& gate, Ticket ticket, Result<Nothing> result) REQUIRES(mutex_);
  void forget_if_empty(Gates::iterator at) REQUIRES(mutex_);
  std::optional<Outcome> take(Ticket ticket) REQUIRES(mutex_);
  MonoTime gate_deadline(const Gate& gate) const;

  BindCache& cache_;
  const Clock& clock_;
  const HoldOptions options_;
  mutable Mutex mutex_;
  bool stopped_ GUARDED_BY(mutex_) = false;
  Ticket last_ticket_ GUARDED_BY(mutex_) = 0;
  std::size_t admitted_ GUARDED_BY(mutex_) = 0;  // members of all gates
  Gates gates_ GUARDED_BY(mutex_);
  std::map<Ticket, GateKey> gate_of_ GUARDED_BY(mutex_);
  std::map<Ticket, Outcome> outcomes_ GUARDED_BY(mutex_);  // not taken yet
};

}  // namespace nervex::extender
