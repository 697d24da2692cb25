#include "controller/decide/attempt/replacement.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <tuple>
#include <utility>

#include "base/backoff.h"
#include "controller/decide/attempt/created_pods.h"
#include "controller/decide/reasons.h"
#include "controller/decide/round/condition.h"
#include "controller/decide/round/round.h"
#include "job/names.h"
#include "kube/model/disruption.h"

namespace nervex::controller {

namespace {

using job::PodState;
using job::Role;
using std::chrono::seconds;

constexpr seconds kFirstDelay{10};
constexpr seconds kLongestReplacementDelay{300};

// The minimum incarnation, by role and ordinal.
using Incarnations = std::map<std::pair<Role, int>, int>;

bool is_base_replica(Role role, int ordinal) {
  const bool has_base_replicas = role == Role::kCollector || role == Role::kLearner;
  return has_base_replicas && ordinal < job::kFirstRequestedOrdinal;
}

// The coordinator's end is the attempt's; the job's own aggregator is created again after deletion.
bool is_worker(Role role, job::Slot slot) {
  return role != Role::kCoordinator && (role != Role::kAggregator || slot.ordinal != 0);
}

template <typename T>
void sort_by_slot(std::vector<T>& items) {
  std::sort(items.begin(), items.end(), [](const T& a, const T& b) {
    return std::tie(a.role, a.slot) < std::tie(b.role, b.slot);
  });
}

// Minimum age at which a pod of that incarnation is replaced.
seconds replacement_delay(int incarnation) {
  if (incarnation == 0) return seconds::zero();
  return std::chrono::duration_cast<seconds>(
      backoff_delay(kFirstDelay, incarnation - 1, kLongestReplacementDelay));
}

std::string describe_loss(const kube::Pod& pod) {
  if (!pod.node_lost.empty()) {
    return fmt::format("pod {}: its node {} is lost ({})", pod.meta.name, pod.node, pod.node_lost);
  }
  if (!pod.reason.empty()) return fmt::format("pod {}: {}", pod.meta.name, std::string(pod.reason));
  if (const auto why = kube::classify_disruption(pod); why && !pod.node.empty()) {
    return fmt::format("pod {}: {} (node {})", pod.meta.name, *why, pod.node);
  }
  return fmt::format("pod {} was deleted", pod.meta.name);
}

// Looks at one attempt's pods and collects the replacements that they need.
class LostPods {
 public:
  explicit LostPods(const Round& round)
      : round_(round),
        seen_(round.seen),
        attempt_(round.attempt),
        vanished_(round.vanished.begin(), round.vanished.end()) {
    for (const auto& member : attempt_.pods) pods_.try_emplace({member.role, member.slot}, &member);
    for (const auto& replaced : round.job.status.replaced) raise(replaced.role, replaced.slot);
  }

  Losses find() {
    for (const auto& slot : round_.slots.all()) {
      if (slot.role == Role::kCoordinator || slot.is_over) continue;
      if (round_.backing_off.count({slot.role, slot.slot.ordinal}) == 0) look_at(slot);
    }
    lower_base_replicas();
    for (const auto& entry : seen_.job.spec.requests.entries) {
      for (const auto slot : entry.slots) requested_.emplace(entry.role, slot.ordinal);
    }
    for (const auto& [number, incarnation] : incarnations_) {
      if (is_of_the_past(number)) continue;
      out_.replaced.push_back(
          {number.first, {number.second, std::min(incarnation, job::kMaxIncarnations)}});
    }
    return std::move(out_);
  }

 private:
  void raise(Role role, job::Slot slot) {
    int& incarnation = incarnations_[{role, slot.ordinal}];
    incarnation = std::max(incarnation, slot.incarnation);
  }

  void look_at(const WantedSlot& slot) {
    const AttemptPod* member = find_pod(slot);
    if (member == nullptr) {
      const std::string name = job::pod_name(seen_.job, slot.role, slot.slot);
      if (vanished_.count(name) != 0) replace(slot, fmt::format("pod {} no longer exists", name));
    } else if (member->pod->meta.deleting) {
      if (has_its_place(*member)) replace(slot, describe_loss(*member->pod));
    } else if (!member->pod->node_lost.empty() && !has_ended(member->state)) {
      replace(slot, describe_loss(*member->pod));
    } else if (kube::was_taken_away(*member->pod)) {
      const auto left = std::chrono::ceil<seconds>(
          member->pod->meta.created + replacement_delay(slot.slot.incarnation) - seen_.now);
      if (left <= seconds::zero()) return replace(slot, describe_loss(*member->pod));
      if (!out_.look_again || left < *out_.look_again) out_.look_again = left;
    }
  }

  const AttemptPod* find_pod(const WantedSlot& slot) const {
    const auto at = pods_.find({slot.role, slot.slot});
    return at == pods_.end() ? nullptr : at->second;
  }

  // We deleted a pod whose placement now belongs to another slot, or whose slot has another one.
  bool has_its_place(const AttemptPod& member) const {
    const auto placement = round_.placements.find({to_string(member.role), slot_id(member.slot)});
    return placement != round_.placements.end() && placement->second->number == member.placement;
  }

  // Replaces all pods of a multi-GPU learner: the others cannot continue with a new peer.
  void replace(const WantedSlot& slot, std::string why) {
    raise(slot.replica.role, {slot.replica.slot.ordinal, slot.slot.incarnation + 1});
    out_.lost.push_back(std::move(why));
  }

