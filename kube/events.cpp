#include "kube/events.h"

#include <random>

#include <fmt/format.h>

#include "base/log.h"

namespace nervex::kube {
namespace {

constexpr std::size_t kMaxName = 253;      // DNS subdomain
constexpr std::size_t kMaxMessage = 1024;  // the API server refuses longer ones

// As client-go names them: the object, then something that does not repeat.
std::string event_name(const std::string& object, std::uint64_t number) {
  const std::string suffix = fmt::format(".{:016x}", number);
  return object.substr(0, kMaxName - suffix.size()) + suffix;
}

std::string cut(const std::string& text) {
  std::size_t end = std::min(text.size(), kMaxMessage);
  while (end < text.size() && end > 0 && (static_cast<unsigned char>(text[end]) & 0xC0U) == 0x80U) {
    --end;
  }
  return text.substr(0, end);
}

// Events of cluster-scoped objects live in "default".
std::string namespace_of(const ObjectRef& about) { return about.ns.empty() ? "default" : about.ns; }

Json encode_reference(const ObjectRef& about) {
  Json reference = {{"apiVersion", about.api_version},
                    {"kind", about.kind},
                    {"name", about.name},
                    {"uid", about.uid}};
  if (!about.ns.empty()) reference["namespace"] = about.ns;
  return reference;
}

Json encode_event(const ObjectRef& about, const Event& event, const std::string& component,
                  const std::string& name, SysTime now) {
  const std::string time = to_rfc3339(now);
  return {{"apiVersion", "v1"},
          {"kind", "Event"},
          {"metadata", {{"name", name}, {"namespace", namespace_of(about)}}},
          {"involvedObject", encode_reference(about)},
          {"type", event.type == EventType::kNormal ? "Normal" : "Warning"},
          {"reason", event.reason},
          {"message", cut(event.message)},
          {"source", {{"component", component}}},
          {"reportingComponent", component},
          {"reportingInstance", ""},
          {"firstTimestamp", time},
          {"lastTimestamp", time},
          {"count", 1}};
}

std::uint64_t random_number() {
  std::random_device device;
  return std::uniform_int_distribution<std::uint64_t>()(device);
}

}  // namespace

EventRecorder::EventRecorder(Api& api, const Clock& clock, std::string component)
    : api_(api), clock_(clock), component_(std::move(component)), next_name_(random_number()) {}

void EventRecorder::record(const ObjectRef& about, const Event& event) {
  const std::string name = event_name(about.name, next_name_++);
  const Json object = encode_event(about, event, component_, name, clock_.now());
  const auto created = create_object(api_, kEvents, namespace_of(about), object);
  if (created) return;
  log_warn("event not written", {{"object", about.ns + "/" + about.name},
                                 {"reason", event.reason},
                                 {"error", created.error().message}});
}

}  // namespace nervex::kube
