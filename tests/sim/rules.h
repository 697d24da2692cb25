// tests/sim/rules.h - which rules hold for every write of the controller, and after every step?
//
// No two live pods of one slot, no unwanted pod, a finished job is only cleaned up, objects of
// other owners are untouched, one coordinator per attempt, ends are counted once, refusals are told
// from transient errors. Collects broken rules: the test reports them with the seed.
#pragma once

#include <chrono>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "controller/decide/round/attempt.h"
#include "controller/observe/stores.h"
#include "gang/slot.h"
#include "job/wanted_slots.h"
#include "tests/support/fake_api.h"

namespace nervex::testing {

class Rules {
 public:
  // The rules of the job `name`. `stores` are the controller's caches.
  Rules(const FakeApi& api, std::string ns, std::string name);

  // The controller's writes, before and after they are carried out.
  void before(const kube::ApiRequest& request, const controller::Stores& stores);
  void after(const kube::ApiRequest& request);
  // Call after every step of any program.
  void look();
  // Call when no program has anything left to do.
  void at_rest();

  // Design rule 2: no gang's quorum is in part for longer than `limit`, as check_parts() sees it.
  // For simulations that give each program a turn often enough (Suite::keep_up()).
  void limit_parts(std::chrono::milliseconds limit) { part_limit_ = limit; }
  void check_parts(SysTime now);
  // A new extender restarts the counts that are in memory only.
  void extender_was_started(SysTime now);

  // Actions of the test that objects do not show.
  void refused_for_good() { was_refused_ = true; }  // a creation of this attempt
  void lowered_base(job::Role role, int replicas);

  void breach(std::string what) { broken_.push_back(std::move(what)); }
  const std::vector<std::string>& broken() const { return broken_; }
  // Number of occurrences of each event that a useful schedule must have.
  std::map<std::string, int> seen;

 private:
  using SlotKey = std::tuple<std::string, job::Role, int>;  // PodGroup's uid, role, ordinal
  struct LivePod {
    kube::Pod pod;
    gang::PodSlot slot;
    job::Role role = job::Role::kCollector;
  };

  std::optional<job::Job> live_job() const;
  std::optional<gang::PodGroup> current_group(const job::Job& job) const;
  std::vector<const LivePod*> live_pods() const;
  const std::map<std::string, gang::PodGroup>& live_groups() const;
  bool has_config() const;
  bool is_wanted_by_spec(const LivePod& live) const;
  job::WantedSlots wanted(const job::Job& job, const gang::PodGroup& group) const;

  void check_deletion(const kube::ApiRequest& request, const FakePath& path);
  void check_pod_deletion(const Json& object);
  void check_creation(const Json& manifest, const controller::Stores& stores);
  void check_coordinator(const gang::PodGroup& group, const controller::Stores& stores);
  void check_replacement(const job::Job& job, const gang::PodSlot& slot, job::Role role);
  void check_members(const gang::PodGroup& before);
  void check_reserved(const gang::PodGroup& before, const gang::PodGroup& now);
  void check_reserved_is_placed(const gang::PodGroup& group);
  void check_status(const job::Job& before, const job::Job& after);
  void check_conditions(const job::Job& job);
  void check_gangs_are_whole(const job::Job& job, const gang::PodGroup& group);
  // Checks a coordinator that has just been bound: the kubelets have started all pods of its gang
  // that were created with their node.
  void check_fence(const LivePod& coordinator, const gang::PodGroup& group);
  // Exactly the pods that the namespace names have their address in DNS.
  void check_names();
  void check_ends_are_counted(const job::Job& job, const gang::PodGroup& group);
  bool is_in_part(const gang::PodGroup& group, const gang::GangStatus& gang,
                  std::string& missing) const;

  const FakeApi& api_;
  const std::string ns_;
  const std::string name_;
  std::vector<std::string> broken_;
  std::optional<job::Job> job_before_;
  std::optional<gang::PodGroup> group_before_;
  bool was_refused_ = false;
  std::set<std::string> coordinator_ran_;  // uids of PodGroups
  std::set<std::string> fenced_;           // uids of coordinators that were seen bound
  // Slots with a pod that its kubelet has started and not rejected.
  std::set<std::tuple<std::string, std::string, gang::SlotId>> begun_;
  std::map<SlotKey, int> ended_;     // the incarnation that finished on its own
  std::set<std::string> lowered_;    // UIDs of pods that lowered base replicas removed
  std::set<std::string> committed_;  // "uid gang"
  bool config_is_known_ = false;
  // By uid, because decoding is the main cost.
  mutable std::map<std::string, LivePod> known_pods_;
  mutable std::map<std::string, gang::PodGroup> known_groups_;
  std::int64_t looked_at_ = -1;
  std::chrono::milliseconds part_limit_{0};                       // 0: not checked
  std::map<std::pair<std::string, std::string>, SysTime> parts_;  // start, by uid and gang
};

}  // namespace nervex::testing
