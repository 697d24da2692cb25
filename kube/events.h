// kube/events.h - how does `kubectl describe` learn what happened to an object?
#pragma once

#include <atomic>
#include <cstdint>
#include <string>

#include "base/clock.h"
#include "kube/api.h"
#include "kube/model/meta.h"

namespace nervex::kube {

enum class EventType { kNormal, kWarning };

struct ObjectRef {
  std::string api_version;
  std::string kind;
  std::string ns;
  std::string name;
  std::string uid;
};

struct Event {
  EventType type = EventType::kNormal;
  std::string reason;   // PascalCase, stable: people alert on it
  std::string message;  // one sentence for people
  bool operator==(const Event&) const = default;
};

// Writes v1 Events; best effort: a failed write is logged and forgotten. Thread-safe.
class EventRecorder {
 public:
  EventRecorder(Api& api, const Clock& clock, std::string component);
  void record(const ObjectRef& about, const Event& event);

 private:
  Api& api_;
  const Clock& clock_;
  const std::string component_;
  std::atomic<std::uint64_t> next_name_;
};

}  // namespace nervex::kube
