#include "kube/model/restart_rules.h"

#include <algorithm>

namespace nervex::kube {

bool RestartRule::matches(int exit_code) const {
  const bool is_listed =
      std::find(exit_codes.begin(), exit_codes.end(), exit_code) != exit_codes.end();
  return is_listed != excludes;
}

std::vector<RestartRule> scan_restart_rules(Value value) {
  std::vector<RestartRule> rules;
  each_item(value, [&](Value item) {
    RestartRule& rule = rules.emplace_back();
    each_field(item, [&](std::string_view key, Value field) {
      if (key == "action") rule.restarts_all = scan_text(field) == "RestartAllContainers";
      if (key != "exitCodes") return;
      each_field(field, [&](std::string_view part, Value values) {
        if (part == "operator") rule.excludes = scan_text(values) == "NotIn";
        if (part != "values") return;
        each_item(values,
                  [&](Value code) { rule.exit_codes.push_back(static_cast<int>(scan_int(code))); });
      });
    });
  });
  return rules;
}

const RestartRule* find_restart_rule(const std::vector<RestartRule>& rules, int exit_code) {
  const auto found = std::find_if(rules.begin(), rules.end(),
                                  [&](const RestartRule& rule) { return rule.matches(exit_code); });
  return found == rules.end() ? nullptr : &*found;
}

bool restarts_by_policy(const std::string& policy, int exit_code) {
  return policy == "Always" || (policy == "OnFailure" && exit_code != 0);
}

}  // namespace nervex::kube
