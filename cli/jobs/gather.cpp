#include "cli/jobs/gather.h"

#include <fmt/format.h>

#include <algorithm>

#include "cli/jobs/job_events.h"
#include "gang/slot.h"
#include "job/counts.h"
#include "job/names.h"
#include "kube/model/watch.h"

namespace nervex::cli {
namespace {

Result<std::optional<gang::PodGroup>> read_group(kube::Api& api, const job::Job& job) {
  const auto object = kube::get_object(api, kube::kPodGroups, job.meta.ns,
                                       job::pod_group_name(job, job.status.attempt));
  if (!object && object.error().code == Code::kNotFound) return std::optional<gang::PodGroup>();
  if (!object) return object.error();
  auto group = gang::decode_pod_group(*object);
  if (!group) return group.error();
  const auto& owner = group->meta.owner;  // it may belong to a deleted job of the same name
  if (owner && owner->uid != job.meta.uid) return std::optional<gang::PodGroup>();
  return std::optional(*std::move(group));
}

Result<std::vector<kube::Pod>> read_pods(kube::Api& api, const job::Job& job) {
  const std::string path =
      kube::with_label(kube::api_path(kube::kPods, job.meta.ns), job::kJobLabel, job.meta.name);
  const auto body = api.send({"GET", path, "", ""});
  if (!body) return body.error();
  const auto page = kube::split_list(*body);
  if (!page) return page.error();
  std::vector<kube::Pod> pods;
  for (const auto item : page->items) {
    auto pod = kube::decode_pod(item, gang::with_slot_annotations(job::pod_filter()));
    if (!pod) return pod.error();
    if (pod->meta.owner && pod->meta.owner->uid == job.meta.uid) pods.push_back(*std::move(pod));
  }
  return pods;
}

Result<std::vector<view::Event>> read_events(kube::Api& api, const job::Job& job) {
  const std::string path = fmt::format("{}?fieldSelector=involvedObject.uid%3D{}",
                                       kube::api_path(kube::kEvents, job.meta.ns), job.meta.uid);
  const auto body = api.send({"GET", path, "", ""});
  if (!body) return body.error();
  const auto list = kube::parse_json(*body);
  if (!list) return list.error();
  std::vector<view::Event> events;
  for (const auto& item : kube::array_at(*list, {"items"})) events.push_back(decode_event(item));
  std::stable_sort(events.begin(), events.end(),
                   [](const view::Event& a, const view::Event& b) { return a.time < b.time; });
  return events;
}

bool has_reservation(const std::optional<gang::PodGroup>& group) {
  if (!group) return false;
  const auto& gangs = group->status.gangs;
  return std::any_of(gangs.begin(), gangs.end(),
                     [](const gang::GangStatus& gang) { return gang.reservation.has_value(); });
}

// Who is on the nodes that are reserved for the job.
Result<std::vector<gang::PodGroup>> read_others(kube::Api& api, const gang::PodGroup& own) {
  const auto list = kube::get_object(api, kube::kPodGroups, own.meta.ns.str(), "");
  if (!list) return list.error();
  std::vector<gang::PodGroup> others;
  for (const auto& item : kube::array_at(*list, {"items"})) {
    auto group = gang::decode_pod_group(item);
    if (group && group->meta.uid != own.meta.uid) others.push_back(*std::move(group));
  }
  return others;
}

constexpr kube::ResourceKind kBudgets{"policy", "v1", "poddisruptionbudgets"};

// Most users may not read budgets: then none are reported.
Result<std::vector<view::Budget>> read_budgets(kube::Api& api, const job::Job& job) {
  std::vector<view::Budget> budgets;
  const auto list = kube::get_object(api, kBudgets, job.meta.ns, "");
  if (!list) {
    const Code code = list.error().code;
    const bool is_denied = code == Code::kForbidden || code == Code::kUnauthorized;
    if (is_denied || code == Code::kNotFound) return budgets;
    return list.error();
  }
  for (const auto& item : kube::array_at(*list, {"items"}))
    budgets.push_back(view::decode_budget(item));
  return budgets;
}

// Takes the value, or notes why it is missing.
template <typename T>
void take(Result<T> result, std::string_view what, T& into, std::vector<std::string>& left_out) {
  if (result) {
    into = *std::move(result);
  } else {
    left_out.push_back(fmt::format("cannot show {}: {}", what, result.error().message));
  }
}

}  // namespace

Result<view::JobSnapshot> gather(kube::Api& api, const std::string& ns, const std::string& name,
                                 SysTime now, std::vector<std::string>& left_out) {
  const auto object = kube::get_object(api, kube::kNervexJobs, ns, name);
  if (!object) return object.error();
  auto job = job::decode_job(*object);
  if (!job) return job.error();

  view::JobSnapshot seen;
  seen.job = *std::move(job);
  seen.now = now;
  take(read_group(api, seen.job), "the plan", seen.group, left_out);
  if (has_reservation(seen.group)) {
    take(read_others(api, *seen.group), "who is on the reserved nodes", seen.others, left_out);
  }
  take(read_pods(api, seen.job), "the pods", seen.pods, left_out);
  take(read_events(api, seen.job), "the events", seen.events, left_out);
  take(read_budgets(api, seen.job), "PodDisruptionBudgets", seen.budgets, left_out);
  return seen;
}

}  // namespace nervex::cli
