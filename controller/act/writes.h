// controller/act/writes.h - one write, checked for whose object it met, and folded into the caches.
#pragma once

#include <string>
#include <string_view>

#include "controller/decide/actions.h"
#include "controller/observe/stores.h"
#include "kube/api.h"

namespace nervex::controller {

// Writes for one job. What the API server answers is in the caches when a call returns, so the next
// decision sees it before the watch reports it. Thread-safe.
class Writes {
 public:
  Writes(kube::Api& api, Stores& stores, const job::Job& job);

  // A name that is taken counts as success if the object is this job's and is what was wanted;
  // another object of this job: kConflict (read again); an object of another owner: kForbidden.
  Result<Nothing> create_pod(const Json& manifest);
  Result<Nothing> create_service(const Json& manifest);
  // False: its name belongs to a Service that is not ours. Ours may have been made for another job.
  Result<bool> create_shared_service(const Json& manifest);
  // kConflict: it is not the version that was decided on.
  Result<Nothing> update_shared_service(const UpdateSharedService& update);
  Result<Nothing> create_pod_group(const Json& manifest);

  // The live pods that were read are in the cache then. kConflict: one that has not finished fills
  // one of the slots.
  Result<Nothing> confirm_free(const ConfirmFree& question);
  // Does the name of this manifest belong to an object that is not this job's? False if that is not
  // known.
  bool is_somebody_elses(const Json& manifest) const;

  // kConflict: the object is not the version that was decided on.
  Result<Nothing> patch_pod_group(const PatchPodGroup& patch);
  Result<Nothing> update_status(const job::Status& status);

  // The job itself, if it was not written since (kConflict).
  Result<Nothing> delete_job();

  // What is gone already counts as deleted.
  Result<Nothing> delete_pod(const Target& target);
  // What is gone already counts as released.
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
