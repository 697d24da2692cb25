// What of a job's templates Kubernetes takes and nobody means. The API server warns of most of it
// (kubernetes 1.36, pkg/api/pod/warnings.go) when the pods are created, which nobody sees.
#include <algorithm>
#include <functional>
#include <set>
#include <string_view>

#include <fmt/format.h>

#include "job/template/rules.h"
#include "kube/model/quantity.h"

namespace nervex::job {
namespace {

// What is cut from a warning is its end: each begins with the path, then says what is wrong, then
// names what people chose.
class TemplateWarnings {
 public:
  void add(std::string_view path, std::string_view text) {
    texts_.push_back(fmt::format("{}: {}", path, text));
  }
  bool is_full() const { return texts_.size() >= kMost; }
  std::vector<std::string> take() { return std::move(texts_); }

 private:
  static constexpr std::size_t kMost = 20;
  std::vector<std::string> texts_;
};

// ---- variables

// False: no name is there twice. By hashes, since of thousands of variables in a job hardly ever
// one is set twice: to compare their names, which begin alike, was a tenth of a large review.
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

// PATH: "$(PATH):/more" goes on with the value before it.
bool goes_on(const Json& variable, std::string_view name) {
  const std::string_view value = kube::text_at(variable, {"value"});
  const std::string before = fmt::format("$({})", name);
  return kube::find(variable, {"valueFrom"}) == nullptr && value != before &&
         value.find(before) != value.npos;
}

void warn_of_repeated_names(const Json& container, const std::string& path,
                            TemplateWarnings& warnings) {
  const Json& variables = kube::array_at(container, {"env"});
  if (!may_repeat(variables)) return;
  std::set<std::string_view> seen;
  for (std::size_t i = 0; i < variables.size() && !warnings.is_full(); ++i) {
    const std::string_view name = kube::text_at(variables[i], {"name"});
    if (name.empty() || seen.insert(name).second || goes_on(variables[i], name)) continue;
    warnings.add(fmt::format("{}.env[{}]", path, i),
                 fmt::format("set twice, the last one counts: {}", name));
  }
}

// ---- amounts

std::string written_amount(const Json& quantity) {
  if (quantity.is_number()) return kube::to_text(quantity);
  return quantity.is_string() ? quantity.get<std::string>() : "";
}

// 512m of memory is half a byte.
void warn_of_fraction(const Json& bytes, const std::string& path, TemplateWarnings& warnings) {
  const std::string text = written_amount(bytes);
  const auto amount = kube::parse_quantity(text, kube::Scale::kOne);
  const bool is_milli = text.ends_with('m');
  if (!amount || *amount == 0 || (kube::is_whole(text) && !is_milli)) return;
  const std::string what =
      kube::is_whole(text) ? fmt::format("{} is {} byte{}", text, *amount, *amount == 1 ? "" : "s")
                           : fmt::format("{} is a fractional byte value", text);
  const std::string number = is_milli ? text.substr(0, text.size() - 1) : "";
  warnings.add(path, is_milli ? fmt::format("did you mean {}Mi? {}", number, what) : what);
}

bool is_bytes(std::string_view resource) {
  return resource == "memory" || resource == "ephemeral-storage" || resource == "storage";
}

// Of a container or of the pod as a whole.
void warn_of_resources(const Json& holder, const std::string& path, TemplateWarnings& warnings) {
  for (const std::string_view field : {"limits", "requests"}) {
    const Json* list = kube::find(holder, {"resources", field});
    if (list == nullptr || !list->is_object()) continue;
    for (const auto& [resource, amount] : list->items()) {
      if (warnings.is_full()) return;
      const auto place = [&, &name = resource] {
        return fmt::format("{}.resources.{}[{}]", path, field, name);
      };
      if (is_bytes(resource)) {
        warn_of_fraction(amount, place(), warnings);
      } else if (resource.find('/') != resource.npos) {
        const std::string guess = pod_template::similar_device(resource);
        if (!guess.empty()) warnings.add(place(), fmt::format("did you mean {}?", guess));
      }
    }
  }
}

void warn_of_volumes(const Json& volumes, const std::string& path, TemplateWarnings& warnings) {
  if (!volumes.is_array()) return;
  for (std::size_t i = 0; i < volumes.size() && !warnings.is_full(); ++i) {
    const std::string at = fmt::format("{}[{}]", path, i);
    if (const Json* limit = kube::find(volumes[i], {"emptyDir", "sizeLimit"})) {
      warn_of_fraction(*limit, at + ".emptyDir.sizeLimit", warnings);
    }
    const Json* claim = kube::find(volumes[i], {"ephemeral", "volumeClaimTemplate", "spec"});
    if (claim != nullptr) {
      warn_of_resources(*claim, at + ".ephemeral.volumeClaimTemplate.spec", warnings);
    }
  }
}

// ---- selectors

// `term` chooses among other pods by its labelSelector, and without one none.
bool selects_none(const Json& term) {
  return term.is_object() && kube::find(term, {"labelSelector"}) == nullptr;
}

constexpr std::string_view kSelectsNone = "a null labelSelector results in matching no pod";

void warn_of_spreads(const Json& pod, const std::string& path, TemplateWarnings& warnings) {
  const Json& spreads = kube::array_at(pod, {"topologySpreadConstraints"});
  for (std::size_t i = 0; i < spreads.size() && !warnings.is_full(); ++i) {
    if (!selects_none(spreads[i])) continue;
    warnings.add(fmt::format("{}.topologySpreadConstraints[{}]", path, i), kSelectsNone);
  }
}

// The names of these lists alone are half a warning.
void warn_of_affinity(const Json& pod, const std::string& path, TemplateWarnings& warnings) {
  for (const std::string_view kind : {"podAffinity", "podAntiAffinity"}) {
    for (const std::string_view strength : {"required", "preferred"}) {
      const std::string list = fmt::format("{}DuringSchedulingIgnoredDuringExecution", strength);
      const Json& terms = kube::array_at(pod, {"affinity", kind, list});
      for (std::size_t i = 0; i < terms.size() && !warnings.is_full(); ++i) {
        const Json* term =
            strength == "required" ? &terms[i] : kube::find(terms[i], {"podAffinityTerm"});
        if (term == nullptr || !selects_none(*term)) continue;
        warnings.add(fmt::format("{}.affinity.{}", path, kind),
                     fmt::format("{} in {}[{}]", kSelectsNone, list, i));
      }
    }
  }
}

// ---- the pod itself

void warn_of_pod(const Json& pod, const std::string& path, TemplateWarnings& warnings) {
  const Json& secrets = kube::array_at(pod, {"imagePullSecrets"});
  for (std::size_t i = 0; i < secrets.size() && !warnings.is_full(); ++i) {
    if (!secrets[i].is_object() || !kube::text_at(secrets[i], {"name"}).empty()) continue;
    warnings.add(fmt::format("{}.imagePullSecrets[{}].name", path, i),
                 "is empty: no secret is used");
  }
  if (kube::int_at(pod, {"terminationGracePeriodSeconds"}) < 0) {
    warnings.add(path + ".terminationGracePeriodSeconds",
                 "must be >= 0; negative values are invalid and will be treated as 1");
  }
}

void warn_of_containers(const Json& pod, const std::string& path, TemplateWarnings& warnings) {
  for (const std::string_view list : {"initContainers", "containers"}) {
    const Json& containers = kube::array_at(pod, {list});
    for (std::size_t i = 0; i < containers.size() && !warnings.is_full(); ++i) {
      const std::string at = fmt::format("{}.{}[{}]", path, list, i);
      warn_of_repeated_names(containers[i], at, warnings);
      warn_of_resources(containers[i], at, warnings);
    }
  }
}

}  // namespace

std::vector<std::string> template_warnings(const Json& object) {
  TemplateWarnings warnings;
  for (const std::string_view role : kTemplateRoles) {
    const Json* pod = kube::find(object, {"spec", role, "template", "spec"});
    if (pod == nullptr || !pod->is_object()) continue;
    const std::string path = fmt::format("spec.{}.template.spec", role);
    warn_of_containers(*pod, path, warnings);
    warn_of_resources(*pod, path, warnings);
    warn_of_volumes(kube::array_at(*pod, {"volumes"}), path + ".volumes", warnings);
    warn_of_spreads(*pod, path, warnings);
    warn_of_affinity(*pod, path, warnings);
    warn_of_pod(*pod, path, warnings);
  }
  warn_of_volumes(kube::array_at(object, {"spec", "volumes"}), "spec.volumes", warnings);
  return warnings.take();
}

}  // namespace nervex::job
