// `scale`: the base replicas of a job.

#include <optional>

#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include "base/program.h"
#include "cli/cluster_flags.h"
#include "cli/failure.h"
#include "cli/jobs/job_choice.h"
#include "cli/output.h"
#include "cli/text.h"
#include "cli/verbs/verbs.h"
#include "job/slots.h"
#include "job/types.h"

namespace nervex::cli {
namespace {

struct ScaleFlags {
  std::string job;
  std::optional<int> collectors;
  std::optional<int> learners;
  ClusterFlags cluster;
};

void define_scale(CLI::App& command, ScaleFlags& flags) {
  command.add_option("job", flags.job, "name of the NerveXJob")->required()->type_name("JOB");
  for (const auto& [name, count] :
       {std::pair{"collectors", &flags.collectors}, {"learners", &flags.learners}}) {
    command.add_option(fmt::format("--{}", name), *count, fmt::format("new number of {}", name))
        ->check(CLI::NonNegativeNumber)
        ->type_name("N");
  }
  add_cluster_flags(command, flags.cluster);
}

// A number that stays the same is no change that the controller could see.
void note_removed(const job::Job& job, job::Role role) {
  const int removed = job::count_removed(job, role);
  const int replicas = job::role_spec(job.spec, role)->replicas;
  if (removed == 0) return;
  note(fmt::format(
      "{removed} of these {replicas} {role}s stay removed: the replicas API removed them when the "
      "number was {replicas}, too. To return them, scale to another number first: `kubectl nervex "
      "scale {name} -n {ns} --{role}s {left}`, and when status.observedGeneration has followed, "
      "the "
      "same with {replicas}",
      fmt::arg("removed", removed), fmt::arg("replicas", replicas),
      fmt::arg("role", to_string(role)), fmt::arg("name", printable(job.meta.name)),
      fmt::arg("ns", printable(job.meta.ns.str())), fmt::arg("left", replicas - removed)));
}

Result<Nothing> set_replicas(kube::Api& api, const Json& job, const ScaleFlags& flags) {
  Json spec = Json::object();
  for (const auto& [role, count] :
       {std::pair{"collector", flags.collectors}, {"learner", flags.learners}}) {
    if (!count) continue;
    if (kube::find(job, {"spec", role, "template"}) == nullptr) {
      return Error{Code::kInvalid,
                   fmt::format("the job has no {0}s: spec.{0} has no template", role)};
    }
    spec[role]["replicas"] = *count;
  }
  const auto patched = patch_job(api, job, std::move(spec));
  if (!patched) return patched.error();
  const auto scaled = job::decode_job(*patched);
  if (!scaled) return scaled.error();
  write_out(fmt::format("{} scaled: collectors {}, learners {}\n",
                        printable(qualified_name(flags.job)),
                        kube::int_at(*patched, {"spec", "collector", "replicas"}),
                        kube::int_at(*patched, {"spec", "learner", "replicas"})));
  if (flags.collectors) note_removed(*scaled, job::Role::kCollector);
  if (flags.learners) note_removed(*scaled, job::Role::kLearner);
  return ok();
}

int run_scale(const ScaleFlags& flags) {
  if (!flags.collectors && !flags.learners) {
    note("give --collectors or --learners, or both");
    return kExitUsage;
  }
  return with_cluster(flags.cluster, [&](kube::Api& api, const std::string& ns) {
    JobChoice choice;
    choice.names = {flags.job};
    return for_each_job(api, ns, choice, "scale", Scope::kAllJobs,
                        [&](const Json& job) { return set_replicas(api, job, flags); });
  });
}

}  // namespace

void add_scale(Verbs& verbs) {
  verbs.add<ScaleFlags>(
      {.name = "scale",
       .what =
           "Sets the number of collectors and learners that a job starts with. A running job is "
           "scaled at once: new replicas start together as soon as they fit. What the coordinator "
           "requested is not changed: see `replicas`.",
       .examples = {"scale dqn --collectors 4", "scale dqn --collectors 4 --learners 1"},
       .exit_codes = "0 success, 1 the job is missing, has ended or could not be changed, 2 wrong "
                     "usage"},
      define_scale, run_scale);
}

}  // namespace nervex::cli
