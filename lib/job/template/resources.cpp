// Resources of containers and of pods as a whole: names, amounts, requests against limits.
#include <algorithm>
#include <array>

#include <fmt/format.h>

#include "base/text.h"
#include "job/template/rules.h"
#include "job/template/syntax.h"
#include "kube/model/quantity.h"

namespace nervex::job::pod_template {
namespace {

constexpr std::array<std::string_view, 3> kStandard{"cpu", "memory", "ephemeral-storage"};
constexpr std::string_view kOfQuotas = "requests.";

bool has_domain(std::string_view resource) { return resource.find('/') != resource.npos; }

bool is_huge_pages(std::string_view resource) { return resource.starts_with("hugepages-"); }

// Countable resources: those outside Kubernetes' own domains.
bool is_extended(std::string_view resource) {
  return has_domain(resource) && resource.find("kubernetes.io/") == std::string_view::npos;
}

// Never shared between pods. Resources of Kubernetes' own domains, such as kubernetes.io/batch-cpu,
// are shared like cpu.
bool is_device(std::string_view resource) {
  return is_extended(resource) || is_huge_pages(resource);
}

bool is_known(std::string_view resource) {
  return has_domain(resource) || is_huge_pages(resource) ||
         std::find(kStandard.begin(), kStandard.end(), resource) != kStandard.end();
}

std::string with_guess(std::string text, const std::string& guess) {
  return guess.empty() ? text : fmt::format("{}: did you mean {}?", text, guess);
}

// "", or what is wrong with this resource name.
std::string name_problem(const std::string& resource) {
  if (!is_known(resource)) {
    std::string guess = similar_device(resource);
    if (guess.empty() && resource.starts_with(kOfQuotas)) guess = resource.substr(kOfQuotas.size());
    if (guess.empty()) guess = closest_name(resource, {kStandard.begin(), kStandard.end()});
    if (!is_known(guess)) guess.clear();
    return with_guess(
        "must be cpu, memory, ephemeral-storage or the full name of a device, such as "
        "nvidia.com/gpu",
        guess);
  }
  if (auto why = label_key_problem(resource); !why.empty()) {
    return with_guess(std::move(why), similar_device(resource));
  }
  if (!is_extended(resource)) return "";
  // Quotas prefix it with "requests.".
  const bool is_of_quota = resource.starts_with(kOfQuotas);
  if (!is_of_quota && label_key_problem(std::string(kOfQuotas) + resource).empty()) return "";
  return with_guess("doesn't follow extended resource name standard",
                    is_of_quota ? resource.substr(kOfQuotas.size()) : "");
}

// "", or what is wrong with this amount by itself.
std::string amount_problem(const std::string& resource, const std::string& text) {
  if (auto why = quantity_problem(text, resource); !why.empty()) return why;
  return is_extended(resource) && !kube::is_whole(text) ? "must be an integer" : "";
}

// The owner of resources: a container or, since Kubernetes 1.34, the pod as a whole, which may have
// only some of them.
enum class Holder { kContainer, kPod };

bool has_resource(Holder holder, std::string_view resource) {
  return holder == Holder::kContainer || resource == "cpu" || resource == "memory" ||
         is_huge_pages(resource);
}

// The API server reads a null amount as 0.
bool is_blank(const Place& amount) { return !amount.is_there(); }

void check_amount(const std::string& resource, const Place& amount, Holder holder) {
  const std::string text = amount_text(amount);
  if (text.empty() && !amount.value().is_string() && !is_blank(amount)) return;
  std::string why = name_problem(resource);
  if (why.empty() && !has_resource(holder, resource)) {
    return amount.not_supported(resource, {"cpu", "hugepages-", "memory"},
                                "set any other resource in a container");
  }
  if (why.empty() && !is_blank(amount)) why = amount_problem(resource, text);
  amount.must_be(why);
}

// Both are present.
void check_against_limit(const std::string& resource, const Place& request, const Place& limit) {
  const auto wanted = is_blank(request) ? 0 : parse_amount(request, resource);
  const auto most = is_blank(limit) ? 0 : parse_amount(limit, resource);
  if (!wanted || !most || *wanted == *most) return;
  const std::string text = is_blank(limit) ? "0" : amount_text(limit);
  if (is_device(resource)) return request.invalid("must be equal to the limit of " + text);
  if (*wanted > *most) request.invalid("must not be more than the limit of " + text);
}

void check_requirements(const Place& resources, Holder holder) {
  const Place limits = resources.at("limits");
  const Place requests = resources.at("requests");
  for (const Place* list : {&limits, &requests}) {
    list->each_entry([&](const std::string& resource, const Place& amount) {
      check_amount(resource, amount, holder);
    });
  }
  requests.each_entry([&](const std::string& resource, const Place& request) {
    if (!has_resource(holder, resource)) return;
    const Place limit = limits.entry(resource);
    if (kube::member(limits.value(), resource) != nullptr) {
      check_against_limit(resource, request, limit);
    } else if (is_device(resource)) {
      limit.required("devices need a limit, equal to the request");
    }
  });
}

}  // namespace

void check_container_requirements(const Place& container, const Facts&) {
  const Place resources = container.at("resources");
  check_requirements(resources, Holder::kContainer);
}

void check_pod_requirements(const Place& spec, const Facts&) {
  const Place resources = spec.at("resources");
  check_requirements(resources, Holder::kPod);
}

}  // namespace nervex::job::pod_template
