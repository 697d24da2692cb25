#include "server/decide/idempotency.h"

#include <fmt/format.h>

#include <algorithm>

#include "job/names.h"
#include "server/decide/job_view.h"

namespace nervex::server {
namespace {

using job::CallRecord;

// Clocks of two machines differ: a future time counts as equally far in the past.
bool is_younger(const CallRecord& record, SysTime now, std::chrono::milliseconds age) {
  return std::chrono::abs(now - record.time) < age;
}

bool is_same_call(const CallRecord& record, const CallId& call) {
  return record.method == call.method && record.body_hash == call.body_hash;
}

// An older server version wrote a shorter hash. With a key, the key alone decides: a client that
// gets 409 because its server was upgraded would end for good.
bool is_same_keyed_call(const CallRecord& record, const CallId& call) {
  const bool is_of_another_hash = record.body_hash.size() != call.body_hash.size();
  return is_same_call(record, call) || (is_of_another_hash && record.method == call.method);
}

Result<const CallRecord*> find_by_key(const job::Job& job, const CallId& call, SysTime now) {
  for (const auto& record : job.spec.requests.calls) {
    if (record.attempt != job.status.attempt || record.key != call.key) continue;
    if (!is_younger(record, now, kKeyAge)) continue;
    if (is_same_keyed_call(record, call)) return &record;
    const char* what = record.method == call.method ? "another body" : "another call";
    return Error{Code::kConflict,
                 fmt::format("Idempotency-Key {}: already used for {} ({} at {}): use a new one",
                             call.key, what, record.method, to_rfc3339(record.time))};
  }
  return nullptr;
}

void drop_oldest(std::vector<CallRecord>& calls, bool with_key, std::size_t most) {
  const auto is_kind = [with_key](const CallRecord& one) { return one.key.empty() != with_key; };
  auto count = static_cast<std::size_t>(std::count_if(calls.begin(), calls.end(), is_kind));
  // Records are in write order.
  std::erase_if(calls, [&](const CallRecord& one) {
    if (!is_kind(one) || count <= most) return false;
    --count;
    return true;
  });
}

// A call that replaces a thousand scattered replicas has a record as long as a thousand others.
void keep_newest_runs(std::vector<CallRecord>& calls, std::size_t most_runs) {
  std::size_t runs = 0;
  auto kept = calls.end();
  while (kept != calls.begin()) {
    runs += std::prev(kept)->replicas.size();
    if (runs > most_runs && kept != calls.end()) break;  // always keep the newest
    --kept;
  }
  calls.erase(calls.begin(), kept);
}

}  // namespace

Result<const CallRecord*> find_repeat(
    const job::Job& job, const CallId& call, SysTime now,
    const std::function<ReplyState(const CallRecord&)>& reply_to) {
  if (!call.key.empty()) return find_by_key(job, call, now);
  if (call.body_hash.empty()) return nullptr;
  const auto& calls = job.spec.requests.calls;
  const auto found = std::find_if(calls.rbegin(), calls.rend(), [&](const CallRecord& record) {
    const bool is_alike = record.key.empty() && record.attempt == job.status.attempt &&
                          record.source == call.source && is_same_call(record, call);
    if (!is_alike) return false;
    switch (reply_to(record)) {
      case ReplyState::kWritten:
        return false;
      case ReplyState::kRetryRequested:
        return is_younger(record, now, kKeyAge);
      case ReplyState::kUnknown:
        break;
    }
    return is_younger(record, now, kRepeatAge);
  });
  return found == calls.rend() ? nullptr : &*found;
}

void remember_call(std::vector<CallRecord>& calls, CallRecord record, SysTime now) {
  // Includes calls without a key: their callers may have been asked to retry.
  std::erase_if(calls, [now](const CallRecord& one) { return !is_younger(one, now, kKeyAge); });
  calls.push_back(std::move(record));
  drop_oldest(calls, false, kMaxCallsWithoutKey);
  drop_oldest(calls, true, kMaxCallsWithKey);
  keep_newest_runs(calls, kMaxRuns);
}

std::vector<job::ReplicaRun> collect_runs(const job::Job& job, const Listing& named) {
  std::vector<job::ReplicaRun> runs;
  for (const auto* urls : {&named.collectors, &named.learners}) {
    for (const auto& url : *urls) {
      const auto one = job::slot_of_pod_name(job, pod_in(url));
      if (!one) continue;
      const bool continues = !runs.empty() && runs.back().role == one->role &&
                             runs.back().first.incarnation == one->slot.incarnation &&
                             runs.back().first.ordinal + runs.back().count == one->slot.ordinal;
      if (continues) {
        ++runs.back().count;
      } else {
        runs.push_back({one->role, one->slot, 1});
      }
    }
  }
  return runs;
}

Listing make_listing(const job::Job& job, const std::string& coordinator,
                     const std::vector<job::ReplicaRun>& runs, int aggregator_port) {
  Listing listing{job.meta.ns, coordinator, {}, {}};
  for (const auto& run : runs) {
    for (int i = 0; i < run.count; ++i) {
      add_address(listing, job, run.role, {run.first.ordinal + i, run.first.incarnation},
                  aggregator_port);
    }
  }
  return listing;
}

}  // namespace nervex::server
