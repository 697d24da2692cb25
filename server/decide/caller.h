// server/decide/caller.h - which pod calls, and may it change its job now? Pure.
#pragma once

#include <memory>
#include <string>

#include "base/error.h"
#include "gang/pod_group.h"
#include "job/types.h"
#include "kube/model/pod.h"

namespace nervex::server {

// What is known about the pod that a request names as its coordinator; it may be any pod of the
// job. Null: no such object.
struct Caller {
  std::shared_ptr<const kube::Pod> pod;
  std::shared_ptr<const job::Job> job;          // the pod's owner
  std::shared_ptr<const gang::PodGroup> group;  // of the job's attempt, as its status says
};

// The UID of the PodGroup of the pod's attempt; "" if not stated.
const std::string& attempt_uid(const kube::Pod& pod);

// The pod exists and belongs to an existing job: enough for reading. Else kNotFound.
Result<Nothing> is_known(const Caller& caller);

// The job may get more replicas on behalf of this pod. Else the first of
//   kNotFound   no such pod, or no pod of a job
//   kConflict   the job was deleted, is being deleted or has finished, or the caller has ended
//   kTransient  the caller is being stopped, or does not belong to the attempt in the job's
//               status: it, or its successor, may retry
Result<Nothing> may_grow(const Caller& caller);

// kNotFound for a pod that does not exist. `job`: the one whose coordinator would have that name,
// may be null; the message says why it has none and what to do instead.
Error no_such_pod(const job::Job* job);

// The error, prefixed with that pod.
Error about_pod(const std::string& ns, const std::string& pod, const Error& error);

}  // namespace nervex::server
