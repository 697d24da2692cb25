#include "server/changes.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "base/log.h"
#include "job/kept.h"
#include "server/decide/ordinals.h"
#include "server/decide/replace.h"
#include "server/decide/shrink.h"

namespace nervex::server {
namespace {

// How often a waiting call checks whether its caller has left.
constexpr std::chrono::milliseconds kLookAgain{100};

}  // namespace

std::unique_ptr<KeyedMutex::Lock> KeyedMutex::try_lock(const std::string& key) {
  const MutexLock lock(mutex_);
  if (!taken_.insert(key).second) return nullptr;
  return std::unique_ptr<Lock>(new Lock(*this, key));
}

std::unique_ptr<KeyedMutex::Lock> KeyedMutex::lock(const std::string& key,
                                                   std::chrono::milliseconds timeout,
                                                   const std::function<bool()>& gives_up) {
  const auto deadline = std::chrono::steady_clock::now() + timeout;
  for (;;) {
    const auto now = std::chrono::steady_clock::now();
    {
      const MutexLock lock(mutex_);
      if (taken_.contains(key) && now < deadline) {
        ended_.wait_until(mutex_, std::min(deadline, now + kLookAgain));
      }
    }
    if (auto taken = try_lock(key)) return taken;
    if (now >= deadline || gives_up()) return nullptr;
  }
}

KeyedMutex::Lock::~Lock() {
  MutexLock lock(keyed_.mutex_);
  keyed_.taken_.erase(key_);
  keyed_.ended_.notify_all();
}

namespace {

// Retries after conflicts with other servers and people; each costs one re-read.
constexpr int kMaxTries = 10;
// If a client names more unknown pods, only the first ones are looked up.
constexpr std::size_t kMaxLiveReads = 16;

bool is_same(const job::CallRecord& a, const job::CallRecord& b) {
  return a.writer == b.writer && a.number == b.number;
}

Json operation(const char* op, std::string path, Json value) {
  return {{"op", op}, {"path", std::move(path)}, {"value", std::move(value)}};
}

// What must not change between reading `job` and writing it. Excludes status.ended and
// status.replaced: the first only grows, and of two incarnations the larger counts.
Json make_patch_tests(const job::Job& job, bool live) {
  const Json uid = operation("test", "/metadata/uid", job.meta.uid);
  const bool has_status = job.status.phase != job::Phase::kNone;  // else it cannot be tested
  if (!live || !has_status) {
    return {uid, operation("test", "/metadata/resourceVersion", job.meta.resource_version)};
  }
  return {uid, operation("test", "/metadata/generation", job.meta.generation),
          operation("test", "/status/attempt", job.status.attempt),
          operation("test", "/status/phase", to_string(job.status.phase))};
}

// A JSON patch: the tests, then the changed members of spec.requests. Members of newer versions are
// kept. (Not within lists, which are written whole.)
Json make_requests_patch(const job::Job& job, bool live, const job::Requests& after) {
  Json patch = make_patch_tests(job, live);
  if (!job.spec.has_requests) {
    patch.push_back(operation("add", "/spec/requests", Json::object()));
  }
  const Json old = job::encode_requests(job.spec.requests);
  const Json wanted = job::encode_requests(after);
  for (const auto& [name, value] : wanted.items()) {
    if (old.at(name) == value) continue;
    if (name == "next" && job.spec.has_requests_next) {
      for (const auto& [role, ordinal] : value.items()) {
        patch.push_back(operation("add", "/spec/requests/next/" + role, ordinal));
      }
    } else {
      patch.push_back(operation("add", "/spec/requests/" + name, value));
    }
  }
  return patch;
}

// Whether one of the tests would fail on the current job.
bool has_conflict(const job::Job& job, bool live, const job::Job* now) {
  return now == nullptr || make_patch_tests(job, live) != make_patch_tests(*now, live);
}

// Without known GPU nodes, all GPUs of a learner go into one pod: a guess that may surprise users
// who add nodes later.
void warn_of_guessed_split(const AddRequest& request, const ClusterView& cluster) {
  const auto gpus = count_gpus(request.learners);
  if (!cluster.node_gpus.empty() || !gpus || *gpus <= 1) return;
  log_warn("no node with GPUs is known: each learner's GPUs are in one pod",
           {{"namespace", request.ns},
            {"coordinator", request.coordinator},
            {"gpus", request.learners.gpus}});
}

std::string record_key(const job::CallRecord& record) {
  return record.writer + "#" + std::to_string(record.number);
}

}  // namespace

ReplyState Replies::reply_state(const job::CallRecord& record) const {
  const MutexLock lock(mutex_);
  const auto at = states_.find(record_key(record));
  return at == states_.end() ? ReplyState::kUnknown : at->second;
}

void Replies::set(const job::CallRecord& record, ReplyState state) {
  const MutexLock lock(mutex_);
  const std::string key = record_key(record);
  const auto [at, is_new] = states_.emplace(key, state);
  if (!is_new && at->second != ReplyState::kWritten) at->second = state;
  if (!is_new) return;
  order_.push_back(key);
  if (order_.size() <= kMost) return;
  states_.erase(order_.front());
  order_.pop_front();
}

Result<Listing> Changes::add(const AddRequest& request, const Call& call) {
  const ClusterView cluster = cluster_view(stores_);
  const SysTime now = clock_.now();
  auto added =
      change(request.ns, request.coordinator, call, [&](const JobView& view, const Snapshot&) {
        return grow(view.job, view.pods, request, now, options_.limits, view.group, cluster);
      });
  if (added) warn_of_guessed_split(request, cluster);
  return added;
}

Result<Listing> Changes::remove(const RemoveRequest& request, const Call& call) {
  return change(request.ns, request.coordinator, call,
                [&](const JobView& view, const Snapshot&) { return shrink(view, request); });
}

Result<Listing> Changes::replace(const ReplaceRequest& request, const Call& call) {
  return change(request.ns, request.coordinator, call,
                [&](const JobView& view, const Snapshot& snapshot) {
                  return replace_seen(view, request, snapshot.live);
                });
}

void Changes::reply_done(PendingReply& pending_reply, bool written) {
  if (written && pending_reply.record) replies_.set(*pending_reply.record, ReplyState::kWritten);
  pending_reply.lock.reset();
}

std::unique_ptr<KeyedMutex::Lock> Changes::lock_job(const std::string& ns,
                                                    const std::string& coordinator,
                                                    const Call& call) {
  const std::string key = fmt::format("{}/{}", ns, coordinator);
  if (auto lock = job_mutex_.try_lock(key)) return lock;
  call.set_waiting(true);
  auto lock = job_mutex_.lock(key, options_.lock_timeout, call.gives_up);
  call.set_waiting(false);
  return lock;
}

Result<Listing> Changes::change(const std::string& ns, const std::string& coordinator,
                                const Call& call, const Decide& decide) {
  auto lock = lock_job(ns, coordinator, call);
  if (lock == nullptr) {
    return about_pod(ns, coordinator,
                     {Code::kTransient, "other requests for its job are in progress, try again"});
  }
  if (call.pending_reply != nullptr) call.pending_reply->lock = std::move(lock);
  auto snapshot = read(ns, coordinator, call, decide);
  if (!snapshot) return snapshot.error();
  const job::CallRecord blank = make_record(call);
  Error refused;
  for (int attempt = 0; attempt < kMaxTries; ++attempt) {
    auto decision = decide_on(*snapshot, call, decide);
    if (!decision) return decision.error();
    if (decision->repeated) return replay(snapshot->caller, *decision->repeated, call);
    Change& change = decision->change;
    // A call with a key is recorded even without an effect, so that its repeat has none either.
    if (!change.changes && call.id.key.empty()) return change.answer;

    job::CallRecord record = blank;
    record.attempt = snapshot->caller.job->status.attempt;
    record.replicas = collect_runs(*snapshot->caller.job, change.answer);
    record.time = clock_.now();  // time of this write: earlier tries may have taken long
    remember_call(change.requests.calls, record, record.time);
    const auto written = write(*snapshot, change.requests, record);
    if (written) {
      if (call.pending_reply != nullptr) call.pending_reply->record = record;
      return change.answer;
    }
    refused = written.error();
    if (refused.code == Code::kTransient) return refused;
    snapshot = reread(*snapshot, refused);
    if (!snapshot) return snapshot.error();
    ++conflicts_;
  }
  return about_pod(
      ns, coordinator,
      {Code::kTransient, "others keep changing the job, try again: " + refused.message});
}

// A refusal, or an answer without a write, is checked on a live read: the cache may be stale, and a
// client never recovers from a refusal nor connects to a replica that was replaced since.
Result<Changes::Snapshot> Changes::read(const std::string& ns, const std::string& coordinator,
                                        const Call& call, const Decide& decide) const {
  Snapshot cached{ns, coordinator, lookup_.cached(ns, coordinator)};
  const auto decision = decide_on(cached, call, decide);
  if (decision && (decision->repeated || decision->change.changes)) return cached;
  auto live = lookup_.live(ns, coordinator);
  if (!live) return live.error();
  return Snapshot{ns, coordinator, *std::move(live), true};
}

Result<Changes::Decision> Changes::decide_on(const Snapshot& snapshot, const Call& call,
                                             const Decide& decide) const {
  const Caller& caller = snapshot.caller;
  const auto may = may_grow(caller);
  if (!may) {
    const auto error = caller.pod ? may.error() : lookup_.why_not_there(snapshot.ns, snapshot.pod);
    return about_pod(snapshot.ns, snapshot.pod, error);
  }
  const auto repeated =
      find_repeat(*caller.job, call.id, clock_.now(),
                  [this](const job::CallRecord& record) { return replies_.reply_state(record); });
  if (!repeated) return repeated.error();
  if (*repeated != nullptr) {
    Decision decision;
    decision.repeated = **repeated;
    return decision;
  }
  const auto pods = stores_.pods.by_index(caller.job->meta.uid);
  const JobView view{*caller.job, pods, caller.group.get(), aggregator_port(stores_)};
  const auto renumbered = renumber_exhausted(view);
  auto change = decide(
      {renumbered ? *renumbered : view.job, view.pods, view.group, view.aggregator_port}, snapshot);
  if (!change) return change.error();
  if (renumbered) change->changes = true;
  return Decision{*std::move(change), std::nullopt};
}

Result<Listing> Changes::replay(const Caller& caller, const job::CallRecord& record,
                                const Call& call) {
  ++repeats_;
  if (call.pending_reply != nullptr) call.pending_reply->record = record;
  return make_listing(*caller.job, caller.pod->meta.name, record.replicas,
                      aggregator_port(stores_));
}

// Attempt, replicas and time are set later.
job::CallRecord Changes::make_record(const Call& call) {
  job::CallRecord record;
  record.method = call.id.method;
  record.body_hash = call.id.body_hash;
  record.key = call.id.key;
  record.source = call.id.source;
  record.writer = options_.writer;
  record.number = ++calls_;
  return record;
}

// kTransient: it may have been written. All other errors: it was not.
Result<Nothing> Changes::write(const Snapshot& snapshot, const job::Requests& requests,
                               const job::CallRecord& record) {
  const job::Job& job = *snapshot.caller.job;
  const auto stored = kube::json_patch(api_, kube::kNervexJobs, job.meta.ns, job.meta.name,
                                       make_requests_patch(job, snapshot.live, requests));
  if (!stored) {
    const Error& error = stored.error();
    switch (error.code) {
      case Code::kConflict:
      case Code::kNotFound:
      case Code::kInvalid:
        return error;
      default:
        if (error.code == Code::kTransient && was_applied(job, record)) return ok();
        // The write may have happened or may still happen. The caller is asked to retry, and then
        // finds its record.
        replies_.set(record, ReplyState::kRetryRequested);
        return Error{Code::kTransient, error.message};
    }
  }
  // The next request must not be decided on a cache without this write.
  if (auto now = job::decode_job(*stored)) {
    stores_.jobs.update(job.meta.key(), job::without_templates(*std::move(now)));
  }
  return ok();
}

// After a refused write. kConflict if the job has not changed: the schema, a webhook or the size
// limit would refuse it again. For the caller that is a limit of its job, like maxReplicas (409),
// not a fault of its body (kInvalid, 400) or its rights (kForbidden, 403).
Result<Changes::Snapshot> Changes::reread(const Snapshot& snapshot, const Error& refused) const {
  const job::Job& job = *snapshot.caller.job;
  auto again = lookup_.live_job(snapshot.caller);
  if (!again) return again.error();
  if (refused.code == Code::kInvalid && !has_conflict(job, snapshot.live, again->job.get())) {
    return Error{Code::kConflict, fmt::format("the API server refuses to change nervexjob {}: {}",
                                              job.meta.key(), refused.message)};
  }
  return Snapshot{snapshot.ns, snapshot.pod, *std::move(again), true};
}

// A lost reply is not a refusal, and a client that is asked to retry may come too late.
bool Changes::was_applied(const job::Job& job, const job::CallRecord& record) const {
  const auto object = kube::get_object(api_, kube::kNervexJobs, job.meta.ns, job.meta.name);
  if (!object) return false;
  const auto now = job::decode_job(*object);
  if (!now || now->meta.uid != job.meta.uid) return false;
  const auto& calls = now->spec.requests.calls;
  return std::any_of(calls.begin(), calls.end(),
                     [&](const job::CallRecord& one) { return is_same(one, record); });
}

// A name is never refused based only on the pod cache.
Result<Change> Changes::replace_seen(const JobView& view, const ReplaceRequest& request,
                                     bool live) const {
  auto change = server::replace(view, request);
  if (change || change.error().code != Code::kNotFound || !live) return change;
  auto found = live_pods(view.job, unknown_pods(view, request));
  if (!found) return found.error();
  if (found->empty()) return change;
  found->insert(found->end(), view.pods.begin(), view.pods.end());
  return server::replace({view.job, *found, view.group, view.aggregator_port}, request);
}

Result<std::vector<PodPtr>> Changes::live_pods(const job::Job& job,
                                               const std::vector<std::string>& names) const {
  std::vector<PodPtr> pods;
  for (std::size_t i = 0; i < std::min(names.size(), kMaxLiveReads); ++i) {
    const auto named = lookup_.live(job.meta.ns, names[i]);
    if (!named) return named.error();
    if (is_known(*named) && named->job->meta.uid == job.meta.uid) pods.push_back(named->pod);
  }
  return pods;
}

}  // namespace nervex::server
