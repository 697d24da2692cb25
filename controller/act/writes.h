// controller/act/writes.h - one write, with a check of the object's owner, folded into the caches.
#pragma once

#include <string>
#include <string_view>

#include "controller/decide/actions.h"
#include "controller/observe/stores.h"
#include "kube/api.h"

namespace nervex::controller {

// Writes for one job. The caches have the API server's answer when a call returns, so the next
// decision sees it before the watch reports it. Thread-safe.
class Writes {
 public:
  Writes(kube::Api& api, Stores& stores, const job::Job& job);

  // A taken name counts as success if the object is this job's and is as wanted. Another object of
  // this job: kConflict (read again); an object of another owner: kForbidden.
  Result<Nothing> create_pod(const Json& manifest);
  Result<Nothing> create_service(const Json& manifest);
  // False: the name belongs to a Service that is not ours. Ours may have been made for another job.
  Result<bool> create_shared_service(const Json& manifest);
  // kConflict: not the version that was decided on.
  Result<Nothing> update_shared_service(const UpdateSharedService& update);
  Result<Nothing> create_pod_group(const CreatePodGroup& action);

  // Puts the live pods that it reads into the cache. kConflict: an unfinished pod occupies one of
  // the slots.
  Result<Nothing> confirm_free(const ConfirmFree& question);
  // True if the manifest's name is known to belong to an object that is not this job's.
  bool has_other_owner(const Json& manifest) const;

  // kConflict: not the version that was decided on.
  Result<Nothing> patch_pod_group(const PatchPodGroup& patch);
  Result<Nothing> update_status(const job::Status& status);

  // Deletes the job. kConflict: it was written since.
  Result<Nothing> delete_job();

  // A missing object counts as deleted.
  Result<Nothing> delete_pod(const Target& target);
  // A missing pod counts as released.
  Result<Nothing> release_pod(const Target& target);
  Result<Nothing> delete_service(const Target& target);
  Result<Nothing> delete_pod_group(const Target& target);

 private:
  bool was_gone(const Target& target, const Error& error) const;
  Result<Nothing> confirm_free_by_list(const ConfirmFree& question);

  // A watched kind with its store.
  template <typename T>
  struct Kind {
    const kube::ResourceKind& resource;
    const char* name;  // "pod"
    kube::Store<T>& store;
    Result<T> (*decode)(std::string_view json);
  };
  Kind<kube::Pod> pods() const;
  Kind<Service> services() const;
  Kind<gang::PodGroup> pod_groups() const;

  template <typename T>
  void fold(const Kind<T>& kind, const Json& object) const;
  template <typename T>
  Result<Nothing> create(const Kind<T>& kind, const Json& manifest) const;
  template <typename T>
  Result<Nothing> settle_taken_name(const Kind<T>& kind, const Json& manifest) const;
  template <typename T>
  Result<Nothing> remove(const Kind<T>& kind, const Target& target) const;

  kube::Api& api_;
  Stores& stores_;
  const job::Job& job_;
};

}  // namespace nervex::controller
