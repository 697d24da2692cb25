#include "cli/jobs/job_events.h"

#include <algorithm>

#include <fmt/format.h>

#include "base/text.h"
#include "cli/text.h"
#include "gang/pod_group.h"
#include "job/names.h"

namespace nervex::cli {
namespace {

bool is_about(const job::Job& job, const Json& object) {
  const std::string kind = kube::string_at(object, {"kind"});
  const std::string name = kube::string_at(object, {"name"});
  if (kind == job::kKind) return kube::string_at(object, {"uid"}) == job.meta.uid;
  if (kind == gang::kKind) {
    const std::string prefix = job.meta.name + "-";
    return name.starts_with(prefix) && is_digits(std::string_view(name).substr(prefix.size()));
  }
  return kind == "Pod" && job::slot_of_pod_name(job, name).has_value();
}

}  // namespace

view::Event decode_event(const Json& event) {
  view::Event seen;
  for (const char* field : {"lastTimestamp", "eventTime", "firstTimestamp"}) {
    const auto time = parse_rfc3339(kube::string_at(event, {field}));
    if (!time) continue;
    seen.time = *time;
    break;
  }
  seen.is_warning = kube::string_at(event, {"type"}) == "Warning";
  seen.reason = kube::string_at(event, {"reason"});
  seen.message = kube::string_at(event, {"message"});
  seen.count =
      static_cast<int>(std::clamp<std::int64_t>(kube::int_at(event, {"count"}, 1), 1, 9999));
  return seen;
}

std::optional<JobEvent> decode_job_event(const job::Job& job, const Json& event) {
  const Json* object = kube::find(event, {"involvedObject"});
  if (object == nullptr || !is_about(job, *object)) return std::nullopt;
  const view::Event fields = decode_event(event);
  if (fields.time < job.meta.created) return std::nullopt;
  return JobEvent{.time = fields.time,
                  .object = fmt::format("{}/{}", to_lower(kube::string_at(*object, {"kind"})),
                                        kube::string_at(*object, {"name"})),
                  .is_warning = fields.is_warning,
                  .reason = fields.reason,
                  .message = fields.message,
                  .count = fields.count};
}

std::vector<std::string> event_header() {
  return {"LAST SEEN", "TYPE", "REASON", "OBJECT", "MESSAGE"};
}

std::vector<std::string> event_cells(const JobEvent& event, SysTime now, const Paint& paint) {
  const std::string times = event.count > 1 ? fmt::format(" (x{})", event.count) : "";
  return {duration_since(event.time, now),
          event.is_warning ? paint(Colour::kYellow, "Warning") : "Normal", printable(event.reason),
          printable(event.object), printable(event.message) + times};
}

Json to_json(const JobEvent& event) {
  return {{"time", to_rfc3339(event.time)},
          {"object", event.object},
          {"type", event.is_warning ? "Warning" : "Normal"},
          {"reason", event.reason},
          {"message", event.message},
          {"count", event.count}};
}

}  // namespace nervex::cli
