// Containers and init containers: the rules of each, as a table.
#include <array>

#include <fmt/format.h>

#include "job/template/rules.h"
#include "job/template/syntax.h"

namespace nervex::job::pod_template {
namespace {

// Checks the container's own fields.
void check_words(const Place& container, const Facts&) {
  const Place image = container.at("image");
  image.has_text();
  const std::string& text = image.text();
  constexpr std::string_view kBlank = " \t\n\v\f\r";
  if (!text.empty() && (kBlank.find(text.front()) != std::string_view::npos ||
                        kBlank.find(text.back()) != std::string_view::npos)) {
    image.invalid("must not have leading or trailing whitespace");
  }
  const Place pull = container.at("imagePullPolicy");
  pull.one_of({"Always", "IfNotPresent", "Never"});
  const Place message = container.at("terminationMessagePolicy");
  message.one_of({"File", "FallbackToLogsOnError"});
  const Place restart = container.at("restartPolicy");
  restart.exactly_one_of({"Always", "Never", "OnFailure"});
}

void check_restart_rule(const Place& rule) {
  if (!rule.is_object()) return;
  constexpr std::size_t kMaxCodes = 255;
  const Place action = rule.at("action");
  action.surely_one_of({"Restart", "RestartAllContainers"});
  const Place codes = rule.at("exitCodes");
  if (!codes.is_there()) return codes.required("must be specified");
  const Place op = codes.at("operator");
  op.surely_one_of({"In", "NotIn"});
  const Place values = codes.at("values");
  if (values.size() > kMaxCodes) values.too_many(kMaxCodes);
}

void check_restart_rules(const Place& container, const Facts&) {
  constexpr std::size_t kMaxRules = 20;
  const Place restart = container.at("restartPolicy");
  const Place rules = container.at("restartPolicyRules");
  if (rules.size() > 0 && !restart.is_there()) {
    restart.required("must specify restartPolicy when restart rules are used");
  }
  if (rules.size() > kMaxRules) rules.too_many(kMaxRules);
  rules.each_item(check_restart_rule);
}

bool is_empty(const Place& text) {
  return !text.is_there() || (text.value().is_string() && text.text().empty());
}

// The API server mostly reports the list's path, without an index.
void check_resize(const Place& container, const Facts& facts) {
  const Place policies = container.at("resizePolicy");
  std::set<std::string, std::less<>> seen;
  policies.each_item([&](const Place& policy) {
    const Place resource = policy.at("resourceName");
    const Place restart = policy.at("restartPolicy");
    const std::string& name = resource.text();
    if (!policy.is_object()) return;
    if (is_empty(resource) || is_empty(restart)) policies.required();
    if (!name.empty() && !seen.insert(name).second) policy.duplicate(name);
    if (!name.empty() && name != "cpu" && name != "memory") {
      policies.not_supported(resource.value(), {"cpu", "memory"});
    }
    if (restart.text() == "RestartContainer") {
      if (facts.restarts_never) {
        policies.invalid(restart.value(),
                         "must be 'NotRequired' when pod `restartPolicy` is 'Never'");
      }
    } else if (!restart.text().empty() && restart.text() != "NotRequired") {
      policies.not_supported(restart.value(), {"NotRequired", "RestartContainer"});
    }
  });
}

// Among init containers only sidecars can be restarted for a resize.
void check_init_resize(const Place& container, const Facts& facts) {
  const Place policies = container.at("resizePolicy");
  const bool is_sidecar = container.at("restartPolicy").text() == "Always";
  policies.each_item([&](const Place& policy) {
    const Place restart = policy.at("restartPolicy");
    if (is_sidecar || facts.restarts_never || restart.text() != "RestartContainer") return;
    restart.invalid("must not be set to 'RestartContainer' for non-sidecar initContainers");
  });
}

constexpr std::array kContainerRules{
    NamedRule{"words", check_words},
    NamedRule{"restart rules", check_restart_rules},
    NamedRule{"resize policy", check_resize},
    NamedRule{"ports", check_ports},
    NamedRule{"environment", check_env},
    NamedRule{"environment from", check_env_from},
    NamedRule{"volume mounts", check_mounts},
    NamedRule{"volume devices", check_devices},
    NamedRule{"resources", check_container_requirements},
    NamedRule{"huge pages", check_huge_pages},
    NamedRule{"resource claims", check_claims},
    NamedRule{"security context", check_container_security},
};

}  // namespace

void check_containers(const Place& spec, const Facts& facts) {
  Names seen;
  for (const auto field : {"containers", "initContainers"}) {
    const Place list = spec.at(field);
    list.each_item([&](const Place& container) {
      if (!container.is_object()) return;
      check_item_name(container, seen);
      for (const auto& rule : kContainerRules) rule.check(container, facts);
      const bool is_init = field == std::string_view("initContainers");
      (is_init ? check_init_probes : check_probes)(container, facts);
      if (is_init) check_init_resize(container, facts);
    });
  }
}

}  // namespace nervex::job::pod_template
