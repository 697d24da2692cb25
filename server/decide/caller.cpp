#include "server/decide/caller.h"

#include <fmt/format.h>

#include <array>

#include "gang/slot.h"
#include "job/counts.h"

namespace nervex::server {
namespace {

bool owned_by_a_job(const kube::Pod& pod) {
  const auto& owner = pod.meta.owner;
  return owner && owner->kind == job::kKind && owner->api_version == job::kApiVersion;
}

bool is_the_owner(const Caller& caller) {
  return caller.job && caller.job->meta.uid == caller.pod->meta.owner->uid;
}

bool is_of_current_attempt(const Caller& caller) {
  const auto& [pod, job, group] = caller;
  return group && group->spec.attempt == job->status.attempt && !group->meta.uid.empty() &&
         group->meta.uid == attempt_uid(*pod);
}

struct Rule {
  bool (*breaks)(const Caller&);
  Code code;
  const char* what;
};

// For an existing pod. In order: each rule may rely on earlier ones.
constexpr std::array<Rule, 6> kRules{{
    {[](const Caller& c) { return !owned_by_a_job(*c.pod); }, Code::kNotFound,
     "it does not belong to a NerveXJob"},
    {[](const Caller& c) { return !is_the_owner(c); }, Code::kConflict, "its job was deleted"},
    {[](const Caller& c) { return c.job->meta.deleting; }, Code::kConflict,
     "its job is being deleted"},
    {[](const Caller& c) {
       return job::is_final(c.job->status.phase) || has_ended(job::pod_state(*c.pod));
     },
     Code::kConflict, "its job has finished"},
    {[](const Caller& c) { return c.pod->meta.deleting; }, Code::kTransient,
     "the pod is being deleted"},
    {[](const Caller& c) { return !is_of_current_attempt(c); }, Code::kTransient,
     "the pod is not of the job's current attempt"},
}};

}  // namespace

const std::string& attempt_uid(const kube::Pod& pod) {
  return kube::annotation(pod.meta, gang::kPodGroupUidAnnotation);
}

Result<Nothing> is_known(const Caller& caller) {
  if (!caller.pod) return no_such_pod(nullptr);
  if (!owned_by_a_job(*caller.pod)) {
    return Error{Code::kNotFound, "it does not belong to a NerveXJob"};
  }
  if (!is_the_owner(caller)) return Error{Code::kNotFound, "its job was deleted"};
  return ok();
}

Result<Nothing> may_grow(const Caller& caller) {
  if (!caller.pod) return no_such_pod(nullptr);
  for (const auto& rule : kRules) {
    if (rule.breaks(caller)) return Error{rule.code, rule.what};
  }
  return ok();
}

Error no_such_pod(const job::Job* job) {
  constexpr std::string_view kNoSuchPod = "the pod does not exist";
  if (job == nullptr) return {Code::kNotFound, std::string(kNoSuchPod)};
  const std::string& name = job->meta.name;
  if (job->meta.deleting || job::is_final(job->status.phase)) {
    return {Code::kNotFound, fmt::format("{}: nervexjob {} {}", kNoSuchPod, name,
                                         job->meta.deleting ? "is being deleted" : "has finished")};
  }
  const bool was_running = job->status.phase == job::Phase::kRunning;  // its reason is out of date
  const std::string reason = was_running ? "" : job->status.reason;
  return {
      Code::kNotFound,
      fmt::format(
          "{}: nervexjob {} has no coordinator{}. Replicas can be requested only while the "
          "coordinator runs; the job starts with spec.collector.replicas and spec.learner.replicas",
          kNoSuchPod, name, reason.empty() ? "" : fmt::format(" ({})", reason))};
}

Error about_pod(const std::string& ns, const std::string& pod, const Error& error) {
  return with_context(fmt::format("pod {}/{}", ns, pod), error);
}

}  // namespace nervex::server
