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

// Requests for one job that arrive together would only overtake each other: each write of one makes
// the others decide again. Thread-safe; no order among those who wait.
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

  // Null: another one holds `key`.
  std::unique_ptr<Lock> try_lock(const std::string& key);
  // Waits for it until `timeout` has passed, or `gives_up()`, which is asked ten times a second.
  std::unique_ptr<Lock> lock(const std::string& key, std::chrono::milliseconds timeout,
                             const std::function<bool()>& gives_up);

 private:
  Mutex mutex_;
  CondVar ended_;
  std::set<std::string> taken_ GUARDED_BY(mutex_);
};

// What is kept until the reply is written: the job's lock, so that an equal call which waits can be
// judged by whether this one's caller got its reply; and the record that the reply rests on.
// The caller gives it to Changes::reply_done(); merely dropped, it counts as not written.
struct PendingReply {
  std::unique_ptr<KeyedMutex::Lock> lock;
  std::optional<job::CallRecord> record;
};

struct Call {
  CallId id;
  PendingReply* pending_reply = nullptr;  // borrowed; null: nobody will know about the reply
  // While the call waits for another one of its job: told when that begins and ends, and asked
  // whether it is still worth waiting.
  std::function<void(bool)> set_waiting = [](bool) {};
  std::function<bool()> gives_up = [] { return false; };
};

// Which replies does this process know its callers to have? Of the newest few thousand calls; what
// is forgotten is kUnknown. Thread-safe.
class Replies {
 public:
  ReplyState state_of(const job::CallRecord& record) const;
  // kWritten is the last word.
  void set(const job::CallRecord& record, ReplyState state);

 private:
  static constexpr std::size_t kMost = 8192;

  mutable Mutex mutex_;
  std::unordered_map<std::string, ReplyState> states_ GUARDED_BY(mutex_);  // by writer and number
  std::deque<std::string> order_ GUARDED_BY(mutex_);                       // oldest first
};

struct ChangeOptions {
  // Of this process, never used by another one: its records carry it.
  std::string writer = "nervex-server";
  Limits limits{};
  // How long a call waits for others of its job before its caller is told to ask again.
  std::chrono::milliseconds lock_timeout = std::chrono::seconds(5);
};

// Each call is one optimistic write: all of it or nothing. It is decided on the cache; what that
// would refuse, or answer without a write, is decided again on a live read. A write that met a
// conflict is decided again on a live read, too, and then only another change of the spec, another
// attempt or phase is a conflict: the status of a job whose pods start changes all the time. A
// write whose reply is lost is looked for; a call that was made before is answered with what it did
// then (server/decide/idempotency.h).
//
// Thread-safe. Errors carry the code from which envelope.h makes a status; kTransient also when the
// job was changed by others on every try.
class Changes {
 public:
  Changes(kube::Api& api, Stores& stores, const Clock& clock, ChangeOptions options)
      : api_(api),
        stores_(stores),
        clock_(clock),
        options_(std::move(options)),
        lookup_(api, stores) {}

  // Each returns the addresses of what was added, removed, or took a replica's place.
  Result<Listing> add(const AddRequest& request, const Call& call);
  Result<Listing> remove(const RemoveRequest& request, const Call& call);
  Result<Listing> replace(const ReplaceRequest& request, const Call& call);

  // The reply to a call was written, or could not be. The next call for its job goes on.
  void reply_done(PendingReply& pending_reply, bool written);

  const Limits& limits() const { return options_.limits; }
  std::uint64_t repeats() const { return repeats_; }      // calls recognised as repeats
  std::uint64_t conflicts() const { return conflicts_; }  // writes that were decided again

 private:
  struct Snapshot {  // of the job, as the pod that asks finds it
    std::string ns;
    std::string pod;
    Caller caller;
    bool live = false;  // else from the cache, which may be old
  };
  struct Decision {
    Change change;
    std::optional<job::CallRecord> repeated;  // then the rest says nothing
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
  job::CallRecord record_of(const Call& call);
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
