// tests/extender/sim/cluster.h - a cluster around the extender's own code with random events:
// kube-scheduler, other schedulers, kubelets, nodes that appear and vanish, volumes, faults.
//
// The seed determines every event.
#pragma once

#include <chrono>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "tests/cluster/cluster.h"
#include "tests/extender/extender_process.h"
#include "tests/extender/kube_scheduler.h"
#include "tests/extender/sim/controller.h"
#include "tests/extender/sim/observer.h"
#include "tests/support/door.h"

namespace nervex::testing {

struct SimOptions {
  // Holds binds; otherwise gangs start with their first bind, as large ones do.
  bool holds_binds = true;
  // kube-scheduler's own count of the node rejects pods, too. If false, only the extender prevents
  // overcommit; if true, pods of other schedulers may come.
  bool scheduler_counts = true;
  // Other schedulers see only bound pods, in their current state, and no held binds: they may
  // overcommit a node, and then its kubelet rejects pods.
  bool others_race = false;
  // Extender and kube-scheduler are killed now and then. Runs without kills show leaks in their
  // memory.
  bool has_kills = true;
  // Some PodGroups request direct placement, and the controller creates pods with their node.
  bool places_directly = false;
};

class SimCluster : private Cluster {
 public:
  SimCluster(unsigned seed, const SimOptions& options);

  // One event, and some time passes.
  void step();
  // Ends faults, broken nodes and pods of others, so that there is capacity for all. Runs until
  // nothing happens any more: then every gang must be whole.
  void come_to_rest();

  const std::vector<std::string>& broken() const { return observer_.broken(); }
  const std::map<std::string, int>& seen() const { return observer_.seen; }
  std::string story() const;  // the last events

 private:
  enum Actor { kExtender, kScheduler, kController, kKubelets, kActors };
  struct Fault {
    std::string method;
    std::optional<Error> error;  // nullopt: the extender is killed
    Applied applied = Applied::kNo;
  };

  int below(std::size_t n) { return static_cast<int>(rng_() % n); }
  bool once_in(std::size_t n) { return below(n) == 0; }
  void note(const std::string& what);
  void count(const std::string& what) { ++observer_.seen[what]; }

  // -- time
  void pass(std::chrono::milliseconds time);
  void act(Actor actor);  // with all that can be known

  // -- the extender
  void start_extender();
  void kill_extender();
  void in_extender(const std::function<void()>& work);
  void plan();
  void deliver_some();
  void deliver_all();
  std::optional<Door::Fault> fault_for(const kube::ApiRequest& request);
  void arm_fault();

  // -- kube-scheduler, and others
  void schedule(bool tries_all);
  void connect_scheduler();
  void kill_scheduler();
  void add_plain_pod();
  void add_foreign_pod();

  // -- nodes
  void add_random_node(int number);
  void change_node();
  void run_kubelets(bool all);
  void run_pod_gc();
  void finish_pod();
  void lose_pod();  // deleted by a user, or evicted
  void add_volume(const std::string& zone);

  void repair();
  std::string not_whole() const;  // what is missing at the end; "": nothing

  const SimOptions options_;
  std::mt19937 rng_;
  Door door_{api};
  Observer observer_;
  Controller controller_;
  std::unique_ptr<ExtenderProcess> extender_;  // null: it is down
  KubeScheduler scheduler_;
  MonoTime down_since_{};
  std::int64_t fresh_from_ = 0;
  std::vector<Fault> faults_;
  std::map<std::string, MonoTime> absent_;  // nodes with pods and without a Node
  MonoTime acted_[kActors] = {};
  int names_ = 0;
  bool is_calm_ = false;  // no more faults
  std::vector<std::string> story_;
};

}  // namespace nervex::testing
