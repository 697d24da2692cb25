#include "job/validate_template.h"

#include <set>

#include <fmt/format.h>

#include "job/validate_resources.h"

namespace nervex::job {
namespace {

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
  if (image == nullptr || *image == "") {
    errors.push_back({FieldErrorType::kRequired, path + ".image", "", ""});
  }
  if (const Json* resources = kube::find(container, {"resources"})) {
    validate_resources(*resources, path + ".resources", errors);
  }
}

void check_containers(const Json& spec, const std::string& path, FieldErrors& errors) {
  const Json* containers = kube::find(spec, {"containers"});
  if (containers == nullptr || (containers->is_array() && containers->empty())) {
    errors.push_back(
        {FieldErrorType::kRequired, path + ".containers", "", "at least one container is needed"});
  }
  Names seen;  // containers and init containers share their names
  for (const std::string_view list : {"initContainers", "containers"}) {
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
  check_containers(there, path + ".spec", errors);
  check_volume_names(there, path + ".spec", errors);
  if (const Json* resources = kube::find(there, {"resources"})) {
    validate_resources(*resources, path + ".spec.resources", errors);
  }
}

}  // namespace nervex::job
