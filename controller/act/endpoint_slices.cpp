#include "controller/act/endpoint_slices.h"

#include <fmt/format.h>

#include <algorithm>
#include <exception>
#include <utility>

#include "base/log.h"
#include "controller/decide/attempt/creation_failures.h"
#include "controller/decide/objects/endpoint_slices.h"
#include "controller/decide/reasons.h"
#include "job/names.h"
#include "job/pod_manifest.h"

namespace nervex::controller {

namespace {

Result<Nothing> failure(std::string_view verb, const std::string& key, const Error& error) {
  return with_context(fmt::format("{} endpointslice {}", verb, key), error);
}

void fold(kube::Store<EndpointSlice>& store, const Json& object) {
  auto slice = decode_endpoint_slice(kube::to_text(object));
  if (!slice) return;  // the watch will show it
  const std::string key = slice->meta.key();
  store.update(key, *std::move(slice));
}

}  // namespace

EndpointSliceWriter::EndpointSliceWriter(kube::Api& api, Stores& stores, kube::WorkQueue& queue,
                                         kube::EventRecorder& events, const Clock& clock)
    : api_(api), stores_(stores), queue_(queue), events_(events), clock_(clock) {}

void EndpointSliceWriter::process(const std::string& key) {
  Result<Nothing> done = ok();
  try {
    done = work(kube::NamespacedName::parse(key).ns);
  } catch (const std::exception& e) {  // a library's; the next time may go better
    done = Error{Code::kInternal, e.what()};
  }
  if (done) return queue_.forget(key);
  report(key, done.error());
  queue_.add_failed(key, done.error().retry_after.value_or(std::chrono::seconds(0)));
}

Result<Nothing> EndpointSliceWriter::work(const std::string& ns) {
  const auto is_written = write_slices(ns);
  if (!is_written) return is_written.error();
  return *is_written ? remove_leftovers(ns) : ok();
}

Result<bool> EndpointSliceWriter::write_slices(const std::string& ns) {
  const auto service = stores_.services.get(ns + "/" + ns);
  auto slices = stores_.endpoint_slices.by_index(orphans_key(ns));
  std::set<std::string> taken;
  std::erase_if(slices, [&taken](const auto& slice) {
    if (is_ours(*slice)) return false;
    taken.insert(slice->meta.name);
    return true;
  });
  if (service == nullptr && slices.empty()) {
    namespaces_.erase(ns);
    return true;
  }
  const MonoTime now = clock_.mono();
  Namespace& seen = namespaces_[ns];
  if (!seen.changed) seen.changed = now;
  if (seen.next_look && !is_due(ns, *seen.next_look, now)) return false;
  taken.insert(seen.taken.begin(), seen.taken.end());
  const EndpointSliceWrites writes =
      endpoint_slice_writes(ns, find_pods(ns), service.get(), slices, std::move(taken));
  if (!writes.empty()) {
    const MonoTime latest = *seen.changed + kPeriod;
    if (writes.is_partial && !is_due(ns, latest, now)) {
      seen.next_look = latest;
      return false;
    }
    if (auto done = write(ns, writes); !done) return done.error();
  }
  seen.next_look = now + kPeriod;
  seen.changed.reset();
  return true;
}

bool EndpointSliceWriter::is_due(const std::string& ns, MonoTime due, MonoTime now) {
  if (due <= now) return true;
  queue_.add_after(orphans_key(ns), std::chrono::ceil<std::chrono::milliseconds>(due - now));
  return false;
}

// Those of a job that this version cannot read keep their names.
Ptrs<kube::Pod> EndpointSliceWriter::find_pods(const std::string& ns) const {
  Ptrs<kube::Pod> pods;
  for (const auto& job : stores_.jobs.by_index(ns)) {
    for (auto& pod : stores_.pods.by_index(job->meta.key())) {
      if (owner_job_uid(pod->meta) == job->meta.uid) pods.push_back(std::move(pod));
    }
  }
  for (const auto& key : unreadable_jobs(stores_, ns)) {
    for (auto& pod : stores_.pods.by_index(key)) pods.push_back(std::move(pod));
  }
  return pods;
}

// Tries all writes; returns the first error. Updates come last: an endpoint that moves to a new
// slice is never in none.
Result<Nothing> EndpointSliceWriter::write(const std::string& ns,
                                           const EndpointSliceWrites& writes) {
  Result<Nothing> all = ok();
  const auto note = [&all](Result<Nothing> one) {
    if (!one && all) all = std::move(one);
  };
  for (const auto& target : writes.remove) note(remove(ns, target));
  for (const auto& manifest : writes.create) note(create(ns, manifest));
  for (const auto& manifest : writes.update) note(update(ns, manifest));
  return all;
}

Result<Nothing> EndpointSliceWriter::update(const std::string& ns, const Json& manifest) {
  const auto updated = kube::update_object(api_, kEndpointSlices, ns, manifest);
  if (!updated) {
    return failure("update", ns + "/" + kube::decode_meta(manifest).name, updated.error());
  }
  fold(stores_.endpoint_slices, *updated);
  return ok();
}

Result<Nothing> EndpointSliceWriter::create(const std::string& ns, const Json& manifest) {
  const auto created = kube::create_object(api_, kEndpointSlices, ns, manifest);
  if (created) {
    fold(stores_.endpoint_slices, *created);
    return ok();
  }
  const std::string name = kube::decode_meta(manifest).name;
  const std::string key = ns + "/" + name;
  if (created.error().code != Code::kConflict) return failure("create", key, created.error());
  // An earlier reply was lost, its labels were edited so that the cache does not have it, or it is
  // not ours.
  const auto live = kube::get_object(api_, kEndpointSlices, ns, name);
  if (!live) {
    if (live.error().code != Code::kNotFound) return failure("create", key, live.error());
    return failure("create", key, {Code::kConflict, "the name was taken and is free again"});
  }
  const auto there = decode_endpoint_slice(kube::to_text(*live));
  if (!there || !is_ours(*there)) {
    namespaces_[ns].taken.insert(name);
    return failure("create", key,
                   {Code::kConflict, "the name belongs to another object: the next is tried"});
  }
  Json replacement = manifest;
  replacement["metadata"]["resourceVersion"] = there->meta.resource_version;
  return update(ns, replacement);
}

Result<Nothing> EndpointSliceWriter::remove(const std::string& ns, const Target& target) {
  const std::string key = ns + "/" + target.name;
  kube::DeleteOptions options;
  options.resource_version = target.resource_version;
  const auto deleted =
      kube::delete_object(api_, kEndpointSlices, ns, target.name, target.uid, options);
  if (!deleted) return failure("delete", key, deleted.error());
  auto left = decode_endpoint_slice(kube::to_text(deleted->answer));
  if (left && left->meta.uid == target.uid && left->meta.deleting) {  // a finalizer keeps it
    stores_.endpoint_slices.update(key, *std::move(left));
  } else {
    stores_.endpoint_slices.forget(key, target.uid);
  }
  return ok();
}

Result<Nothing> EndpointSliceWriter::remove_leftovers(const std::string& ns) {
  auto slices = stores_.endpoint_slices.by_index(orphans_key(ns));
  std::erase_if(slices, [](const auto& slice) { return !is_leftover(*slice); });
  if (slices.empty()) return ok();
  const auto service = stores_.services.get(ns + "/" + ns);
  // Its selector is still set, or it is not ours: the leftovers are in use.
  if (!service || !is_shared_service(*service) ||
      service->shape != service_shape(job::shared_service_manifest(ns))) {
    return ok();
  }
  // The Endpoints object first: otherwise the slices are created again from it.
  if (auto removed = remove_endpoints(ns); !removed) return removed;
  for (const auto& slice : slices) {
    if (auto removed = remove(ns, {slice->meta.name, slice->meta.uid}); !removed) return removed;
  }
  return ok();
}

Result<Nothing> EndpointSliceWriter::remove_endpoints(const std::string& ns) {
  const auto live = kube::get_object(api_, kEndpoints, ns, ns);
  if (!live && live.error().code == Code::kNotFound) return ok();
  if (!live) return with_context(fmt::format("get endpoints {0}/{0}", ns), live.error());
  const kube::Meta meta = kube::decode_meta(*live);
  // Such an object has the Service's labels.
  if (kube::label(meta, job::kGroupLabel) != job::kGroupLabelValue) return ok();
  const auto deleted = kube::delete_object(api_, kEndpoints, ns, ns, meta.uid);
  if (!deleted) return with_context(fmt::format("delete endpoints {0}/{0}", ns), deleted.error());
  return ok();
}

void EndpointSliceWriter::report(const std::string& key, const Error& error) {
  const std::string ns = kube::NamespacedName::parse(key).ns;
  const auto log = error.code == Code::kConflict ? log_debug : log_warn;
  log("endpointslices not written, requeued",
      {{"namespace", ns}, {"code", to_string(error.code)}, {"error", error.message}});
  const int before = queue_.failures(key);
  const bool is_news = is_worth_reporting(error.code, before) &&
                       (before == 0 || !is_worth_reporting(error.code, before - 1));
  const auto service = stores_.services.get(ns + "/" + ns);
  if (!is_news || !service) return;
  events_.record({"v1", "Service", service->meta.ns, service->meta.name, service->meta.uid},
                 warning_event(kFailedToUpdateEndpointSlices,
                               "names of pods may not resolve: " + error.message)
                     .event);
}

}  // namespace nervex::controller
