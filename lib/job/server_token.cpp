#include "job/server_token.h"

#include <algorithm>
#include <string>

#include "job/json_edit.h"

namespace nervex::job {
namespace {

constexpr const char* kVolume = "nervex-server-token";
constexpr int kLifeSeconds = 3600;  // the kubelet renews it after 80 per cent of this time

std::string folder() {
  const std::string file = kServerTokenFile;
  return file.substr(0, file.rfind('/'));
}

std::string file_name() {
  const std::string file = kServerTokenFile;
  return file.substr(file.rfind('/') + 1);
}

bool has(const Json& list, const char* key, const std::string& value) {
  return std::any_of(list.begin(), list.end(),
                     [&](const Json& item) { return kube::string_at(item, {key}) == value; });
}

Json volume() {
  const Json token = {{"audience", kServerTokenAudience},
                      {"expirationSeconds", kLifeSeconds},
                      {"path", file_name()}};
  const Json source = {{"serviceAccountToken", token}};
  return {{"name", kVolume}, {"projected", {{"sources", Json::array({source})}}}};
}

}  // namespace

void add_server_token(Json& pod_spec) {
  if (!has(kube::array_at(pod_spec, {"volumes"}), "name", kVolume)) {
    append_to(pod_spec, "volumes", volume());
  }
  const auto containers = pod_spec.find("containers");
  if (containers == pod_spec.end() || !containers->is_array()) return;
  for (auto& container : *containers) {
    if (!container.is_object()) continue;
    if (has(kube::array_at(container, {"volumeMounts"}), "mountPath", folder())) continue;
    append_to(container, "volumeMounts",
              {{"name", kVolume}, {"mountPath", folder()}, {"readOnly", true}});
  }
}

}  // namespace nervex::job
