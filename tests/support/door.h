// tests/support/door.h - how do tests inject faults between a program and the API server, and
// observe its requests?
#pragma once

#include <functional>
#include <optional>

#include "tests/support/fake_api.h"

namespace nervex::testing {

// The process ends at this request. Not a std::exception, so that no code in it catches it.
struct Killed {};

// Affects one program: other users of the FakeApi are not affected.
class Door final : public kube::Api {
 public:
  struct Fault {
    std::optional<Error> error;      // nullopt: the process is killed
    Applied applied = Applied::kNo;  // before it was carried out, or after
  };

  explicit Door(FakeApi& api) : api_(api) {}

  std::function<std::optional<Fault>(const kube::ApiRequest&)> fault;  // asked for each request
  std::function<void(const kube::ApiRequest&)> before;                 // called before a request is
                                                                       // carried out
  std::function<void(const kube::ApiRequest&)> after;                  // called after one succeeded

  Result<std::string> send(const kube::ApiRequest& request) override {
    const auto wrong = fault ? fault(request) : std::nullopt;
    Result<std::string> reply = std::string();
    if (!wrong || wrong->applied == Applied::kYes) {
      if (before) before(request);
      reply = api_.send(request);
      if (after && reply) after(request);
    }
    if (!wrong) return reply;
    if (!wrong->error) throw Killed{};
    return *wrong->error;
  }

  Result<Nothing> stream(const std::string& path,
                         const std::function<bool(std::string_view line)>& on_line,
                         std::stop_token stop) override {
    return api_.stream(path, on_line, std::move(stop));
  }

 private:
  FakeApi& api_;
};

inline bool is_write(const kube::ApiRequest& request) { return request.method != "GET"; }
inline bool is_event(const kube::ApiRequest& request) {
  return request.path.find("/events") != std::string::npos;
}
inline bool is_access_review(const kube::ApiRequest& request) {
  return request.path.find("/selfsubjectaccessreviews") != std::string::npos;
}
// POST to the collection of pods: a creation, not a binding.
inline bool is_pod_creation(const kube::ApiRequest& request) {
  const FakePath path = parse_path(request.path);
  return request.method == "POST" && path.plural == "pods" && path.name.empty();
}

}  // namespace nervex::testing
