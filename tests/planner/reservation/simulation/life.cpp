#include "tests/planner/reservation/simulation/life.h"

#include <algorithm>

namespace nervex::testing {

using std::chrono::seconds;

namespace {

const SysTime kStart{seconds(1'000'000)};
constexpr seconds kLongestTrace{400'000};
constexpr seconds kGrace{kTraceGrace};
constexpr unsigned kLongestTimeOut = 5;  // seconds until it is known that a write was stored
// Clocks of leaders are so far off at most.
constexpr seconds kClockError{15};

queue::ReservationOptions options_of(Scheduler scheduler) {
  queue::ReservationOptions options;
  if (scheduler == Scheduler::kReserving) options.after = seconds(300);
  return options;
}

bool runs(const gang::PodGroup& group) {
  return !group.status.gangs.empty() && group.status.gangs[0].committed;
}

}  // namespace

ReservationLife::ReservationLife(unsigned seed, const Habits& habits, Scheduler scheduler,
                                 ReservationFault fault)
    : rng_(seed + 1'000'000),
      habits_(habits),
      scheduler_(scheduler),
      fault_(fault),
      jobs_(make_trace(seed, habits)),
      promises_(cluster_, habits.mode, options_of(scheduler),
                habits.clocks_differ ? kClockError : seconds(0)),
      now_(kStart) {
  leaders_.mode =
      is(ReservationFault::kPreemptsInQueue) ? queue::PreemptionMode::kFull : habits.mode;
  leaders_.reservation = options_of(scheduler);
  for (int n = 0; n < kTraceNodes; ++n) {
    all_nodes_.push_back(view(a_node("n" + std::to_string(n), kTraceGpus)));
  }
  cluster_.nodes = all_nodes_;
  if (habits.have_queues) cluster_.queues = make_trace_queues();
  first_queues_ = cluster_.queues;
  cluster_.set_tree();
  next_outage_ = in(300, 3'000);
  next_hold_ = in(300, 6'000);
  choose_clock();
}

void ReservationLife::run() {
  const SysTime limit = kStart + kLongestTrace;
  const auto is_over = [&] { return next_job_ == jobs_.size() && cluster_.groups.empty(); };
  while (now_ < limit && broken().empty() && !is_over()) {
    submit();
    change_jobs();
    hold_queues();
    fail_nodes();
    end_jobs();
    control();
    const bool is_judged = scheduler_ == Scheduler::kReserving;
    if (is_judged) promises_.begin_cycle(now_);
    const bool is_any_written = run_leader();
    start_jobs();
    if (is_judged) promises_.end_cycle(leaders_.is_cut, is_leader_new_);
    step(is_any_written);
  }
  if (broken().empty() && !is_over()) {
    promises_.fail(cluster_.groups[0].meta.name + " never starts or ends");
  }
}

double ReservationLife::utilization() const {
  const double window = static_cast<double>(jobs_.back().arrives);
  return used_ / (window * kTraceNodes * kTraceGpus);
}

const TraceJob& ReservationLife::job_of(const gang::PodGroup& group) const {
  const std::string name = job_name(group.meta.name);
  return *std::find_if(jobs_.begin(), jobs_.end(),
                       [&](const TraceJob& one) { return one.name == name; });
}

// ---- users, administrators, nodes, the controller, kube-scheduler

void ReservationLife::submit() {
  for (; next_job_ < jobs_.size(); ++next_job_) {
    const TraceJob& job = jobs_[next_job_];
    const SysTime at = kStart + seconds(job.arrives);
    if (at > now_) return;
    gang::PodGroup group =
        a_group(job.name, {a_set("learner", job.pods, ask(job.gpus, 0))}, 0, job.priority);
    group.spec.queued_since = group.meta.created = at;
    group.spec.queue = job.queue;
    group.spec.preemptible = job.is_preemptible;
    group.spec.grace_seconds = kTraceGrace;
    if (job.deadline) group.spec.active_deadline_seconds = *job.deadline;
    group.spec.direct_placement = !job.binds_after;
    cluster_.groups.push_back(std::move(group));
  }
}

void ReservationLife::change_jobs() {
  for (gang::PodGroup& group : cluster_.groups) {
    const auto running = running_.find(group.meta.uid);
    if (running != running_.end()) change_running(group, running->second);
    // `false` counts from the next start: the controller keeps it back until then.
    const TraceJob& job = job_of(group);
    const bool may_drop = running == running_.end() || is(ReservationFault::kForgetsPreemptible);
    const bool is_due = job.is_preemptible && job.changes_preemptible_after &&
                        kStart + seconds(job.arrives + *job.changes_preemptible_after) <= now_;
    if (!may_drop || !is_due || !changed_.emplace(job.name, 'p').second) continue;
    group.spec.preemptible = false;
    ++group.meta.generation;
    note("not preemptible any more");
  }
}

void ReservationLife::change_running(gang::PodGroup& group, Running& running) {
  const TraceJob& job = *running.job;
  const auto is_due = [&](const std::optional<int>& after, char what) {
    return after && running.start + seconds(*after) <= now_ &&
           changed_.emplace(job.name, what).second;
  };
  if (is_due(job.raises_after, 'd')) {
    group.spec.active_deadline_seconds = 20'000;
    ++group.meta.generation;
    running.end = now_ + seconds(10'000);
    promises_.note_raise(job.name);
    note("deadline raised");
  }
  if (is_due(job.grows_after, 'g') && !gang::is_released(group.status.gangs[0])) {
    Member request = in_request(a_set("collector", 1, ask(job.gpus, 0)), 1);
    request.gang.queued_since = now_;
    add_member(group, std::move(request));
    ++group.meta.generation;
    note("request added");
  }
  if (!job.is_preemptible && is_due(job.changes_preemptible_after, 'p')) {
    group.spec.preemptible = true;
    ++group.meta.generation;
    note("preemptible from now on");
  }
}

// One at a time, for a while.
void ReservationLife::hold_queues() {
  if (!habits_.have_queues) return;
  for (queue::Queue& queue : cluster_.queues) {
    if (queue.stop == queue::Queue::Stop::kNone || now_ < held_until_) continue;
    queue.stop = queue::Queue::Stop::kNone;
    cluster_.set_tree();
    next_hold_ = in(600, 6'000);
  }
  if (now_ < next_hold_ || now_ < held_until_) return;
  cluster_.queues[below(rng_, 3)].stop = queue::Queue::Stop::kHold;
  cluster_.set_tree();
  held_until_ = in(60, 900);
  note("queue held");
}

// One at a time: it is cordoned, or lost with its pods.
void ReservationLife::fail_nodes() {
  if (!habits_.nodes_fail) return;
  if (!down_.empty() && outage_until_ <= now_) {
    cluster_.nodes = all_nodes_;
    down_.clear();
    next_outage_ = in(300, 3'000);
    promises_.note_node_change(now_);
  }
  if (!down_.empty() || now_ < next_outage_) return;
  const std::size_t n = below(rng_, kTraceNodes);
  down_ = all_nodes_[n].node->name;
  outage_until_ = in(30, 600);
  promises_.note_node_change(now_);
  if (is_one_in(2)) {
    cluster_.nodes[n] = view(cordoned(a_node(down_, kTraceGpus)));
    return note("node cordoned");
  }
  cluster_.nodes.erase(cluster_.nodes.begin() + static_cast<std::ptrdiff_t>(n));
  lose_pods(down_);
  note("node lost");
}

void ReservationLife::lose_pods(const std::string& node) {
  for (gang::PodGroup& group : cluster_.groups) {
    const auto& gangs = group.status.gangs;
    const bool is_there = std::any_of(gangs.begin(), gangs.end(), [&](const auto& gang) {
      return gang.committed && std::any_of(gang.placements.begin(), gang.placements.end(),
                                           [&](const auto& one) { return one.node == node; });
    });
    if (!is_there) continue;
    requeue(group);
    note("job requeued after the loss of a node");
  }
  std::erase_if(cluster_.terminating, [&](const auto& pod) { return pod->node.str() == node; });
}

void ReservationLife::end_jobs() {
  std::erase_if(cluster_.terminating,
                [&](const auto& pod) { return ends_.at(pod->meta.uid) <= now_; });
  std::vector<std::string> ended;
  for (const auto& [uid, one] : running_) {
    if (one.end <= now_) ended.push_back(uid);
  }
  for (const std::string& uid : ended) {
    note_use(running_.at(uid), now_);
    running_.erase(uid);
    std::erase_if(cluster_.groups, [&](const auto& group) { return group.meta.uid == uid; });
  }
}

void ReservationLife::note_use(const Running& one, SysTime until) {
  const SysTime last = kStart + seconds(jobs_.back().arrives);
  const auto time = std::chrono::duration<double>(std::min(until, last) - one.start).count();
  if (time > 0) used_ += time * one.job->pods * one.job->gpus;
}

// Preempted gangs are requeued; their pods take a while.
void ReservationLife::control() {
  for (gang::PodGroup& group : cluster_.groups) {
    for (std::size_t i = 0; i < group.status.gangs.size(); ++i) {
      const bool is_preempted = group.status.gangs[i].reason == gang::kReasonPreempted &&
                                group.status.observed_generation == group.meta.generation;
      if (!is_preempted || is_one_in(3)) continue;
      if (i == 0) {
        requeue(group);
        note("job requeued");
        break;
      }
      cluster_.requeue_request(group, i, now_ + kGrace);
      note("request requeued");
    }
  }
  note_terminating();
}

void ReservationLife::requeue(gang::PodGroup& group) {
  running_.erase(group.meta.uid);
  cluster_.requeue(group, now_ + kGrace);
  group.meta.created = now_;
  note_terminating();
}

void ReservationLife::note_terminating() {
  for (const auto& pod : cluster_.terminating) {
    if (ends_.count(pod->meta.uid) == 0) ends_.emplace(pod->meta.uid, in(0, kTraceGrace));
  }
}

// kube-scheduler binds requests, and base gangs that are not placed directly.
void ReservationLife::start_jobs() {
  for (gang::PodGroup& group : cluster_.groups) {
    const TraceJob& job = job_of(group);
    for (gang::GangStatus& gang : group.status.gangs) {
      const bool is_base = gang.name == gang::kBaseGang;
      const seconds pause(is_base ? job.binds_after.value_or(0) : 0);
      const bool is_due = gang.planned && !gang.committed && gang.since + pause <= now_;
      if (is_due && cluster_.try_bind(gang, group, now_)) {
        note(is_base ? "job bound" : "request bound");
      }
    }
    if (!runs(group) || running_.count(group.meta.uid) > 0) continue;
    const int runs_for = job.runs + static_cast<int>(below(rng_, kTraceGrace));
    running_[group.meta.uid] = {&job, now_, now_ + seconds(runs_for)};
    note("job started");
    longest_wait =
        std::max(longest_wait, std::chrono::duration<double>(now_ - group.meta.created).count());
  }
  for (const placement::NodeView& node : cluster_.free_nodes()) {
    if (node.free.get(kGpu) < 0) promises_.fail(node.node->name + " is over its capacity");
  }
}

// ---- the leader

// What the leader sees.
StoredCluster ReservationLife::distort() const {
  StoredCluster seen = cluster_;
  if (scheduler_ == Scheduler::kBlocking) {
    const gang::PodGroup* head = nullptr;
    for (const gang::PodGroup& group : cluster_.groups) {
      const bool is_before = head == nullptr || queue::rank(group) < queue::rank(*head);
      if (!runs(group) && is_before) head = &group;
    }
    std::erase_if(seen.groups, [&](const gang::PodGroup& group) {
      return !runs(group) && group.meta.uid != head->meta.uid;
    });
  }
  if (is(ReservationFault::kNone)) return seen;
  for (gang::PodGroup& group : seen.groups) distort(group);
  if (is(ReservationFault::kPlansOnLostNodes)) seen.nodes = all_nodes_;
  if (is(ReservationFault::kIgnoresHolds)) {
    seen.queues = first_queues_;
    seen.set_tree();
  }
  return seen;
}

void ReservationLife::distort(gang::PodGroup& group) const {
  for (gang::GangStatus& gang : group.status.gangs) {
    if (is(ReservationFault::kForgetsReservations) && cycles_ % 2 == 0) gang.reservation.reset();
    const bool is_stretched =
        is(ReservationFault::kStretchesDue) && gang.reservation && gang.reservation->due;
    if (is_stretched) *gang.reservation->due += seconds(3'000);
  }
  if (is(ReservationFault::kReclaimsEarlier) && runs(group)) group.spec.queued_since = now_;
  if (is(ReservationFault::kReclaimsAny) && runs(group)) group.spec.preemptible = true;
  if (is(ReservationFault::kIgnoresRaises))
    group.spec.active_deadline_seconds = job_of(group).deadline;
  if (is(ReservationFault::kIgnoresPreemptible)) {
    group.spec.preemptible = job_of(group).is_preemptible;
  }
  const bool grows = group.spec.gangs.size() > 1 && group.status.gangs.size() > 1 &&
                     !group.status.gangs[1].committed;
  if (is(ReservationFault::kShortensRequests) && grows) group.spec.active_deadline_seconds = 1;
}

void ReservationLife::choose_clock() {
  const auto range = static_cast<unsigned>(kClockError.count());
  if (habits_.clocks_differ) {
    clock_error_ = seconds(below(rng_, 2 * range + 1)) - kClockError;
  }
  if (is(ReservationFault::kHasWrongClock) && is_one_in(2)) clock_error_ = seconds(3'600);
}

// A new leader has read what was stored.
void ReservationLife::confirm_writes() {
  std::erase_if(unconfirmed_,
                [this](const auto& one) { return is_leader_new_ || one.second <= now_; });
  cluster_.unconfirmed.clear();
  for (const auto& [name, until] : unconfirmed_) cluster_.unconfirmed.insert(name);
}

bool ReservationLife::run_leader() {
  ++cycles_;
  confirm_writes();
  const bool ends = scheduler_ == Scheduler::kReserving && is_one_in(8);
  auto result = leaders_.run(distort().snapshot(), now_ + clock_error_, ends);
  look_again_ = result.look_again;
  is_leader_new_ = ends;
  if (ends) {
    look_again_ = std::chrono::milliseconds(1'000);
    choose_clock();
    if (leaders_.is_cut) note("leader ended between two writes");
  }
  for (planner::StatusWrite& write : result.writes) {
    if (habits_.writes_time_out && is_one_in(4)) {
      unconfirmed_[write.group->meta.name] = now_ + seconds(1 + below(rng_, kLongestTimeOut));
    }
    store(write);
  }
  cluster_.store(result.queues);
  return leaders_.is_cut || !result.writes.empty();
}

void ReservationLife::store(planner::StatusWrite& write) {
  gang::PodGroup& group = *cluster_.find_uid(write.group->meta.uid);
  for (gang::GangStatus& gang : write.status.gangs) {
    if (is(ReservationFault::kNeverReclaims) && gang::is_preempting(gang)) return;
    keep_undecided(gang::find_gang(group.status, gang.name), gang);
  }
  if (scheduler_ == Scheduler::kReserving) promises_.judge(group, write.status);
  group.status = std::move(write.status);
}

// Only what the faulty leader has decided is stored.
void ReservationLife::keep_undecided(const gang::GangStatus* before,
                                     gang::GangStatus& after) const {
  if (before == nullptr) return;
  const bool is_stretched = is(ReservationFault::kStretchesDue) && after.reservation &&
                            after.reservation->since < now_ && before->reservation;
  const bool is_forgotten = is(ReservationFault::kForgetsReservations) && !after.reservation &&
                            !after.planned && !after.reserve_after;
  if (is_stretched || is_forgotten) after.reservation = before->reservation;
}

void ReservationLife::step(bool is_any_written) {
  SysTime next = now_ + seconds(60);
  if (is_any_written) next = now_ + seconds(1);
  if (look_again_) {
    next = std::min(next, now_ + std::chrono::ceil<seconds>(
                                     std::max(*look_again_, std::chrono::milliseconds(1'000))));
  }
  const auto by = [&](SysTime time) { next = std::clamp(time, now_ + seconds(1), next); };
  if (next_job_ < jobs_.size()) by(kStart + seconds(jobs_[next_job_].arrives));
  for (const auto& [uid, one] : running_) by(one.end);
  for (const auto& [name, until] : unconfirmed_) by(until);
  for (const auto& pod : cluster_.terminating) by(ends_.at(pod->meta.uid));
  now_ = next;
}

}  // namespace nervex::testing
