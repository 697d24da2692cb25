#include "server/lookup.h"

#include <algorithm>

#include "job/names.h"

namespace nervex::server {
namespace {

template <typename T>
using Live = Result<std::shared_ptr<const T>>;

// A null pointer if the object does not exist. Every other failure may pass by itself, be it that a
// person mends our role: the caller of this server did nothing wrong.
template <typename T>
Live<T> read(kube::Api& api, const kube::ResourceKind& kind, const std::string& ns,
             const std::string& name, Result<T> (*decode)(std::string_view)) {
  const auto text = api.send({"GET", kube::api_path(kind, ns, name), "", ""});
  if (!text) {
    if (text.error().code == Code::kNotFound) return std::shared_ptr<const T>();
    return Error{Code::kTransient, text.error().message};
  }
  auto object = decode(*text);
  if (!object) return Error{Code::kTransient, object.error().message};
  return std::make_shared<const T>(*std::move(object));
}

// Nothing is called otherwise (RFC 1123, in lower case), and the API server takes the rest apart: a
// slash, even an escaped one, for the next part of the path, ".." for a step back. Whatever a
// caller writes there, it is a pod's name that is asked for.
bool may_exist(const std::string& name) {
  const auto is_plain = [](char c) {
    return ('a' <= c && c <= 'z') || ('0' <= c && c <= '9') || c == '-' || c == '.';
  };
  return !name.starts_with('.') && std::all_of(name.begin(), name.end(), is_plain);
}

}  // namespace

Caller Lookup::cached(const std::string& ns, const std::string& pod) const {
  Caller caller;
  caller.pod = stores_.pods.get(ns + "/" + pod);
  if (!caller.pod || !caller.pod->meta.owner) return caller;
  caller.job = stores_.jobs.get(ns + "/" + caller.pod->meta.owner->name);
  if (!caller.job) return caller;
  const int attempt = caller.job->status.attempt;
  caller.group = stores_.groups.get(ns + "/" + job::pod_group_name(*caller.job, attempt));
  return caller;
}

Result<Caller> Lookup::live(const std::string& ns, const std::string& pod) const {
  Caller caller;
  if (!may_exist(ns) || !may_exist(pod)) return caller;
  auto found_pod = read<kube::Pod>(api_, kube::kPods, ns, pod, decode_pod);
  if (!found_pod) return found_pod.error();
  caller.pod = *found_pod;
  if (!caller.pod || !caller.pod->meta.owner) return caller;

  const std::string& owner = caller.pod->meta.owner->name;
  auto found_job = read<job::Job>(api_, kube::kNervexJobs, ns, owner, job::parse_job);
  if (!found_job) return found_job.error();
  caller.job = *found_job;
  if (!caller.job || caller.job->status.attempt == 0) return caller;

  const std::string group = job::pod_group_name(*caller.job, caller.job->status.attempt);
  auto found_group = read<gang::PodGroup>(api_, kube::kPodGroups, ns, group, gang::parse_pod_group);
  if (!found_group) return found_group.error();
  caller.group = *found_group;
  return caller;
}

Result<Caller> Lookup::live_job(const Caller& before) const {
  const kube::Meta& meta = before.job->meta;
  auto job = read<job::Job>(api_, kube::kNervexJobs, meta.ns, meta.name, job::parse_job);
  if (!job) return job.error();
  const bool same_attempt =
      *job && (*job)->meta.uid == meta.uid && (*job)->status.attempt == before.job->status.attempt;
  if (!same_attempt) return live(before.pod->meta.ns, before.pod->meta.name);
  return Caller{before.pod, *job, before.group};
}

}  // namespace nervex::server
