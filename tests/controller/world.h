// tests/controller/world.h - how does one job's controller see the cluster? No API server.
#pragma once

#include <functional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "controller/decide/reconcile.h"
#include "controller/decide/round/observed.h"

namespace nervex::testing {

// Holds an Observed and applies the effects of actions, planner, kubelet and users.
class World {
 public:
  explicit World(job::Job job);

  controller::Observed seen;
  int status_writes = 0;
  int dry_runs = 0;  // questions
  bool job_is_deleted = false;
  std::vector<std::string> created;  // "pod dqn-coordinator", "service ...", in order
  std::vector<std::string> deleted;
  std::vector<std::string> events;  // reasons

  void apply(const controller::Actions& actions);
  // The live reads of observe.h: was the coordinator deleted, was the PodGroup?
  void look();
  // look, reconcile and apply until nothing is left to do; the number of rounds that did something,
  // or -1 after 20.
  int settle();
  void make_gang();  // settles before and after its plan
  void start();      // make_gang(), and all its pods run

  void add_aggregator_config();
  // The planner places every slot of the spec without a placement, and drops unwanted ones; or it
  // reports that nothing fits.
  void plan(std::string_view node = "n1");
  // The same, and the base gang is committed with its plan if the PodGroup asks for it.
  void plan_directly(std::string_view node = "n1");
  void refuse(std::string_view message);
  // The API server's answer to the dry run of the job's pods.
  void answer_dry_run(std::vector<controller::DryRunReport::Refusal> refusals,
                      bool is_incomplete = false);
  void commit();  // binds the first pod of every planned gang
  // Drops the plan of one gang and makes a new one.
  void replan(std::string_view gang);

  // By name; the pod must exist.
  void bind(std::string_view pod);
  void run(std::string_view pod);
  void end(std::string_view pod, bool well);
  void delete_pod(std::string_view pod);  // by a user; removed when the controller releases it
  void remove_pod(std::string_view pod);  // at once, ignoring its finalizers
  void change_pod(std::string_view pod, const std::function<void(kube::Pod&)>& change);
  void change_group(const std::function<void(gang::PodGroup&)>& change);
  void run_all();

  std::vector<std::string> pod_names() const;
  std::vector<std::string> service_names() const;
  std::string name(job::Role role, int ordinal = 0, int incarnation = 0) const;

 private:
  void perform(const controller::CreatePodGroup& action);
  void perform(const controller::PatchPodGroup& action);
  void perform(const controller::CreateServices& action);
  void perform(const controller::CreateSharedService& action);
  void perform(const controller::UpdateSharedService& action);
  void perform(const controller::CreatePods& action);
  void perform(const controller::ConfirmFree& action);
  void perform(const controller::DeletePodGroups& action);
  void perform(const controller::DeletePods& action);
  void perform(const controller::ReleasePods& action);
  void perform(const controller::DeleteServices& action);
  void perform(const controller::UpdateStatus& action);
  void perform(const controller::DeleteJob& action);
  void perform(const controller::RecordEvent& action);
  void perform(const controller::DryRunPods& action);

  std::shared_ptr<const kube::Pod> last_disrupted_;
  std::set<std::string> held_;  // uids of deleted pods that only their finalizer keeps
  int next_uid_ = 1;
};

}  // namespace nervex::testing
