// controller/observe/kept_templates.h - which jobs' templates are in memory?
//
// Users decide how many jobs there are and how large their templates: together they may exceed what
// the program may use. So all of a namespace share a budget, and all namespaces another one. The
// templates of a job beyond them are left out of the cache, and read from the API server in each of
// its rounds (read_templates() in observe.h): it costs a request, and no job waits for it.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <unordered_map>

#include "base/error.h"
#include "base/memory_budget.h"
#include "base/mutex.h"
#include "job/types.h"
#include "kube/cache/store.h"

namespace nervex::controller {

// Counts what a store of packed jobs has. Thread-safe.
class KeptTemplates {
 public:
  static constexpr std::size_t kMost = std::size_t{96} << 20U;
  static constexpr std::size_t kMostOfNamespace = kMost / 4;

  explicit KeptTemplates(const kube::Store<job::Job>& jobs, std::size_t most = kMost,
                         std::size_t most_of_namespace = kMostOfNamespace)
      : jobs_(jobs), most_(most), most_of_namespace_(most_of_namespace) {}

  // Returns what the store is to keep of a packed job: it is without templates (job::left_out())
  // beyond a budget. The version that it has now makes space. Of versions that come at the same
  // time both may fit.
  job::Job fit(job::Job job) const;
  // The store has changed, or may have. Cost: constant, as that of fit().
  void recount(const kube::Meta& job);

 private:
  bool has_space(const kube::Meta& job, std::size_t bytes) const;

  const kube::Store<job::Job>& jobs_;
  const std::size_t most_;
  const std::size_t most_of_namespace_;
  mutable Mutex mutex_;
  std::size_t all_ GUARDED_BY(mutex_) = 0;
  // No entry is 0.
  std::unordered_map<std::string, std::size_t> by_namespace_ GUARDED_BY(mutex_);
  std::unordered_map<std::string, std::size_t> by_job_ GUARDED_BY(mutex_);  // by its key
};

// The memory for parsed templates of the rounds and dry runs under way. Thread-safe.
class ParsedTemplates {
 public:
  // A share of one of them, for as long as it has the job's templates. nullopt: they are small and
  // need none. kTransient: other large jobs have it; those of one namespace leave memory to others.
  // Does not wait, or large jobs would hold all threads.
  Result<std::optional<MemoryBudget::Share>> take(const job::Job& job);

 private:
  static constexpr std::size_t kMost = std::size_t{96} << 20U;

  MemoryBudget budget_{kMost, kMost / 2};
};

}  // namespace nervex::controller
