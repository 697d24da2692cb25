// controller/act/dry_run.h - would the API server create the pods of waiting jobs? Asks it.
#pragma once

#include <chrono>
#include <stop_token>
#include <vector>

#include "base/clock.h"
#include "controller/decide/objects/start_needs.h"
#include "controller/observe/observe.h"
#include "controller/observe/stores.h"
#include "kube/api.h"
#include "kube/work_queue.h"

namespace nervex::controller {

// One pod with a slow webhook must not block this for longer. Also the API server's timeout.
inline constexpr std::chrono::seconds kPodDryRunTimeout{2};

// Answers the questions of Stores::dry_runs one by one on its own thread: a slow webhook must not
// delay workers or writes of starting jobs. Queues the job's key when its answer is there. Nothing
// is stored: after a restart or a change of leader each waiting job is asked about again.
class PodDryRuns {
 public:
  // Borrows all arguments. `api` should time out after at most kPodDryRunTimeout.
  PodDryRuns(kube::Api& api, Stores& stores, kube::WorkQueue& queue, const Clock& clock,
             ObserveOptions options);

  // Until `stop` is requested.
  void run(const std::stop_token& stop);
  // Answers the oldest question; false if there is none.
  bool answer_next();

 private:
  void answer(const DryRuns::Question& question);
  // Asks the API server. False: the job has changed, and another question follows. It may have been
  // read just now, and the watch says nothing of that version then.
  Result<bool> ask(const JobPtr& cached, DryRunReport& report);
  void check_needs(const std::vector<StartNeed>& needs, DryRunReport& report);
  Result<std::string> send(const std::string& ns, const Json& pod);

  kube::Api& api_;
  Stores& stores_;
  kube::WorkQueue& queue_;
  const Clock& clock_;
  const ObserveOptions options_;
};

}  // namespace nervex::controller
