// kube/store_key.h - how do objects compare by key, which version and uid have they? Private to
// kube/store.
#pragma once

#include <string>
#include <string_view>

#include "kube/model/meta.h"

namespace nervex::kube {

template <typename T>
std::string key_of(const T& object) {
  if constexpr (requires { object.meta.key(); }) {
    return object.meta.key();
  } else {
    return object.name;
  }
}

template <typename T>
const std::string& version_of(const T& object) {
  if constexpr (requires { object.meta.resource_version; }) {
    return object.meta.resource_version;
  } else {
    return object.resource_version;
  }
}

template <typename T>
const std::string& uid_of(const T& object) {
  if constexpr (requires { object.meta.uid; }) {
    return object.meta.uid;
  } else {
    return object.uid;
  }
}

// The two parts of a key.
struct KeyParts {
  std::string_view ns;
  std::string_view name;
};

template <typename T>
KeyParts key_parts_of(const T& object) {
  if constexpr (requires { object.meta.key(); }) {
    return {object.meta.ns.str(), object.meta.name};
  } else {
    return {{}, object.name};
  }
}

// As std::string::compare() of the joined keys, which are not made.
inline int compare_keys(KeyParts a, std::string_view key) {
  if (a.ns.empty()) return a.name.compare(key);
  const int of_ns = a.ns.compare(key.substr(0, a.ns.size()));
  if (of_ns != 0) return of_ns;
  const int of_slash = std::string_view("/").compare(key.substr(a.ns.size(), 1));
  return of_slash != 0 ? of_slash : a.name.compare(key.substr(a.ns.size() + 1));
}

inline int compare_keys(KeyParts a, KeyParts b) {
  if (a.ns == b.ns) return a.name.compare(b.name);
  return compare_keys(a, std::string(b.ns).append(b.ns.empty() ? "" : "/").append(b.name));
}

}  // namespace nervex::kube
