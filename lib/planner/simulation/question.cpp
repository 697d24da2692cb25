#include "planner/simulation/question.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <memory>
#include <optional>
#include <utility>

#include "demand/gangs.h"
#include "demand/initial_gang.h"
#include "demand/run_limits.h"
#include "job/names.h"
#include "job/pod_manifest.h"
#include "job/wanted_slots.h"

namespace nervex::planner {
namespace {

// Neither is the id of an entry: they count from 1.
constexpr std::int64_t kNoRequest = std::numeric_limits<std::int64_t>::max();

void set_replicas(job::Job& job, job::Role role, int replicas) {
  auto& spec = role == job::Role::kCollector ? job.spec.collector : job.spec.learner;
  if (spec) spec->replicas = replicas;
}

// Collectors, else learners, else none.
std::optional<job::Role> find_counted_role(const job::Spec& spec) {
  for (const job::Role role : {job::Role::kCollector, job::Role::kLearner}) {
    const auto& its = role_spec(spec, role);
    if (its && its->replicas > 0) return role;
  }
  return std::nullopt;
}

// Not stored: its name and uid only have to differ from those of PodGroups.
gang::PodGroup make_group(const job::Job& job, const job::PodContext& context, int priority,
                          SysTime now) {
  gang::PodGroup group;
  group.meta.ns = job.meta.ns;
  group.meta.name = job::pod_group_name(job, job.status.attempt);
  group.meta.uid = fmt::format("simulation:{}/{}", job.meta.ns, job.meta.name);
  group.meta.generation = 1;
  group.spec.priority = priority;
  group.spec.queue = job.spec.queue;
  group.spec.queued_since = now;
  demand::set_run_limits(job, context, group.spec);
  group.spec.gangs.push_back(
      demand::make_initial_gang(job, job::WantedSlots(job, context.has_aggregator), context));
  return group;
}

// No admission has seen the job.
bool has_too_many_classes(const gang::PodGroup& group) {
  const auto sets = gang::all_sets(group.spec.gangs);
  return std::any_of(sets.begin(), sets.end(), [](const gang::MemberSet& set) {
    return set.shape.node_classes.size() > gang::kMaxNodeClasses;
  });
}

// -- more replicas of a job that exists

const gang::MemberSet* find_like(const gang::PodGroup& group, std::string_view role) {
  for (const gang::MemberSet& set : gang::all_sets(group.spec.gangs)) {
    if (set.role == role && set.part == 0) return &set;
  }
  return nullptr;
}

// Of the slots of that role, one more than the highest.
int next_ordinal(const gang::PodGroup& group, std::string_view role) {
  int next = 0;
  for (const gang::MemberSet& set : gang::all_sets(group.spec.gangs)) {
    if (set.role != role) continue;
    for (const gang::SlotId slot : set.slots) next = std::max(next, slot.ordinal + 1);
  }
  return next;
}

bool has_nodes(const gang::PodGroup& group) {
  const auto* base = gang::find_gang(group.status, gang::kBaseGang);
  return base != nullptr && base->planned;
}

void grow_base(gang::PodGroup& group, const std::string& set_name, int first, int replicas) {
  for (gang::MemberSet& set : gang::all_sets(group.spec.gangs)) {
    if (set.name != set_name) continue;
    for (int i = 0; i < replicas; ++i) set.slots.push_back({first + i, 0});
    return;
  }
}

void add_request(gang::PodGroup& group, const gang::MemberSet& like, job::Role role, int first,
                 int replicas, SysTime now) {
  gang::Gang request = demand::request_gang(kNoRequest);
  request.queued_since = now;
  gang::MemberSet added;
  added.name = demand::set_name(request, role, 0);
  added.role = like.role;
  added.shape = like.shape;
  for (int i = 0; i < replicas; ++i) added.slots.push_back({first + i, 0});
  added.from_reserved = {like.name, std::min(replicas, like.reserved_pods)};
  if (added.from_reserved.count == 0) added.from_reserved = {};
  for (gang::MemberSet& set : gang::all_sets(group.spec.gangs)) {
    if (set.name == like.name) set.reserved_pods -= added.from_reserved.count;
  }
  if (!added.slots.empty()) {
    request.members.push_back(std::move(added));
    group.spec.gangs.push_back(std::move(request));
  }
}

}  // namespace

Result<Candidate> make_candidate(const Question& question, const JobSettings& settings,
                                 SysTime now) {
  const Json object = {{"apiVersion", job::kApiVersion},
                       {"kind", job::kKind},
                       {"metadata", {{"name", question.name}, {"namespace", question.ns}}},
                       {"spec", question.job}};
  auto job = job::decode_job(object);
  if (!job) return Error{Code::kInvalid, "spec.job: " + job.error().message};
  job->spec.requests = {};

  const bool has_config = settings.aggregator_config != nullptr;
  if (job::waits_for_aggregator(job->spec, has_config)) {
    return Error{Code::kInvalid,
                 "spec.job.aggregator is PerJob, and there is no AggregatorConfig: the job would "
                 "wait for one"};
  }
  job::PodContext context;
  context.has_aggregator = job::wants_aggregator(job->spec, has_config);
  if (has_config) context.aggregator_template = settings.aggregator_config->pod_template;
  const job::Priority priority =
      job::resolve_priority(job->spec, context.aggregator_template, settings.priority_classes);
  if (!priority.missing.empty()) {
    return Error{Code::kInvalid, fmt::format("PriorityClass \"{}\", named by {}, does not exist",
                                             priority.missing, priority.named_by)};
  }

  Candidate candidate;
  if (const auto role = find_counted_role(job->spec)) {
    candidate.role = to_string(*role);
    candidate.replicas = role_spec(job->spec, *role)->replicas;
  }
  const auto role = job::parse_role(candidate.role);
  candidate.make = [job = *std::move(job), role, context, priority, now](int replicas) {
    job::Job changed = job;
    if (role) set_replicas(changed, *role, replicas);
    gang::PodGroup group = make_group(changed, context, priority.value, now);
    group.spec.never_preempts = priority.never_preempts;
    return group;
  };
  if (has_too_many_classes(candidate.make(candidate.replicas))) {
    return Error{Code::kInvalid,
                 fmt::format("spec.job: nodeClasses of a role may have {} entries at most",
                             gang::kMaxNodeClasses)};
  }
  return candidate;
}

Result<Candidate> make_growth(const Growth& growth, const gang::PodGroupPtr& of_job, SysTime now) {
  const std::string role(to_string(growth.role));
  const gang::MemberSet* const like = find_like(*of_job, role);
  if (like == nullptr) {
    return Error{Code::kInvalid, fmt::format("job {} has no {}: more of the same cannot be asked "
                                             "for. Give -f a file with such replicas",
                                             growth.job, role)};
  }
  Candidate candidate;
  candidate.role = role;
  candidate.replicas = growth.replicas;
  candidate.existing = of_job;
  const bool is_request = has_nodes(*of_job);
  if (is_request) candidate.gang = demand::request_gang_name(kNoRequest);
  const int first = next_ordinal(*of_job, role);
  candidate.make = [of_job, like, role = growth.role, first, is_request, now](int replicas) {
    gang::PodGroup group = *of_job;
    ++group.meta.generation;
    if (is_request) {
      add_request(group, *like, role, first, replicas, now);
    } else {
      grow_base(group, like->name, first, replicas);
    }
    return group;
  };
  return candidate;
}

}  // namespace nervex::planner
