// tests/extender/sim/controller.h - users, nervex-server and the controller, as the extender sees
// them: PodGroups that change, pods that are created, replaced and deleted.
#pragma once

#include <map>
#include <random>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "tests/cluster/cluster.h"
#include "tests/extender/sim/observer.h"
#include "tests/support/gang_builders.h"

namespace nervex::testing {

class Controller {
 public:
  Controller(Cluster& cluster, Observer& observer, std::mt19937& rng, bool places_directly)
      : cluster_(cluster), observer_(observer), rng_(rng), places_directly_(places_directly) {}

  // -- users and nervex-server
  void submit();
  void end_job();
  void requeue();  // any gang, for a reason internal to the controller
  void reshape();  // one slot less, one more, or a new incarnation
  void grow();     // one more request
  void merge();    // two fully placed entries become one
  // The API server has refused a pod with a node, or the flag was removed: new pods go through
  // kube-scheduler.
  void end_direct_placement();

  // -- the controller's round: requeues gangs that were released, replaces lost pods, creates pods
  // for placements, the coordinator last, and deletes unwanted pods. Hastier than a real
  // controller: it creates a slot's next pod while the previous one may still run.
  void reconcile();

 private:
  using GroupUid = std::string;

  int below(std::size_t n) { return static_cast<int>(rng_() % n); }
  const gang::PodGroup* any_group();
  void add_group(const std::string& name, const gang::PodGroupSpec& spec);
  void set_members(const gang::PodGroup& group, const std::vector<Member>& members);
  Member collectors(int id, int first, int count) const;
  std::vector<Member> some_members(int priority);
  std::string a_claim();
  int next_ordinal(const gang::PodGroup& group, const std::string& role);

  bool requeue_unhealable(const gang::PodGroup& group);
  void take_back(const gang::PodGroup& group, const gang::GangStatus& gang);
  void begin_again(const gang::PodGroup& group);
  void put_back_requeued(const gang::PodGroup& group);
  void delete_group(const gang::PodGroup& group);
  bool replace_lost(const gang::PodGroup& group);  // true: the PodGroup has changed
  void create_pods(const gang::PodGroup& group);
  void create_pod(const gang::PodGroup& group, const gang::Placement& placement,
                  const gang::MemberSet& set, bool has_node_name);
  void delete_pod(const PodSeen& pod);

  // A gang added to a job that waits outside of the PodGroup for its next try.
  struct Requeued {
    std::vector<Member> sets;
    MonoTime due{};
  };

  Cluster& cluster_;
  Observer& observer_;
  std::mt19937& rng_;
  const bool places_directly_;
  int names_ = 0;
  std::map<std::pair<GroupUid, std::string>, int> highest_;  // ordinals are never reused
  std::set<std::pair<GroupUid, std::int64_t>> created_;      // placements that have had a pod
  std::map<GroupUid, std::vector<Requeued>> requeued_;
};

}  // namespace nervex::testing
