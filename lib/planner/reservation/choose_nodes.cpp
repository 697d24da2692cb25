#include "planner/reservation/choose_nodes.h"

#include <algorithm>
#include <chrono>
#include <functional>
#include <set>
#include <span>
#include <string_view>
#include <tuple>
#include <utility>

namespace nervex::planner {
namespace {

using std::chrono::seconds;

// As in the schema of PodGroups.
constexpr std::size_t kMostCountedOn = 1'024;
// Until pods of gangs that end for others, or whose grace period is over, are gone.
constexpr seconds kEndingTime{360};
constexpr seconds kLateEndingPod{60};
// A reservation without a due time is reconsidered after this.
constexpr std::chrono::minutes kRenewPeriod{10};
constexpr std::chrono::hours kLongestRenewPeriod{7 * 24};

NodeNames collect_names(const gang::Reservation& reservation) {
  NodeNames names;
  for (const gang::ReservedCapacity& one : reservation.nodes) names.insert(one.node);
  return names;
}

}  // namespace

std::optional<SysTime> find_renewal(const gang::Reservation& reservation, SysTime now) {
  if (reservation.due) return std::nullopt;
  const SysTime at = reservation.renew_after.value_or(reservation.since + kRenewPeriod);
  return at <= now + 2 * kLongestRenewPeriod ? at : now;
}

std::optional<gang::Reservation> NodeChooser::choose(VictimTrials trials,
                                                     const queue::ReservedFor& terms) {
  queue::VictimSearch found;
  if (!trials.fits_without({})) {
    found = queue::search_victims(
        sort_by_end(terms),
        [&](std::span<const std::size_t> ended) { return trials.fits_without(ended); },
        kMostEndTrials);
    if (found.victims.empty()) return std::nullopt;
  }
  gang::Reservation chosen;
  chosen.nodes = reserved_capacity(trials.placed);
  chosen.since = now_;
  chosen.due = find_due(terms, found.victims, chosen);
  chosen.counts_on = find_counted_on(terms, found.victims, chosen);
  if (!chosen.due) chosen.renew_after = now_ + kRenewPeriod;
  return chosen;
}

queue::Tenant NodeChooser::tenant(const queue::Workload& workload) const {
  return make_tenant(after_.running.gang(after_.running.index(workload)), workload);
}

// What ends first: what the head may take, then by the latest end. What has no bound is likely to
// run on for as long as it has run: jobs differ by so much that age says most, and the oldest may
// be services that never end. Jobs that all run equally long are the exception; see find_better().
std::vector<std::size_t> NodeChooser::sort_by_end(const queue::ReservedFor& terms) const {
  struct End {
    int kind = 0;
    SysTime::duration time{};
    std::size_t candidate = 0;
  };
  std::vector<End> ends;
  const auto& candidates = after_.running.candidates();
  for (std::size_t i = 0; i < candidates.size(); ++i) {
    const queue::Workload& first = candidates[i].first();
    if (queue::is_of_its_job(terms, first)) continue;
    const queue::Tenant its = tenant(first);
    if (queue::is_reclaimable(terms, its)) {
      ends.push_back({0, {}, i});
    } else if (its.latest_end) {
      ends.push_back({1, its.latest_end->time_since_epoch(), i});
    } else {
      ends.push_back({2, now_ - first.started_at.value_or(SysTime{}), i});
    }
  }
  std::stable_sort(ends.begin(), ends.end(), [](const End& a, const End& b) {
    return std::tie(a.kind, a.time) < std::tie(b.kind, b.time);
  });
  std::vector<std::size_t> sorted;
  sorted.reserve(ends.size());
  for (const End& end : ends) sorted.push_back(end.candidate);
  return sorted;
}

std::optional<SysTime> NodeChooser::find_due(const queue::ReservedFor& terms,
                                             const std::vector<std::size_t>& ended,
                                             const gang::Reservation& reservation) const {
  SysTime due = now_;
  for (const std::size_t candidate : ended) {
    const queue::Tenant its = tenant(after_.running.candidates()[candidate].first());
    if (queue::is_reclaimable(terms, its)) continue;
    if (!its.latest_end) return std::nullopt;
    due = std::max(due, *its.latest_end);
  }
  const NodeNames nodes = collect_names(reservation);
  bool is_any_terminating = false;
  for (const kube::PodPtr& pod : facts_.snapshot.terminating) {
    // The nodes were chosen without the capacity of pods that take longer.
    if (nodes.count(pod->node.str()) == 0 || !after_.ending.is_about_to_end(*pod)) continue;
    is_any_terminating = true;
    due = std::max(due, pod->deletion_timestamp + kLateEndingPod);
  }
  // Gangs that end for others have no terminating pods yet.
  const bool is_any_ending = ended.empty() && !is_any_terminating;
  return is_any_ending ? std::max(due, now_ + kEndingTime) : due;
}

// With a due time, all that ReservedNodes counts on: not only what had to end, since others may
// use what more is free. Of too many some are left out: they may get longer deadlines.
std::vector<std::string> NodeChooser::find_counted_on(queue::ReservedFor terms,
                                                      const std::vector<std::size_t>& ended,
                                                      const gang::Reservation& reservation) {
  terms.due = reservation.due;
  std::set<std::string_view> jobs;
  const auto note = [&](const queue::Tenant& its) {
    const bool is_counted = terms.due || !its.latest_end;
    if (!is_counted || queue::is_reclaimable(terms, its)) return;
    if (jobs.size() < kMostCountedOn) jobs.insert(its.job);
  };
  for (const std::size_t candidate : ended) {
    note(tenant(after_.running.candidates()[candidate].first()));
  }
  if (terms.due) {
    for (const NodeTenant& one : list_tenants_on(reservation)) {
      // What starts later than planned has not got a longer deadline.
      if (one.is_ending || one.is_starting) continue;
      if (queue::ends_for(terms, one.terms())) note(one.terms());
    }
  }
  return {jobs.begin(), jobs.end()};
}

std::vector<NodeTenant> NodeChooser::list_tenants_on(const gang::Reservation& reservation) {
  return list_tenants(facts_, work_, after_.ending, collect_names(reservation));
}

NodeChooser::Awaited NodeChooser::find_awaited(const gang::Reservation& reservation) {
  const auto& counted = reservation.counts_on;
  std::set<std::string_view> jobs;
  Awaited awaited;
  for (const NodeTenant& tenant : list_tenants_on(reservation)) {
    const bool is_counted =
        std::binary_search(counted.begin(), counted.end(), tenant.job, std::less<>());
    if (!is_counted || tenant.is_ending) continue;
    jobs.insert(tenant.job);
    awaited.oldest = std::min(awaited.oldest, tenant.workload.started_at.value_or(SysTime{}));
  }
  awaited.jobs.assign(jobs.begin(), jobs.end());
  return awaited;
}

// What ends first was a guess. It was wrong if none of the jobs has ended after a while: then jobs
// that have a deadline, or have run for a shorter time, are a better one. A guess that came true in
// part is kept, since what has become free would be lost, unless the same nodes have a due time
// now. An old program did not say for whom its reservation waits: any other one is better.
bool NodeChooser::is_better(const gang::Reservation& chosen, const gang::Reservation& present) {
  const Awaited left = find_awaited(present);
  if (left.jobs.size() < present.counts_on.size()) {
    return chosen.due && collect_names(chosen) == collect_names(present);
  }
  return chosen.due || present.counts_on.empty() || find_awaited(chosen).oldest > left.oldest;
}

// From the nodes that the gang gets then it does not turn away before twice the time that it had
// those before: otherwise it would always turn to the youngest jobs, and never start, where all run
// equally long.
std::optional<gang::Reservation> NodeChooser::find_better(
    const gang::Reservation& present, const std::optional<gang::Reservation>& chosen) {
  if (!chosen || !is_better(*chosen, present)) return std::nullopt;
  gang::Reservation better = *chosen;
  if (better.due) return better;
  better.renew_after = now_ + std::clamp<SysTime::duration>(2 * (now_ - present.since),
                                                            kRenewPeriod, kLongestRenewPeriod);
  return better;
}

gang::Reservation NodeChooser::prolong(gang::Reservation present) {
  present.counts_on = find_awaited(present).jobs;
  present.renew_after = now_ + kRenewPeriod;
  return present;
}

}  // namespace nervex::planner
