#include "controller/act/writes.h"

#include <fmt/format.h>

#include <set>
#include <utility>
#include <vector>

#include "controller/observe/observe.h"
#include "gang/slot.h"
#include "job/kept.h"
#include "job/names.h"

namespace nervex::controller {

namespace {

std::string read_name(const Json& manifest) {
  return kube::string_at(manifest, {"metadata", "name"});
}

// Our context (the write and its object), followed by the API server's message.
Error failure(std::string_view verb, const char* kind, const std::string& key,
              const std::string& request, const Error& error) {
  std::string_view message = error.message;
  if (message.substr(0, request.size()) == request) message.remove_prefix(request.size());
  while (!message.empty() && (message.front() == ':' || message.front() == ' '))
    message.remove_prefix(1);
  return {error.code, fmt::format("{} {} {}: {}", verb, kind, key, message), error.retry_after};
}

Json guard(const std::string& uid, const std::string& resource_version) {
  return {{"uid", uid}, {"resourceVersion", resource_version}};
}

bool is_gone(const Json& object) {
  return kube::find(object, {"metadata", "deletionTimestamp"}) != nullptr &&
         kube::int_at(object, {"metadata", "deletionGracePeriodSeconds"}) == 0 &&
         kube::array_at(object, {"metadata", "finalizers"}).empty();
}

// The existing pod has exactly the wanted slot and placement.
bool is_same_place(const kube::Pod& pod, const Json& manifest) {
  for (const auto& key : gang::slot_annotation_keys()) {
    const std::string want = kube::string_at(manifest, {"metadata", "annotations", key});
    if (kube::annotation(pod.meta, key) != want) return false;
  }
  return true;
}
// For services and PodGroups the name is enough.
bool is_same_place(const Service&, const Json&) { return true; }
bool is_same_place(const gang::PodGroup&, const Json&) { return true; }

Error slot_is_taken(const std::string& pod) {
  return {Code::kConflict,
          "pod " + pod + " must be deleted before the next pod of its slot is created"};
}

}  // namespace

Writes::Writes(kube::Api& api, Stores& stores, const job::Job& job)
    : api_(api), stores_(stores), job_(job) {}

Writes::Kind<kube::Pod> Writes::pods() const {
  return {kube::kPods, "pod", stores_.pods, decode_pod};
}
Writes::Kind<Service> Writes::services() const {
  return {kube::kServices, "service", stores_.services, decode_service};
}
Writes::Kind<gang::PodGroup> Writes::pod_groups() const {
  return {kube::kPodGroups, "podgroup", stores_.pod_groups, gang::parse_pod_group};
}

// An unreadable answer is not a failed write: the watch will show the object.
template <typename T>
void Writes::fold(const Kind<T>& kind, const Json& object) const {
  auto decoded = kind.decode(kube::to_text(object));
  if (!decoded) return;
  const std::string key = decoded->meta.key();
  kind.store.update(key, *std::move(decoded));
}

template <typename T>
Result<Nothing> Writes::create(const Kind<T>& kind, const Json& manifest) const {
  const std::string& ns = job_.meta.ns;
  const auto created = kube::create_object(api_, kind.resource, ns, manifest);
  if (created) {
    fold(kind, *created);
    return ok();
  }
  if (created.error().code == Code::kConflict) return settle_taken_name(kind, manifest);
  return failure("create", kind.name, ns + "/" + read_name(manifest),
                 "POST " + kube::api_path(kind.resource, ns), created.error());
}

template <typename T>
Result<Nothing> Writes::settle_taken_name(const Kind<T>& kind, const Json& manifest) const {
  const std::string name = read_name(manifest);
  const std::string key = job_.meta.ns + "/" + name;
  const auto live = kube::get_object(api_, kind.resource, job_.meta.ns, name);
  if (!live) {
    const bool is_gone = live.error().code == Code::kNotFound;
    return failure(
        "create", kind.name, key, "",
        is_gone ? Error{Code::kConflict, "the name was taken and is free again"} : live.error());
  }
  const auto there = kind.decode(kube::to_text(*live));
  if (!there) return failure("create", kind.name, key, "", there.error());
  if (owner_job_uid(there->meta) != job_.meta.uid) {
    return failure(
        "create", kind.name, key, "",
        {Code::kForbidden,
         fmt::format("the name is taken by a {} that does not belong to this job: delete it, "
                     "or give the job another name",
                     kind.name)});
  }
  fold(kind, *live);
  if (!there->meta.deleting && is_same_place(*there, manifest)) return ok();
  return failure("create", kind.name, key, "",
                 {Code::kConflict, "an earlier one of this job must be deleted first"});
}

template <typename T>
Result<Nothing> Writes::remove(const Kind<T>& kind, const Target& target) const {
  const std::string key = job_.meta.ns + "/" + target.name;
  kube::DeleteOptions options;
  if (target.grace) options.grace_period_seconds = static_cast<int>(target.grace->count());
  if (target.at_once) options.grace_period_seconds = 0;
  options.resource_version = target.resource_version;
  const auto deleted =
      kube::delete_object(api_, kind.resource, job_.meta.ns, target.name, target.uid, options);
  if (!deleted) {
    return failure("delete", kind.name, key,
                   "DELETE " + kube::api_path(kind.resource, job_.meta.ns, target.name),
                   deleted.error());
  }
  // The answer is the object while it terminates; otherwise it is deleted.
  auto left = kind.decode(kube::to_text(deleted->answer));
  if (left && left->meta.uid == target.uid && left->meta.deleting) {
    kind.store.update(key, *std::move(left));
    return ok();
  }
  kind.store.forget(key, target.uid);
  return ok();
}

Result<Nothing> Writes::create_pod(const Json& manifest) { return create(pods(), manifest); }
Result<Nothing> Writes::create_service(const Json& manifest) {
  return create(services(), manifest);
}
Result<bool> Writes::create_shared_service(const Json& manifest) {
  const std::string& ns = job_.meta.ns;
  const std::string name = read_name(manifest);
  const auto created = kube::create_object(api_, kube::kServices, ns, manifest);
  if (created) {
    fold(services(), *created);
    return true;
  }
  if (created.error().code != Code::kConflict) {
    return failure("create", "service", ns + "/" + name,
                   "POST " + kube::api_path(kube::kServices, ns), created.error());
  }
  const auto live = kube::get_object(api_, kube::kServices, ns, name);
  if (!live) {
    const bool is_free = live.error().code == Code::kNotFound;
    return failure(
        "create", "service", ns + "/" + name, "",
        is_free ? Error{Code::kConflict, "the name was taken and is free again"} : live.error());
  }
  const auto there = decode_service(kube::to_text(*live));
  if (!there) return failure("create", "service", ns + "/" + name, "", there.error());
  if (!is_shared_service(*there)) return false;
  fold(services(), *live);
  if (!there->meta.deleting) return true;
  return failure("create", "service", ns + "/" + name, "",
                 {Code::kConflict, "an earlier one of that name must be deleted first"});
}
// A merge patch keeps what the API server has added to the spec.
Result<Nothing> Writes::update_shared_service(const UpdateSharedService& update) {
  Json spec = {{"selector", nullptr}, {"ports", nullptr}};
  spec.update(update.manifest["spec"]);
  const Json body = {{"metadata", guard(update.uid, update.resource_version)},
                     {"spec", std::move(spec)}};
  const std::string name = read_name(update.manifest);
  const auto updated = kube::merge_patch(api_, kube::kServices, job_.meta.ns, name, body);
  if (!updated) {
    return with_context("update service " + job_.meta.ns + "/" + name, updated.error());
  }
  fold(services(), *updated);
  return ok();
}
Result<Nothing> Writes::create_pod_group(const CreatePodGroup& action) {
  const std::string name = read_name(action.manifest);
  const auto claim =
      stores_.group_pods.claim(job_.meta.ns, name, action.pods, action.follows_attempt);
  if (!claim) return claim.error();
  auto created = create(pod_groups(), action.manifest);
  stores_.group_pods.recount(job_.meta.ns, name);
  return created;
}
Result<Nothing> Writes::delete_pod(const Target& target) { return remove(pods(), target); }
// This write removes a pod that waits for nothing else; the answer is its last state.
Result<Nothing> Writes::release_pod(const Target& target) {
  const std::string key = job_.meta.ns + "/" + target.name;
  const auto released = kube::remove_finalizer(api_, kube::kPods, job_.meta.ns, target.name,
                                               target.uid, job::kTrackingFinalizer);
  if (released && !is_gone(*released)) {
    fold(pods(), *released);
    return ok();
  }
  if (!released && !was_gone(target, released.error())) {
    return failure("release", "pod", key,
                   "PATCH " + kube::api_path(kube::kPods, job_.meta.ns, target.name),
                   released.error());
  }
  stores_.pods.forget(key, target.uid);
  return ok();
}

// The pod of that uid was deleted. A conflict is no proof: other writers may cause it.
bool Writes::was_gone(const Target& target, const Error& error) const {
  if (error.code == Code::kNotFound) return true;
  if (error.code != Code::kConflict) return false;
  const auto live = kube::get_object(api_, kube::kPods, job_.meta.ns, target.name);
  if (!live) return live.error().code == Code::kNotFound;
  return kube::decode_meta(*live).uid != target.uid;
}

Result<Nothing> Writes::delete_service(const Target& target) { return remove(services(), target); }
Result<Nothing> Writes::delete_pod_group(const Target& target) {
  auto removed = remove(pod_groups(), target);
  stores_.group_pods.recount(job_.meta.ns, target.name);
  return removed;
}

// Pods of earlier attempts: one list for all slots of an attempt. Pods of earlier incarnations in
// this attempt: their names are known.
Result<Nothing> Writes::confirm_free(const ConfirmFree& question) {
  const bool is_cleared = job_.status.attempt <= 1 ||
                          stores_.cleared_attempts.contains(job_.meta.uid, question.pod_group_uid);
  if (!is_cleared) return confirm_free_by_list(question);
  std::vector<std::string> names;
  for (const auto& [role, slot] : question.slots) {
    for (int incarnation = 0; incarnation < slot.incarnation; ++incarnation) {
      names.push_back(job::pod_name(job_, role, {slot.ordinal, incarnation}));
      if (names.size() > kFewNames) return confirm_free_by_list(question);
    }
  }
  for (const auto& name : names) {
    const auto pod = live_pod(api_, job_, name);
    if (!pod) return pod.error();
    if (!*pod) continue;
    stores_.pods.update((*pod)->meta.key(), **pod);
    if (!(*pod)->is_finished()) return slot_is_taken(name);
  }
  return ok();
}

Result<Nothing> Writes::confirm_free_by_list(const ConfirmFree& question) {
  std::set<std::pair<job::Role, int>> asked;
  for (const auto& [role, slot] : question.slots) asked.emplace(role, slot.ordinal);
  std::string taken;
  bool is_cleared = true;
  auto listed = for_each_live_pod(api_, job_, [&](kube::Pod pod) {
    const auto slot = gang::pod_slot(pod);
    const auto role = slot ? job::parse_role(slot->role) : std::nullopt;
    if (role && !pod.is_finished()) {
      if (asked.count({*role, slot->slot.ordinal}) != 0) taken = pod.meta.name;
      if (slot->pod_group_uid != question.pod_group_uid) is_cleared = false;
    }
    const std::string key = pod.meta.key();
    stores_.pods.update(key, std::move(pod));
  });
  if (!listed) return listed;
  if (is_cleared) stores_.cleared_attempts.set(job_.meta.uid, question.pod_group_uid);
  return taken.empty() ? ok() : slot_is_taken(taken);
}

bool Writes::has_other_owner(const Json& manifest) const {
  const bool is_pod = kube::string_at(manifest, {"kind"}) == "Pod";
  const auto live = kube::get_object(api_, is_pod ? kube::kPods : kube::kServices, job_.meta.ns,
                                     read_name(manifest));
  return live && owner_job_uid(kube::decode_meta(*live)) != job_.meta.uid;
}

Result<Nothing> Writes::patch_pod_group(const PatchPodGroup& patch) {
  const std::string& ns = job_.meta.ns;
  // Beyond the limit it has only what it must have.
  const auto claim = stores_.group_pods.claim(ns, patch.name, patch.pods, patch.is_at_pod_limit);
  if (!claim) return claim.error();
  const Json body = {{"metadata", guard(patch.uid, patch.resource_version)}, {"spec", patch.spec}};
  const auto patched = kube::merge_patch(api_, kube::kPodGroups, ns, patch.name, body);
  if (patched) fold(pod_groups(), *patched);
  stores_.group_pods.recount(ns, patch.name);
  if (patched) return ok();
  return with_context("change the members of podgroup " + patch.name, patched.error());
}

// Whole: that costs the API server less than a patch, and no other program writes it.
Result<Nothing> Writes::update_status(const job::Status& status) {
  const kube::Meta& meta = job_.meta;
  Json metadata = guard(meta.uid, meta.resource_version);
  metadata["namespace"] = meta.ns;
  metadata["name"] = meta.name;
  const Json object = {{"apiVersion", job::kApiVersion},
                       {"kind", job::kKind},
                       {"metadata", std::move(metadata)},
                       {"status", job::encode_status(status)}};
  const auto updated = kube::update_object(api_, kube::kNervexJobs, meta.ns, object, "status");
  if (!updated) return with_context("write status of nervexjob " + meta.key(), updated.error());
  if (auto job = job::decode_job(*updated)) stores_.update_job(*std::move(job));
  return ok();
}

Result<Nothing> Writes::delete_job() {
  const kube::Meta& meta = job_.meta;
  kube::DeleteOptions options;
  options.resource_version = meta.resource_version;
  const auto deleted =
      kube::delete_object(api_, kube::kNervexJobs, meta.ns, meta.name, meta.uid, options);
  if (!deleted) return with_context("delete nervexjob " + meta.key(), deleted.error());
  stores_.forget_job(meta);
  return ok();
}

}  // namespace nervex::controller
