// controller/observe/group_pods.h - how many pods do the PodGroups ask for?
//
// A short job may ask for thousands of pods. While they wait they cost the API server nothing, but
// the programs that plan them memory and time. So the jobs of a namespace share a limit, as do all
// jobs (--max-pods-per-namespace, Round::exceeds_pod_limit).
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>
#include <unordered_map>
#include <utility>

#include "base/error.h"
#include "base/mutex.h"
#include "controller/decide/round/observed.h"
#include "gang/pod_group.h"
#include "kube/cache/store.h"

namespace nervex::controller {

// Counts what a store of PodGroups has, and what is being written. Thread-safe.
class GroupPods {
 public:
  // The pods of a PodGroup that is being written; they count until the claim is destroyed.
  class Claim {
   public:
    Claim(GroupPods& pods, std::string ns, std::string name)
        : pods_(&pods), ns_(std::move(ns)), name_(std::move(name)) {}
    ~Claim() {
      if (pods_ != nullptr) pods_->set_claimed(ns_, name_, 0);
    }
    Claim(Claim&& other) noexcept
        : pods_(std::exchange(other.pods_, nullptr)),
          ns_(std::move(other.ns_)),
          name_(std::move(other.name_)) {}
    Claim& operator=(Claim&&) = delete;

   private:
    GroupPods* pods_;
    std::string ns_;
    std::string name_;
  };

  explicit GroupPods(const kube::Store<gang::PodGroup>& groups) : groups_(groups) {}

  // The limit of a namespace; 0: none. Call it before any other function.
  void set_limit(std::int64_t max_of_namespace) { max_of_namespace_ = max_of_namespace; }

  GroupPodCount count(const std::string& ns) const;
  // A PodGroup is about to be written, and asks for so many pods then. So jobs that start at one
  // time do not exceed the limit together. `must`: it is written also without space. kTransient:
  // there is no space for more than it has.
  Result<Claim> claim(const std::string& ns, const std::string& name, std::int64_t pods,
                      bool must = false);
  // The store has another state of this PodGroup, or may have. Cost: its member sets.
  void recount(const std::string& ns, const std::string& name);

 private:
  // The larger number counts.
  struct Pods {
    std::int64_t stored = 0;
    std::int64_t claimed = 0;
    std::int64_t counted() const { return std::max(stored, claimed); }
  };
  GroupPodCount count_locked(const std::string& ns) const REQUIRES(mutex_);
  void set_claimed(const std::string& ns, const std::string& name, std::int64_t pods);
  void set(const std::string& ns, const std::string& name, Pods pods) REQUIRES(mutex_);
  Pods find(const std::string& ns, const std::string& name) const REQUIRES(mutex_);

  std::int64_t max_of_namespace_ = 0;
  const kube::Store<gang::PodGroup>& groups_;
  mutable Mutex mutex_;
  std::int64_t all_ GUARDED_BY(mutex_) = 0;
  // No entry is 0.
  std::unordered_map<std::string, std::int64_t> by_namespace_ GUARDED_BY(mutex_);
  std::unordered_map<std::string, Pods> by_group_ GUARDED_BY(mutex_);  // by its key
};

}  // namespace nervex::controller
