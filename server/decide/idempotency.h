// server/decide/idempotency.h - is this call a repeat? Pure.
//
// A client that loses a reply repeats the call, and cannot tell whether the first one took effect.
// So each call that changes a job leaves a record in spec.requests, in the same write, and a call
// with a record gets the recorded answer. An Idempotency-Key finds a record for ten minutes.
// Without a key, two equal calls may both be intended: the second is a repeat only within 30 s,
// from the same address, and if the first reply may not have been written; or within ten minutes,
// if the first reply was "failed, ask again" although the write was stored.
#pragma once

#include <chrono>
#include <cstddef>
#include <functional>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/error.h"
#include "job/types.h"
#include "server/decide/listing.h"

namespace nervex::server {

inline constexpr std::chrono::seconds kRepeatAge{30};
inline constexpr std::chrono::minutes kKeyAge{10};
// The newest records of each kind are kept. If a client makes more calls within the time above, its
// repeats are not recognised.
inline constexpr std::size_t kMaxCallsWithoutKey = 128;
inline constexpr std::size_t kMaxCallsWithKey = 256;
inline constexpr std::size_t kMaxRuns = 4096;  // over all records: about 300 kB

// What identifies a call. A call without hash and key is never a repeat.
struct CallId {
  std::string method;     // "POST", "DELETE", "POST failed"
  std::string body_hash;  // SHA-256 of its bytes, in hexadecimal
  std::string key;        // Idempotency-Key, may be empty
  std::string source;     // the caller's address, without port
};

// This process's knowledge of the reply to a recorded call.
enum class ReplyState {
  kUnknown,  // another process wrote it, or writing failed
  kWritten,  // the caller has it: an equal call is new
  // The caller got "failed, ask again" and may retry much later, when the API server is back. So
  // the 30 s do not apply: only that answer is known to have been written.
  kRetryRequested,
};

// The record of the call that this one repeats; nullptr: a new call. `now` may differ from the
// clock of the record's writer. kConflict: the key was used for another call.
Result<const job::CallRecord*> find_repeat(
    const job::Job& job, const CallId& call, SysTime now,
    const std::function<ReplyState(const job::CallRecord&)>& reply_to);

// Adds the record, and drops records that are too old or too many.
void remember_call(std::vector<job::CallRecord>& calls, job::CallRecord record, SysTime now);

// An answer's replicas in the short form of a record, and back. Uses the job's own addresses.
std::vector<job::ReplicaRun> collect_runs(const job::Job& job, const Listing& named);
Listing make_listing(const job::Job& job, const std::string& coordinator,
                     const std::vector<job::ReplicaRun>& runs, int aggregator_port);

}  // namespace nervex::server
