#include "controller/act/dry_run.h"

#include <exception>
#include <utility>

#include <fmt/format.h>

#include "base/log.h"
#include "controller/decide/make_round.h"
#include "controller/decide/objects/pod_dry_run.h"
#include "controller/decide/objects/start_needs.h"

namespace nervex::controller {

PodDryRuns::PodDryRuns(kube::Api& api, Stores& stores, kube::WorkQueue& queue, const Clock& clock,
                       ObserveOptions options)
    : api_(api), stores_(stores), queue_(queue), clock_(clock), options_(std::move(options)) {}

void PodDryRuns::run(const std::stop_token& stop) {
  while (const auto question = stores_.dry_runs.wait_for_next(stop)) answer(*question);
}

bool PodDryRuns::answer_next() {
  const auto question = stores_.dry_runs.next();
  if (question) answer(*question);
  return question.has_value();
}

// The pods are made of what is known now: a job may wait for its answer, and templates are large.
void PodDryRuns::answer(const DryRuns::Question& question) {
  const auto job = stores_.jobs.get(question.job);
  if (!job || job->meta.uid != question.job_uid) return;
  DryRunReport report{question.subject, question.asked, true, false, {}, {}};
  Result<bool> asked = true;
  try {
    asked = ask(job, report);
  } catch (const std::exception& e) {  // a library's
    asked = Error{Code::kInternal, e.what()};
  }
  if (!asked) {
    log_warn("dry run of pods failed", {{"job", question.job}, {"error", asked.error().message}});
    report.is_incomplete = true;
  }
  if (!asked || *asked) stores_.dry_runs.answer(question.job_uid, std::move(report));
  queue_.add(question.job);
}

Result<bool> PodDryRuns::ask(const JobPtr& cached, DryRunReport& report) {
  const auto share = stores_.parsed_templates.take(*cached);
  if (!share) {
    report.is_incomplete = true;  // not a failure: the job asks again later
    return true;
  }
  const auto job = read_templates(api_, stores_, cached);
  if (!job) return job.error();
  const Observed seen = observe_caches(stores_, options_, **job, clock_.now());
  const Round round = make_round(seen);
  if (dry_run_subject(round) != report.subject) return false;
  const auto pods = pods_to_dry_run(round);
  report.is_incomplete = pods.empty();  // it does not wait now, but may again
  for (const auto& [role, manifest] : pods) {
    if (are_needs_alone_asked(round)) break;  // the dry run would find the names taken
    const auto reply = send(seen.job.meta.ns, manifest);
    add_dry_run_answer(role, reply ? nullptr : &reply.error(), report);
    if (reply) add_dry_run_size(role, *reply, report);
    if (report.is_incomplete) break;  // others wait for their answers
  }
  // A refusal says enough, and the needs of one job must not delay the answers of others.
  const bool is_needed = !report.is_incomplete && report.refusals.empty();
  if (is_needed) check_needs(list_start_needs(pods, seen.job.meta.ns.str()), report);
  return true;
}

// The first one that is not met is enough.
void PodDryRuns::check_needs(const std::vector<StartNeed>& needs, DryRunReport& report) {
  for (const StartNeed& need : needs) {
    const auto reply = api_.send({"GET", need.path, "", ""});
    if (!is_unmet(need, reply)) continue;
    report.missing.push_back(need.blocker);
    return;
  }
}

Result<std::string> PodDryRuns::send(const std::string& ns, const Json& pod) {
  return api_.send({.method = "POST",
                    .path = fmt::format("{}?dryRun=All&timeout={}s",
                                        kube::api_path(kube::kPods, ns), kPodDryRunTimeout.count()),
                    .body = kube::to_text(pod),
                    .content_type = "application/json",
                    .before_sending = {},
                    .on_refusal = {}});
}

}  // namespace nervex::controller
