// tests/extender/old_api.h - an API server whose CustomResourceDefinitions are older than the
// program, so that it drops fields of statuses.
#pragma once

#include <functional>
#include <set>
#include <stop_token>
#include <string>

#include "tests/support/fake_api.h"

namespace nervex::testing {

class OldApi final : public kube::Api {
 public:
  explicit OldApi(FakeApi& api) : api_(api) {}
  Result<std::string> send(const kube::ApiRequest& request) override {
    const bool is_its = request.path.find(path_part) != std::string::npos;
    if (request.body.empty() || !is_old() || !is_its) return api_.send(request);
    kube::ApiRequest pruned = request;
    Json body = Json::parse(request.body);
    if (body.contains("status")) prune(body["status"]);
    pruned.body = body.dump();
    return api_.send(pruned);
  }
  Result<Nothing> stream(const std::string& path,
                         const std::function<bool(std::string_view line)>& on_line,
                         std::stop_token stop) override {
    return api_.stream(path, on_line, stop);
  }
  std::string path_part{};  // of the writes that reach such an API server; empty: all do
  // What it does not store.
  std::set<std::string> status_fields{};
  std::set<std::string> gang_fields{};  // of PodGroups

 private:
  bool is_old() const { return !status_fields.empty() || !gang_fields.empty(); }
  void prune(Json& status) const {
    for (const std::string& field : status_fields) status.erase(field);
    if (!status.contains("gangs")) return;
    for (Json& gang : status["gangs"]) {
      for (const std::string& field : gang_fields) gang.erase(field);
    }
  }
  FakeApi& api_;
};

}  // namespace nervex::testing
