#include "job/kept.h"

#include <string>
#include <utility>

#include "job/names.h"
#include "job/pod_manifest.h"

namespace nervex::job {
namespace {

// Calls `visit` with each part that is kept as its users wrote it.
template <typename AnySpec, typename Visit>
void each_written_part(AnySpec& spec, Visit visit) {
  visit(spec.volumes);
  visit(spec.coordinator_template);
  if (spec.collector) visit(spec.collector->pod_template);
  if (spec.learner) visit(spec.learner->pod_template);
}

// A template with the same main_port().
void keep_port(kube::SharedJson& pod_template, Role role) {
  if (!pod_template.is_object()) return;
  const Json port = {{"name", kMainPort}, {"containerPort", main_port(pod_template, role)}};
  pod_template =
      Json{{"spec",
            {{"containers",
              Json::array({{{"name", kMainContainer}, {"ports", Json::array({port})}}})}}}};
}

}  // namespace

Job packed(Job job) {
  each_written_part(job.spec, [](kube::SharedJson& part) { part.pack(); });
  const std::string submitted_by = kube::annotation(job.meta, kSubmittedByAnnotation);
  job.meta.labels.clear();
  job.meta.annotations.clear();
  if (!submitted_by.empty()) job.meta.annotations[kSubmittedByAnnotation] = submitted_by;
  return job;
}

Result<Job> parse_packed(std::string_view json) {
  auto job = parse_job(json);
  return job ? packed(*std::move(job)) : std::move(job);
}

Job unpacked(Job job) {
  each_written_part(job.spec, [](kube::SharedJson& part) { part.unpack(); });
  return job;
}

std::size_t template_bytes(const Job& job) {
  std::size_t bytes = job.left_out_bytes;
  each_written_part(job.spec, [&](const kube::SharedJson& part) { bytes += part.packed_bytes(); });
  return bytes;
}

Job left_out(Job job) {
  job.left_out_bytes = template_bytes(job);
  each_written_part(job.spec, [](kube::SharedJson& part) { part = kube::SharedJson(); });
  return job;
}

Job without_templates(Job job) {
  job.spec.volumes = Json::array();
  keep_port(job.spec.coordinator_template, Role::kCoordinator);
  if (job.spec.collector) keep_port(job.spec.collector->pod_template, Role::kCollector);
  if (job.spec.learner) keep_port(job.spec.learner->pod_template, Role::kLearner);
  job.meta.labels.clear();
  job.meta.annotations.clear();
  return job;
}

Result<Job> parse_without_templates(std::string_view json) {
  auto job = parse_job(json);
  return job ? without_templates(*std::move(job)) : std::move(job);
}

}  // namespace nervex::job
