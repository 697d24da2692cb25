// extender/bind/bind.h - how does a pod get to its node? Holds the call until the whole gang can
// start, commits the gang, then binds.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <utility>

#include "extender/bind/holds.h"
#include "extender/observe/bind_cache.h"
#include "gang/slot.h"
#include "kube/api.h"
#include "kube/cache/store.h"
#include "kube/model/extender_api.h"
#include "planner/recovery/refusals.h"

namespace nervex::extender {

// Thread-safe: kube-scheduler sends one call per pod, many at once.
class Binder {
 public:
  // Borrows all arguments.
  Binder(kube::Api& api, BindCache& cache, Holds& holds, const kube::Store<kube::Pod>& pods,
         const Clock& clock)
      : api_(api), cache_(cache), holds_(holds), pods_(pods), clock_(clock) {}
  Binder(const Binder&) = delete;
  Binder& operator=(const Binder&) = delete;

  // `wake` is called after each commit and after each bind without an answer, on that call's
  // thread: the planner has to look after them, and the watch does not report what the store
  // already has. Call before any other.
  void wake_planner_with(std::function<void()> wake) { wake_planner_ = std::move(wake); }

  // Ok: the pod is bound to that node. On any error kube-scheduler retries later; the message is
  // for people. Waits for the other pods of the gang (holds.h), for the API server, and for another
  // call that commits the gang; `has_caller_left` ends the first wait.
  Result<Nothing> bind(const kube::BindArgs& args, const std::function<bool()>& has_caller_left);

  // ---- the steps of bind(), for simulations

  struct Bind {
    kube::BindArgs args;
    kube::PodPtr pod;
    std::optional<Holds::Call> call;  // of a gang's pod
  };
  Result<Bind> prepare(const kube::BindArgs& args) const;
  // All pods of the gang are here: it starts. True: this pod is bound last, once call.until allows
  // it.
  Result<bool> start(Bind& bind);
  Result<Nothing> finish(const Bind& bind);
  // Takes the outcome of the call's hold: drops a plan that kube-scheduler refuses (refusals.h).
  void learn(const Bind& bind, const Holds::Outcome& held);

 private:
  Result<kube::PodPtr> find_pod(const kube::BindArgs& args) const;
  Result<Nothing> wait(const Bind& bind, const std::function<bool()>& has_caller_left);
  Result<Nothing> check(const Bind& bind) const;
  Result<Nothing> assume(const Bind& bind);
  bool was_deleted_unseen(const std::string& ns, const planner::NamedPod& pod) const;
  Result<Nothing> commit(const std::string& uid, const std::string& gang);
  Result<Nothing> write_commit(const gang::PodGroup& group, const std::string& gang);
  Result<Nothing> write_binding(const kube::BindArgs& args) const;

  kube::Api& api_;
  BindCache& cache_;
  Holds& holds_;
  const kube::Store<kube::Pod>& pods_;
  const Clock& clock_;
  std::function<void()> wake_planner_ = [] {};
};

}  // namespace nervex::extender
