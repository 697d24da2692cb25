#include "cli/jobs/job_choice.h"

#include <fmt/format.h>

#include "base/program.h"
#include "cli/failure.h"
#include "job/types.h"
#include "kube/paged_list.h"

namespace nervex::cli {
namespace {

constexpr int kPage = 500;

Result<std::vector<Json>> list_chosen(kube::Api& api, const std::string& ns,
                                      const std::string& selector) {
  std::string path = kube::api_path(kube::kNervexJobs, ns);
  if (!selector.empty()) {
    path = kube::with_query(path, "labelSelector=" + kube::percent_encode(selector));
  }
  std::vector<Json> jobs;
  const auto listed =
      kube::list_in_pages(api, path, kPage, [&](std::string_view text) -> Result<Nothing> {
        auto job = kube::parse_json(text);
        if (!job) return job.error();
        jobs.push_back(*std::move(job));
        return ok();
      });
  if (!listed) return listed.error();
  return jobs;
}

// "Succeeded" or "Failed"; "": the job has not ended.
std::string final_phase(const Json& job) {
  const std::string phase = kube::string_at(job, {"status", "phase"});
  const bool is_over = phase == job::to_string(job::Phase::kSucceeded) ||
                       phase == job::to_string(job::Phase::kFailed);
  return is_over ? phase : "";
}

}  // namespace

void add_job_choice(CLI::App& command, JobChoice& choice) {
  command.add_option("jobs", choice.names, "names of NerveXJobs")->type_name("JOB");
  command.add_option("-l,--selector", choice.selector, "jobs with these labels: a=b,c!=d,e")
      ->type_name("SELECTOR");
  command.add_flag("--all", choice.all, "all jobs of the namespace");
}

std::string check_choice(const JobChoice& choice) {
  const int ways = !choice.names.empty() + !choice.selector.empty() + choice.all;
  if (ways == 0) return "name at least one job, or give -l or --all";
  return ways == 1 ? "" : "give either names, -l or --all";
}

std::string qualified_name(const std::string& job) {
  return fmt::format("nervexjob.{}/{}", kube::kNervexJobs.group, job);
}

int for_each_job(kube::Api& api, const std::string& ns, const JobChoice& choice,
                 const std::string& what, Scope scope,
                 const std::function<Result<Nothing>(const Json& job)>& act) {
  int exit_code = kExitOk;
  const auto report = [&](const std::string& name, const Error& error) {
    exit_code = fail(fmt::format("{} {}/{}", what, ns, name), error);
  };
  for (const auto& name : choice.names) {
    const auto job = kube::get_object(api, kube::kNervexJobs, ns, name);
    const auto done = job ? act(*job) : Result<Nothing>(job.error());
    if (!done) report(name, done.error());
  }
  if (!choice.names.empty()) return exit_code;
  const auto listed = list_chosen(api, ns, choice.selector);
  if (!listed) return fail(fmt::format("{} jobs of {}", what, ns), listed.error());
  if (listed->empty()) note(fmt::format("no job of namespace {} is chosen", ns));
  for (const auto& job : *listed) {
    const std::string name = kube::string_at(job, {"metadata", "name"});
    const std::string phase = scope == Scope::kUnfinishedJobs ? final_phase(job) : "";
    if (!phase.empty()) {
      note(fmt::format("{} has ended ({}), skipped", name, phase));
      continue;
    }
    const auto done = act(job);
    if (!done && done.error().code != Code::kNotFound) report(name, done.error());
  }
  return exit_code;
}

Result<Json> patch_job(kube::Api& api, const Json& job, Json spec) {
  if (const std::string phase = final_phase(job); !phase.empty()) {
    return Error{Code::kInvalid,
                 fmt::format("it has ended ({}): create it again to run it again", phase)};
  }
  return kube::merge_patch(api, kube::kNervexJobs, kube::string_at(job, {"metadata", "namespace"}),
                           kube::string_at(job, {"metadata", "name"}),
                           {{"metadata", {{"uid", kube::string_at(job, {"metadata", "uid"})}}},
                            {"spec", std::move(spec)}});
}

}  // namespace nervex::cli
