#include "tests/planner/reservation/simulation/promises.h"

#include <algorithm>

#include "tests/planner/reservation/simulation/trace.h"

namespace nervex::testing {

using queue::PreemptionMode;
using queue::Queue;
using std::chrono::seconds;

namespace {

// From the end of what a head waits for until it starts: its victims are named, counted and marked,
// and their pods end.
constexpr seconds kReclaimTime{kTraceGrace + 30};
// The planner gives a reservation up after kLongestBroken (reserved_nodes.h), and a leader looks
// again after kLook.
constexpr seconds kLongestImpossible{60};
constexpr seconds kLook{62};
constexpr seconds kLongestOverdue{600};
// Until what is ending already has ended, at most.
constexpr seconds kEndingTime{360};
// Within so many cycles one leader lives long enough.
constexpr seconds kSoon{10};
// Until a gang that has waited long, or other nodes, were searched for.
constexpr seconds kSearchTime{180};

// While it preempts it has placements.
std::map<std::string, std::int64_t> list_wanted(const GangSeen& head) {
  std::map<std::string, std::int64_t> wanted;
  const int gpus = gpus_of(*head.group);
  if (head.is_preempting()) {
    for (const gang::Placement& one : head.gang->placements) wanted[one.node] += gpus;
    return wanted;
  }
  for (const auto& one : head.gang->reservation->nodes) wanted[one.node] += one.count * gpus;
  return wanted;
}

}  // namespace

std::string job_name(std::string_view pod_group) {
  return std::string(pod_group.substr(0, pod_group.find(kAgain)));
}

// ---- before the leader decides

void Promises::begin_cycle(SysTime now) {
  now_ = now;
  view_.set_now(now);
  use_before_ = view_.sum_committed();
  impossible_before_.clear();
  starting_.clear();
  // With its job; its victims run on.
  has_preemption_ended_ = std::any_of(preempting_.begin(), preempting_.end(),
                                      [&](const Key& key) { return !view_.find(key); });
  for (const auto& [key, known] : known_) {
    const auto head = view_.find(key);
    if (!head || view_.find_lacking(*head, known).empty()) continue;
    impossible_before_.insert(key);
    // Since the last cycle users and controllers have acted, and nothing has started. What preempts
    // there may have become later, or not preemptible.
    const auto lacking = view_.find_lacking(*head, known);
    const bool is_explained = known.impossible_since || head->is_preempting() ||
                              is_any_starting(lacking) || has_preemption_ended_ ||
                              node_changed_at_ + kLook >= now_;
    if (is_explained) continue;
    fail(head->name() + " has lost its nodes between cycles: " + view_.describe(*head, known));
  }
}

// ---- what is written

void Promises::judge(const gang::PodGroup& group, const gang::PodGroupStatus& after) {
  gang::PodGroup written = group;
  written.status = after;
  for (const gang::GangStatus& gang : written.status.gangs) {
    const gang::GangStatus* before = gang::find_gang(group.status, gang.name);
    const GangSeen seen{&written, &gang};
    const bool had_nodes = before != nullptr && GangSeen{&group, before}.has_nodes();
    const bool was_preempting = before != nullptr && gang::is_preempting(*before);
    // A plan may be dropped, and made elsewhere when it is the gang's turn.
    const bool is_moved = had_nodes && !before->committed && before->placements != gang.placements;
    if ((!had_nodes || is_moved) && seen.has_nodes()) {
      starting_.insert(seen.key());
      for (const gang::Placement& placement : gang.placements) {
        if (!view_.is_up(placement.node)) fail(seen.name() + " is planned on a node that is down");
      }
    }
    if (seen.is_preempting() && !was_preempting) judge_victims(seen);
    if (was_preempting && !seen.is_preempting()) {
      has_preemption_ended_ = true;  // its victims may run on
      ++happened[gang.planned ? "preemptor started" : "preemptor waits again"];
    }
    const bool is_marked = gang.reason == gang::kReasonPreempted &&
                           (before == nullptr || before->reason != gang::kReasonPreempted);
    if (is_marked) judge_mark(seen);
  }
}

void Promises::judge_victims(const GangSeen& head) {
  if (preempted_.count(job_name(head.group->meta.name)) > 0) {
    ++happened["preemption by a job that was preempted"];
  }
  for (const gang::Victim& victim : head.gang->victims) {
    ++happened[victim.is_for_reservation ? "gang reclaimed for a reservation"
               : victim.is_reclaimed     ? "gang reclaimed for a quota"
                                         : "gang preempted by priority"];
    victim.is_for_reservation ? judge_reclaim(head, victim) : judge_preemption(head, victim);
    const auto seen = view_.find({victim.pod_group_uid, victim.gang});
    if (seen) note_pair(head, *seen, victim.is_reclaimed);
  }
}

void Promises::judge_reclaim(const GangSeen& head, const gang::Victim& victim) {
  const auto seen = view_.find({victim.pod_group_uid, victim.gang});
  const auto known = known_.find(head.key());
  if (known == known_.end()) return fail(head.name() + " reclaims, and has reserved nothing");
  if (!seen || view_.is_reclaimable(head, known->second, *seen)) return;
  fail(head.name() + " reclaims " + seen->name() +
       ", which is not reclaimable: " + view_.describe(head, known->second));
}

void Promises::judge_preemption(const GangSeen& head, const gang::Victim& victim) {
  if (mode_ == PreemptionMode::kOff) fail(head.name() + " preempts, with the flag off");
  const auto seen = view_.find({victim.pod_group_uid, victim.gang});
  if (!seen) return;
  const bool is_own = seen->queue() == head.queue();
  if (victim.is_reclaimed == is_own) fail(head.name() + " takes a victim's queue for another");
  if (is_own && mode_ != PreemptionMode::kFull) {
    fail(head.name() + " preempts in its own queue, and the flag is reclaim");
  }
  const bool is_of_any =
      std::any_of(cluster_.queues.begin(), cluster_.queues.end(), [&](const queue::Queue& one) {
        return !is_own && one.name == head.queue() && one.reclaim == queue::Queue::Reclaim::kAny;
      });
  if (!is_of_any && seen->group->spec.priority >= head.group->spec.priority) {
    fail(head.name() + " preempts " + seen->name() + ", whose priority is not lower");
  }
  const gang::GangStatus* base = gang::find_gang(seen->group->status, gang::kBaseGang);
  for (const Queue& queue : cluster_.queues) {
    const bool is_young =
        queue.name == seen->queue() && base->started_at &&
        *base->started_at + seconds(queue.min_runtime_seconds) > now_ + 2 * clock_error_;
    if (is_young) fail(seen->name() + " is preempted before its time");
  }
}

void Promises::judge_mark(const GangSeen& victim) {
  ++happened["gang marked"];
  const auto& placements = victim.gang->placements;
  const std::int64_t start = placements.empty() ? 0 : placements[0].number;
  const bool is_first = ended_.emplace(victim.key(), start).second;
  if (!is_first) fail(victim.name() + " is ended twice");
  if (victim.gang->name == gang::kBaseGang) preempted_.insert(job_name(victim.group->meta.name));
  const auto& [uid, name] = victim.key();
  if (!cluster_.is_named(uid, name)) return fail(victim.name() + " is marked, and not named");
  if (!cluster_.is_counted(uid, name)) fail(victim.name() + " is marked, and not counted");
  for (const GangSeen& head : view_.list_gangs()) {
    for (const gang::Victim& one : head.gang->victims) {
      const bool is_it = one.pod_group_uid == uid && one.gang == name;
      if (is_it && one.is_for_reservation) judge_reclaim(head, one);
    }
  }
}

// A longer deadline makes a job reclaimable against the order of service, once. And what a queue
// borrows may be within its quota later, when other jobs of it have ended.
void Promises::note_pair(const GangSeen& head, const GangSeen& victim, bool is_for_quota) {
  const std::string a = job_name(head.group->meta.name);
  const std::string b = job_name(victim.group->meta.name);
  bool& is_quota_alone = pairs_.emplace(std::pair(a, b), true).first->second;
  is_quota_alone = is_quota_alone && is_for_quota;
  const auto other = pairs_.find({b, a});
  const bool is_any_raised = raised_.count(a) > 0 || raised_.count(b) > 0;
  if (other == pairs_.end() || is_any_raised || (is_quota_alone && other->second)) return;
  fail(a + " and " + b + " preempt each other in turn");
}

// ---- what is stored

void Promises::end_cycle(bool is_cut, bool is_leader_new) {
  std::vector<Key> over;
  for (auto& [key, known] : known_) {
    const auto head = view_.find(key);
    if (!head || head->gang->committed || head->gang->planned) {
      if (head) ++happened["start of a reserving gang"];
      over.push_back(key);
      continue;
    }
    const auto& reservation = head->gang->reservation;
    // It has begun no later than now, by the clock of each leader.
    const bool is_corrected = reservation && reservation->since < known.since && known.due &&
                              reservation->due == known.due;
    if (is_corrected) known.since = reservation->since;
    if (!reservation || reservation->since != known.since) {
      if (!is_cut) check_lapse(*head, known);
      over.push_back(key);
      continue;
    }
    check_nodes(*head, known, is_cut);
    check_bound(*head, known);
  }
  for (const Key& key : over) known_.erase(key);
  learn();
  if (!is_cut) check_overlap();
  check_head();
  check_queues(is_cut);
  preempting_.clear();
  for (const GangSeen& one : view_.list_gangs()) {
    if (one.is_preempting()) preempting_.insert(one.key());
  }
  was_cut_ = is_cut;
  for (auto& [key, known] : known_) {
    if (is_leader_new && known.impossible_since) known.impossible_since = now_;
  }
}

void Promises::learn() {
  for (const GangSeen& head : view_.list_gangs()) {
    if (!head.gang->reservation || head.gang->committed) continue;
    const gang::Reservation& reservation = *head.gang->reservation;
    const auto [at, is_new] = known_.try_emplace(head.key());
    Known& known = at->second;
    if (is_new) {
      known.since = reservation.since;
      known.due = reservation.due;
      ++happened[known.due ? "reservation" : "reservation without a bound"];
      if (head.gang->name != gang::kBaseGang) ++happened["reservation of a request"];
    }
    known.wanted = list_wanted(head);
    known.was_preempting = head.is_preempting();
    for (const auto& [node, wanted] : known.wanted) {
      for (const auto& [by, gpus] : view_.list_uses(node)) {
        // Its job may start later than planned; a request ends with a job that runs.
        const auto* base = gang::find_gang(by.group->status, gang::kBaseGang);
        if (base == nullptr || !base->committed) continue;
        known.counted_on.try_emplace(by.group->meta.uid, view_.latest_end(by));
      }
    }
    if (!is_new) continue;
    check_due(head, known);
    const auto lacking = view_.find_lacking(head, known);
    if (lacking.empty()) continue;
    known.impossible_since = known.last_impossible = now_;
    fail(head.name() + " cannot start on what it reserves: " + view_.describe(head, known));
  }
}

bool Promises::is_any_starting(const std::vector<std::string>& nodes) const {
  return std::any_of(nodes.begin(), nodes.end(), [&](const std::string& node) {
    const auto uses = view_.list_uses(node);
    return std::any_of(uses.begin(), uses.end(),
                       [](const auto& use) { return !use.by.gang->committed; });
  });
}

// It waits for nothing longer than what runs.
void Promises::check_due(const GangSeen& head, const Known& known) {
  if (!known.due) return;
  SysTime latest = known.since + kEndingTime;
  for (const GangSeen& other : view_.list_gangs()) {
    const auto end = view_.latest_end(other);
    if (other.gang->committed && end) latest = std::max(latest, *end);
  }
  if (*known.due > latest + 2 * clock_error_) fail(head.name() + " waits for more than what runs");
}

// What has become impossible in this cycle was taken by a gang that is served earlier.
void Promises::check_nodes(const GangSeen& head, Known& known, bool is_cut) {
  const auto lacking = view_.find_lacking(head, known);
  if (lacking.empty()) return known.impossible_since.reset();
  if (!known.impossible_since) known.impossible_since = now_;
  known.last_impossible = now_;
  check_plans(head, known, lacking, is_cut);
  bool is_any_taken = false;
  for (const std::string& node : lacking) {
    for (const auto& [by, gpus] : view_.list_uses(node)) {
      const bool is_taking = starting_.count(by.key()) > 0 && by.key() != head.key() &&
                             !view_.ends_for(head, known, by);
      if (!is_taking) continue;
      is_any_taken = true;
      if (is_cut || may_be_before(by, head)) continue;
      fail(by.name() + " takes nodes that are reserved for " + head.name() +
           ", which is served before it: " + view_.describe(head, known));
    }
  }
  if (is_any_taken) ++happened["reserved nodes taken by an earlier gang"];
  if (head.is_preempting()) return;
  const bool is_explained =
      is_any_taken || is_cut || has_preemption_ended_ || impossible_before_.count(head.key()) > 0;
  if (!is_explained) {
    fail(head.name() + " has lost its nodes in a cycle: " + view_.describe(head, known));
  }
  const auto longest = kLongestImpossible + kLook + 2 * clock_error_;
  if (*known.impossible_since + longest >= now_) return;
  fail(head.name() + " keeps nodes that it cannot use: " + view_.describe(head, known));
}

// In this cycle, in which its queue may have lost plans before it was the gang's turn, and got them
// again after it.
bool Promises::may_be_before(const GangSeen& one, const GangSeen& head) const {
  const bool counts = one.gang->committed || one.gang->planned;  // in the use of its queue
  QueueUse use = use_before_;
  std::int64_t& own = use[one.queue()];
  own = std::min(own, view_.sum_use(false)[one.queue()] - (counts ? view_.sum_gpus(one) : 0));
  return view_.may_be_before(one, head, use);
}

// A plan that has become too late for the reservation, or is not reclaimable any more, is dropped
// if it is served after the gang.
void Promises::check_plans(const GangSeen& head, const Known& known,
                           const std::vector<std::string>& lacking, bool is_cut) {
  const bool is_judged = !is_cut && clock_error_ == seconds(0) &&
                         impossible_before_.count(head.key()) > 0 && !head.is_preempting();
  if (!is_judged) return;
  for (const std::string& node : lacking) {
    for (const auto& [by, gpus] : view_.list_uses(node)) {
      const bool is_plan = by.gang->planned && !by.gang->committed && by.key() != head.key() &&
                           starting_.count(by.key()) == 0;
      if (!is_plan || view_.ends_for(head, known, by)) continue;
      if (may_be_before(by, head)) continue;
      fail(by.name() + " keeps its plan on nodes that are reserved for " + head.name() + ": " +
           view_.describe(head, known));
    }
  }
}

void Promises::check_bound(const GangSeen& head, const Known& known) {
  if (!known.due) return;
  SysTime bound = *known.due;
  if (known.last_impossible) bound = std::max(bound, *known.last_impossible + kLook);
  if (bound + kReclaimTime + 2 * clock_error_ >= now_) return;
  const bool is_rate_used_up =
      std::any_of(cluster_.queues.begin(), cluster_.queues.end(), [&](const Queue& queue) {
        return queue.name == head.queue() && queue.preemptions.size() >= queue::kMostPreemptions;
      });
  if (is_rate_used_up) return;
  fail(head.name() + " waits beyond its bound: " + view_.describe(head, known));
}

void Promises::check_lapse(const GangSeen& head, const Known& known) {
  if (!head.gang->reservation && !head.gang->reserve_after) {
    return fail(head.name() + " lost its reservation");
  }
  if (const char* reason = find_reason_to_lapse(head, known)) {
    ++happened[std::string("reservation lapsed: ") + reason];
    return;
  }
  const bool is_other = head.gang->reservation.has_value();
  fail(head.name() + (is_other ? " has another reservation" : " has lost its reservation") +
       " without a reason: " + view_.describe(head, known));
}

const char* Promises::find_reason_to_lapse(const GangSeen& head, const Known& known) const {
  if (!known.due) return "it had no bound";
  if (known.was_preempting) return "the gang preempted for it";
  const bool is_request = head.gang->name != gang::kBaseGang;
  const bool is_job_ending =
      is_request && (head.is_released() || cluster_.is_named(head.key().first, gang::kBaseGang));
  if (is_job_ending) return "its job ends";
  const SysTime latest = now_ + 2 * clock_error_ + seconds(1);
  if (known.impossible_since && *known.impossible_since + kLongestImpossible <= latest) {
    return "it was impossible";
  }
  if (*known.due + kLongestOverdue <= latest) return "it was overdue";
  int others = 0;
  for (const GangSeen& other : view_.list_gangs()) {
    if (other.key() == head.key()) continue;
    // One that was stored is over if its gang lost it in turn.
    const auto last = known_.find(other.key());
    if (!other.gang->reservation && last == known_.end()) continue;
    if (other.gang->reservation) ++others;
    const auto wanted = other.gang->reservation ? list_wanted(other) : last->second.wanted;
    const bool is_shared = std::any_of(wanted.begin(), wanted.end(), [&](const auto& one) {
      return known.wanted.count(one.first) > 0;
    });
    // The order of gangs that wait in different queues is not judged.
    const bool may_take = other.queue() != head.queue() || may_be_before(other, head);
    // It had been given up, and the leader ended before it wrote so.
    const bool was_given_up = was_cut_ && known.impossible_since.has_value();
    if (is_shared && (may_take || was_given_up)) {
      return "an earlier gang reserved its nodes";
    }
  }
  if (others >= options_.most) return "there were too many";
  return find_reason_of_queue(head);
}

namespace {

std::int64_t count_needed(const GangSeen& one) {
  const gang::Gang* spec = gang::find_gang(one.group->spec, one.gang->name);
  return static_cast<std::int64_t>(spec->members[0].slots.size()) * gpus_of(*one.group);
}

}  // namespace

const char* Promises::find_reason_of_queue(const GangSeen& head) const {
  for (const Queue& queue : cluster_.queues) {
    if (queue.name != head.queue()) continue;
    if (queue.stop != Queue::Stop::kNone) return "its queue was held";
    if (queue.limit.empty()) continue;
    const std::int64_t limit = *queue.limit[0].total;
    const std::int64_t use = view_.sum_use(true)[queue.name] + count_needed(head);
    if (use > limit) return "its queue was full";
    const auto gangs = view_.list_gangs();
    const bool is_kept = std::any_of(gangs.begin(), gangs.end(), [&](const GangSeen& other) {
      return other.queue() == queue.name && other.key() != head.key() && !other.has_nodes() &&
             may_be_before(other, head) && use + count_needed(other) > limit;
    });
    if (is_kept && head.gang->reason == "LimitKept") return "its queue's limit was kept";
  }
  return nullptr;
}

// One that preempts has its nodes.
void Promises::check_overlap() {
  std::map<std::string, std::string> owners;
  for (const GangSeen& head : view_.list_gangs()) {
    if (!head.gang->reservation || head.is_preempting()) continue;
    std::set<std::string> nodes;
    for (const auto& one : head.gang->reservation->nodes) nodes.insert(one.node);
    for (const std::string& node : nodes) {
      const auto [at, is_first] = owners.emplace(node, head.name());
      if (!is_first) fail(head.name() + " and " + at->second + " have reserved " + node);
    }
  }
}

// Without queues: the first in the order of service has a reservation soon, or had one just now.
void Promises::check_head() {
  if (!cluster_.queues.empty()) return;
  std::optional<GangSeen> head;
  for (const GangSeen& one : view_.list_gangs()) {
    if (!one.has_nodes() && (!head || one.rank() < head->rank())) head = one;
  }
  // A request of a job that ends gets nothing.
  if (!head || head->gang->name != gang::kBaseGang) return;
  if (head->group->meta.uid != head_) {
    head_ = head->group->meta.uid;
    head_since_ = now_;
  }
  const SysTime waits_since =
      std::max(head->group->meta.created, head->group->spec.queued_since) + options_.after;
  // What has a plan has not started, so nobody knows when it ends.
  for (const GangSeen& one : view_.list_gangs()) {
    if (one.gang->planned && !one.gang->committed) planned_at_ = now_;
  }
  const SysTime since = std::max({head_since_, waits_since, node_changed_at_, planned_at_});
  const bool is_due = since + kSearchTime + 2 * clock_error_ < now_;
  if (is_due && !head->gang->reservation && !head->gang->reserve_after) {
    fail(head->name() + " has no reservation");
  }
}

void Promises::check_queues(bool is_cut) {
  // A plan that has given way to another one is still stored, if the leader has ended meanwhile.
  QueueUse use = is_cut ? view_.sum_committed() : view_.sum_use(false);
  for (const Queue& queue : cluster_.queues) {
    if (!queue.limit.empty() && use[queue.name] > *queue.limit[0].total) {
      fail("queue " + queue.name + " is above its limit");
    }
    if (queue.stop == Queue::Stop::kNone) {
      held_since_.erase(queue.name);
      continue;
    }
    const SysTime since = held_since_.emplace(queue.name, now_).first->second;
    for (const GangSeen& one : view_.list_gangs()) {
      if (one.queue() != queue.name) continue;
      if (starting_.count(one.key()) > 0) fail(one.name() + " starts in a queue that is held");
      const bool is_kept = one.gang->reservation && !one.is_preempting();
      if (is_kept && since + kSoon < now_) {
        fail(one.name() + " keeps nodes, and its queue is held");
      }
    }
  }
}

}  // namespace nervex::testing
