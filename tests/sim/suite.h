// tests/sim/suite.h - a whole cluster in memory with one job: the controller behind a door, the
// extender's own code behind a scheduler, kubelets, a client of nervex-server, users and faults.
//
// The seed determines every event: the same seed gives the same run.
#pragma once

#include <chrono>
#include <memory>
#include <optional>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "job/types.h"
#include "kube/access_review.h"
#include "tests/controller/cluster.h"
#include "tests/sim/rules.h"
#include "tests/sim/scheduling.h"
#include "tests/support/door.h"
#include "tests/support/feed.h"

namespace nervex::testing {

// The kinds that the controller watches, in the order of its feeds.
enum Watched {
  kJobFeed,
  kPodFeed,
  kServiceFeed,
  kPodGroupFeed,
  kConfigFeed,
  kEndpointSliceFeed,
  kFeeds
};

class Suite : public Cluster {
 public:
  explicit Suite(unsigned seed, int collectors = 2, int learners = 1);
  ~Suite();

  Door door;
  Rules rules;
  Scheduling scheduling;

  unsigned below(unsigned n) { return static_cast<unsigned>(rng_() % n); }
  bool once_in(unsigned n) { return below(n) == 0; }
  // Records the event for the failure report, and counts it in rules.seen.
  void note(const std::string& what);
  std::string story() const;  // the last events

  // ---- the controller

  // A new process. Each of its watches is `behind` by this many versions; unless `waits_for_caches`
  // is false it decides nothing before all have reached the state at its take-over
  // (Reflectors::wait_until_current).
  void take_over(const std::vector<std::int64_t>& behind = {}, bool waits_for_caches = true);
  void deliver(Watched kind, std::int64_t version);
  void deliver_all();
  void deliver_some();                                 // some undelivered events of each kind
  void hold_back(Watched kind) { held_back_ = kind; }  // excluded from deliver_some()
  std::int64_t position(Watched kind) const;
  // Rounds that the queue requests, at most `most`; returns their number.
  int work(int most = 20);
  // A round even if the queue requests none; true if it wrote anything.
  bool work_anyway();
  const controller::Stores& stores() const { return process_->stores; }

  // ---- faults, at the door

  // From now on the controller gets 401 or 403, as from an API server that has not read its roles
  // yet, and access reviews deny. Begins after `after_writes` writes.
  enum class Denied { kAll, kWrites, kPodCreations };
  void deny_access(int status, Denied what = Denied::kAll, int after_writes = 0);
  // Creations of pods with this in their names are refused permanently, 422 or 403 over quota,
  // except the first `allowed` ones. "": ends this.
  void refuse_pods(std::string name_part, int status = 403, int allowed = 0);
  // Creations of pods with spec.nodeName are refused permanently, as by an admission policy.
  void refuse_node_names() { refuses_node_names_ = true; }
  // The n-th write from now on fails, with or without effect, or kills the process.
  void fail_write(int n, std::optional<Error> error, Applied applied);
  // The extender is killed at its n-th write from now on.
  void kill_extender_at_write(int n, Applied applied);
  void end_faults();
  bool has_faults() const { return denied_ != 0 || !refused_.empty(); }
  bool is_denied() const { return denied_ != 0 && writes_before_denial_ <= 0; }

  // ---- the other programs

  job::Job job() const;
  void set_spec(const Json& patch);
  void add_config();  // creates the AggregatorConfig if it is missing
  // The job's unfinished pods, by name.
  std::vector<std::string> pods(std::string_view name_part = "dqn-") const;
  Json pod(const std::string& name) const { return api.get(kube::kPods, kNamespace, name); }
  void run_pods();  // kubelets start bound pods
  void end_pod(const std::string& name, bool well);
  void evict(const std::string& name);
  void delete_pod(const std::string& name);  // by a user, a while after the last event
  void end_terminations(bool all = true);    // of pods whose kubelet is up

  // ---- nodes, and other schedulers. Kubelets reject pods that exceed the node.

  std::string a_node() { return "n" + std::to_string(1 + below(3)); }
  void set_ready(const std::string& node, bool ready);
  void set_cordoned(const std::string& node, bool cordoned);
  void delete_node(const std::string& node);  // until repair_nodes()
  void repair_nodes();                        // also ends thieves
  // Another scheduler's pod takes most of what is left there, ignoring plans.
  void add_thief(const std::string& node);
  // The node's kubelet rejects all pods with this in their names, for a reason that no scheduler
  // sees.
  void reject_on(const std::string& node, const std::string& name_part);
  // As nervex-server: true if the job's coordinator is there to ask. 0 requests two collectors, 1 a
  // learner with two GPU parts, 2 removes the newest, 3 names a failed one, 4 names a base learner.
  bool call_server(unsigned choice, bool records_call = true);

  // Gives every program and kubelet a turn with current caches, unless it had one within kLatest:
  // rules.limit_parts() requires it.
  static constexpr std::chrono::seconds kLatest{20};
  void keep_up();
  // Planner, scheduler and kubelets, until they have nothing to do.
  void environment();
  // Controller and environment in turn, nothing held back, until nothing happens. Time stands
  // still, except for short waits (a controller's back-off after failed rounds).
  void settle();
  // Ends faults, waits until every back-off ends, and checks the rules of rest.
  void come_to_rest();
  void start();  // settles the start of the job

 private:
  std::optional<Door::Fault> fault_for(const kube::ApiRequest& request);
  void connect();
  void add_strangers();
  void check_strangers();
  void look_at_slices();

  std::mt19937 rng_;
  const bool shared_services_;                            // --services=shared
  const std::chrono::milliseconds status_update_period_;  // the default for every other seed
  const bool direct_placement_;                           // --direct-placement, for every third
                                                          // seed
  bool refuses_node_names_ = false;
  MonoTime kept_up_{};
  std::int64_t checked_ = -1;  // the version of the last check for gangs in part
  int thieves_ = 0;
  int extender_writes_left_ = -1;  // before the one that kills it
  Applied extender_applied_ = Applied::kNo;
  int restarts_ = 0;  // of the extender, as known to the rules
  std::vector<std::string> story_;
  kube::AccessReviewApi reviewed_{door};  // as in the controller's main
  std::unique_ptr<Process> process_;
  std::vector<std::unique_ptr<Feed>> feeds_;
  std::int64_t fresh_from_ = 0;
  Watched held_back_ = kFeeds;  // none
  int denied_ = 0;
  int writes_before_denial_ = 0;
  Denied what_ = Denied::kAll;
  std::string refused_;
  int refusal_ = 403;
  int allowed_ = 0;
  std::vector<std::pair<std::string, std::string>> rejecting_;  // nodes, and parts of names
  int writes_left_ = -1;                                        // before the one that fails
  std::optional<Error> write_error_;
  Applied write_applied_ = Applied::kNo;
};

}  // namespace nervex::testing
