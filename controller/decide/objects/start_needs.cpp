#include "controller/decide/objects/start_needs.h"

#include <algorithm>
#include <iterator>
#include <optional>
#include <set>
#include <utility>

#include <fmt/format.h>

#include "kube/api.h"
#include "kube/model/json.h"
#include "kube/model/label_selector.h"

namespace nervex::controller {
namespace {

constexpr kube::ResourceKind kResourceClaims{"resource.k8s.io", "v1", "resourceclaims"};
constexpr kube::ResourceKind kResourceClaimTemplates{"resource.k8s.io", "v1",
                                                     "resourceclaimtemplates"};
constexpr int kMostPodsRead = 100;

std::string name_template(job::Role role) {
  return fmt::format("the {}'s template", to_string(role));
}

void add_claims(const DryRunPod& pod, std::string_view ns, std::vector<StartNeed>& needs) {
  const auto add = [&](const kube::ResourceKind& kind, const char* kind_name,
                       const std::string& name) {
    if (name.empty()) return;
    needs.push_back({kube::api_path(kind, ns, name),
                     false,
                     {kind_name, name,
                      fmt::format("{} {}, which {} names, does not exist", kind_name, name,
                                  name_template(pod.role))}});
  };
  for (const Json& entry : kube::array_at(pod.manifest, {"spec", "resourceClaims"})) {
    add(kResourceClaims, "ResourceClaim", kube::string_at(entry, {"resourceClaimName"}));
    add(kResourceClaimTemplates, "ResourceClaimTemplate",
        kube::string_at(entry, {"resourceClaimTemplateName"}));
  }
}

// As the API server reads it: "app in (a,b),!legacy".
std::string encode_selector(const kube::LabelSelector& selector) {
  using Operator = kube::LabelRequirement::Operator;
  std::string text;
  for (const auto& [key, op, values] : selector.requirements) {
    if (!text.empty()) text += ",";
    const std::string list = fmt::format("({})", fmt::join(values, ","));
    if (op == Operator::kIn) {
      text += values.size() == 1 ? key + "=" + values.front() : key + " in " + list;
    } else if (op == Operator::kNotIn) {
      text += key + " notin " + list;
    } else {
      text += (op == Operator::kDoesNotExist ? "!" : "") + key;
    }
  }
  return text;
}

// The namespace that a term is about; "": all; nullopt: not to be told from here.
std::optional<std::string> find_namespace(const Json& term, std::string_view ns) {
  const Json* selector = kube::find(term, {"namespaceSelector"});
  const Json& names = kube::array_at(term, {"namespaces"});
  const bool has_keys = !kube::array_at(term, {"matchLabelKeys"}).empty() ||
                        !kube::array_at(term, {"mismatchLabelKeys"}).empty();
  if (has_keys) return std::nullopt;
  if (selector != nullptr && !selector->is_null()) {
    return selector->empty() ? std::optional<std::string>("") : std::nullopt;
  }
  if (names.empty()) return std::string(ns);
  if (names.size() != 1 || !names.front().is_string()) return std::nullopt;
  return names.front().get<std::string>();
}

bool matches_any(const kube::LabelSelector& selector, const std::vector<DryRunPod>& pods) {
  return std::any_of(pods.begin(), pods.end(), [&](const DryRunPod& pod) {
    return kube::matches(selector, [&](const std::string& key) -> std::optional<std::string_view> {
      const Json* value = kube::find(pod.manifest, {"metadata", "labels", key});
      if (value == nullptr || !value->is_string()) return std::nullopt;
      return value->get_ref<const std::string&>();
    });
  });
}

void add_affinity(const DryRunPod& pod, const std::vector<DryRunPod>& gang, std::string_view ns,
                  std::vector<StartNeed>& needs) {
  for (const Json& term : kube::array_at(
           pod.manifest,
           {"spec", "affinity", "podAffinity", "requiredDuringSchedulingIgnoredDuringExecution"})) {
    const auto where = find_namespace(term, ns);
    const Json* labels = kube::find(term, {"labelSelector"});
    const auto selector = labels == nullptr ? Result<kube::LabelSelector>(kube::LabelSelector())
                                            : kube::decode_label_selector(*labels);
    if (!where || !selector || selector->requirements.empty()) continue;
    const bool is_own_namespace = where->empty() || *where == ns;
    if (is_own_namespace && matches_any(*selector, gang)) continue;
    const std::string text = encode_selector(*selector);
    needs.push_back(
        {fmt::format("{}?labelSelector={}&limit={}", kube::api_path(kube::kPods, *where),
                     kube::percent_encode(text), kMostPodsRead),
         true,
         {"PodAffinity", "",
          fmt::format("the required podAffinity of {} ({}) matches no pod that runs",
                      name_template(pod.role), text)}});
  }
}

bool runs_on_node(const Json& pod) {
  const std::string phase = kube::string_at(pod, {"status", "phase"});
  return !kube::string_at(pod, {"spec", "nodeName"}).empty() && phase != "Succeeded" &&
         phase != "Failed";
}

}  // namespace

std::vector<StartNeed> list_start_needs(const std::vector<DryRunPod>& pods, std::string_view ns) {
  std::vector<StartNeed> needs;
  for (const DryRunPod& pod : pods) add_claims(pod, ns, needs);
  for (const DryRunPod& pod : pods) add_affinity(pod, pods, ns, needs);
  std::set<std::string> seen;
  std::erase_if(needs, [&](const StartNeed& need) { return !seen.insert(need.path).second; });
  if (std::ssize(needs) > kMostStartNeeds) {
    needs.erase(needs.begin() + kMostStartNeeds, needs.end());
  }
  return needs;
}

bool is_unmet(const StartNeed& need, const Result<std::string>& reply) {
  if (!need.is_list) {
    // Not "404 page not found", of a kind that is not served.
    return !reply && reply.error().code == Code::kNotFound &&
           reply.error().message.find("\"" + need.blocker.name + "\" not found") !=
               std::string::npos;
  }
  const auto list = reply ? kube::parse_json(*reply) : Result<Json>(reply.error());
  if (!list || !kube::string_at(*list, {"metadata", "continue"}).empty()) return false;
  const Json& items = kube::array_at(*list, {"items"});
  return std::none_of(items.begin(), items.end(), runs_on_node);
}

}  // namespace nervex::controller
