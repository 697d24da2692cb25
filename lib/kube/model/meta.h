// kube/model/meta.h - which object is this? The used parts of ObjectMeta.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/clock.h"
#include "kube/model/json.h"
#include "kube/model/shared.h"

namespace nervex::kube {

// Names an object of a kind, as types.NamespacedName of k8s.io/apimachinery.
struct NamespacedName {
  std::string ns;  // empty: the kind is cluster-scoped
  std::string name;

  // "namespace/name", or "name": the key of stores and queues.
  std::string to_string() const { return ns.empty() ? name : ns + "/" + name; }
  static NamespacedName parse(std::string_view key);
  bool operator==(const NamespacedName&) const = default;
};

struct OwnerRef {  // the owner with controller=true
  std::string api_version;
  std::string kind;
  std::string name;
  std::string uid;
  bool operator==(const OwnerRef&) const = default;
};

struct Meta {
  SharedString ns;
  std::string name;
  std::string uid;
  std::string resource_version;
  std::int64_t generation = 0;
  bool deleting = false;  // has a deletionTimestamp
  // Has the finalizer "orphan": it is being deleted, and its dependants stay. Not read for pods.
  bool orphans_its_own = false;
  SysTime created{};
  Shared<OwnerRef> owner;  // or none
  StringMap labels;        // for pods only the kept ones
  StringMap annotations;   // for pods only the kept ones
  bool operator==(const Meta&) const = default;

  // As NamespacedName::to_string().
  std::string key() const { return ns.empty() ? name : ns + "/" + name; }
};

// "" if absent.
const std::string& label(const Meta& meta, std::string_view key);
const std::string& annotation(const Meta& meta, std::string_view key);

// Whether the first resourceVersion is newer. Numbers compare (Kubernetes 1.35, KEP-5504); others
// are opaque and never newer.
bool is_newer_version(std::string_view version, std::string_view than);

// Reads `object.metadata`; missing parts stay empty.
Meta decode_meta(const Json& object);

// An ownerReferences entry with controller and blockOwnerDeletion set.
Json encode_controller_ref(const OwnerRef& owner);

}  // namespace nervex::kube
