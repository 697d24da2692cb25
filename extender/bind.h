// extender/bind.h - how does a pod get to its node? Commits the gang if it is its first, then
// binds.
#pragma once

#include <optional>
#include <string>

#include "extender/plans.h"
#include "gang/slot.h"
#include "kube/api.h"
#include "kube/cache/store.h"
#include "kube/model/extender_api.h"

namespace nervex::extender {

// Thread-safe: kube-scheduler sends one call per pod, many at once.
class Binder {
 public:
  Binder(kube::Api& api, Plans& plans, const kube::Store<kube::Pod>& pods)
      : api_(api), plans_(plans), pods_(pods) {}
  Binder(const Binder&) = delete;
  Binder& operator=(const Binder&) = delete;

  // Ok: the pod is bound to that node. Else kube-scheduler retries later, whatever the code; the
  // message is for people. May wait for the API server and for another call that commits the gang.
  Result<Nothing> bind(const kube::BindArgs& args);

 private:
  Result<PodPtr> find_pod(const kube::BindArgs& args) const;
  Result<Nothing> bind_gang_pod(const kube::BindArgs& args, const kube::Pod& pod,
                                const gang::PodSlot& slot);
  bool was_deleted_unseen(const std::string& ns, const SlotPods::Named& pod) const;
  Result<Nothing> commit(const std::string& uid, const std::string& gang);
  Result<Nothing> write_commit(const gang::PodGroup& group, const std::string& gang);
  Result<Nothing> write_binding(const kube::BindArgs& args) const;

  kube::Api& api_;
  Plans& plans_;
  const kube::Store<kube::Pod>& pods_;
};

// The cache keeps of each pod the annotations of its slot.
kube::PodFilter pod_filter();

}  // namespace nervex::extender
