// Environment variables and the sources of their values.
#include <algorithm>
#include <array>

#include <fmt/format.h>

#include "base/text.h"
#include "job/template/rules.h"
#include "job/template/syntax.h"
#include "kube/model/quantity.h"

namespace nervex::job::pod_template {
namespace {

// "metadata.labels['app']": {"metadata.labels", "app"}. No subscript: has_value() is false.
struct FieldPath {
  std::string_view path;
  std::optional<std::string_view> subscript;
};
FieldPath split(std::string_view text) {
  const auto open = text.find("['");
  if (open == std::string_view::npos || !text.ends_with("']")) return {text, std::nullopt};
  return {text.substr(0, open), text.substr(open + 2, text.size() - open - 4)};
}

bool is_convertible(std::string_view field) {
  constexpr std::array<std::string_view, 15> kFields{
      "metadata.annotations", "metadata.labels",
      "metadata.name",        "metadata.namespace",
      "metadata.uid",         "spec.host",
      "spec.nodeName",        "spec.restartPolicy",
      "spec.schedulerName",   "spec.serviceAccountName",
      "status.hostIP",        "status.hostIPs",
      "status.phase",         "status.podIP",
      "status.podIPs"};
  return std::find(kFields.begin(), kFields.end(), field) != kFields.end();
}

void check_key_ref(const Place& ref) {
  const Place name = ref.at("name");
  const Place key = ref.at("key");
  name.must_be(dns_subdomain_problem(name.text()));
  if (key.has_text()) key.must_be(config_key_problem(key.text()));
}

void check_file_ref(const Place& ref, const Facts& facts) {
  const Place key = ref.at("key");
  if (key.has_text()) key.must_be(variable_name_problem(key.text()));
  const Place path = ref.at("path");
  if (path.has_text()) path.must_be(descending_path_problem(path.text()));
  const Place volume = ref.at("volumeName");
  if (!volume.has_text()) return;
  const auto found = facts.volumes.find(volume.text());
  if (found == facts.volumes.end()) {
    volume.not_found("");
  } else if (found->second != Facts::Volume::kEmptyDir) {
    volume.invalid("referenced volume must be of type emptyDir");
  }
}

void check_value_from(const Place& variable, const Facts& facts) {
  const Place from = variable.at("valueFrom");
  if (!from.is_object()) return;
  int sources = 0;
  const Place field = from.at("fieldRef");
  if (field.is_object()) {
    ++sources;
    check_field_ref(field, false);
  }
  const Place resource = from.at("resourceFieldRef");
  if (resource.is_object()) {
    ++sources;
    check_resource_field_ref(resource, false);
  }
  for (const auto kind : {"configMapKeyRef", "secretKeyRef"}) {
    const Place ref = from.at(kind);
    if (!ref.is_object()) continue;
    ++sources;
    check_key_ref(ref);
  }
  const Place file = from.at("fileKeyRef");
  if (file.is_object()) {
    ++sources;
    check_file_ref(file, facts);
  }
  if (sources == 0) {
    from.invalid(
        "",
        "must specify one of: `fieldRef`, `resourceFieldRef`, `configMapKeyRef`, `secretKeyRef` or "
        "`fileKeyRef`");
  } else if (!kube::string_at(variable.value(), {"value"}).empty()) {
    from.invalid("", "may not be specified when `value` is not empty");
  } else if (sources > 1) {
    from.invalid("", "may not have more than one field specified at a time");
  }
}

}  // namespace

void check_field_ref(const Place& ref, bool in_volume) {
  const Place version = ref.at("apiVersion");
  const Place path = ref.at("fieldPath");
  if (!path.has_text()) return;
  if (!version.text().empty() && version.text() != "v1") {
    return path.invalid(
        fmt::format("error converting fieldPath: unsupported pod version: {}", version.text()));
  }
  const FieldPath field = split(path.text());
  const bool of_labels = field.path == "metadata.labels";
  if (field.subscript) {
    if (!of_labels && field.path != "metadata.annotations") {
      return path.invalid(fmt::format(
          "error converting fieldPath: field label does not support subscript: {}", path.text()));
    }
    const std::string key = of_labels ? std::string(*field.subscript) : to_lower(*field.subscript);
    if (const auto why = label_key_problem(key); !why.empty()) ref.invalid(key, why);
    return;
  }
  if (!is_convertible(field.path)) {
    return path.invalid(
        fmt::format("error converting fieldPath: field label not supported: {}", path.text()));
  }
  const auto is_one_of = [&](std::initializer_list<std::string_view> fields) {
    return std::find(fields.begin(), fields.end(), field.path) != fields.end();
  };
  if (in_volume) {
    if (is_one_of({"metadata.annotations", "metadata.labels", "metadata.name", "metadata.namespace",
                   "metadata.uid"})) {
      return;
    }
    path.not_supported({"metadata.annotations", "metadata.labels", "metadata.name",
                        "metadata.namespace", "metadata.uid"});
  } else if (!is_one_of({"metadata.name", "metadata.namespace", "metadata.uid", "spec.host",
                         "spec.nodeName", "spec.serviceAccountName", "status.hostIP",
                         "status.hostIPs", "status.podIP", "status.podIPs"})) {
    path.not_supported({"metadata.name", "metadata.namespace", "metadata.uid", "spec.nodeName",
                        "spec.serviceAccountName", "status.hostIP", "status.hostIPs",
                        "status.podIP", "status.podIPs"});
  }
}

namespace {

// Whether the amount is exactly one unit, in any spelling: 1, 1k, 1Mi, and 1000000 for 1M; but not
// 1024 for 1Ki, nor 1e6. For cpu: 1m and 1.
bool is_unit(const std::string& text, bool cpu) {
  const bool binary = text.ends_with('i');
  const auto amount = kube::parse_quantity(text, cpu ? kube::Scale::kMilli : kube::Scale::kOne);
  if (!amount) return false;
  if (cpu) return *amount == 1 || *amount == 1000;
  if (!kube::is_whole(text)) return false;
  const std::int64_t step = binary && *amount >= 1024 ? 1024 : 1000;
  std::int64_t rest = *amount;
  while (rest != 0 && rest % step == 0) rest /= step;
  const auto e = text.find_first_of("eE");  // the last letter of 1E, where it is a unit
  const bool has_exponent = e != std::string::npos && e + 1 < text.size();
  return rest == 1 && (*amount == 1 || binary || !has_exponent);
}

}  // namespace

void check_resource_field_ref(const Place& ref, bool in_volume) {
  const Place container = ref.at("containerName");
  const Place resource = ref.at("resource");
  const std::string& name = resource.text();
  if (in_volume && container.text().empty()) {
    container.required();
  } else if (resource.has_text() && !name.starts_with("limits.hugepages-") &&
             !name.starts_with("requests.hugepages-")) {
    resource.one_of({"limits.cpu", "limits.ephemeral-storage", "limits.memory", "requests.cpu",
                     "requests.ephemeral-storage", "requests.memory"});
  }
  const Place divisor = ref.at("divisor");
  check_quantity(divisor);
  std::string text = divisor.value().is_number() ? kube::to_text(divisor.value()) : divisor.text();
  while (text.ends_with(' ')) text.pop_back();
  const auto amount = kube::parse_quantity(text, kube::Scale::kOne);
  if (!amount || *amount == 0 || name.empty()) return;  // 0 counts as absent
  const bool cpu = name.ends_with(".cpu");
  if (is_unit(text, cpu)) return;
  divisor.invalid(name, cpu ? "only divisor's values 1m and 1 are supported with the cpu resource"
                            : "only divisor's values 1, 1k, 1M, 1G, 1T, 1P, 1E, 1Ki, 1Mi, 1Gi, "
                              "1Ti, 1Pi, 1Ei are supported");
}

void check_env(const Place& container, const Facts& facts) {
  const Place variables = container.at("env");
  variables.each_item([&](const Place& variable) {
    if (!variable.is_object()) return;
    const Place name = variable.at("name");
    if (name.has_text()) name.must_be(variable_name_problem(name.text()));
    check_value_from(variable, facts);
  });
}

void check_env_from(const Place& container, const Facts&) {
  const Place sources = container.at("envFrom");
  sources.each_item([&](const Place& source) {
    if (!source.is_object()) return;
    const Place prefix = source.at("prefix");
    if (!prefix.text().empty()) prefix.must_be(variable_name_problem(prefix.text()));
    int count = 0;
    for (const auto kind : {"configMapRef", "secretRef"}) {
      const Place ref = source.at(kind);
      if (!ref.is_object()) continue;
      ++count;
      const Place name = ref.at("name");
      if (!name.has_text()) continue;
      std::string_view stem = name.text();  // a hyphen at its end is not reported
      if (stem.ends_with('-')) stem.remove_suffix(1);
      name.must_be(dns_subdomain_problem(stem));
    }
    // The API server reports the list's path, without an index.
    if (count == 0) sources.invalid("", "must specify one of: `configMapRef` or `secretRef`");
    if (count > 1) sources.invalid("", "may not have more than one field specified at a time");
  });
}

}  // namespace nervex::job::pod_template
