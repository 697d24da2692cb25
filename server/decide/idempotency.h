// server/decide/idempotency.h - was this call made before? Pure.
//
// A client that loses the reply to a call makes it again, and cannot tell whether the first one
// counted. So each call that changes a job leaves a record in spec.requests, in the same write,
// and a call that has one is answered with what the record says. By an Idempotency-Key a record is
// found for ten minutes. Without one, two equal calls may both be meant: the second is a repeat
// only within 30 s, from the same address, and if the reply to the first may not have been written;
// or within ten minutes, if the reply to the first was "failed, ask again" although it was stored.
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
// Of each kind the newest are kept; a client that makes more calls than that within the time above
// is one whose repeats are not recognised.
inline constexpr std::size_t kMaxCallsWithoutKey = 128;
inline constexpr std::size_t kMaxCallsWithKey = 256;
inline constexpr std::size_t kMaxRuns = 4096;  // of all records together: about 300 kB

// By what a call is known again. Without hash and key it never is.
struct CallId {
  std::string method;     // "POST", "DELETE", "POST failed"
  std::string body_hash;  // SHA-256 of its bytes, in hexadecimal
  std::string key;        // Idempotency-Key, may be empty
  std::string source;     // the caller's address, without port
};

// What this process knows about the reply to a recorded call.
enum class ReplyState {
  kUnknown,  // another process was to write it, or writing it failed
  kWritten,  // the caller has it: the same call is a new one
  // The caller got "failed, ask again". It may do so much later, when the API
  // server is back, so the 30 s do not count: only that answer is known to have been written.
  kRetryRequested,
};

// The record of the call that this one repeats; nullptr: it is a new one. `now` may differ from the
// clock of the record's writer. kConflict: the key was used for another call.
Result<const job::CallRecord*> find_repeat(
    const job::Job& job, const CallId& call, SysTime now,
    const std::function<ReplyState(const job::CallRecord&)>& reply_to);

// Adds the record, and drops what is too old or too much to be of use.
void remember_call(std::vector<job::CallRecord>& calls, job::CallRecord record, SysTime now);

// What an answer names, in the short form of a record, and back. Its addresses are the job's own.
std::vector<job::ReplicaRun> runs_of(const job::Job& job, const Listing& named);
Listing listing_of(const job::Job& job, const std::string& coordinator,
                   const std::vector<job::ReplicaRun>& runs, int aggregator_port);

}  // namespace nervex::server
