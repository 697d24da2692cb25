#include "kube/model/foreign_pod_group.h"

#include <algorithm>
#include <utility>

namespace nervex::kube {
namespace {

// Skips unreadable amounts of minResources, though the API server accepts only quantities.
Resources readable(const Json& list) {
  Resources resources;
  if (!list.is_object()) return resources;
  for (const auto& [name, quantity] : list.items()) {
    const auto amount = decode_resources({{name, quantity}});
    if (amount) resources.set(name, amount->get(name));
  }
  return resources;
}

std::optional<SysTime> time_at(const Json& object, std::initializer_list<std::string_view> path) {
  const auto time = parse_rfc3339(string_at(object, path));
  return time ? std::optional(*time) : std::nullopt;
}

}  // namespace

Result<ForeignPodGroup> decode_foreign_pod_group(std::string_view json) {
  const auto object = parse_json(json);
  if (!object) return with_context("podgroup", object.error());
  ForeignPodGroup group;
  group.meta = decode_meta(*object);
  if (group.meta.name.empty()) return Error{Code::kInvalid, "podgroup: metadata.name is missing"};
  group.meta.labels.clear();
  group.meta.annotations.clear();
  group.min_member = std::max<std::int64_t>(0, int_at(*object, {"spec", "minMember"}));
  if (const auto seconds = int_at(*object, {"spec", "scheduleTimeoutSeconds"}); seconds > 0) {
    group.schedule_timeout_seconds = seconds;
  }
  if (const Json* list = find(*object, {"spec", "minResources"})) {
    group.min_resources = readable(*list);
  }
  group.status.phase = string_at(*object, {"status", "phase"});
  group.status.occupied_by = string_at(*object, {"status", "occupiedBy"});
  group.status.running = int_at(*object, {"status", "running"});
  group.status.succeeded = int_at(*object, {"status", "succeeded"});
  group.status.failed = int_at(*object, {"status", "failed"});
  group.status.schedule_start_time = time_at(*object, {"status", "scheduleStartTime"});
  return group;
}

Json encode_foreign_status(const ForeignPodGroupStatus& status) {
  Json json{{"phase", status.phase},
            {"running", status.running},
            {"succeeded", status.succeeded},
            {"failed", status.failed}};
  if (!status.occupied_by.empty()) json["occupiedBy"] = status.occupied_by;
  if (status.schedule_start_time) {
    json["scheduleStartTime"] = to_rfc3339(*status.schedule_start_time);
  }
  return json;
}

const std::string& foreign_group_name(const Meta& pod) { return label(pod, kForeignGroupLabel); }

PodFilter with_foreign_groups(PodFilter filter) {
  filter.label_keys.emplace_back(kForeignGroupLabel);
  filter.spec_label = kForeignGroupLabel;
  return filter;
}

}  // namespace nervex::kube
