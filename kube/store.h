// kube/store.h - what do we know of a kind? Objects by key, with one index, for many readers.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/mutex.h"

namespace nervex::kube {

// Objects are immutable once stored: readers share them without copying. Thread-safe; no callback
// runs under the lock but `index_of`, which must be pure. T needs `.meta` (kube::Meta) or, like
// Node, `.name`: see key_of().
template <typename T>
class Store {
 public:
  using Ptr = std::shared_ptr<const T>;
  using IndexOf = std::function<std::string(const T&)>;  // "" = not indexed

  explicit Store(IndexOf index_of = nullptr) : index_of_(std::move(index_of)) {}
  Store(const Store&) = delete;
  Store& operator=(const Store&) = delete;

  // Puts `object` under `key`, as told by a list or watch; returns what was there. Does nothing and
  // returns the stored one if that is as new or newer by resourceVersion (own writes are folded in
  // ahead of the watch).
  Ptr put(const std::string& key, T object);
  // The same, with what is there afterwards.
  std::pair<Ptr, Ptr> exchange(const std::string& key, T object);
  // Folds in what the API server answered to a write of our own; false if it was ignored because
  // the watch has already told of this version or a later one, so that a late reply never brings
  // back what was deleted meanwhile. Compares numbers: with opaque resourceVersions it ignores all.
  // A list that began before the write may hide the object again until the watch tells of it.
  bool update(const std::string& key, T object);
  // Returns what was there. Does nothing if that is newer than `deleted_version`, the last
  // resourceVersion of the deleted object (a namesake of ours was folded in since).
  Ptr erase(const std::string& key, std::string_view deleted_version = "");

  Ptr get(const std::string& key) const;
  std::vector<Ptr> by_index(const std::string& value) const;  // sorted by key
  std::vector<Ptr> all() const;                               // sorted by key
  std::vector<std::string> keys() const;
  std::size_t size() const;

 private:
  std::pair<Ptr, Ptr> replace(const std::string& key, T object) REQUIRES(mutex_);
  void unindex(const std::string& key, const T& object) REQUIRES(mutex_);
  void see(std::string_view version) REQUIRES(mutex_);

  const IndexOf index_of_;
  mutable Mutex mutex_;
  std::map<std::string, Ptr, std::less<>> objects_ GUARDED_BY(mutex_);
  std::unordered_map<std::string, std::set<std::string>> index_ GUARDED_BY(mutex_);
  // The newest version a list or watch told of. They come in order: all older states are known.
  std::string seen_version_ GUARDED_BY(mutex_);
};

// "namespace/name", or "name".
template <typename T>
std::string key_of(const T& object);

}  // namespace nervex::kube

#include "kube/store_impl.h"
