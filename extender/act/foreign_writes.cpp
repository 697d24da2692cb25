#include "extender/act/foreign_writes.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <map>
#include <span>
#include <string>
#include <utility>

#include "base/log.h"
#include "extender/act/parallelize.h"
#include "planner/foreign/foreign_status.h"

namespace nervex::extender {
namespace {

using std::chrono::milliseconds;

constexpr milliseconds kRetryWrite{1'000};
// Changes of counts alone do not cause a write.
constexpr milliseconds kStatusPeriod{1'000};

// A merge patch with the UID does not reach a namesake: kConflict.
Result<std::string> nominate_one(kube::Api& api, const planner::NominationWrite& write) {
  const kube::Meta& meta = write.pod->meta;
  const Json node = write.node.empty() ? Json() : Json(write.node);
  const Json patch{{"metadata", {{"uid", meta.uid}}}, {"status", {{"nominatedNodeName", node}}}};
  const auto stored = kube::merge_patch(api, kube::kPods, meta.ns, meta.name, patch, "status");
  if (!stored) return stored.error();
  return kube::decode_meta(*stored).resource_version;
}

// In the order of the writes. A few at a time: a gang may have hundreds of pods.
std::vector<Result<std::string>> nominate_all(kube::Api& api, std::size_t parallelism,
                                              const std::vector<planner::NominationWrite>& writes) {
  std::vector<Result<std::string>> results(writes.size(), Error{Code::kTransient, "was not sent"});
  parallelize(parallelism, writes.size(),
              [&](std::size_t i) { results[i] = nominate_one(api, writes[i]); });
  return results;
}

void soonest(std::optional<milliseconds>& again, milliseconds time) {
  again = again ? std::min(*again, time) : time;
}

}  // namespace

std::optional<milliseconds> ForeignWrites::write(
    const std::vector<planner::ForeignGangSeen>& seen,
    const std::vector<planner::ForeignDecision>& decisions, planner::ForeignMemory& memory) {
  std::map<std::string, const planner::ForeignGangSeen*> by_key;
  for (const planner::ForeignGangSeen& gang : seen) by_key.emplace(gang.key(), &gang);
  std::optional<milliseconds> again;
  std::vector<planner::NominationWrite> nominations;  // of all gangs: many have one pod
  for (const planner::ForeignDecision& decision : decisions) {
    tell(decision);
    nominations.insert(nominations.end(), decision.nominations.begin(), decision.nominations.end());
  }
  const auto results = nominate_all(api_, parallelism_, nominations);
  auto result = results.begin();
  for (const planner::ForeignDecision& decision : decisions) {
    const std::string key = planner::foreign_key(*decision.group);
    planner::ForeignMemory::Gang& gang = memory.gangs[key];
    const auto count = static_cast<std::ptrdiff_t>(decision.nominations.size());
    const bool is_nominated = note_nominated(decision.nominations, {result, result + count}, gang);
    result += count;
    const bool is_status_written = write_status(*by_key.at(key), gang, again);
    if (!is_nominated || !is_status_written) soonest(again, kRetryWrite);
  }
  return again;
}

void ForeignWrites::tell(const planner::ForeignDecision& decision) {
  const kube::ForeignPodGroup& group = *decision.group;
  const std::string what = group.is_pod ? "pod" : "podgroup";
  if (!decision.nominations.empty()) {
    log_info("foreign gang planned",
             {{what, group.meta.key()},
              {"pods", std::to_string(decision.placed)},
              {"nominations", std::to_string(decision.nominations.size())}});
  }
  if (!decision.is_news) return;
  const std::string message = decision.wait ? explain(*decision.wait) : "";
  cache_.explain_foreign(planner::foreign_key(group), message);
  if (message.empty()) return;
  log_info("foreign gang waits", {{what, group.meta.key()}, {"message", message}});
  if (events_ == nullptr) return;
  events_->record(
      {group.is_pod ? "v1" : std::string(kube::kForeignGroupApiVersion),
       group.is_pod ? "Pod" : "PodGroup", group.meta.ns, group.meta.name, group.meta.uid},
      {kube::EventType::kWarning, "Unschedulable", message});
}

bool ForeignWrites::note_nominated(const std::vector<planner::NominationWrite>& writes,
                                   std::span<const Result<std::string>> results,
                                   planner::ForeignMemory::Gang& memory) {
  bool all_done = true;
  for (std::size_t i = 0; i < writes.size(); ++i) {
    const kube::Meta& meta = writes[i].pod->meta;
    if (results[i]) {
      auto& written = memory.nominations[meta.uid];
      written.node = writes[i].node;
      written.base_version = meta.resource_version;
      written.version = *results[i];
      written.at = clock_.now();
      continue;
    }
    const Code code = results[i].error().code;
    if (code == Code::kNotFound || code == Code::kConflict) continue;  // the watch will tell
    all_done = false;
    log_warn("pod not nominated", {{"pod", meta.key()}, {"error", results[i].error().message}});
  }
  return all_done;
}

bool ForeignWrites::write_status(const planner::ForeignGangSeen& seen,
                                 planner::ForeignMemory::Gang& memory,
                                 std::optional<milliseconds>& again) {
  const kube::ForeignPodGroup& group = *seen.group;
  if (group.is_pod) return true;  // its own status says it
  const SysTime now = clock_.now();
  const kube::ForeignPodGroupStatus status = planner::make_foreign_status(seen, now);
  const bool is_in_flight = memory.status_base == group.meta.resource_version;
  const kube::ForeignPodGroupStatus& stored = is_in_flight ? memory.status : group.status;
  if (status == stored) return true;
  const SysTime due = memory.status_at + kStatusPeriod;
  if (status.phase == stored.phase && now < due) {
    soonest(again, due - now);
    return true;
  }
  const Json patch{{"metadata", {{"uid", group.meta.uid}}},
                   {"status", kube::encode_foreign_status(status)}};
  const auto written = kube::merge_patch(api_, kube::kForeignPodGroups, group.meta.ns,
                                         group.meta.name, patch, "status");
  if (written) {
    memory.status = status;
    memory.status_base = group.meta.resource_version;
    memory.status_at = now;
    return true;
  }
  const Code code = written.error().code;
  if (code == Code::kNotFound || code == Code::kConflict) return true;
  log_warn("podgroup status not written",
           {{"podgroup", group.meta.key()}, {"error", written.error().message}});
  return false;
}

}  // namespace nervex::extender
