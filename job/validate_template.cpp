#include "job/validate.h"

#include <algorithm>
#include <array>
#include <optional>
#include <set>

#include <fmt/format.h>

#include "base/text.h"
#include "job/template/rules.h"
#include "job/template/syntax.h"
#include "kube/model/quantity.h"

namespace nervex::job {
namespace {

// ---- can a container ask for these amounts?

constexpr std::array<std::string_view, 3> kStandard{"cpu", "memory", "ephemeral-storage"};

bool has_domain(std::string_view resource) { return resource.find('/') != resource.npos; }

bool is_huge_pages(std::string_view resource) { return resource.starts_with("hugepages-"); }

// Things that are counted: those of any domain but Kubernetes' own.
bool is_extended(std::string_view resource) {
  return has_domain(resource) && resource.find("kubernetes.io/") == std::string_view::npos;
}

// Never shared between pods. What is of Kubernetes' own domains, such as kubernetes.io/batch-cpu,
// is shared like cpu.
bool is_device(std::string_view resource) {
  return is_extended(resource) || is_huge_pages(resource);
}

bool is_known(std::string_view resource) {
  return has_domain(resource) || is_huge_pages(resource) ||
         std::find(kStandard.begin(), kStandard.end(), resource) != kStandard.end();
}

// A quantity may be written as a number. nullopt: it is neither, which a schema tells.
std::optional<std::string> text_of(const Json& value) {
  if (value.is_string()) return value.get<std::string>();
  if (value.is_number()) return kube::to_text(value);
  return std::nullopt;
}

kube::Scale scale_of(std::string_view resource) {
  return resource == "cpu" ? kube::Scale::kMilli : kube::Scale::kOne;
}

std::optional<std::int64_t> amount_of(const Json& list, const std::string& resource) {
  const auto at = list.is_object() ? list.find(resource) : list.end();
  if (!list.is_object() || at == list.end()) return std::nullopt;
  const auto text = text_of(*at);
  if (!text) return std::nullopt;
  const auto amount = kube::parse_quantity(*text, scale_of(resource));
  return amount ? std::optional(*amount) : std::nullopt;
}

std::string with_guess(std::string text, const std::string& guess) {
  return guess.empty() ? text : fmt::format("{}: did you mean {}?", text, guess);
}

// "" or what is wrong with this name of a resource.
std::string resource_name_problem(const std::string& resource) {
  constexpr std::string_view kRequests = "requests.";
  if (!is_known(resource)) {
    std::string guess = pod_template::similar_device(resource);
    if (guess.empty() && resource.starts_with(kRequests)) guess = resource.substr(kRequests.size());
    if (guess.empty()) guess = closest_name(resource, {kStandard.begin(), kStandard.end()});
    if (!is_known(guess)) guess.clear();
    return with_guess(
        "must be cpu, memory, ephemeral-storage or the full name of a device, such as "
        "nvidia.com/gpu",
        guess);
  }
  if (auto why = pod_template::label_key_problem(resource); !why.empty()) {
    return with_guess(std::move(why), pod_template::similar_device(resource));
  }
  if (!is_extended(resource)) return "";
  // Quotas have it with "requests." before it.
  const bool is_of_quota = resource.starts_with(kRequests);
  if (!is_of_quota &&
      pod_template::label_key_problem(fmt::format("{}{}", kRequests, resource)).empty()) {
    return "";
  }
  return with_guess("doesn't follow extended resource name standard",
                    is_of_quota ? resource.substr(kRequests.size()) : "");
}

// "" or what is wrong with this amount by itself.
std::string amount_problem(const std::string& resource, const std::string& text) {
  const auto amount = kube::parse_quantity(text, kube::Scale::kOne);
  if (!amount) {
    return with_guess("must be a quantity such as 500m, 2 or 4Gi",
                      pod_template::similar_quantity(text, resource));
  }
  if (*amount < 0) return "must be greater than or equal to 0";
  return is_extended(resource) && !kube::is_whole(text) ? "must be an integer" : "";
}

// What resources belong to: a container or, since Kubernetes 1.34, the pod as a whole, which has
// only some of them.
enum class Holder { kContainer, kPod };

bool has_resource(Holder holder, std::string_view resource) {
  return holder == Holder::kContainer || resource == "cpu" || resource == "memory" ||
         is_huge_pages(resource);
}

void check_amounts(const Json& list, Holder holder, const std::string& path, FieldErrors& errors) {
  if (!list.is_object()) return;
  for (const auto& [resource, value] : list.items()) {
    if (errors.size() >= kMaxErrors) return;
    const auto text = text_of(value);
    if (!text) continue;
    const std::string field = fmt::format("{}[{}]", path, resource);
    std::string why = resource_name_problem(resource);
    if (why.empty() && !has_resource(holder, resource)) {
      errors.push_back({FieldErrorType::kNotSupported, field, shown_value(resource),
                        "supported values: \"cpu\", \"hugepages-\", \"memory\": a pod as a whole "
                        "has no others, this one belongs to a container"});
      continue;
    }
    if (why.empty()) why = amount_problem(resource, *text);
    if (!why.empty()) {
      errors.push_back({FieldErrorType::kInvalid, field, shown_value(value), std::move(why)});
    }
  }
}

void check_against_limit(const Json& requests, const Json& limits, const std::string& resource,
                         const std::string& path, FieldErrors& errors) {
  const auto request = amount_of(requests, resource);
  if (!request) return;
  const auto refuse = [&](std::string_view why) {
    errors.push_back({FieldErrorType::kInvalid, fmt::format("{}.requests[{}]", path, resource),
                      shown_value(requests[resource]), std::string(why)});
  };
  const bool has_limit = limits.is_object() && limits.contains(resource);
  if (!has_limit && is_device(resource)) {
    errors.push_back({FieldErrorType::kRequired, fmt::format("{}.limits[{}]", path, resource), "",
                      "devices need a limit, equal to the request"});
  }
  const auto limit = amount_of(limits, resource);
  if (!limit || *request == *limit) return;
  const std::string limit_text = *text_of(limits[resource]);
  if (is_device(resource)) return refuse("must be equal to the limit of " + limit_text);
  if (*request > *limit) refuse("must not be more than the limit of " + limit_text);
}

// Checks the ResourceRequirements ({requests, limits}) that stand at `path`: names, quantities,
// whole numbers of devices, requests against limits. Parts of a wrong type are passed over.
void validate_resources(const Json& resources, Holder holder, const std::string& path,
                        FieldErrors& errors) {
  if (!resources.is_object()) return;
  const Json requests = resources.value("requests", Json());
  const Json limits = resources.value("limits", Json());
  check_amounts(limits, holder, path + ".limits", errors);
  check_amounts(requests, holder, path + ".requests", errors);
  if (!requests.is_object()) return;
  for (const auto& [resource, value] : requests.items()) {
    if (errors.size() >= kMaxErrors) return;
    if (has_resource(holder, resource)) {
      check_against_limit(requests, limits, resource, path, errors);
    }
  }
}

// ---- the template

// RFC 1123: what names of containers and volumes must be.
bool is_dns_label(std::string_view name) {
  const auto alphanumeric = [](char c) { return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9'); };
  const auto allowed = [&](char c) { return alphanumeric(c) || c == '-'; };
  return !name.empty() && name.size() <= 63 && std::all_of(name.begin(), name.end(), allowed) &&
         alphanumeric(name.front()) && alphanumeric(name.back());
}

using Names = std::set<std::string, std::less<>>;

void check_container(const Json& container, const std::string& path, Names& seen,
                     FieldErrors& errors) {
  if (!container.is_object()) return;
  validate_item_name(container, path, seen, errors);
  const Json* image = kube::find(container, {"image"});
  if (image == nullptr || *image == Json("")) {
    errors.push_back({FieldErrorType::kRequired, path + ".image", "", ""});
  }
  if (const Json* resources = kube::find(container, {"resources"})) {
    validate_resources(*resources, Holder::kContainer, path + ".resources", errors);
  }
}

// `are_misplaced`: they stand beside the spec, which is said elsewhere.
void check_containers(const Json& spec, bool are_misplaced, const std::string& path,
                      FieldErrors& errors) {
  const Json* containers = kube::find(spec, {"containers"});
  const bool has_none = containers == nullptr || (containers->is_array() && containers->empty());
  if (has_none && !are_misplaced) {
    errors.push_back(
        {FieldErrorType::kRequired, path + ".containers", "", "at least one container is needed"});
  }
  Names seen;  // containers and init containers share their names
  for (const std::string_view list : {"containers", "initContainers"}) {
    std::size_t index = 0;
    for (const Json& container : kube::array_at(spec, {list})) {
      if (errors.size() >= kMaxErrors) return;
      check_container(container, fmt::format("{}.{}[{}]", path, list, index++), seen, errors);
    }
  }
}

void check_volume_names(const Json& spec, const std::string& path, FieldErrors& errors) {
  Names seen;
  std::size_t index = 0;
  for (const Json& volume : kube::array_at(spec, {"volumes"})) {
    if (errors.size() >= kMaxErrors) return;
    const std::string item = fmt::format("{}.volumes[{}]", path, index++);
    if (volume.is_object()) validate_item_name(volume, item, seen, errors);
  }
}

}  // namespace

void validate_item_name(const Json& item, const std::string& path,
                        std::set<std::string, std::less<>>& seen, FieldErrors& errors) {
  const Json* name = kube::find(item, {"name"});
  const std::string field = path + ".name";
  if (name == nullptr) {
    errors.push_back({FieldErrorType::kRequired, field, "", ""});
  } else if (name->is_string()) {
    if (!is_dns_label(name->get_ref<const std::string&>())) {
      errors.push_back({FieldErrorType::kInvalid, field, shown_value(*name),
                        "must be at most 63 lower-case letters, digits or '-', with a letter or "
                        "digit at both ends"});
    } else if (!seen.insert(name->get<std::string>()).second) {
      errors.push_back({FieldErrorType::kDuplicate, field, shown_value(*name), ""});
    }
  }
}

void validate_template(const Json& pod_template, const std::string& path, FieldErrors& errors) {
  if (!pod_template.is_object()) return;
  const Json* spec = kube::find(pod_template, {"spec"});
  if (spec != nullptr && !spec->is_object()) return;
  static const Json kNone = Json::object();
  const Json& there = spec == nullptr ? kNone : *spec;
  const bool are_misplaced = kube::find(pod_template, {"containers"}) != nullptr;
  check_containers(there, are_misplaced, path + ".spec", errors);
  check_volume_names(there, path + ".spec", errors);
  if (const Json* resources = kube::find(there, {"resources"})) {
    validate_resources(*resources, Holder::kPod, path + ".spec.resources", errors);
  }
}

}  // namespace nervex::job
