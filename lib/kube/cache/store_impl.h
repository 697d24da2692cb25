// kube/cache/store_impl.h - the bodies of Store; included by kube/cache/store.h only.
#pragma once

#include <algorithm>
#include <string>
#include <string_view>
#include <utility>

#include "kube/cache/store.h"
#include "kube/model/meta.h"

namespace nervex::kube {

// ---- comparison by key; version and uid of objects

template <typename T>
std::string object_key(const T& object) {
  if constexpr (requires { object.meta.key(); }) {
    return object.meta.key();
  } else {
    return object.name;
  }
}

template <typename T>
const std::string& object_version(const T& object) {
  if constexpr (requires { object.meta.resource_version; }) {
    return object.meta.resource_version;
  } else {
    return object.resource_version;
  }
}

template <typename T>
const std::string& object_uid(const T& object) {
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
KeyParts object_key_parts(const T& object) {
  if constexpr (requires { object.meta.key(); }) {
    return {object.meta.ns.str(), object.meta.name};
  } else {
    return {{}, object.name};
  }
}

// Like std::string::compare() of the joined keys, without building them.
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

// ---- updates from lists and watches

template <typename T>
void Store<T>::begin_list() {
  MutexLock lock(mutex_);
  ++list_;
  listing_ = true;
}

template <typename T>
auto Store<T>::end_list(std::string_view version) -> std::vector<Ptr> {
  MutexLock lock(mutex_);
  std::vector<Ptr> dropped;
  for (auto at = entries_.begin(); at != entries_.end();) {
    const auto entry = at++;
    if (entry->listed_in == list_ || outlives_list(*entry, version)) continue;
    dropped.push_back(remove(entry));
  }
  std::erase_if(unreadable_, [list = list_](const auto& one) { return one.second.second != list; });
  // A list that began after the delete reflects it.
  std::erase_if(deleted_, [list = list_](const auto& gone) { return gone.second != list; });
  std::deque<std::string> still_gone;
  for (auto& uid : deleted_order_) {
    if (deleted_.count(uid) != 0) still_gone.push_back(std::move(uid));
  }
  deleted_order_ = std::move(still_gone);
  position_ = version;
  listing_ = false;
  return dropped;
}

template <typename T>
auto Store<T>::exchange(const std::string& key, T object) -> std::pair<Ptr, Ptr> {
  MutexLock lock(mutex_);
  if (!listing_) see(object_version(object));
  forget_unreadable(key);
  if (was_deleted(object)) return {nullptr, nullptr};
  const auto at = entries_.find(std::string_view(key));
  const Ptr before = at == entries_.end() ? nullptr : at->object;
  if (before && stays(*at, object)) {
    at->listed_in = list_;
    return {before, before};
  }
  const Entry& entry = set(key, std::move(object));
  entry.listed_in = list_;
  entry.folded_in = 0;
  return {before, entry.object};
}

template <typename T>
auto Store<T>::put(const std::string& key, T object) -> Ptr {
  return exchange(key, std::move(object)).first;
}

template <typename T>
auto Store<T>::keep(const std::string& key, Unreadable what) -> Ptr {
  MutexLock lock(mutex_);
  const auto at = entries_.find(std::string_view(key));
  const bool is_stored = at != entries_.end();
  const bool is_another = is_stored && object_uid(*at->object) != what.uid;
  if (is_stored) at->listed_in = list_;
  unreadable_[key] = {std::move(what), list_};
  return is_another ? remove(at) : nullptr;
}

template <typename T>
auto Store<T>::erase(const std::string& key, std::string_view version, std::string_view uid)
    -> Ptr {
  MutexLock lock(mutex_);
  if (!listing_) see(version);
  forget_unreadable(key);
  if (!uid.empty() && !deleted_.empty()) deleted_.erase(std::string(uid));
  const auto at = entries_.find(std::string_view(key));
  if (at == entries_.end()) return nullptr;
  const bool is_ours_to_keep = !listing_ || at->folded_in == list_;
  if (is_ours_to_keep && is_newer_version(object_version(*at->object), version)) return nullptr;
  return remove(at);
}

// ---- results of our own writes

template <typename T>
bool Store<T>::update(const std::string& key, T object) {
  MutexLock lock(mutex_);
  const std::string& version = object_version(object);
  if (!position_.empty() && !is_newer_version(version, position_)) return false;
  if (deleted_.count(object_uid(object)) != 0) return false;  // the replies crossed
  const auto at = entries_.find(std::string_view(key));
  if (at != entries_.end()) {
    const std::string& stored = object_version(*at->object);
    if (is_newer_version(stored, version) || (!stored.empty() && stored == version)) return false;
  }
  set(key, std::move(object)).folded_in = list_;
  forget_unreadable(key);
  return true;
}

template <typename T>
auto Store<T>::forget(const std::string& key, const std::string& uid) -> Ptr {
  MutexLock lock(mutex_);
  const auto at = entries_.find(std::string_view(key));
  const bool is_there = at != entries_.end() && object_uid(*at->object) == uid;
  if (deleted_.emplace(uid, list_).second) deleted_order_.push_back(uid);
  if (deleted_order_.size() > kMaxDeleted) {
    deleted_.erase(deleted_order_.front());
    deleted_order_.pop_front();
  }
  return is_there ? remove(at) : nullptr;
}

// ---- readers

template <typename T>
auto Store<T>::get(const std::string& key) const -> Ptr {
  MutexLock lock(mutex_);
  const auto at = entries_.find(std::string_view(key));
  return at == entries_.end() ? nullptr : at->object;
}

template <typename T>
auto Store<T>::by_index(const std::string& value) const -> std::vector<Ptr> {
  MutexLock lock(mutex_);
  const auto at = index_.find(value);
  std::vector<Ptr> objects;
  if (at == index_.end()) return objects;
  objects.reserve(at->second.size());
  for (const Entry* entry : at->second) objects.push_back(entry->object);
  return objects;
}

template <typename T>
auto Store<T>::all() const -> std::vector<Ptr> {
  MutexLock lock(mutex_);
  std::vector<Ptr> objects;
  objects.reserve(entries_.size());
  for (const auto& entry : entries_) objects.push_back(entry.object);
  return objects;
}

template <typename T>
std::vector<std::string> Store<T>::keys() const {
  MutexLock lock(mutex_);
  std::vector<std::string> keys;
  keys.reserve(entries_.size());
  for (const auto& entry : entries_) keys.push_back(object_key(*entry.object));
  return keys;
}

template <typename T>
std::optional<Unreadable> Store<T>::unreadable(const std::string& key) const {
  MutexLock lock(mutex_);
  if (unreadable_.empty()) return std::nullopt;
  const auto at = unreadable_.find(key);
  return at == unreadable_.end() ? std::nullopt : std::optional(at->second.first);
}

template <typename T>
std::vector<std::string> Store<T>::unreadable_keys() const {
  MutexLock lock(mutex_);
  std::vector<std::string> keys;
  for (const auto& [key, what] : unreadable_) keys.push_back(key);
  return keys;
}

template <typename T>
void Store<T>::forget_unreadable(const std::string& key) {
  if (!unreadable_.empty()) unreadable_.erase(key);
}

template <typename T>
std::size_t Store<T>::size() const {
  MutexLock lock(mutex_);
  return entries_.size();
}

// ---- precedence

// We deleted the reported object; the watch, or a list that began earlier, is late.
template <typename T>
bool Store<T>::was_deleted(const T& reported) const {
  const auto deleted = deleted_.empty() ? deleted_.end() : deleted_.find(object_uid(reported));
  return deleted != deleted_.end() && (!listing_ || deleted->second == list_);
}

template <typename T>
bool Store<T>::stays(const Entry& stored, const T& reported) const {
  const std::string& had = object_version(*stored.object);
  const std::string& has = object_version(reported);
  const bool is_newer = is_newer_version(had, has);
  const bool is_same = !had.empty() && had == has;
  if (!listing_) return is_newer || is_same;
  // A restored etcd assigns the same versions again to other contents.
  return (is_newer && stored.folded_in == list_) || (is_same && *stored.object == reported);
}

template <typename T>
bool Store<T>::outlives_list(const Entry& stored, std::string_view version) const {
  return stored.folded_in == list_ && is_newer_version(object_version(*stored.object), version);
}

// ---- the containers

template <typename T>
auto Store<T>::set(const std::string& key, T object) -> const Entry& {
  if constexpr (requires { share(object, pool_); }) share(object, pool_);
  auto shared = std::make_shared<const T>(std::move(object));
  auto at = entries_.find(std::string_view(key));
  if (at == entries_.end()) {
    at = entries_.insert(Entry{std::move(shared)}).first;
  } else {
    unindex(*at);
    at->object = std::move(shared);  // same key, so the order stays
  }
  index(*at);
  return *at;
}

template <typename T>
auto Store<T>::remove(typename Entries::iterator at) -> Ptr {
  Ptr before = at->object;
  unindex(*at);
  entries_.erase(at);
  return before;
}

template <typename T>
void Store<T>::index(const Entry& entry) {
  if (!index_of_) return;
  const std::string value = index_of_(*entry.object);
  if (value.empty()) return;
  auto& found = index_[value];
  const auto before = [](const Entry* a, const Entry* b) { return Less()(*a, *b); };
  found.insert(std::lower_bound(found.begin(), found.end(), &entry, before), &entry);
}

template <typename T>
void Store<T>::unindex(const Entry& entry) {
  if (!index_of_) return;
  const auto at = index_.find(index_of_(*entry.object));
  if (at == index_.end()) return;
  std::erase(at->second, &entry);
  if (at->second.empty()) index_.erase(at);
}

template <typename T>
void Store<T>::see(std::string_view version) {
  if (position_.empty() || is_newer_version(version, position_)) position_ = version;
}

template <typename T>
bool Store<T>::Less::operator()(const Entry& a, const Entry& b) const {
  return compare_keys(object_key_parts(*a.object), object_key_parts(*b.object)) < 0;
}
template <typename T>
bool Store<T>::Less::operator()(const Entry& a, std::string_view key) const {
  return compare_keys(object_key_parts(*a.object), key) < 0;
}
template <typename T>
bool Store<T>::Less::operator()(std::string_view key, const Entry& b) const {
  return compare_keys(object_key_parts(*b.object), key) > 0;
}

}  // namespace nervex::kube
