#include "kube/model/anti_affinity.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <set>

namespace nervex::kube {
namespace {

// The namespaces whose pods the term selects, "*" for all; nullopt: unknown, or the pod's own
// namespace is not selected.
std::optional<std::string> namespace_scope(const Json& term, std::string_view ns) {
  std::set<std::string> names;
  for (const Json& name : array_at(term, {"namespaces"})) {
    if (name.is_string()) names.insert(name.get<std::string>());
  }
  const Json* selector = find(term, {"namespaceSelector"});
  if (selector != nullptr && selector->is_object()) {
    if (list_requirements(*selector).empty()) return "*";
    return std::nullopt;
  }
  if (names.empty()) names.emplace(ns);
  if (names.count(std::string(ns)) == 0) return std::nullopt;
  return fmt::format("{}", fmt::join(names, ","));
}

// "kubernetes.io/hostname#4fe5..." for a term that selects the pod itself.
std::optional<std::string> make_term_name(const Json& term, std::string_view ns,
                                          const Labels& labels) {
  const std::string key = string_at(term, {"topologyKey"});
  const Json* selector = find(term, {"labelSelector"});
  if (key.empty() || selector == nullptr || !selector->is_object()) return std::nullopt;
  if (!array_at(term, {"matchLabelKeys"}).empty() ||
      !array_at(term, {"mismatchLabelKeys"}).empty()) {
    return std::nullopt;
  }
  const auto scope = namespace_scope(term, ns);
  const auto decoded = decode_label_selector(*selector);
  if (!scope || !decoded || !selects(*decoded, labels)) return std::nullopt;
  std::string text = *scope;
  for (const Json& requirement : list_requirements(*selector)) text += to_text(requirement);
  return fmt::format("{}#{}", key, hash_term(text));
}

}  // namespace

std::vector<std::string> self_affinity(const Json& required, std::string_view ns,
                                       const Labels& labels) {
  std::vector<std::string> names;
  if (!required.is_array()) return names;
  for (const Json& term : required) {
    if (auto name = make_term_name(term, ns, labels)) names.push_back(*std::move(name));
  }
  return names;
}

std::string_view topology_key_of_term(std::string_view term) {
  return term.substr(0, term.rfind('#'));
}

std::vector<std::string> self_anti_affinity(const Json& required, std::string_view ns,
                                            const Labels& labels) {
  std::vector<std::string> resources = self_affinity(required, ns, labels);
  for (std::string& resource : resources) resource.insert(0, kPodAntiAffinity);
  return resources;
}

std::string_view parse_topology_key(std::string_view resource) {
  if (!resource.starts_with(kPodAntiAffinity)) return {};
  return topology_key_of_term(resource.substr(kPodAntiAffinity.size()));
}

}  // namespace nervex::kube
