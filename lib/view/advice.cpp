#include "view/advice.h"

#include <fmt/format.h>

#include <algorithm>
#include <variant>

#include "gang/no_fit.h"
#include "view/pod_problem.h"
#include "view/waiting_gangs.h"

namespace nervex::view {
namespace {

using job::Phase;

bool is_observed(const gang::PodGroup& group) {
  return group.status.observed_generation >= group.meta.generation;
}

bool has_reason(const JobSnapshot& seen, std::string_view reason) {
  return seen.job.status.reason == reason;
}

bool has_failed(const JobSnapshot& seen) { return seen.job.status.phase == Phase::kFailed; }

// Whether the first waiting gang has that reason.
bool waits_for(const JobSnapshot& seen, std::string_view reason) {
  const auto* gang = first_waiting_gang(seen);
  return gang != nullptr && gang->reason == reason;
}

bool helps(const JobSnapshot& seen, gang::Remedy remedy) {
  const auto* gang = first_waiting_gang(seen);
  return gang != nullptr && gang->cause && gang::choose_remedy(*gang->cause) == remedy;
}

// Whether a rule of its queue keeps the first waiting gang from starting.
bool is_held_by_queue(const JobSnapshot& seen) {
  const auto* gang = first_waiting_gang(seen);
  return gang != nullptr && gang->cause && std::holds_alternative<gang::NotAdmitted>(*gang->cause);
}

bool is_refused(const JobSnapshot& seen) {
  const auto* gang = first_waiting_gang(seen);
  if (gang == nullptr) return false;
  const bool is_avoiding = gang->refusals.count > 0 && !avoided_nodes(seen).empty();
  return gang->reason == gang::kReasonRefusedByScheduler || is_avoiding;
}

bool is_growth(const JobSnapshot& seen) {
  const auto* gang = first_waiting_gang(seen);
  return gang != nullptr && gang->name != gang::kBaseGang;
}

// Whether base replicas added to a running job wait.
bool are_added_replicas(const JobSnapshot& seen) {
  const auto* waiting = first_waiting_gang(seen);
  const gang::Gang* gang =
      waiting == nullptr ? nullptr : gang::find_gang(seen.group->spec, waiting->name);
  return gang != nullptr && gang->kind == gang::GangKind::kAddedReplicas;
}

bool has_failed_pods(const JobSnapshot& seen) {
  return std::any_of(seen.pods.begin(), seen.pods.end(), [](const kube::Pod& pod) {
    return pod.phase == kube::PodPhase::kFailed && !pod.meta.deleting;
  });
}

bool has_stuck_container(const JobSnapshot& seen) {
  return std::any_of(seen.pods.begin(), seen.pods.end(), [](const kube::Pod& pod) {
    const auto problem = find_problem(pod);
    return problem && problem->code == PodProblem::Code::kContainerWaiting && !pod.meta.deleting;
  });
}

struct Rule {
  AdviceCode code;
  std::string_view name;
  bool is_wait;  // for capacity: opened nodes could help
  bool (*applies)(const JobSnapshot&);
  std::string_view text;  // {ns} and {job} are replaced
};

// The first rule that applies is the advice: each may rely on earlier ones not applying.
constexpr std::array kRules = std::to_array<Rule>({
    {AdviceCode::kBeingDeleted, "BeingDeleted", false, [](const JobSnapshot& s) { return s.job.meta.deleting; },
     "nothing: the job is being deleted."},
    {AdviceCode::kSucceeded, "Succeeded", false, [](const JobSnapshot& s) { return s.job.status.phase == Phase::kSucceeded; },
     "nothing: the job has succeeded. The coordinator's log, while its pod exists: kubectl nervex logs {job} -n {ns}"},
    {AdviceCode::kScheduleTimeout, "ScheduleTimeout", false, [](const JobSnapshot& s) { return has_failed(s) && has_reason(s, "ScheduleTimeout"); },
     "create the job again, with a longer scheduleTimeoutSeconds or with smaller requests. The note says why it did not start."},
    {AdviceCode::kDeadlineExceeded, "DeadlineExceeded", false, [](const JobSnapshot& s) { return has_failed(s) && has_reason(s, "DeadlineExceeded"); },
     "create the job again, with a longer activeDeadlineSeconds if it needs more time; if the note names a queue, in one with a longer maxRuntimeSeconds: kubectl get nvxq -o yaml"},
    {AdviceCode::kStartTimeout, "StartTimeout", false, [](const JobSnapshot& s) { return has_failed(s) && has_reason(s, "StartTimeout"); },
     "fix what kept the pods from running, as the note says, and create the job again; use a longer startTimeoutSeconds if it needs more time."},
    {AdviceCode::kFailed, "Failed", false, has_failed,
     "read the coordinator's log, while its pod exists: kubectl nervex logs {job} -n {ns}; then create the job again."},
    {AdviceCode::kNotObserved, "NotObserved", false, [](const JobSnapshot& s) { return s.job.status.phase == Phase::kNone && !s.group; },
     "no controller has seen this job yet. Is nervex-operator running? kubectl get deployments -n nervex-system"},
    {AdviceCode::kSuspended, "Suspended", false, [](const JobSnapshot& s) { return s.job.spec.suspend; },
     "to start the job: kubectl nervex resume {job} -n {ns}"},
    {AdviceCode::kInvalidName, "InvalidName", false, [](const JobSnapshot& s) { return has_reason(s, "InvalidName"); },
     "create the job under another name, as the note says, and delete this one: a name cannot be changed."},
    {AdviceCode::kFixRefusal, "FixRefusal", false, [](const JobSnapshot& s) {
       const auto* refused = find_condition(s, "PodsCreated", false);
       return refused != nullptr && has_reason(s, refused->reason);
     },
     "fix what the API server refuses; the controller notices by itself, usually within two minutes, and tries again at least every 6 minutes."},
    {AdviceCode::kFixTemplate, "FixTemplate", false, [](const JobSnapshot& s) { return find_condition(s, "PodsRefused", true) != nullptr; },
     "fix what the note says: change the template that it names, or create what the template refers to. The job keeps its place in the queue, and the API server is asked again within a minute. Until this is fixed, no pod of the job can be created."},
    {AdviceCode::kPreviousJobTerminating, "PreviousJobTerminating", true, [](const JobSnapshot& s) { return has_reason(s, "PreviousJobTerminating"); },
     "wait: the job starts when the objects of the deleted job with the same name are deleted. If it takes long: kubectl get pods -n {ns} -l nervexjob-name={job}"},
    {AdviceCode::kPreviousAttemptTerminating, "PreviousAttemptTerminating", false, [](const JobSnapshot& s) { return has_reason(s, "PreviousAttemptTerminating"); },
     "wait, or delete the pod that is named above: the next attempt starts when it is deleted. If its node is down permanently: kubectl delete pod -n {ns} POD --force"},
    {AdviceCode::kCreatePriorityClass, "CreatePriorityClass", false, [](const JobSnapshot& s) { return has_reason(s, "PriorityClassMissing"); },
     "create the PriorityClass, and the job starts; or create the job again with one that exists: kubectl get priorityclasses"},
    {AdviceCode::kCreateAggregatorConfig, "CreateAggregatorConfig", false, [](const JobSnapshot& s) { return has_reason(s, "AggregatorMissing"); },
     "create the AggregatorConfig, and what waits for it starts. Existing ones: kubectl get aggregatorconfigs --all-namespaces"},
    {AdviceCode::kBackOff, "BackOff", false, [](const JobSnapshot& s) { return has_reason(s, "BackOff"); },
     "nothing: the next attempt starts by itself. How the last one ended: kubectl get nervexjob {job} -n {ns} -o jsonpath='{{.status.lastAttempt}}'"},
    {AdviceCode::kAboutToBeQueued, "AboutToBeQueued", true, [](const JobSnapshot& s) { return !s.group; },
     "wait: the job is about to be queued. If it takes long: kubectl logs -n nervex-system deployment/nervex-operator"},
    {AdviceCode::kNotPlanned, "NotPlanned", false, [](const JobSnapshot& s) { return !is_observed(*s.group); },
     "the extender has not planned the gang yet. Is nervex-scheduler running? kubectl get deployments -n nervex-system"},
    {AdviceCode::kPlanTooLarge, "PlanTooLarge", false, [](const JobSnapshot& s) { return waits_for(s, gang::kReasonPlanRefused); },
     "ask for fewer pods: the API server does not store a plan for so many. If it objects to something other than the size, the CustomResourceDefinitions may be of another version."},
    {AdviceCode::kPreempting, "Preempting", false, [](const JobSnapshot& s) { return waits_for(s, gang::kReasonPreempting); },
     "nothing: the nodes are kept for the gang, and it starts when the pods of the preempted workloads have ended. Which these are, in this namespace by name: kubectl get podgroups -n {ns} -l nervexjob-name={job} -o yaml"},
    {AdviceCode::kHealing, "Healing", false, [](const JobSnapshot& s) {
       const auto* gang = first_waiting_gang(s);
       return gang != nullptr && gang->healing_since.has_value();
     },
     "nothing: lost pods are placed again as soon as they fit. After the time above all pods of the gang are deleted and it is requeued, which does not count as a retry. A node that comes back, or freed capacity, helps."},
    {AdviceCode::kFixPods, "FixPods", false, [](const JobSnapshot& s) { return helps(s, gang::Remedy::kFixPods); },
     "create what the reason names, or submit the job again with templates that name another one; the gang keeps its place and starts by itself, within a minute"},
    {AdviceCode::kFixQueue, "FixQueue", false, [](const JobSnapshot& s) { return helps(s, gang::Remedy::kFixQueue); },
     "have an administrator change the queue, as the reason says, or name another one in spec.queue; the gang keeps its place and starts by itself. The queues, and what waits in them: kubectl nervex queue"},
    {AdviceCode::kExceedsLimit, "ExceedsLimit", false, [](const JobSnapshot& s) { return is_held_by_queue(s) && helps(s, gang::Remedy::kAskForLess); },
     "ask for less, name a queue with a higher limit in spec.queue, or have the limit raised; waiting does not help: kubectl nervex queue"},
    {AdviceCode::kOverLimit, "OverLimit", false, is_held_by_queue,
     "wait until other jobs of the queue use less, or have its limit raised; then the gang starts by itself. What the queues use, and what waits in them: kubectl nervex queue"},
    {AdviceCode::kPlanExpired, "PlanExpired", false, [](const JobSnapshot& s) { return waits_for(s, gang::kReasonPlanExpired); },
     "nothing, if that deployment was only restarted: the gang is planned again by itself, at least every 5 minutes. Otherwise read the log of the deployment that the message names: kubectl logs -n nervex-system deployment/nervex-scheduler, or nervex-operator; or, if the message says so, remove the pods' schedulingGates in time."},
    {AdviceCode::kRefusedByScheduler, "RefusedByScheduler", false, is_refused,
     "wait if kube-scheduler's objection is temporary: the gang is planned again by itself, and a refused node is tried again later. Otherwise fix its cause: pod affinity, topology spread, volumes or resource claims of the template, or pods that are in the way."},
    {AdviceCode::kExceedsQuota, "ExceedsQuota", false, [](const JobSnapshot& s) {
       return waits_for(s, gang::kReasonOverQuota) && helps(s, gang::Remedy::kAskForLess);
     },
     "ask for less or have the quota raised; waiting does not help: kubectl describe resourcequotas -n {ns}"},
    {AdviceCode::kOverQuota, "OverQuota", false, [](const JobSnapshot& s) { return waits_for(s, gang::kReasonOverQuota); },
     "wait until other pods of the namespace use less, or have the quota raised; then the gang starts by itself: kubectl describe resourcequotas -n {ns}"},
    {AdviceCode::kLowerReplicas, "LowerReplicas", false, [](const JobSnapshot& s) { return are_added_replicas(s) && helps(s, gang::Remedy::kAskForLess); },
     "set fewer replicas (kubectl nervex scale {job} -n {ns} --collectors N, or --learners N), or add nodes. Waiting does not help: the added replicas do not fit these nodes even when they are empty. The job keeps running."},
    {AdviceCode::kTakeRequestBack, "TakeRequestBack", false, [](const JobSnapshot& s) { return is_growth(s) && helps(s, gang::Remedy::kAskForLess); },
     "cancel the request (kubectl nervex replicas remove {job} -n {ns} --collectors N, or --learners N: the newest of that role are removed first), ask for less, or add nodes. Waiting does not help: the request does not fit these nodes even when they are empty. The job keeps running."},
    {AdviceCode::kAskForLess, "AskForLess", false, [](const JobSnapshot& s) { return helps(s, gang::Remedy::kAskForLess); },
     "ask for less per pod or for fewer pods, or add nodes. Waiting does not help: the gang does not fit these nodes even when they are empty."},
    {AdviceCode::kAllowNodes, "AllowNodes", false, [](const JobSnapshot& s) { return helps(s, gang::Remedy::kAllowNodes); },
     "change nodeSelector, affinity or tolerations, or have nodes labelled, uncordoned or repaired; then the gang starts by itself: kubectl get nodes --show-labels"},
    {AdviceCode::kRequestWaits, "RequestWaits", true, is_growth,
     "wait: the requested replicas start by themselves, all together, as soon as they fit. The job keeps running. Who uses the accelerators: kubectl nervex top; other resources: kubectl describe nodes"},
    {AdviceCode::kWaitForCapacity, "WaitForCapacity", true, [](const JobSnapshot& s) { return first_waiting_gang(s) != nullptr; },
     "wait: the job starts by itself, whole, as soon as it fits. Who uses the accelerators: kubectl nervex top; what waits in the queue: kubectl nervex queue (-A: of all namespaces); other resources: kubectl describe nodes"},
    {AdviceCode::kRequestRetried, "RequestRetried", false, [](const JobSnapshot& s) { return find_condition(s, "RequestsScheduled", false) != nullptr; },
     "nothing: the requested replicas are retried by themselves."},
    {AdviceCode::kFixContainer, "FixContainer", false, has_stuck_container,
     "a container cannot start, as the problem says. Fix what it names, such as the image, its registry's password, a ConfigMap or a Secret: the pod tries again by itself. If the container crashes: kubectl nervex logs {job} -n {ns} ROLE/ORDINAL --previous. To change a template, delete the job and submit it again."},
    {AdviceCode::kStarting, "Starting", true, [](const JobSnapshot& s) { return s.job.status.phase == Phase::kCreated; },
     "wait: the whole gang is scheduled, and its pods are starting. If it takes long: kubectl describe pods -n {ns} -l nervexjob-name={job}"},
    {AdviceCode::kNotReady, "NotReady", false, [](const JobSnapshot& s) { return find_condition(s, "Ready", false) != nullptr; },
     "the coordinator runs, but not all pods are ready: kubectl get pods -n {ns} -l nervexjob-name={job}"},
    {AdviceCode::kReplicasFailed, "ReplicasFailed", false, has_failed_pods,
     "the job runs, but some replicas have failed. They are replaced only on request, by the coordinator or by you: kubectl nervex replicas replace {job} -n {ns} POD. Why one failed: kubectl logs -n {ns} POD"},
    {AdviceCode::kRunning, "Running", false, [](const JobSnapshot&) { return true; },
     "nothing: the job runs."},
});

const Rule& rule_for(AdviceCode code) {
  return *std::find_if(kRules.begin(), kRules.end(),
                       [&](const Rule& rule) { return rule.code == code; });
}

}  // namespace

std::string_view to_string(AdviceCode code) { return rule_for(code).name; }

Advice find_advice(const JobSnapshot& seen) {
  const Rule& rule = *std::find_if(kRules.begin(), kRules.end(),
                                   [&](const Rule& each) { return each.applies(seen); });
  return {rule.code, rule.is_wait && helps(seen, gang::Remedy::kOpenNodes)};
}

std::string describe(const Advice& advice, std::string_view ns, std::string_view job) {
  std::string text = fmt::format(fmt::runtime(rule_for(advice.code).text), fmt::arg("ns", ns),
                                 fmt::arg("job", job));
  if (advice.opening_nodes_helps) {
    text +=
        ". Nodes that are cordoned or not ready, as the reason says, may also help: kubectl get "
        "nodes";
  }
  return text;
}

}  // namespace nervex::view
