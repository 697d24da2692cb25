#include "server/replica_metrics.h"

#include <algorithm>
#include <set>

#include "job/names.h"
#include "job/slots.h"
#include "server/decide/listing.h"

namespace nervex::server {
namespace {

struct Total {
  std::size_t collectors = 0;
  std::size_t learners = 0;
};

std::vector<MetricSample> by_role(const Total& total) {
  return {{{{"role", "collector"}}, static_cast<double>(total.collectors)},
          {{{"role", "learner"}}, static_cast<double>(total.learners)}};
}

std::vector<std::shared_ptr<const job::Job>> jobs_under_way(const Stores& stores) {
  auto jobs = stores.jobs.all();
  std::erase_if(
      jobs, [](const auto& job) { return job->meta.deleting || job::is_final(job->status.phase); });
  return jobs;
}

// Replicas that ended by themselves are no longer wanted: they are not created again.
std::size_t count_wanted_replicas(const job::Job& job, job::Role role) {
  std::set<job::Slot> ended;
  for (const auto& finished : job.status.ended) {
    if (finished.role == role) ended.insert(finished.slot);
  }
  const auto replicas = job::wanted_replicas(job, role);
  return static_cast<std::size_t>(
      std::count_if(replicas.begin(), replicas.end(),
                    [&](const auto& replica) { return ended.count(replica.slot) == 0; }));
}

Total wanted(const Stores& stores) {
  Total total;
  for (const auto& job : jobs_under_way(stores)) {
    total.collectors += count_wanted_replicas(*job, job::Role::kCollector);
    total.learners += count_wanted_replicas(*job, job::Role::kLearner);
  }
  return total;
}

Total present(const Stores& stores) {
  Total total;
  for (const auto& job : jobs_under_way(stores)) {
    const auto group =
        stores.groups.get(job->meta.ns + "/" + job::pod_group_name(*job, job->status.attempt));
    if (!group) continue;
    const auto pods = kept_pods(*job, stores.pods.by_index(job->meta.uid));
    const Listing listing = list_replicas(*job, "", group->meta.uid, pods, 0);
    total.collectors += listing.collectors.size();
    total.learners += listing.learners.size();
  }
  return total;
}

}  // namespace

void add_replica_metrics(Metrics& metrics, const Stores& stores) {
  metrics.collect("nervex_server_replicas_wanted", "Number of replicas that unfinished jobs want.",
                  MetricType::kGauge, [&stores] { return by_role(wanted(stores)); });
  metrics.collect("nervex_server_replicas_present",
                  "Number of replicas of unfinished jobs that are listed to clients.",
                  MetricType::kGauge, [&stores] { return by_role(present(stores)); });
}

}  // namespace nervex::server
