// controller/observe/kept_templates.h - which jobs' templates are in memory?
//
// Users decide how many jobs there are and how large their templates: together they may exceed what
// the program may use. So all of a namespace share a budget, and all namespaces another one. The
// templates of a job beyond them are left out of the cache, and read from the API server in each of
// its rounds (read_templates() in observe.h): it costs a request, and no job waits for it.
#pragma once

#include <cstddef>
#include <deque>
#include <optional>
#include <string>
#include <unordered_map>
#include <unordered_set>

#include "base/error.h"
#include "base/memory_budget.h"
#include "base/mutex.h"
#include "job/types.h"

namespace nervex::controller {

// Thread-safe.
class KeptTemplates {
 public:
  static constexpr std::size_t kMost = std::size_t{96} << 20U;
  static constexpr std::size_t kMostOfNamespace = kMost / 4;

  explicit KeptTemplates(std::size_t most = kMost, std::size_t most_of_namespace = kMostOfNamespace)
      : most_(most), most_of_namespace_(most_of_namespace) {}

  // What a cache keeps of a packed job: without templates (job::left_out()) beyond a budget. Counts
  // it instead of the version of the job that was counted before. Cost: constant.
  job::Job keep(job::Job job);
  // The job was deleted: what is read of it later does not count, as the cache ignores it. Does
  // nothing else if another job of the name is counted now.
  void forget(const kube::Meta& job);

 private:
  struct Counted {
    std::string uid;
    std::size_t bytes = 0;
  };
  void take_off(const std::string& key, const std::string& ns) REQUIRES(mutex_);

  const std::size_t most_;
  const std::size_t most_of_namespace_;
  Mutex mutex_;
  std::size_t all_ GUARDED_BY(mutex_) = 0;
  std::unordered_map<std::string, std::size_t> by_namespace_ GUARDED_BY(mutex_);  // no entry is 0
  std::unordered_map<std::string, Counted> by_job_ GUARDED_BY(mutex_);            // by its key
  // UIDs. A late event or reply comes within seconds: hence a bound.
  static constexpr std::size_t kMaxDeleted = 4096;
  std::unordered_set<std::string> deleted_ GUARDED_BY(mutex_);
  std::deque<std::string> deleted_order_ GUARDED_BY(mutex_);
};

// The memory for parsed templates of the rounds under way. Thread-safe.
class ParsedTemplates {
 public:
  // A round's share, for as long as it has the job's templates. nullopt: they are small and need
  // none. kTransient: other large jobs have it; those of one namespace leave memory to others. Does
  // not wait, or large jobs would hold all threads.
  Result<std::optional<MemoryBudget::Share>> take(const job::Job& job);

 private:
  static constexpr std::size_t kMost = std::size_t{96} << 20U;

  MemoryBudget budget_{kMost, kMost / 2};
};

}  // namespace nervex::controller
