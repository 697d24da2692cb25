// Template fields that Kubernetes accepts but users rarely intend. The API server warns of most
// (kubernetes 1.36, pkg/api/pod/warnings.go) when pods are created, unseen by users.
#include <algorithm>
#include <functional>
#include <set>
#include <string_view>

#include <fmt/format.h>

#include "job/template/rules.h"
#include "job/validate.h"
#include "kube/model/quantity.h"

namespace nervex::job {
namespace {

using pod_template::Place;

// Long warnings lose their end: so each starts with the path, then states the fault, then names
// user-chosen texts.
class TemplateWarnings {
 public:
  void add(const Place& place, std::string_view text) {
    texts_.push_back(fmt::format("{}: {}", place.path(), text));
  }
  bool is_full() const { return texts_.size() >= kMost; }
  std::vector<std::string> take() { return std::move(texts_); }

 private:
  static constexpr std::size_t kMost = 20;
  std::vector<std::string> texts_;
};

// ---- variables

// False: no name appears twice. Uses hashes: in jobs with thousands of variables duplicates are
// rare, and comparing names with equal prefixes took a tenth of a large review.
bool may_repeat(const Json& variables) {
  std::vector<std::size_t> hashes;
  hashes.reserve(variables.size());
  for (const Json& variable : variables) {
    const std::string_view name = kube::text_at(variable, {"name"});
    if (!name.empty()) hashes.push_back(std::hash<std::string_view>()(name));
  }
  std::sort(hashes.begin(), hashes.end());
  return std::adjacent_find(hashes.begin(), hashes.end()) != hashes.end();
}

// PATH: "$(PATH):/more" extends the previous value.
bool goes_on(const Json& variable, std::string_view name) {
  const std::string_view value = kube::text_at(variable, {"value"});
  const std::string before = fmt::format("$({})", name);
  return kube::find(variable, {"valueFrom"}) == nullptr && value != before &&
         value.find(before) != value.npos;
}

void warn_of_repeated_names(const Place& container, TemplateWarnings& warnings) {
  const Place variables = container.at("env");
  if (variables.size() == 0 || !may_repeat(variables.value())) return;
  std::set<std::string_view> seen;
  variables.each_item([&](const Place& variable) {
    const std::string_view name = kube::text_at(variable.value(), {"name"});
    if (warnings.is_full() || name.empty() || seen.insert(name).second) return;
    if (goes_on(variable.value(), name)) return;
    warnings.add(variable, fmt::format("set twice, the last one wins: {}", name));
  });
}

// ---- amounts

// 512m of memory is half a byte.
void warn_of_fraction(const Place& bytes, TemplateWarnings& warnings) {
  const std::string text = pod_template::amount_text(bytes);
  const auto amount = kube::parse_quantity(text, kube::Scale::kOne);
  const bool is_milli = text.ends_with('m');
  if (!amount || *amount == 0 || (kube::is_whole(text) && !is_milli)) return;
  const std::string what =
      kube::is_whole(text) ? fmt::format("{} is {} byte{}", text, *amount, *amount == 1 ? "" : "s")
                           : fmt::format("{} is a fractional byte value", text);
  const std::string number = is_milli ? text.substr(0, text.size() - 1) : "";
  warnings.add(bytes, is_milli ? fmt::format("did you mean {}Mi? {}", number, what) : what);
}

bool is_bytes(std::string_view resource) {
  return resource == "memory" || resource == "ephemeral-storage" || resource == "storage";
}

// For a container, the pod as a whole, or a claim.
void warn_of_resources(const Place& holder, TemplateWarnings& warnings) {
  const Place resources = holder.at("resources");
  for (const auto field : {"limits", "requests"}) {
    const Place list = resources.at(field);
    list.each_entry([&](const std::string& resource, const Place& amount) {
      if (warnings.is_full()) return;
      if (!amount.is_there()) {
        warnings.add(amount, "is empty, which counts as 0");
      } else if (is_bytes(resource)) {
        warn_of_fraction(amount, warnings);
      } else if (resource.find('/') != resource.npos) {
        const std::string guess = pod_template::similar_device(resource);
        if (!guess.empty()) warnings.add(amount, fmt::format("did you mean {}?", guess));
      }
    });
  }
}

// Media that a kubelet knows; the API server accepts any text.
bool is_medium(std::string_view medium) {
  return medium.empty() || medium == "Memory" || medium == "HugePages" ||
         medium.starts_with("HugePages-");
}

// `owner`: the pod or the job.
void warn_of_volumes(const Place& owner, TemplateWarnings& warnings) {
  const Place volumes = owner.at("volumes");
  volumes.each_item([&](const Place& volume) {
    if (warnings.is_full()) return;
    const Place directory = volume.at("emptyDir");
    const Place limit = directory.at("sizeLimit");
    warn_of_fraction(limit, warnings);
    const Place medium = directory.at("medium");
    if (!is_medium(medium.text())) {
      warnings.add(medium,
                   "no pod starts with it: use Memory, HugePages, HugePages-2Mi or leave it out");
    }
    const Place ephemeral = volume.at("ephemeral");
    const Place claim = ephemeral.at("volumeClaimTemplate");
    const Place wanted = claim.at("spec");
    warn_of_resources(wanted, warnings);
  });
}

// ---- selectors

// `term` selects other pods by its labelSelector; without one it selects none.
bool selects_none(const Json& term) {
  return term.is_object() && kube::find(term, {"labelSelector"}) == nullptr;
}

constexpr std::string_view kSelectsNone = "a null labelSelector results in matching no pod";

void warn_of_spreads(const Place& pod, TemplateWarnings& warnings) {
  const Place spreads = pod.at("topologySpreadConstraints");
  spreads.each_item([&](const Place& spread) {
    if (!warnings.is_full() && selects_none(spread.value())) warnings.add(spread, kSelectsNone);
  });
}

// The names of these lists fill half a warning, so they come last.
void warn_of_affinity(const Place& pod, TemplateWarnings& warnings) {
  constexpr std::string_view kRequired = "requiredDuringSchedulingIgnoredDuringExecution";
  constexpr std::string_view kPreferred = "preferredDuringSchedulingIgnoredDuringExecution";
  const Place affinity = pod.at("affinity");
  for (const auto kind : {"podAffinity", "podAntiAffinity"}) {
    const Place rules = affinity.at(kind);
    for (const auto strength : {kRequired, kPreferred}) {
      const Json& terms = kube::array_at(rules.value(), {strength});
      for (std::size_t i = 0; i < terms.size() && !warnings.is_full(); ++i) {
        const Json* term =
            strength == kRequired ? &terms[i] : kube::find(terms[i], {"podAffinityTerm"});
        if (term == nullptr || !selects_none(*term)) continue;
        warnings.add(rules, fmt::format("{} in {}[{}]", kSelectsNone, strength, i));
      }
    }
  }
}

// ---- the pod itself

void warn_of_pod(const Place& pod, TemplateWarnings& warnings) {
  const Place secrets = pod.at("imagePullSecrets");
  secrets.each_item([&](const Place& secret) {
    if (warnings.is_full() || !secret.is_object()) return;
    const Place name = secret.at("name");
    if (name.text().empty()) warnings.add(name, "is empty: no secret is used");
  });
  const Place grace = pod.at("terminationGracePeriodSeconds");
  if (grace.integer().value_or(0) < 0) {
    warnings.add(grace, "must be >= 0; negative values are invalid and will be treated as 1");
  }
}

// "", or why a kubelet would not pull it (InvalidImageName); the API server accepts any text.
std::string_view image_problem(std::string_view image) {
  constexpr std::string_view kUpper = "ABCDEFGHIJKLMNOPQRSTUVWXYZ";
  if (image.find_first_of(" \t") != image.npos) return "contains a space";
  image = image.substr(0, image.find('@'));
  const auto slash = image.find('/');
  const std::string_view first = image.substr(0, slash);
  const bool is_host = slash != image.npos && (first.find_first_of(".:") != first.npos ||
                                               first.find_first_of(kUpper) != first.npos);
  const std::string_view path = is_host ? image.substr(slash + 1) : image;
  return path.substr(0, path.find(':')).find_first_of(kUpper) == path.npos
             ? ""
             : "contains capital letters";
}

void warn_of_image(const Place& container, TemplateWarnings& warnings) {
  const Place image = container.at("image");
  const std::string_view problem = image_problem(image.text());
  if (problem.empty()) return;
  warnings.add(image, fmt::format("{}: no node can pull it: {}", problem, image.text()));
}

void warn_of_containers(const Place& pod, TemplateWarnings& warnings) {
  for (const auto field : {"initContainers", "containers"}) {
    const Place list = pod.at(field);
    list.each_item([&](const Place& container) {
      if (warnings.is_full()) return;
      warn_of_image(container, warnings);
      warn_of_repeated_names(container, warnings);
      warn_of_resources(container, warnings);
    });
  }
}

}  // namespace

std::vector<std::string> template_warnings(const Json& object) {
  TemplateWarnings warnings;
  FieldErrors no_errors;  // a place needs somewhere to report errors
  const Place root(object, "", no_errors);
  const Place spec = root.at("spec");
  for (const std::string_view role : kRolesWithTemplates) {
    const Place section = spec.at(role);
    const Place pod_template = section.at("template");
    const Place pod = pod_template.at("spec");
    if (!pod.is_object()) continue;
    warn_of_containers(pod, warnings);
    warn_of_resources(pod, warnings);
    warn_of_volumes(pod, warnings);
    warn_of_spreads(pod, warnings);
    warn_of_affinity(pod, warnings);
    warn_of_pod(pod, warnings);
  }
  warn_of_volumes(spec, warnings);
  return warnings.take();
}

}  // namespace nervex::job
