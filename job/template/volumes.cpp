// Volumes: sources, mounts, devices.
#include <array>
#include <vector>

#include <fmt/format.h>

#include "base/text.h"
#include "job/template/rules.h"
#include "job/template/syntax.h"

namespace nervex::job::pod_template {
namespace {

using Seen = std::set<std::string, std::less<>>;

// A person's job has few volumes. Of thousands each guess would cost the square of it.
constexpr std::size_t kMaxVolumesToGuess = 100;
constexpr std::size_t kMaxMountsToGuess = 100;

std::string similar_volume(const std::string& name, const Facts& facts) {
  if (facts.volumes.size() > kMaxVolumesToGuess) return "";
  std::vector<std::string> known;
  for (const auto& [volume, unused] : facts.volumes) known.push_back(volume);
  const std::string guess = closest_name(name, known);
  return guess.empty() ? "" : fmt::format("did you mean \"{}\"?", guess);
}

void check_mode(const Place& holder, std::string_view field) {
  const Place mode = holder.at(field);
  const auto number = mode.integer();
  if (number && (*number < 0 || *number > 0777)) {
    mode.invalid("must be a number between 0 and 0777 (octal), both inclusive");
  }
}

void check_required(const Place& holder, std::initializer_list<std::string_view> fields) {
  for (const auto field : fields) {
    const Place value = holder.at(field);
    value.has_text();
  }
}

// A relative path below the volume, whose own names begin with two dots.
void check_file_path(const Place& path) {
  if (!path.has_text()) return;
  const std::string& text = path.text();
  std::string why = descending_path_problem(text);
  if (why.empty() && text.starts_with("..")) why = "must not start with '..'";
  path.must_be(why);
}

void check_key_to_path(const Place& item) {
  if (!item.is_object()) return;
  check_required(item, {"key"});
  const Place path = item.at("path");
  check_file_path(path);
  check_mode(item, "mode");
}

void check_items(const Place& source) {
  const Place items = source.at("items");
  items.each_item(check_key_to_path);
}

void check_downward_file(const Place& holder, const Place& file) {
  const Place path = holder.at("path");  // the API server's path is the list's, without an index
  const std::string& text = file.at("path").text();
  if (text.empty()) {
    path.required();
  } else if (const auto why = descending_path_problem(text); !why.empty()) {
    path.invalid(text, why);
  }
  const Place field = file.at("fieldRef");
  const Place resource = file.at("resourceFieldRef");
  if (field.is_there() && resource.is_there()) {
    holder.invalid("resource", "fieldRef and resourceFieldRef can not be specified simultaneously");
  } else if (!field.is_there() && !resource.is_there()) {
    holder.required("one of fieldRef and resourceFieldRef is required");
  }
  // The API server's paths are those of the list, without an index.
  const Place told_field(field.value(), "fieldRef", holder);
  if (field.is_there()) check_field_ref(told_field, true);
  const Place told_resource(resource.value(), "resourceFieldRef", holder);
  if (resource.is_there()) check_resource_field_ref(told_resource, true);
}

void check_downward(const Place& source) {
  check_mode(source, "defaultMode");
  const Place items = source.at("items");
  items.each_item([&](const Place& file) {
    if (file.is_object()) check_downward_file(source, file);
  });
}

// ---- one source each

void check_empty_dir(const Place& source) {
  const Place limit = source.at("sizeLimit");
  if (limit.text().starts_with('-') || limit.integer().value_or(0) < 0) {
    limit.forbidden("SizeLimit field must be a valid resource quantity");
  } else {
    check_quantity(limit);
  }
}

void check_host_path(const Place& source) {
  const Place path = source.at("path");
  if (!path.has_text()) return;
  path.must_be(climbing_path_problem(path.text()));
  const Place type = source.at("type");
  type.one_of({"", "BlockDevice", "CharDevice", "Directory", "DirectoryOrCreate", "File",
               "FileOrCreate", "Socket"});
}

void check_secret(const Place& source) {
  check_required(source, {"secretName"});
  check_mode(source, "defaultMode");
  check_items(source);
}

void check_config_map(const Place& source) {
  check_required(source, {"name"});
  check_mode(source, "defaultMode");
  check_items(source);
}

void check_nfs(const Place& source) {
  check_required(source, {"server"});
  const Place path = source.at("path");
  if (path.has_text() && !path.text().starts_with('/')) path.invalid("must be an absolute path");
}

void check_claim(const Place& source) { check_required(source, {"claimName"}); }

void check_token(const Place& projected, const Place& token) {
  const Place seconds = token.at("expirationSeconds");
  const auto number = seconds.integer();
  if (number && *number < 600) {
    seconds.invalid("may not specify a duration less than 10 minutes");
  } else if (number && *number > (std::int64_t{1} << 32)) {
    seconds.invalid("may not specify a duration larger than 2^32 seconds");
  }
  const Place path = projected.at("path");  // the API server's path, without the source
  const std::string& text = token.at("path").text();
  if (text.empty()) {
    path.required();
  } else if (const auto why = descending_path_problem(text); !why.empty()) {
    path.invalid(text, why);
  }
}

void check_projected_paths(const Place& projected, const Place& items, std::string_view name,
                           Seen& paths) {
  items.each_item([&](const Place& item) {
    const Place at = item.at("path");
    if (at.text().empty() || paths.insert(at.text()).second) return;
    projected.invalid(name.empty() ? std::string_view(at.text()) : name,
                      "conflicting duplicate paths");
  });
}

void check_projection(const Place& projected, const Place& source, Seen& paths) {
  int sources = 0;
  for (const auto kind : {"secret", "configMap"}) {
    const Place from = source.at(kind);
    if (!from.is_object()) continue;
    ++sources;
    check_required(from, {"name"});
    check_items(from);
    const Place items = from.at("items");
    check_projected_paths(projected, items, kube::string_at(from.value(), {"name"}), paths);
  }
  const Place downward = source.at("downwardAPI");
  if (downward.is_object()) {
    ++sources;
    const Place items = downward.at("items");
    items.each_item([&](const Place& file) {
      if (file.is_object()) check_downward_file(downward, file);
    });
    check_projected_paths(projected, items, "", paths);
  }
  const Place token = source.at("serviceAccountToken");
  if (token.is_object()) {
    ++sources;
    check_token(projected, token);
  }
  for (const auto other : {"clusterTrustBundle", "podCertificate"}) {
    if (source.at(other).is_there()) ++sources;
  }
  if (sources > 1) source.forbidden("may not specify more than 1 volume type per source");
}

void check_projected(const Place& source) {
  check_mode(source, "defaultMode");
  Seen paths;
  const Place sources = source.at("sources");
  sources.each_item([&](const Place& one) {
    if (one.is_object()) check_projection(source, one, paths);
  });
}

void check_ephemeral(const Place& source) {
  const Place claim = source.at("volumeClaimTemplate");
  if (!claim.is_there()) return claim.required();
  const Place spec = claim.at("spec");
  const Place modes = spec.at("accessModes");
  if (modes.size() == 0) modes.required("at least 1 access mode is required");
  modes.each_item([](const Place& mode) {
    mode.one_of({"ReadOnlyMany", "ReadWriteMany", "ReadWriteOnce", "ReadWriteOncePod"});
  });
  const Place resources = spec.at("resources");
  const Place requests = resources.at("requests");
  const Place storage = requests.entry("storage");
  const Place told = resources.entry("storage");  // the API server's path
  if (!storage.is_there()) return told.required();
  check_quantity(storage);
}

void check_csi(const Place& source) {
  const Place driver = source.at("driver");
  if (!driver.has_text()) return;
  if (driver.text().size() > 63) return driver.too_long(63);
  std::string lower = driver.text();
  for (char& c : lower) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  driver.must_be(dns_subdomain_problem(lower));
}

void check_image(const Place& source) {
  check_required(source, {"reference"});
  const Place policy = source.at("pullPolicy");
  policy.one_of({"Always", "IfNotPresent", "Never"});
}

void check_nothing(const Place&) {}

struct Source {
  std::string_view field;
  void (*check)(const Place& source);
};
// In the order in which the API server looks: what comes second is what it calls one too many.
constexpr std::array kSources{
    Source{"emptyDir", check_empty_dir},
    Source{"hostPath", check_host_path},
    Source{"gitRepo", check_nothing},
    Source{"gcePersistentDisk", check_nothing},
    Source{"awsElasticBlockStore", check_nothing},
    Source{"secret", check_secret},
    Source{"nfs", check_nfs},
    Source{"iscsi", check_nothing},
    Source{"glusterfs", check_nothing},
    Source{"flocker", check_nothing},
    Source{"persistentVolumeClaim", check_claim},
    Source{"rbd", check_nothing},
    Source{"cinder", check_nothing},
    Source{"cephfs", check_nothing},
    Source{"quobyte", check_nothing},
    Source{"downwardAPI", check_downward},
    Source{"fc", check_nothing},
    Source{"flexVolume", check_nothing},
    Source{"configMap", check_config_map},
    Source{"azureFile", check_nothing},
    Source{"vsphereVolume", check_nothing},
    Source{"photonPersistentDisk", check_nothing},
    Source{"portworxVolume", check_nothing},
    Source{"azureDisk", check_nothing},
    Source{"storageos", check_nothing},
    Source{"projected", check_projected},
    Source{"scaleIO", check_nothing},
    Source{"csi", check_csi},
    Source{"ephemeral", check_ephemeral},
    Source{"image", check_image},
};

}  // namespace

// A volume without a source is an emptyDir to the API server.
void check_volume_source(const Place& volume) {
  if (!volume.is_object()) return;
  int found = 0;
  for (const auto& source : kSources) {
    const Place place = volume.at(source.field);
    if (!place.is_there()) continue;
    if (++found > 1) {
      place.forbidden("may not specify more than 1 volume type");
    } else {
      source.check(place);
    }
  }
}

void check_volumes(const Place& spec, const Facts&) {
  const Place volumes = spec.at("volumes");
  volumes.each_item(check_volume_source);
}

void check_mounts(const Place& container, const Facts& facts) {
  const Place mounts = container.at("volumeMounts");
  const Place security = container.at("securityContext");
  const bool privileged = security.at("privileged").is_true();
  Seen paths;
  std::size_t guesses = 0;
  mounts.each_item([&](const Place& mount) {
    if (!mount.is_object()) return;
    const Place name = mount.at("name");
    if (name.has_text() && !facts.volumes.contains(name.text())) {
      const bool may_guess = guesses++ < kMaxMountsToGuess;
      name.not_found(may_guess ? similar_volume(name.text(), facts) : "");
    }
    const Place path = mount.at("mountPath");
    if (path.has_text() && !paths.insert(path.text()).second) path.invalid("must be unique");
    const Place sub_path = mount.at("subPath");
    const Place sub_path_expr = mount.at("subPathExpr");
    const std::string& sub = sub_path.text();
    const std::string& expr = sub_path_expr.text();
    // These have the list's path in the API server's own words, without an index.
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
    } else if (!kind.empty() && kind != "Bidirectional" && kind != "HostToContainer" &&
               kind != "None") {
      propagation.not_supported({"Bidirectional", "HostToContainer", "None"});
    }
  });
}

void check_devices(const Place& container, const Facts& facts) {
  const Place devices = container.at("volumeDevices");
  Seen paths;
  Seen names;
  devices.each_item([&](const Place& device) {
    if (!device.is_object()) return;
    const Place name = device.at("name");
    if (name.has_text()) {
      const auto volume = facts.volumes.find(name.text());
      if (!names.insert(name.text()).second) {
        name.invalid("must be unique");
      } else if (volume == facts.volumes.end()) {
        name.not_found(similar_volume(name.text(), facts));
      } else if (!volume->second) {
        name.invalid(
            "can only use volume source type of PersistentVolumeClaim or Ephemeral for block mode");
      }
    }
    const Place path = device.at("devicePath");
    if (!path.has_text()) return;
    if (!climbing_path_problem(path.text()).empty()) {
      path.invalid("can not contain backsteps ('..')");
    } else if (!paths.insert(path.text()).second) {
      path.invalid("must be unique");
    }
  });
}

}  // namespace nervex::job::pod_template
