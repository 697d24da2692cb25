// Containers and init containers: the rules of each, as a table.
#include <array>

#include <fmt/format.h>

#include "job/template/rules.h"
#include "job/template/syntax.h"

namespace nervex::job::pod_template {
namespace {

// What stands in the container itself.
void check_words(const Place& container, const Facts&) {
  const Place image = container.at("image");
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
  restart.one_of({"Always", "Never", "OnFailure"});
  const Place rules = container.at("restartPolicyRules");
  if (rules.size() > 0 && !restart.is_there()) {
    restart.required("must specify restartPolicy when restart rules are used");
  }
}

void check_resize(const Place& container, const Facts&) {
  const Place policies = container.at("resizePolicy");
  std::set<std::string, std::less<>> seen;
  policies.each_item([&](const Place& policy) {
    const std::string name = kube::string_at(policy.value(), {"resourceName"});
    if (!name.empty() && !seen.insert(name).second) policy.duplicate(name);
  });
}

constexpr std::array kContainerRules{
    NamedRule{"words", check_words},
    NamedRule{"resize policy", check_resize},
    NamedRule{"ports", check_ports},
    NamedRule{"environment", check_env},
    NamedRule{"environment from", check_env_from},
    NamedRule{"volume mounts", check_mounts},
    NamedRule{"volume devices", check_devices},
    NamedRule{"huge pages", check_huge_pages},
    NamedRule{"resource claims", check_claims},
    NamedRule{"security context", check_container_security},
};

}  // namespace

void check_containers(const Place& spec, const Facts& facts) {
  for (const auto field : {"initContainers", "containers"}) {
    const Place list = spec.at(field);
    list.each_item([&](const Place& container) {
      if (!container.is_object()) return;
      for (const auto& rule : kContainerRules) rule.check(container, facts);
      const bool is_init = field == std::string_view("initContainers");
      (is_init ? check_init_probes : check_probes)(container, facts);
    });
  }
}

}  // namespace nervex::job::pod_template
