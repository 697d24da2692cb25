#include "kube/model/disruption.h"

#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>

namespace nervex::kube {
namespace {

TEST_CASE("disruptions by the cluster are distinguished from failures of the pod",
          "[job][disruption]") {
  struct Row {
    std::string when;
    std::string reason;     // status.reason
    std::string condition;  // reason of DisruptionTarget; "-": there is none
    std::string want;       // "": it is the pod's own end
  };
  const auto row = GENERATE(values<Row>({
      {"its program failed", "", "-", ""},
      {"its own deadline passed", "DeadlineExceeded", "-", ""},
      {"the node ran out of memory", "Evicted", "TerminationByKubelet", "Evicted"},
      {"it was evicted, by a kubelet of old", "Evicted", "-", "Evicted"},
      {"it was evicted by the API", "", "EvictionByEvictionAPI", "Evicted"},
      {"a pod of higher priority came", "", "PreemptionByScheduler", "Preempted"},
      {"a critical pod came", "Preempting", "TerminationByKubelet", "Preempted"},
      {"its node was tainted", "", "DeletionByTaintManager", "NodeTainted"},
      {"its node was removed", "", "DeletionByPodGC", "NodeLost"},
      {"its node did not answer", "NodeLost", "-", "NodeLost"},
      {"its node was shut down", "Terminated", "TerminationByKubelet", "NodeShutdown"},
      {"two schedulers used the same capacity", "OutOfcpu", "-", "Rejected"},
      {"so, of an extended resource", "OutOfnvidia.com/gpu", "-", "Rejected"},
      {"a device was not there", "UnexpectedAdmissionError", "-", "Rejected"},
      {"labels of the node changed", "NodeAffinity", "-", "Rejected"},
      {"a taint came before the pod", "TaintToleration", "-", "Rejected"},
      {"its kubelet allows no such sysctl", "SysctlForbidden", "-", "Rejected"},
      {"its node has no AppArmor, or not that profile", "AppArmor", "-", "Rejected"},
      {"an operator has its own reason", "", "MyOperator", "Disrupted"},
  }));
  INFO("when " << row.when);
  kube::Pod pod;
  pod.reason = row.reason;
  pod.disruption_target = row.condition != "-";
  if (pod.disruption_target) pod.disruption_reason = row.condition;
  CHECK(classify_disruption(pod).value_or("") == row.want);
}

TEST_CASE("a pod that its kubelet rejected never ran, for every reason", "[job][disruption]") {
  struct Row {
    std::string when;
    std::string reason;
    std::string message;
    std::string want;
  };
  const auto row = GENERATE(values<Row>({
      {"a reason of a later kubelet", "SomethingNew",
       "Pod was rejected: the node cannot do what the pod asks for", "Rejected"},
      {"no reason", "", "Pod was rejected: Predicate Something failed", "Rejected"},
      {"the words stand elsewhere", "Error", "my program: Pod was rejected: no", ""},
      {"its own deadline passed", "DeadlineExceeded", "Pod was active on the node too long", ""},
  }));
  INFO("when " << row.when);
  kube::Pod pod;
  pod.phase = PodPhase::kFailed;
  pod.reason = row.reason;
  pod.message = row.message;
  CHECK(classify_disruption(pod).value_or("") == row.want);
  CHECK(was_taken_away(pod) == !row.want.empty());
}

}  // namespace
}  // namespace nervex::kube