  // A replica that lowered base replicas removed comes back as another pod if it had one, else as
  // itself: `kubectl scale` up and down while a job waits uses up no names. (A pod that is not seen
  // yet raises its slot when it is, or by then its placement differs from the next one's.)
  void lower_base_replicas() {
    const auto lower = [&](Role role, job::Slot slot) {
      if (!is_base_replica(role, slot.ordinal)) return;
      const auto& spec = role_spec(seen_.job.spec, role);
      if (spec && slot.ordinal < spec->replicas) return;
      raise(role, {slot.ordinal, slot.incarnation + 1});
    };
    for (const auto& member : attempt_.pods) lower(member.role, member.slot);
    for (const auto& ended_slot : seen_.job.status.ended) lower(ended_slot.role, ended_slot.slot);
    for (const auto& [role, slot] : created_slots(round_)) {
      if (const auto known = job::parse_role(role)) lower(*known, job_slot(slot));
    }
  }

  // Ordinals of requests are never used again.
  bool is_of_the_past(const std::pair<Role, int>& number) const {
    return number.second >= job::kFirstRequestedOrdinal && requested_.count(number) == 0;
  }

  const Round& round_;
  const Observed& seen_;
  const Attempt& attempt_;
  std::map<std::pair<Role, job::Slot>, const AttemptPod*> pods_;
  const std::set<std::string_view> vanished_;
  Incarnations incarnations_;
  std::set<std::pair<Role, int>> requested_;  // ordinals that some entry names
  Losses out_;
};

}  // namespace

std::vector<job::Status::Ended> ended_slots(const job::Status& status, const Attempt& attempt) {
  std::vector<job::Status::Ended> ended = status.ended;
  std::set<std::pair<Role, job::Slot>> known;
  for (const auto& ended_slot : ended) known.emplace(ended_slot.role, ended_slot.slot);
  for (const auto& member : attempt.pods) {
    if (!is_worker(member.role, member.slot) || !has_ended(member.state)) continue;
    if (kube::was_taken_away(*member.pod)) continue;
    if (!known.emplace(member.role, member.slot).second) continue;
    ended.push_back({member.role, member.slot, member.state == PodState::kSucceeded});
  }
  sort_by_slot(ended);
  return ended;
}

std::vector<job::Replica> exhausted_replicas(const job::Job& job) {
  std::vector<job::Replica> all = job::exhausted_replicas(job, Role::kCollector);
  const auto learners = job::exhausted_replicas(job, Role::kLearner);
  all.insert(all.end(), learners.begin(), learners.end());
  return all;
}

bool continue_exhausted(job::Job& job) {
  const auto exhausted = exhausted_replicas(job);
  job::Status& status = job.status;
  bool has_continued = false;
  for (const auto& replica : exhausted) {
    const bool is_collector = replica.role == Role::kCollector;
    int& next = is_collector ? status.next_continued_collector : status.next_continued_learner;
    // Earlier versions of nervex-server also used this range.
    next = std::max(
        {next, is_collector ? status.next_collector : status.next_learner,
         is_collector ? job.spec.requests.next_collector : job.spec.requests.next_learner});
    const int count = replica.entry != nullptr ? job::count_ordinals(*replica.entry) : 1;
    if (next + count - 1 > job::kMaxOrdinal) continue;
    constexpr int kPerOrdinal = job::kMaxIncarnation + 1;
    job::Slot first = replica.slot;
    first.incarnation -= first.incarnation % kPerOrdinal;
    status.continued.push_back({replica.role, first, next, count});
    next += count;
    has_continued = true;
  }
  return has_continued;
}

Losses replace_lost(const Round& round) { return LostPods(round).find(); }

Actions pass_by_taken_name(const job::Job& job, const std::string& name) {
  if (job.meta.deleting || is_final(job.status.phase)) return {};
  const WantedSlots slots(job, false);
  for (const auto& slot : slots.all()) {
    if (slot.role == Role::kCoordinator || job::pod_name(job, slot.role, slot.slot) != name)
      continue;
    job::Status status = job.status;
    const job::Slot next{slot.replica.slot.ordinal, slot.slot.incarnation + 1};
    std::erase_if(status.replaced, [&](const auto& entry) {
      return entry.role == slot.replica.role && entry.slot.ordinal == next.ordinal;
    });
    status.replaced.push_back({slot.replica.role, next});
    sort_by_slot(status.replaced);
    return {
        UpdateStatus{std::move(status)},
        warning_event(kFailedCreate, fmt::format("the name {} is taken by an object that does not "
                                                 "belong to this job: the pod gets another name",
                                                 name))};
  }
  return {};
}

Actions lost_events(const Losses& losses) {
  const auto& lost = losses.lost;
  if (lost.empty()) return {};
  const std::size_t more = lost.size() - 1;
  const std::string others =
      more == 0 ? "" : fmt::format(", and {} other{}", more, more == 1 ? "" : "s");
  return {warning_event(kPodsLost, fmt::format("{}{}: replaced", lost.front(), others))};
}

void report_replacement_limit(const Round& round, job::Status& status) {
  const auto exhausted = exhausted_replicas(round.job);
  if (exhausted.empty()) {
    if (!is_true(status, kReplacementLimitExceeded)) return;
    return set_condition(round.seen, status, kReplacementLimitExceeded, false, kContinued,
                         "no replica has reached its limit of replacements");
  }
  const job::Replica& first = exhausted.front();
  const std::string message = fmt::format(
      "{} {} was replaced {} times, and no name is left for its next pod until the next request to "
      "nervex-server for this job: find out why its pods are lost",
      to_string(first.role), first.slot.ordinal, first.slot.incarnation);
  set_condition(round.seen, status, kReplacementLimitExceeded, true, kReplacementLimitExceeded,
                message);
  set_condition(round.seen, status, kReady, false, kReplacementLimitExceeded, message);
}

}  // namespace nervex::controller
