#include "extender/act/planner.h"

#include <fmt/format.h>

#include <algorithm>
#include <exception>
#include <memory>
#include <set>

#include "base/backoff.h"
#include "base/log.h"
#include "base/text.h"
#include "extender/act/parallelize.h"
#include "extender/observe/live_objects.h"
#include "planner/bind/commit.h"
#include "planner/gang/direct_placement.h"
#include "planner/recovery/old_definition.h"

namespace nervex::extender {
namespace {

using std::chrono::milliseconds;

// The queue's keys: all wake-ups fold into one of the two.
const std::string kCycle = "cycle";
const std::string kCapacity = "capacity";
constexpr milliseconds kCoalesce{20};
constexpr milliseconds kCommitTime{1'000};
// kube-apiserver's default time limit of a request (--request-timeout).
constexpr milliseconds kLongestRequest{60'000};
constexpr milliseconds kFirstRetry{100};
constexpr milliseconds kLongestRetry{30'000};
// A rejected status may have several hundred kB: retry rarely.
constexpr milliseconds kRejectedRetry{300'000};
constexpr std::size_t kMaxMessage = 512;
// In one job that ends for another one: the planner waits for these writes.
constexpr std::size_t kMostMarkedPods = 200;

milliseconds retry_after(int failures) {
  return backoff_delay(kFirstRetry, failures, kLongestRetry);
}

// It is checked against committed capacity at the write: other writers may win every time.
bool takes_committed(const gang::PodGroup& base, const gang::PodGroupStatus& status) {
  return !planner::added_placements(base.status, status).empty() ||
         std::any_of(status.gangs.begin(), status.gangs.end(), [&](const auto& gang) {
           return planner::is_committed_directly(base.status, gang);
         });
}

bool has_planned_base(const gang::PodGroup& group) {
  const gang::GangStatus* base = gang::find_gang(group.status, gang::kBaseGang);
  return base != nullptr && base->planned;
}

// Later plans follow a loss, not a wait.
bool is_first_plan(const gang::PodGroup& before, const gang::PodGroup& stored) {
  if (!has_planned_base(stored)) return false;
  const gang::GangStatus* base = gang::find_gang(before.status, gang::kBaseGang);
  return before.status.next_placement == 1 || (base != nullptr && gang::is_preempting(*base));
}

bool has_reservation(const gang::PodGroupStatus& status) {
  return std::any_of(status.gangs.begin(), status.gangs.end(),
                     [](const gang::GangStatus& gang) { return gang.reservation.has_value(); });
}

// A gang of it begins to preempt.
bool names_victims(const gang::PodGroupStatus& before, const gang::PodGroupStatus& decided) {
  return std::any_of(decided.gangs.begin(), decided.gangs.end(), [&](const auto& gang) {
    const gang::GangStatus* known = gang::find_gang(before, gang.name);
    return gang::is_preempting(gang) && (known == nullptr || !gang::is_preempting(*known));
  });
}

void log_decision(const gang::PodGroup& base, const gang::PodGroup& stored) {
  for (const gang::GangStatus& gang : stored.status.gangs) {
    const gang::GangStatus* before = gang::find_gang(base.status, gang.name);
    if (planner::is_committed_directly(base.status, gang)) {
      log_info("gang committed with its plan",
               {{"podgroup", stored.meta.key()}, {"gang", gang.name}});
    }
    if (before != nullptr && before->message == gang.message &&
        before->placements == gang.placements) {
      continue;
    }
    const char* what = gang::is_preempting(gang) ? "gang preempts"
                       : gang.planned            ? "gang planned"
                                                 : "gang unschedulable";
    log_info(what,
             {{"podgroup", stored.meta.key()}, {"gang", gang.name}, {"message", gang.message}});
  }
}

}  // namespace

void Planner::wake() { queue_.add_after(kCycle, kCoalesce); }

void Planner::wake_for_capacity() {
  if (does_anything_wait_.load()) queue_.add_after(kCapacity, kCoalesce);
}

void Planner::run(const std::stop_token& stop) {
  const std::stop_callback shut_down(stop, [this] { queue_.shut_down(); });
  wake();
  while (const auto key = queue_.next()) {
    try {
      const MonoTime began = clock_.mono();
      bool is_cycle = true;
      if (*key == kCapacity) {
        is_cycle = schedule_at_capacity();
      } else {
        schedule_once();
      }
      if (is_cycle) observe_({clock_.mono() - began, deciding_});
      if (is_cycle) queue_.forget(kCycle);
    } catch (const std::exception& error) {  // a bug: log it and retry all of it
      log_error("planning failed", {{"error", error.what()}});
      queue_.add_failed(kCycle);
    }
    queue_.done(*key);
  }
}

void Planner::schedule_once() {
  if (const auto again = first_step_()) queue_.add_after(kCycle, *again);
  repeat_unconfirmed();
  resolve_commits();
  resolve_binds();
  expire_plans();
  const MonoTime began = clock_.mono();
  std::vector<planner::NodeChange> changes;
  const planner::CycleOptions options = find_options();
  const planner::Snapshot snapshot = cache_.snapshot(changes, choose_running(options));
  note_changes(changes);
  forget_deleted();
  forget_old_rejections();
  planner::CycleResult result = run_cycle(snapshot, std::move(state_), clock_.now(), options);
  deciding_ = clock_.mono() - began;
  gangs_planned_ += result.planned;
  state_ = std::move(result.state);
  has_gained_ = false;
  log_neglected(std::move(result.neglected));
  const bool is_any_written = !result.writes.empty();
  write(std::move(result.writes));
  if (is_any_written) watch_uncommitted();
  if (const auto again = foreign_.write(snapshot.foreign, result.foreign, state_.foreign)) {
    queue_.add_after(kCycle, *again);
  }
  if (!queues_.write(result.queues)) {
    state_.queues_reported.reset();
    queue_.add_after(kCycle, kRejectedRetry / 10);
  }
  if (result.look_again) queue_.add_after(kCycle, *result.look_again);
  look_at_changes_since();
}

// No new reservations while an API server does not store them. Those that others have stored are
// kept.
planner::CycleOptions Planner::find_options() {
  const MonoTime now = clock_.mono();
  if (!reserve_again_ || *reserve_again_ <= now) return options_;
  queue_.add_after(kCycle, std::chrono::ceil<milliseconds>(*reserve_again_ - now));
  planner::CycleOptions options = options_;
  options.reservation.may_begin = false;
  return options;
}

void Planner::log_neglected(std::set<std::string> neglected) {
  for (const std::string& key : neglected) {
    if (neglected_.count(key) > 0) continue;
    log_warn("preempted gang not requeued",
             {{"podgroup", key},
              {"error",
               "its pods run on: nervex-controller (deployment nervex-operator) is away, or cannot "
               "requeue its job; if there is another such job, nothing is preempted"}});
  }
  neglected_ = std::move(neglected);
}

void Planner::look_at_changes_since() {
  // From now on changes wake the planner.
  does_anything_wait_ = state_.waits_otherwise || !state_.waiting.empty();
  bool has_gained = false;
  if (state_.waiting.has_new_shapes()) {
    std::vector<placement::NodeView> spare;
    has_gained = note_changes(cache_.take_changes(spare));
    state_.waiting.sum_up(spare);
  } else {
    has_gained = note_changes(cache_.take_changes());
  }
  // Includes gains since the snapshot that came up while plans were marked: if nothing waited then,
  // they did not wake the planner.
  if (has_gained || has_gained_) wake_for_capacity();
  look_when_old();
}

void Planner::look_when_old() {
  const auto refresh = state_.waiting.first_refresh();
  if (!refresh) return;
  const auto left = std::max(*refresh - clock_.now(), milliseconds(1));
  queue_.add_after(kCapacity, std::chrono::ceil<milliseconds>(left));
}

bool Planner::schedule_at_capacity() {
  note_changes(cache_.take_changes());
  const auto refresh = state_.waiting.first_refresh();
  const bool is_old = refresh && *refresh <= clock_.now();
  if (is_old || state_.waiting.any_may_fit() || (state_.waits_otherwise && has_gained_)) {
    schedule_once();
    return true;
  }
  look_when_old();
  return false;
}

bool Planner::note_changes(const std::vector<planner::NodeChange>& changes) {
  state_.waiting.note(changes);
  const bool has_gained = std::any_of(changes.begin(), changes.end(), [](const auto& change) {
    return change.is_gain() || change.has_other_count();
  });
  has_gained_ = has_gained_ || has_gained;
  return has_gained;
}

void Planner::expire_plans() {
  planner::ExpiredPlans result = planner::expire_plans(cache_.uncommitted_plans(), plan_ages_,
                                                       clock_.mono(), clock_.now(), plan_expiry_);
  plan_ages_ = std::move(result.ages);
  std::vector<planner::StatusWrite> writes;
  for (const auto& [group, status] : result.writes) {
    if (!must_wait(group->meta.uid)) writes.push_back({group, status});
  }
  write(std::move(writes));
  if (result.look_again) queue_.add_after(kCycle, *result.look_again);
}

// Nothing else may wake us when the plans that were just written have not started in time.
void Planner::watch_uncommitted() {
  planner::ExpiredPlans result = planner::expire_plans(cache_.uncommitted_plans(), plan_ages_,
                                                       clock_.mono(), clock_.now(), plan_expiry_);
  plan_ages_ = std::move(result.ages);
  if (result.look_again) queue_.add_after(kCycle, *result.look_again);
}

void Planner::forget_deleted() {
  const auto is_deleted = [this](const auto& entry) { return !cache_.has_group(entry.first); };
  std::erase_if(retries_, is_deleted);
  std::erase_if(state_.rejections, is_deleted);
}

void Planner::forget_old_rejections() {
  const MonoTime now = clock_.mono();
  std::erase_if(state_.rejections, [now](const auto& entry) { return entry.second.due <= now; });
  for (const auto& [uid, rejection] : state_.rejections) {
    queue_.add_after(kCycle, std::chrono::ceil<milliseconds>(rejection.due - now));
  }
}

void Planner::repeat_unconfirmed() {
  for (const gang::PodGroupPtr& attempted : cache_.unconfirmed()) {
    if (must_wait(attempted->meta.uid)) continue;
    after_write(*attempted, write_status(api_, *attempted, attempted->status));
  }
}

void Planner::resolve_commits() {
  const PlannerCache::OpenCommits open = cache_.open_commits();
  // If it ends unconfirmed, a watch event may never come.
  if (open.is_any_running) queue_.add_after(kCycle, kCommitTime);
  for (const PlannerCache::UnconfirmedCommit& commit : open.unconfirmed) {
    const std::string& uid = commit.group->meta.uid;
    if (must_wait(uid)) continue;
    const auto live = read_pod_group(api_, *commit.group);
    if (live) {
      cache_.fold(*live);
      cache_.resolve_commit(commit);
    } else if (live.error().code != Code::kNotFound) {  // the watch reports a deletion
      back_off(uid);
    }
  }
}

void Planner::resolve_binds() {
  for (const PlannerCache::UnconfirmedBind& bind : cache_.unconfirmed_binds()) {
    const auto left = bind.since + kLongestRequest - clock_.mono();
    if (left > left.zero()) {
      queue_.add_after(kCycle, std::chrono::ceil<milliseconds>(left));
      continue;
    }
    const auto live = read_pod(api_, bind.ns, bind.pod, bind.uid);
    if (live ? live->node.empty() : live.error().code == Code::kNotFound) {
      cache_.resolve_bind(bind);
    } else if (!live) {
      queue_.add_after(kCycle, kCommitTime);
    }  // else the watch reports it
  }
}

void Planner::write(std::vector<planner::StatusWrite> writes) {
  std::erase_if(writes, [this](const planner::StatusWrite& decided) {
    const bool waits = must_wait(decided.group->meta.uid);
    if (waits) not_stored(decided.group->meta.uid);
    return waits;
  });
  if (writes.empty()) return;
  std::vector<gang::PodGroupPtr> attempted;
  for (const auto& [group, status] : writes) {
    gang::PodGroup one = *group;
    one.status = status;
    attempted.push_back(std::make_shared<const gang::PodGroup>(std::move(one)));
  }
  std::vector<planner::NodeChange> changes;
  const std::vector<bool> are_marked = cache_.mark_unconfirmed(attempted, changes);
  note_changes(changes);
  std::vector<Result<gang::PodGroup>> written(writes.size(), Error{Code::kTransient, "not sent"});
  parallelize(parallelism_, writes.size(), [&](std::size_t i) {
    if (are_marked[i]) written[i] = write_status(api_, *writes[i].group, writes[i].status);
  });
  for (std::size_t i = 0; i < writes.size(); ++i) {
    const gang::PodGroup& base = *writes[i].group;
    if (are_marked[i]) {
      after_first_write(writes[i], written[i]);
    } else {  // a slot that was to move got bound, or others were faster: decide again
      not_stored(base.meta.uid);
      takes_committed(base, writes[i].status) ? back_off(base.meta.uid) : wake();
    }
  }
}

void Planner::after_first_write(const planner::StatusWrite& decided,
                                const Result<gang::PodGroup>& written) {
  const gang::PodGroup& base = *decided.group;
  if (written) {
    pause_if_not_stored(decided, *written);
    log_decision(base, *written);
    if (is_first_plan(base, *written)) observe_start_(*written);
    for (const gang::GangStatus& gang : written->status.gangs) {
      const gang::GangStatus* before = gang::find_gang(base.status, gang.name);
      const bool was_preempting = before != nullptr && gang::is_preempting(*before);
      if (gang::is_preempting(gang) && !was_preempting) observe_preemption_(written->status, gang);
      const bool is_news = before == nullptr || before->reason != gang.reason;
      if (gang.reason == gang::kReasonPreempted && is_news) mark_pods(*written, gang);
    }
  }
  if (!written && written.error().code == Code::kInvalid) {
    // This was the first try, so it is not stored: its capacity is free at once.
    cache_.resolve(base.meta.uid);
    not_stored(base.meta.uid);
    return names_victims(base.status, decided.status)
               ? pause_preemption(base, decided.status, written.error())
               : note_rejection(base, written.error());
  }
  after_write(base, written);
}

// Nodes would be kept for the gang, and nothing would say for how long.
void Planner::pause_if_not_stored(const planner::StatusWrite& decided,
                                  const gang::PodGroup& stored) {
  const auto log_lost = [&](std::string_view message) {
    log_error(message, {{"podgroup", stored.meta.key()},
                        {"error", planner::describe_old_definition(planner::kPodGroupDefinition)}});
  };
  const bool has_lost_them = planner::has_lost_victims(decided.status, stored.status);
  if (has_lost_them) {
    log_lost("preemption pauses: the API server does not store victims");
    state_.preemption.next_search = clock_.now() + kRejectedRetry;
    reserve_again_ = clock_.mono() + kRejectedRetry;
    wake();  // the nodes that were kept
  }
  if (planner::has_lost_reservation(decided.status, stored.status)) {
    if (!reserve_again_) {
      log_lost("no more nodes are reserved: the API server does not store reservations");
    }
    reserve_again_ = clock_.mono() + kRejectedRetry;
    wake();
  } else if (has_reservation(stored.status) && !has_lost_them) {
    reserve_again_.reset();
  }
}

// As kube-scheduler marks pods that it preempts. They end all the same, so a failed write is not
// repeated.
void Planner::mark_pods(const gang::PodGroup& group, const gang::GangStatus& gang) {
  std::vector<kube::PodKey> pods = cache_.live_pods(group, gang);
  pods.resize(std::min(pods.size(), kMostMarkedPods));
  parallelize(parallelism_, pods.size(), [&](std::size_t i) {
    const auto set = kube::set_pod_condition(api_, pods[i],
                                             {{"type", "DisruptionTarget"},
                                              {"status", "True"},
                                              {"reason", "PreemptionByScheduler"},
                                              {"message", gang.message},
                                              {"lastTransitionTime", to_rfc3339(clock_.now())}});
    if (!set) log_warn("pod not marked", {{"pod", pods[i].name}, {"error", set.error().message}});
  });
}

// The gang waits as before, and may start without victims.
void Planner::pause_preemption(const gang::PodGroup& base, const gang::PodGroupStatus& decided,
                               const Error& error) {
  log_error("podgroup status with victims rejected",
            {{"podgroup", base.meta.key()}, {"error", error.message}});
  for (const gang::GangStatus& gang : decided.gangs) {
    if (!gang::is_preempting(gang)) continue;
    const planner::GangKey key(base.meta.uid, gang.name);
    state_.preemption.searches[key] = state_.reservation.reclaims[key] = {
        clock_.now() + kRejectedRetry, gang::PreemptionOutcome::kSearchGaveUp};
  }
  wake();
}

// Asks for less with each rejection until something is stored: what does not fit beside the rest is
// left out, and the status says so. The next cycle gives the capacity to gangs behind it.
void Planner::note_rejection(const gang::PodGroup& base, const Error& error) {
  using Extent = planner::Rejection::Extent;
  const auto before = state_.rejections.find(base.meta.uid);
  Extent extent = Extent::kNewGangs;
  if (before != state_.rejections.end() && before->second.generation == base.meta.generation) {
    extent =
        before->second.extent == Extent::kNewGangs ? Extent::kNewPlacements : Extent::kAnyStatus;
  }
  log_error("podgroup status rejected", {{"podgroup", base.meta.key()}, {"error", error.message}});
  state_.rejections[base.meta.uid] = {extent, base.meta.generation,
                                      cut_text(error.message, kMaxMessage),
                                      clock_.mono() + kRejectedRetry};
  wake();
}

void Planner::after_write(const gang::PodGroup& base, const Result<gang::PodGroup>& written) {
  const std::string& uid = base.meta.uid;
  if (written) {
    retries_.erase(uid);
    cache_.fold(*written);
    cache_.resolve(uid);
    return;
  }
  const Error& error = written.error();
  not_stored(uid);
  if (error.code == Code::kTransient) {  // unconfirmed until it is written again or read
    log_warn("podgroup status write unconfirmed",
             {{"podgroup", base.meta.key()}, {"error", error.message}});
    return back_off(uid);
  }
  // This write was rejected and is not stored. An earlier one may be: only a read can show it.
  const auto live = read_pod_group(api_, base);
  const bool is_deleted = !live && live.error().code == Code::kNotFound;
  if (live) cache_.fold(*live);
  if (live || is_deleted) cache_.resolve(uid);
  if (is_deleted) {  // the watch reports it, too
    retries_.erase(uid);
  } else if (live && error.code == Code::kInvalid) {
    note_rejection(base, error);
  } else if (live && error.code == Code::kConflict) {
    wake();
  } else {
    log_error("podgroup status not written",
              {{"podgroup", base.meta.key()}, {"error", error.message}});
    back_off(uid);
  }
}

bool Planner::must_wait(const std::string& uid) {
  const auto retry = retries_.find(uid);
  if (retry == retries_.end()) return false;
  const auto left = retry->second.due - clock_.mono();
  if (left <= left.zero()) return false;
  queue_.add_after(kCycle, std::chrono::ceil<milliseconds>(left));
  return true;
}

void Planner::back_off(const std::string& uid) {
  Retry& retry = retries_[uid];
  const milliseconds delay = retry_after(retry.failures++);
  retry.due = clock_.mono() + delay;
  queue_.add_after(kCycle, delay);
}

void Planner::not_stored(const std::string& uid) {
  state_.waiting.gain_all();  // they were refused beside a plan that is not stored
  std::erase_if(state_.reports, [&](const auto& entry) { return entry.first.first == uid; });
  // Kubelets' rejections must be written again.
  std::erase_if(state_.healing.rejections,
                [&](const auto& entry) { return std::get<0>(entry.first) == uid; });
}

}  // namespace nervex::extender
