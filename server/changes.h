// server/changes.h - how does one changing call become one write of spec.requests?
#pragma once

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <unordered_map>
#include <vector>

#include "base/clock.h"
#include "base/error.h"
#include "base/mutex.h"
#include "job/types.h"
#include "kube/api.h"
#include "server/decide/change.h"
#include "server/decide/grow.h"
#include "server/decide/idempotency.h"
#include "server/decide/job_view.h"
#include "server/stores.h"

namespace nervex::server {

// Serialises requests for one job: concurrent ones would only conflict, and each write makes the
// others decide again. Thread-safe; waiters have no order.
class KeyedMutex {
 public:
  class Lock {
   public:
    ~Lock();
    Lock(const Lock&) = delete;
    Lock& operator=(const Lock&) = delete;

   private:
    friend class KeyedMutex;
    Lock(KeyedMutex& mutex, std::string key) : keyed_(mutex), key_(std::move(key)) {}

    KeyedMutex& keyed_;
    const std::string key_;
  };

  // Null: `key` is locked.
  std::unique_ptr<Lock> try_lock(const std::string& key);
  // Waits until `timeout` has passed or `gives_up()`, which is called ten times a second, is true.
  std::unique_ptr<Lock> lock(const std::string& key, std::chrono::milliseconds timeout,
                             const std::function<bool()>& gives_up);

 private:
  Mutex mutex_;
  CondVar ended_;
  std::set<std::string> taken_ GUARDED_BY(mutex_);
};

// Held until the reply is written: the job's lock, so that a waiting equal call can be judged by
// whether this caller got its reply; and the record behind the reply. The caller passes it to
// Changes::reply_done(); if dropped, it counts as not written.
struct PendingReply {
  std::unique_ptr<KeyedMutex::Lock> lock;
  std::optional<job::CallRecord> record;
};

struct Call {
  CallId id;
  PendingReply* pending_reply = nullptr;  // borrowed; null: the reply's fate stays unknown
  // While the call waits for another call of its job: reports the start and end of the wait, and
  // asks whether it is still worth waiting.
  std::function<void(bool)> set_waiting = [](bool) {};
  std::function<bool()> gives_up = [] { return false; };
};

// Which replies have reached their callers, as far as this process knows? Covers the newest few
// thousand calls; older ones are kUnknown. Thread-safe.
class Replies {
 public:
  ReplyState reply_state(const job::CallRecord& record) const;
  // kWritten is final.
  void set(const job::CallRecord& record, ReplyState state);

 private:
  static constexpr std::size_t kMost = 8192;

  mutable Mutex mutex_;
  std::unordered_map<std::string, ReplyState> states_ GUARDED_BY(mutex_);  // by writer and number
  std::deque<std::string> order_ GUARDED_BY(mutex_);                       // oldest first
};

struct ChangeOptions {
  // Unique to this process, and part of its records.
  std::string writer = "nervex-server";
  Limits limits{};
  // How long a call waits for others of its job before its caller is told to retry.
  std::chrono::milliseconds lock_timeout = std::chrono::seconds(5);
};

// Each call is one optimistic write: all or nothing. It is decided on the cache; a refusal, or an
// answer without a write, is decided again on a live read. So is a write that met a conflict. On
// the retry only a change of the spec, attempt or phase is a conflict, because the status of a job
// whose pods start changes all the time. After a lost reply the write is looked up; a repeated call
// gets its first answer (server/decide/idempotency.h). Thread-safe. envelope.h maps error codes to
// a status; kTransient also when others changed the job on every try.
class Changes {
 public:
  Changes(kube::Api& api, Stores& stores, const Clock& clock, ChangeOptions options)
      : api_(api),
        stores_(stores),
        clock_(clock),
        options_(std::move(options)),
        lookup_(api, stores) {}

  // Each returns the addresses of what was added, was removed, or replaces another replica.
  Result<Listing> add(const AddRequest& request, const Call& call);
  Result<Listing> remove(const RemoveRequest& request, const Call& call);
  Result<Listing> replace(const ReplaceRequest& request, const Call& call);

  // The reply to a call was written, or could not be. The job's next call continues.
  void reply_done(PendingReply& pending_reply, bool written);

  const Limits& limits() const { return options_.limits; }
  std::uint64_t repeats() const { return repeats_; }      // calls recognised as repeats
  std::uint64_t conflicts() const { return conflicts_; }  // writes that were decided again

 private:
  struct Snapshot {  // of the job, as found by the pod that asks
    std::string ns;
    std::string pod;
    Caller caller;
    bool live = false;  // else from the cache, which may be stale
  };
  struct Decision {
    Change change;
    std::optional<job::CallRecord> repeated;  // if set, the other fields are empty
  };
  using Decide = std::function<Result<Change>(const JobView& view, const Snapshot& snapshot)>;

  std::unique_ptr<KeyedMutex::Lock> lock_job(const std::string& ns, const std::string& coordinator,
                                             const Call& call);
  Result<Listing> change(const std::string& ns, const std::string& coordinator, const Call& call,
                         const Decide& decide);
  Result<Decision> decide_on(const Snapshot& snapshot, const Call& call,
                             const Decide& decide) const;
  Result<Snapshot> read(const std::string& ns, const std::string& coordinator, const Call& call,
                        const Decide& decide) const;
  Result<Listing> replay(const Caller& caller, const job::CallRecord& record, const Call& call);
  job::CallRecord make_record(const Call& call);
  Result<Nothing> write(const Snapshot& snapshot, const job::Requests& requests,
                        const job::CallRecord& record);
  Result<Snapshot> reread(const Snapshot& snapshot, const Error& refused) const;
  bool was_applied(const job::Job& job, const job::CallRecord& record) const;
  Result<Change> replace_seen(const JobView& view, const ReplaceRequest& request, bool live) const;
  Result<std::vector<PodPtr>> live_pods(const job::Job& job,
                                        const std::vector<std::string>& names) const;

  kube::Api& api_;
  Stores& stores_;
  const Clock& clock_;
  const ChangeOptions options_;
  const Lookup lookup_;
  KeyedMutex job_mutex_;
  Replies replies_;
  std::atomic<std::int64_t> calls_ = 0;
  std::atomic<std::uint64_t> repeats_ = 0;
  std::atomic<std::uint64_t> conflicts_ = 0;
};

}  // namespace nervex::server
