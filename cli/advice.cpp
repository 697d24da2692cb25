#include "cli/advice.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "job/names.h"

namespace nervex::cli {
namespace {

using job::Phase;

bool is_waiting(const JobView& view, bool base) {
  const auto waiting = waiting_gangs(view);
  return std::any_of(waiting.begin(), waiting.end(), [base](const gang::GangStatus* gang) {
    return (gang->name == gang::kBaseGang) == base;
  });
}

bool is_observed(const gang::PodGroup& group) {
  return group.status.observed_generation >= group.meta.generation;
}

bool is_refused(const JobView& view) {
  const auto waiting = waiting_gangs(view);
  return std::any_of(waiting.begin(), waiting.end(), [](const gang::GangStatus* gang) {
    return gang->reason == gang::kReasonPlanRefused;
  });
}

struct Rule {
  bool (*applies)(const JobView&);
  const char* text;  // {ns} and {job} are filled in
};

// The first that applies is said; each may rely on those before it not applying.
constexpr std::array<Rule, 14> kRules{{
    {[](const JobView& v) { return v.job.meta.deleting; }, "nothing: the job is being deleted."},
    {[](const JobView& v) { return v.job.status.phase == Phase::kSucceeded; },
     "nothing: the job is done. What its coordinator said, as long as the pod is kept: "
     "kubectl logs -n {ns} {job}-coordinator"},
    {[](const JobView& v) { return v.job.status.phase == Phase::kFailed; },
     "see what the coordinator said, as long as the pod is kept: "
     "kubectl logs -n {ns} {job}-coordinator; then create the job again."},
    {[](const JobView& v) { return v.job.status.phase == Phase::kNone; },
     "nobody has looked at this job yet. Is nervex-operator running? "
     "kubectl get deployments -n nervex-system"},
    {[](const JobView& v) { return condition(v, "PodsCreated", false) != nullptr; },
     "mend what the API server objects to; creating the pods is tried again by itself."},
    {[](const JobView& v) { return v.job.status.reason == "PreviousJobTerminating"; },
     "nothing: the job starts by itself when what a deleted job of its name has left is gone. If "
     "that lasts: kubectl get pods -n {ns} -l nervexjob-name={job}"},
    {[](const JobView& v) { return !v.group; },
     "nothing yet: the job is about to be queued. If that lasts: "
     "kubectl logs -n nervex-system deployment/nervex-operator"},
    {[](const JobView& v) { return !is_observed(*v.group); },
     "the scheduling side has not answered yet. Is nervex-scheduler running? "
     "kubectl get deployments -n nervex-system"},
    {is_refused,
     "ask for fewer pods: the API server does not store the plan of so many. If it objects to "
     "something else than the size, the CustomResourceDefinitions may be of another version."},
    {[](const JobView& v) { return is_waiting(v, true); },
     "if others hold the capacity, nothing: the job starts by itself, whole, as soon as it fits; "
     "who "
     "holds it: kubectl get nervexjobs --all-namespaces. If it can never fit, or no node is "
     "allowed: ask for less per pod or for fewer pods, change nodeSelector, affinity or "
     "tolerations, or add nodes."},
    {[](const JobView& v) { return is_waiting(v, false); },
     "nothing, unless it can never fit: what the coordinator asked for comes by itself as soon as "
     "there is capacity."},
    {[](const JobView& v) { return v.job.status.phase == Phase::kCreated; },
     "nothing yet: the whole gang has its places, and its pods are starting. If that lasts: "
     "kubectl describe pods -n {ns} -l nervexjob-name={job}"},
    {[](const JobView& v) { return condition(v, "Ready", false) != nullptr; },
     "the coordinator runs, but not all pods are ready: "
     "kubectl get pods -n {ns} -l nervexjob-name={job}"},
    {[](const JobView&) { return true; }, "nothing: the job runs."},
}};

}  // namespace

std::string advice(const JobView& view) {
  const auto rule = std::find_if(kRules.begin(), kRules.end(),
                                 [&](const Rule& each) { return each.applies(view); });
  return fmt::format(fmt::runtime(rule->text), fmt::arg("ns", view.job.meta.ns),
                     fmt::arg("job", view.job.meta.name));
}

}  // namespace nervex::cli
