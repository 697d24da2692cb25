#include "kube/model/anti_affinity.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <optional>
#include <set>

#include "kube/model/label_selector.h"

namespace nervex::kube {
namespace {

// FNV-1a, 64 bits: the controller and the extender must agree on it.
std::uint64_t fnv1a(std::string_view text) {
  std::uint64_t hash = 0xcbf29ce484222325ULL;
  for (const char c : text) {
    hash ^= static_cast<unsigned char>(c);
    hash *= 0x100000001b3ULL;
  }
  return hash;
}

bool selects(const Json& selector, const Labels& labels) {
  const auto find_label = [&](const std::string& key) -> std::optional<std::string_view> {
    const auto at = std::find_if(labels.begin(), labels.end(),
                                 [&](const auto& label) { return label.first == key; });
    if (at == labels.end()) return std::nullopt;
    return at->second;
  };
  const auto decoded = decode_label_selector(selector);
  return decoded && matches(*decoded, find_label);
}

// matchLabels as requirements, sorted by key, then matchExpressions: one form for all spellings.
std::vector<Json> collect_requirements(const Json& selector) {
  std::vector<Json> out;
  const Json* labels = find(selector, {"matchLabels"});
  if (labels != nullptr && labels->is_object()) {
    for (const auto& [key, value] : labels->items()) {
      out.push_back({{"key", key}, {"operator", "In"}, {"values", Json::array({value})}});
    }
  }
  for (const Json& expression : array_at(selector, {"matchExpressions"})) {
    Json one{{"key", string_at(expression, {"key"})},
             {"operator", string_at(expression, {"operator"})}};
    if (const Json& values = array_at(expression, {"values"}); !values.empty()) {
      one["values"] = values;
    }
    out.push_back(std::move(one));
  }
  return out;
}

// The namespaces whose pods the term selects, "*" for all; nullopt: unknown, or the pod's own
// namespace is not selected.
std::optional<std::string> namespace_scope(const Json& term, std::string_view ns) {
  std::set<std::string> names;
  for (const Json& name : array_at(term, {"namespaces"})) {
    if (name.is_string()) names.insert(name.get<std::string>());
  }
  const Json* selector = find(term, {"namespaceSelector"});
  if (selector != nullptr && selector->is_object()) {
    if (collect_requirements(*selector).empty()) return "*";
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
  if (!scope || !selects(*selector, labels)) return std::nullopt;
  std::string text = *scope;
  for (const Json& requirement : collect_requirements(*selector)) text += to_text(requirement);
  return fmt::format("{}#{:016x}", key, fnv1a(text));
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
