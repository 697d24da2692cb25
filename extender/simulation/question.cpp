#include "extender/simulation/question.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "demand/gangs.h"
#include "demand/initial_gang.h"
#include "job/names.h"
#include "job/pod_manifest.h"
#include "job/wanted_slots.h"

namespace nervex::extender {
namespace {

// Neither is stored: they only have to differ from those of PodGroups.
gang::PodGroup make_unstored(std::string ns, std::string name) {
  gang::PodGroup group;
  group.meta.ns = ns;
  group.meta.name = std::move(name);
  group.meta.uid = "simulation:" + ns + "/" + group.meta.name;
  group.meta.generation = 1;
  return group;
}

}  // namespace

Result<gang::PodGroup> make_group(const Simulation& simulation, const Surroundings& around,
                                  SysTime now) {
  const Json object = {
      {"apiVersion", job::kApiVersion},
      {"kind", job::kKind},
      {"metadata", {{"name", simulation.meta.name}, {"namespace", simulation.meta.ns}}},
      {"spec", simulation.job.get()}};
  auto job = job::decode_job(object);
  if (!job) return Error{Code::kInvalid, "spec.job: " + job.error().message};
  job->spec.requests = {};
  job->status.attempt = 1;

  const bool has_config = around.aggregator_config != nullptr;
  if (job::waits_for_aggregator(job->spec, has_config)) {
    return Error{Code::kInvalid,
                 "spec.job.aggregator is PerJob, and there is no AggregatorConfig: the job would "
                 "wait for one"};
  }
  job::PodContext context;
  context.has_aggregator = job::wants_aggregator(job->spec, has_config);
  if (has_config) context.aggregator_template = around.aggregator_config->pod_template;
  const job::Priority priority =
      job::resolve_priority(job->spec, context.aggregator_template, around.priority_classes);
  if (!priority.missing.empty()) {
    return Error{Code::kInvalid, fmt::format("PriorityClass \"{}\", named by {}, does not exist",
                                             priority.missing, priority.named_by)};
  }

  gang::PodGroup group =
      make_unstored(simulation.meta.ns, job::pod_group_name(*job, job->status.attempt));
  group.spec.priority = priority.value;
  group.spec.queue = job->spec.queue;
  group.spec.queued_since = now;
  group.spec.gangs.push_back(
      demand::make_initial_gang(*job, job::WantedSlots(*job, context.has_aggregator), context));
  return group;
}

Result<gang::PodGroup> make_growth(const Growth& growth, const gang::PodGroup& of_job) {
  const gang::MemberSet* like = nullptr;
  for (const gang::MemberSet& set : gang::all_sets(of_job.spec.gangs)) {
    if (set.role != to_string(growth.role) || set.part != 0) continue;
    like = &set;
    break;
  }
  if (like == nullptr) {
    return Error{Code::kInvalid, fmt::format("job {} has no {} to add more of: give it at least "
                                             "one, or a template in a new job",
                                             growth.job, to_string(growth.role))};
  }
  int reserved = 0;
  for (const gang::GangStatus& gang : of_job.status.gangs) {
    reserved += gang::reserved_for(gang, like->name);
  }
  gang::PodGroup group = make_unstored(of_job.meta.ns.str(), of_job.meta.name + "-grown");
  group.spec.priority = of_job.spec.priority;
  group.spec.queue = of_job.status.queue.name;
  group.spec.user = of_job.spec.user;
  group.spec.queued_since = of_job.spec.queued_since;
  gang::Gang base = demand::base_gang();
  gang::MemberSet set;
  set.name = like->name;
  set.role = like->role;
  set.shape = like->shape;
  for (int i = 0; i < growth.replicas - reserved; ++i) set.slots.push_back({i, 0});
  if (!set.slots.empty()) {
    base.members.push_back(std::move(set));
    group.spec.gangs.push_back(std::move(base));
  }
  return group;
}

}  // namespace nervex::extender
