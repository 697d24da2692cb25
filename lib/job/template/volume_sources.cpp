// Sources of volumes: what the API server requires of each kind.
#include <algorithm>
#include <array>
#include <optional>
#include <set>

#include <fmt/format.h>

#include "base/text.h"
#include "job/template/rules.h"
#include "job/template/syntax.h"
#include "kube/model/quantity.h"

namespace nervex::job::pod_template {
namespace {

using Seen = std::set<std::string, std::less<>>;

void check_mode(const Place& mode) {
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

// For a reference to a secret, which may be absent.
void check_secret_name(const Place& holder, std::string_view field) {
  const Place secret = holder.at(field);
  if (secret.is_object()) check_required(secret, {"name"});
}

// A relative path below the volume. The volume reserves names that begin with two dots.
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
  const Place mode = item.at("mode");
  check_mode(mode);
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
  const Place told_mode(file.at("mode").value(), "mode", holder);
  check_mode(told_mode);
  if (field.is_there() && resource.is_there()) {
    holder.invalid("resource", "fieldRef and resourceFieldRef can not be specified simultaneously");
  } else if (!field.is_there() && !resource.is_there()) {
    holder.required("one of fieldRef and resourceFieldRef is required");
  }
  // The API server reports the list's path, without an index.
  const Place told_field(field.value(), "fieldRef", holder);
  if (field.is_object()) check_field_ref(told_field, true);
  const Place told_resource(resource.value(), "resourceFieldRef", holder);
  if (resource.is_object()) check_resource_field_ref(told_resource, true);
}

void check_downward(const Place& source) {
  const Place mode = source.at("defaultMode");
  check_mode(mode);
  const Place items = source.at("items");
  items.each_item([&](const Place& file) {
    if (file.is_object()) check_downward_file(source, file);
  });
}

// ---- one source each

// nullopt: not a quantity.
std::optional<std::int64_t> parse_amount(const Place& quantity) {
  const Json& value = quantity.value();
  const auto amount = kube::parse_quantity(
      value.is_number() ? kube::to_text(value) : quantity.text(), kube::Scale::kOne);
  return amount ? std::optional(*amount) : std::nullopt;
}

void check_empty_dir(const Place& source) {
  const Place limit = source.at("sizeLimit");
  if (parse_amount(limit).value_or(0) < 0) {
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
  const Place mode = source.at("defaultMode");
  check_mode(mode);
  check_items(source);
}

void check_config_map(const Place& source) {
  check_required(source, {"name"});
  const Place mode = source.at("defaultMode");
  check_mode(mode);
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
  const Place mode = source.at("defaultMode");
  check_mode(mode);
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
  if (!claim.is_object() || (spec.is_there() && !spec.is_object())) return;
  const Place modes = spec.at("accessModes");
  if (modes.size() == 0) modes.required("at least 1 access mode is required");
  bool has_one_pod = false;
  bool has_other = false;
  modes.each_item([&](const Place& mode) {
    mode.exactly_one_of({"ReadOnlyMany", "ReadWriteMany", "ReadWriteOnce", "ReadWriteOncePod"});
    has_one_pod = has_one_pod || mode.text() == "ReadWriteOncePod";
    has_other = has_other || mode.text() == "ReadWriteOnce" || mode.text() == "ReadOnlyMany" ||
                mode.text() == "ReadWriteMany";
  });
  if (has_one_pod && has_other) {
    modes.forbidden("may not use ReadWriteOncePod with other access modes");
  }
  const Place storage_class = spec.at("storageClassName");
  if (!storage_class.text().empty()) {
    storage_class.must_be(dns_subdomain_problem(storage_class.text()));
  }
  const Place mode = spec.at("volumeMode");
  mode.exactly_one_of({"Block", "Filesystem"});
  const Place resources = spec.at("resources");
  const Place requests = resources.at("requests");
  const Place storage = requests.entry("storage");
  const Place told = resources.entry("storage");  // the API server's path
  if (!storage.is_there()) return told.required();
  if (parse_amount(storage) == 0) return told.invalid(storage.value(), "must be greater than zero");
  check_quantity(storage);
}

void check_csi(const Place& source) {
  const Place driver = source.at("driver");
  if (!driver.has_text()) return;
  if (driver.text().size() > 63) return driver.too_long(63);
  driver.must_be(dns_subdomain_problem(to_lower(driver.text())));
  check_secret_name(source, "nodePublishSecretRef");
}

void check_image(const Place& source) {
  check_required(source, {"reference"});
  const Place policy = source.at("pullPolicy");
  policy.one_of({"Always", "IfNotPresent", "Never"});
}

// ---- rarely used sources

void check_partition(const Place& disk) {
  const Place partition = disk.at("partition");
  partition.in_range(0, 255);
}

void check_gce_disk(const Place& source) {
  check_required(source, {"pdName"});
  check_partition(source);
}

void check_aws_disk(const Place& source) {
  check_required(source, {"volumeID"});
  check_partition(source);
}

void check_git_repo(const Place& source) {
  check_required(source, {"repository"});
  const Place directory = source.at("directory");
  directory.must_be(descending_path_problem(directory.text()));
}

void check_iscsi(const Place& source) {
  check_required(source, {"targetPortal"});
  const Place name = source.at("iqn");
  if (name.has_text()) name.must_be(iscsi_name_problem(name.text()));
  const Place lun = source.at("lun");
  lun.in_range(0, 255);
  const Place secret = source.at("secretRef");
  const bool is_secret_used =
      source.at("chapAuthDiscovery").is_true() || source.at("chapAuthSession").is_true();
  if (is_secret_used && !secret.is_there()) secret.required();
  const Place initiator = source.at("initiatorName");
  const Place told = source.at("initiatorname");  // the API server's path
  if (!initiator.value().is_string()) return;
  const std::string why = iscsi_name_problem(initiator.text());
  if (!why.empty()) told.invalid(initiator.text(), why);
}

void check_glusterfs(const Place& source) { check_required(source, {"endpoints", "path"}); }

void check_flocker(const Place& source) {
  const Place name = source.at("datasetName");
  const Place uuid = source.at("datasetUUID");
  if (name.text().empty() && uuid.text().empty()) {
    source.required("one of datasetName and datasetUUID is required");
  } else if (!name.text().empty() && !uuid.text().empty()) {
    source.invalid("resource", "datasetName and datasetUUID can not be specified simultaneously");
  }
  if (name.text().find('/') != std::string::npos) name.invalid("must not contain '/'");
}

// A list that is present and not empty.
void check_has_items(const Place& list) {
  if (list.size() == 0 && (list.value().is_array() || !list.is_there())) list.required();
}

void check_rbd(const Place& source) {
  const Place monitors = source.at("monitors");
  check_has_items(monitors);
  check_required(source, {"image"});
}

void check_cephfs(const Place& source) {
  const Place monitors = source.at("monitors");
  check_has_items(monitors);
}

void check_cinder(const Place& source) {
  check_required(source, {"volumeID"});
  check_secret_name(source, "secretRef");
}

void check_quobyte(const Place& source) {
  const Place registry = source.at("registry");
  if (registry.text().empty() && (registry.value().is_string() || !registry.is_there())) {
    registry.required("must be a host:port pair or multiple pairs separated by commas");
  }
  check_required(source, {"volume"});
}

void check_fc(const Place& source) {
  const Place targets = source.at("targetWWNs");
  const Place ids = source.at("wwids");
  const Place lun = source.at("lun");
  if (targets.size() == 0 && ids.size() == 0) {
    targets.required("must specify either targetWWNs or wwids, but not both");
  } else if (targets.size() > 0 && ids.size() > 0) {
    targets.invalid("targetWWNs and wwids can not be specified simultaneously");
  }
  if (targets.size() == 0) return;
  if (!lun.is_there()) return lun.required("lun is required if targetWWNs is specified");
  lun.in_range(0, 255);
}

void check_flex(const Place& source) { check_required(source, {"driver"}); }

void check_azure_file(const Place& source) { check_required(source, {"secretName", "shareName"}); }

void check_azure_disk(const Place& source) {
  check_required(source, {"diskName", "diskURI"});
  const Place caching = source.at("cachingMode");
  caching.exactly_one_of({"None", "ReadOnly", "ReadWrite"});
  const Place kind = source.at("kind");
  kind.exactly_one_of({"Dedicated", "Managed", "Shared"});
  const Place uri = source.at("diskURI");
  const bool is_managed = kind.text() == "Managed";  // by default it is Shared
  if (uri.text().empty()) return;
  if (is_managed && !uri.text().starts_with("/subscriptions/")) {
    uri.not_supported(
        {"/subscriptions/{sub-id}/resourcegroups/{group-name}/providers/"
         "microsoft.compute/disks/{disk-id}"});
  } else if (!is_managed && !uri.text().starts_with("https://")) {
    uri.not_supported(
        {"https://{account-name}.blob.core.windows.net/{container-name}/{disk-name}.vhd"});
  }
}

void check_vsphere(const Place& source) { check_required(source, {"volumePath"}); }
void check_photon(const Place& source) { check_required(source, {"pdID"}); }
void check_portworx(const Place& source) { check_required(source, {"volumeID"}); }

void check_scale_io(const Place& source) {
  check_required(source, {"gateway", "system", "volumeName"});
}

void check_storage_os(const Place& source) {
  const Place name = source.at("volumeName");
  if (name.has_text()) name.must_be(dns_label_problem(name.text()));
  const Place ns = source.at("volumeNamespace");
  if (!ns.text().empty()) ns.must_be(dns_label_problem(ns.text()));
  check_secret_name(source, "secretRef");
}

struct Source {
  std::string_view field;
  void (*check)(const Place& source);
  std::string_view told{};  // name in the API server's paths, where it differs
};
// In the API server's order: it reports a second source as one too many.
constexpr std::array kSources{
    Source{"emptyDir", check_empty_dir},
    Source{"hostPath", check_host_path},
    Source{"gitRepo", check_git_repo},
    Source{"gcePersistentDisk", check_gce_disk, "persistentDisk"},
    Source{"awsElasticBlockStore", check_aws_disk},
    Source{"secret", check_secret},
    Source{"nfs", check_nfs},
    Source{"iscsi", check_iscsi},
    Source{"glusterfs", check_glusterfs},
    Source{"flocker", check_flocker},
    Source{"persistentVolumeClaim", check_claim},
    Source{"rbd", check_rbd},
    Source{"cinder", check_cinder},
    Source{"cephfs", check_cephfs},
    Source{"quobyte", check_quobyte},
    Source{"downwardAPI", check_downward},
    Source{"fc", check_fc},
    Source{"flexVolume", check_flex},
    Source{"configMap", check_config_map},
    Source{"azureFile", check_azure_file},
    Source{"vsphereVolume", check_vsphere},
    Source{"photonPersistentDisk", check_photon},
    Source{"portworxVolume", check_portworx},
    Source{"azureDisk", check_azure_disk},
    Source{"storageos", check_storage_os},
    Source{"projected", check_projected},
    Source{"scaleIO", check_scale_io},
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
    } else if (place.is_object()) {
      const Place told(place.value(), source.told.empty() ? source.field : source.told, volume);
      source.check(told);
    }
  }
  const Place iscsi = volume.at("iscsi");
  const Place name = volume.at("name");
  constexpr std::size_t kMaxName = 64;  // name of an interface that the node creates
  const std::size_t length = name.text().size() + 1 + iscsi.at("targetPortal").text().size();
  if (iscsi.at("initiatorName").is_there() && length > kMaxName) {
    name.invalid(
        "Total length of <volume name>:<iscsi.targetPortal> must be under 64 characters if "
        "iscsi.initiatorName is specified.");
  }
}

}  // namespace nervex::job::pod_template
