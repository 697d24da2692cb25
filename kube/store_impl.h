// kube/store_impl.h - the bodies of Store; included by kube/store.h only.
#pragma once

#include "kube/model/meta.h"
#include "kube/store.h"

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
auto Store<T>::put(const std::string& key, T object) -> Ptr {
  return exchange(key, std::move(object)).first;
}

template <typename T>
auto Store<T>::exchange(const std::string& key, T object) -> std::pair<Ptr, Ptr> {
  MutexLock lock(mutex_);
  see(version_of(object));
  return replace(key, std::move(object));
}

template <typename T>
bool Store<T>::update(const std::string& key, T object) {
  MutexLock lock(mutex_);
  const std::string& version = version_of(object);
  if (!seen_version_.empty() && !is_newer_version(version, seen_version_)) return false;
  const auto [before, after] = replace(key, std::move(object));
  return before != after;
}

template <typename T>
auto Store<T>::erase(const std::string& key, std::string_view deleted_version) -> Ptr {
  MutexLock lock(mutex_);
  see(deleted_version);
  const auto at = objects_.find(key);
  if (at == objects_.end()) return nullptr;
  if (is_newer_version(version_of(*at->second), deleted_version)) return nullptr;
  Ptr before = at->second;
  unindex(key, *before);
  objects_.erase(at);
  return before;
}

template <typename T>
auto Store<T>::get(const std::string& key) const -> Ptr {
  MutexLock lock(mutex_);
  const auto at = objects_.find(key);
  return at == objects_.end() ? nullptr : at->second;
}

template <typename T>
auto Store<T>::by_index(const std::string& value) const -> std::vector<Ptr> {
  MutexLock lock(mutex_);
  std::vector<Ptr> found;
  const auto at = index_.find(value);
  if (at == index_.end()) return found;
  found.reserve(at->second.size());
  for (const auto& key : at->second) found.push_back(objects_.find(key)->second);
  return found;
}

template <typename T>
auto Store<T>::all() const -> std::vector<Ptr> {
  MutexLock lock(mutex_);
  std::vector<Ptr> objects;
  objects.reserve(objects_.size());
  for (const auto& [key, object] : objects_) objects.push_back(object);
  return objects;
}

template <typename T>
std::vector<std::string> Store<T>::keys() const {
  MutexLock lock(mutex_);
  std::vector<std::string> keys;
  keys.reserve(objects_.size());
  for (const auto& [key, object] : objects_) keys.push_back(key);
  return keys;
}

template <typename T>
std::size_t Store<T>::size() const {
  MutexLock lock(mutex_);
  return objects_.size();
}

// The same version again (a new list) keeps the stored object: nothing has changed.
template <typename T>
auto Store<T>::replace(const std::string& key, T object) -> std::pair<Ptr, Ptr> {
  Ptr& slot = objects_[key];
  const Ptr before = slot;
  if (before) {
    const std::string& stored = version_of(*before);
    const std::string& offered = version_of(object);
    if (is_newer_version(stored, offered) || (!stored.empty() && stored == offered)) {
      return {before, before};
    }
    unindex(key, *before);
  }
  slot = std::make_shared<const T>(std::move(object));
  if (index_of_) {
    const std::string value = index_of_(*slot);
    if (!value.empty()) index_[value].insert(key);
  }
  return {before, slot};
}

template <typename T>
void Store<T>::unindex(const std::string& key, const T& object) {
  if (!index_of_) return;
  const auto at = index_.find(index_of_(object));
  if (at == index_.end()) return;
  at->second.erase(key);
  if (at->second.empty()) index_.erase(at);
}

template <typename T>
void Store<T>::see(std::string_view version) {
  if (seen_version_.empty() || is_newer_version(version, seen_version_)) seen_version_ = version;
}

}  // namespace nervex::kube
