// Mounts and devices of volumes.
#include <algorithm>
#include <map>
#include <set>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/text.h"
#include "job/template/rules.h"
#include "job/template/syntax.h"

namespace nervex::job::pod_template {
namespace {

// Hand-written jobs have few volumes. Each guess would cost the square of thousands of volumes.
constexpr std::size_t kMaxVolumesToGuess = 100;
constexpr std::size_t kMaxMountsToGuess = 100;

// Advice for a volume that does not exist.
std::string volume_advice(const std::string& name, const Facts& facts) {
  constexpr std::size_t kMaxListed = 8;
  if (facts.volumes.empty()) {
    return fmt::format("there is no volume, add one to {}", facts.all_volumes->path());
  }
  if (facts.volumes.size() > kMaxVolumesToGuess) return "";
  std::vector<std::string> known;
  for (const auto& [volume, unused] : facts.volumes) known.push_back(volume);
  const std::string guess = closest_name(name, known);
  if (!guess.empty()) return fmt::format("did you mean \"{}\"?", guess);
  const std::string more = known.size() > kMaxListed ? ", ..." : "";
  known.resize(std::min(known.size(), kMaxListed));
  return fmt::format("must be one of \"{}\"{}, or add it to {}", fmt::join(known, "\", \""), more,
                     facts.all_volumes->path());
}

}  // namespace

void check_volumes(const Place& spec, const Facts&) {
  Names seen;
  const Place volumes = spec.at("volumes");
  volumes.each_item([&](const Place& volume) {
    check_item_name(volume, seen);
    check_volume_source(volume);
  });
}

namespace {

// The API server reports the list's path, without an index.
void check_recursive(const Place& mounts, const Place& mount) {
  const Place recursive = mount.at("recursiveReadOnly");
  const Place told = mounts.at("recursiveReadOnly");
  const std::string& kind = recursive.text();
  if (!recursive.value().is_string() || kind == "Disabled") return;
  if (kind != "Enabled" && kind != "IfPossible") {
    return told.not_supported(recursive.value(), {"Disabled", "Enabled", "IfPossible"});
  }
  const std::string& propagation = mount.at("mountPropagation").text();
  if (!mount.at("readOnly").is_true()) {
    told.forbidden("may only be specified when readOnly is true");
  } else if (!propagation.empty() && propagation != "None") {
    told.forbidden("may only be specified when mountPropagation is None or not specified");
  }
}

// For mounts or devices: the path of each volume. If a volume has several, the last one counts, as
// for the API server.
struct Paths {
  std::map<std::string, std::string, std::less<>> by_volume;
  std::set<std::string_view> all;
};
Paths collect_paths(const Json& list, std::string_view field) {
  Paths paths;
  for (const Json& item : list) {
    paths.by_volume[kube::string_at(item, {"name"})] = kube::string_at(item, {field});
  }
  for (const auto& [volume, path] : paths.by_volume) paths.all.insert(path);
  return paths;
}

}  // namespace

void check_mounts(const Place& container, const Facts& facts) {
  const Place mounts = container.at("volumeMounts");
  const Place security = container.at("securityContext");
  const bool privileged = security.at("privileged").is_true();
  const auto devices =
      collect_paths(kube::array_at(container.value(), {"volumeDevices"}), "devicePath");
  Names paths;
  std::size_t guesses = 0;
  mounts.each_item([&](const Place& mount) {
    if (!mount.is_object()) return;
    const Place name = mount.at("name");
    if (name.has_text() && !facts.volumes.contains(name.text())) {
      const bool may_guess = guesses++ < kMaxMountsToGuess;
      name.not_found(may_guess ? volume_advice(name.text(), facts) : "");
    }
    if (!name.text().empty() && devices.by_volume.contains(name.text())) {
      name.invalid("must not already exist in volumeDevices");
    }
    const Place path = mount.at("mountPath");
    if (path.has_text() && !paths.insert(path.text()).second) path.invalid("must be unique");
    if (!path.text().empty() && devices.all.contains(path.text())) {
      path.invalid("must not already exist as a path in volumeDevices");
    }
    const Place sub_path = mount.at("subPath");
    const Place sub_path_expr = mount.at("subPathExpr");
    const std::string& sub = sub_path.text();
    const std::string& expr = sub_path_expr.text();
    // The API server reports these with the list's path, without an index.
    const Place list_sub = mounts.at("subPath");
    const Place list_expr = mounts.at("subPathExpr");
    if (const auto why = descending_path_problem(sub); !sub.empty() && !why.empty()) {
      list_sub.invalid(sub, why);
    }
    if (!expr.empty() && !sub.empty()) {
      sub_path_expr.invalid("subPathExpr and subPath are mutually exclusive");
    }
    if (const auto why = descending_path_problem(expr); !expr.empty() && !why.empty()) {
      list_expr.invalid(expr, why);
    }
    const Place propagation = mount.at("mountPropagation");
    const Place list_propagation = mounts.at("mountPropagation");
    const std::string& kind = propagation.text();
    if (kind == "Bidirectional" && !privileged) {
      list_propagation.forbidden(
          "Bidirectional mount propagation is available only to privileged containers");
    }
    propagation.exactly_one_of({"Bidirectional", "HostToContainer", "None"});
    check_recursive(mounts, mount);
  });
}

void check_devices(const Place& container, const Facts& facts) {
  const Place devices = container.at("volumeDevices");
  if (devices.size() == 0) return;
  const auto mounts =
      collect_paths(kube::array_at(container.value(), {"volumeMounts"}), "mountPath");
  if (!facts.host_users) devices.forbidden("when `hostUsers` is false");
  Names paths;
  Names names;
  devices.each_item([&](const Place& device) {
    if (!device.is_object()) return;
    const Place name = device.at("name");
    if (name.has_text()) {
      const auto volume = facts.volumes.find(name.text());
      if (!names.insert(name.text()).second) {
        name.invalid("must be unique");
      } else if (volume == facts.volumes.end()) {
        name.not_found(volume_advice(name.text(), facts));
      } else if (volume->second != Facts::Volume::kClaim) {
        name.invalid(
            "can only use volume source type of PersistentVolumeClaim or Ephemeral for block mode");
      } else if (mounts.by_volume.contains(name.text())) {
        name.invalid("must not already exist in volumeMounts");
      }
    }
    const Place path = device.at("devicePath");
    if (!path.has_text()) return;
    if (!climbing_path_problem(path.text()).empty()) {
      path.invalid("can not contain backsteps ('..')");
    } else if (!paths.insert(path.text()).second) {
      path.invalid("must be unique");
    } else if (mounts.all.contains(path.text())) {
      path.invalid("must not already exist as a path in volumeMounts");
    }
  });
}

}  // namespace nervex::job::pod_template
