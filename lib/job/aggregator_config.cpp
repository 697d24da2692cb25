#include "job/aggregator_config.h"

#include "job/pod_manifest.h"

namespace nervex::job {

Result<AggregatorConfig> parse_aggregator_config(std::string_view json) {
  const auto object = kube::parse_json(json);
  if (!object) return with_context("aggregatorconfig", object.error());
  AggregatorConfig config{kube::decode_meta(*object), Json(), 0};
  const Json* pod_template = kube::find(*object, {"spec", "aggregator", "template"});
  if (pod_template == nullptr || !pod_template->is_object()) {
    return Error{Code::kInvalid,
                 "aggregatorconfig " + config.meta.key() + ": spec.aggregator.template is missing"};
  }
  config.port = main_port(*pod_template, Role::kAggregator);
  config.pod_template = *pod_template;
  return config;
}

bool wants_aggregator(const Spec& spec, bool config_exists) {
  return config_exists && spec.aggregator != "OnDemand";
}

bool waits_for_aggregator(const Spec& spec, bool config_exists) {
  return !config_exists && spec.aggregator == "PerJob";
}

}  // namespace nervex::job
