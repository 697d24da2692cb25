// kube/cache/store.h - what is known of a kind? Objects by key, with one index, for many readers.
//
// Two sources update a store: the reflector, with lists and watch events, and the program itself,
// with the API server's answers to its own writes. Answers are folded in ahead of the watch, so no
// decision uses a cache older than the program's last write (read-your-writes). Precedence:
//
//   event against stored   the newer resourceVersion; the stored one if they are equal
//   list against stored    the list, even if its object looks older: lists are consistent reads
//                          (quorum), so an older object means that etcd was restored from a backup.
//                          Exception: what update() or forget() folded in since begin_list() may be
//                          newer than the list and stays, unless the list's version says otherwise
//   own write              counts unless the watch has reported its version or a later one
//   own delete             the uid never comes back, until the watch reports its end
//
// Limits of folding in: a write with a lost or unreadable reply is not in the store until the watch
// reports it, nor is a write with an opaque resourceVersion. Such writes must be safe to repeat:
// deterministic names, preconditions on uid or resourceVersion.
// See docs/adr/2026-11-21-caches.md.
#pragma once

#include <cstdint>
#include <deque>
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
#include "kube/model/share_pool.h"

namespace nervex::kube {

// An object that exists but that this program cannot decode.
struct Unreadable {
  std::string uid;
  bool deleting = false;
  std::string why;  // in the decoder's words
};

// Objects are immutable once stored: readers share them without copying. Thread-safe. Only
// `index_of`, which must be pure, is called under the lock. T needs `.meta` (kube::Meta) or, like
// Node, `.name`, `.uid` and `.resource_version`. Every `key` must be the object's object_key().
// Memory: 64 bytes per object beside the object itself, 8 more if indexed; values shared by pods
// and nodes are stored once (SharePool).
template <typename T>
class Store {
 public:
  using Ptr = std::shared_ptr<const T>;
  using IndexOf = std::function<std::string(const T&)>;  // "" = not indexed

  explicit Store(IndexOf index_of = nullptr) : index_of_(std::move(index_of)) {}
  Store(const Store&) = delete;
  Store& operator=(const Store&) = delete;

  // ---- updates from lists and watches, by one thread

  // Reports from here to end_list() form one list. Call it before the list is requested. The next
  // begin_list() discards a failed list.
  void begin_list();
  // The list is complete as of `version`; objects not in it were deleted. Returns them.
  std::vector<Ptr> end_list(std::string_view version);
  // A listed, added or modified object. Returns the previous and the current object; they are the
  // same if nothing changed.
  std::pair<Ptr, Ptr> exchange(const std::string& key, T object);
  // The same; returns the previous object.
  Ptr put(const std::string& key, T object);
  // An object with this key exists but cannot be read: unreadable() reports it, and the stored
  // object stays. A stored object of another uid was deleted, and is returned.
  Ptr keep(const std::string& key, Unreadable what);
  // A deletion, or a state that counts as absent. Returns the previous object. Does nothing if that
  // is newer than `version` (another object of the same name was folded in). With `uid` this is the
  // end of that object.
  Ptr erase(const std::string& key, std::string_view version = "", std::string_view uid = "");

  // ---- results of our own writes, by any thread

  // Folds in the API server's answer. False if it was ignored because the watch has already
  // reported this version or a later one, so that a late reply never restores a deleted object.
  // Compares numbers: after the first report, opaque resourceVersions are always ignored.
  bool update(const std::string& key, T object);
  // The API server has confirmed our delete of the object with this uid. Returns the previous
  // object.
  Ptr forget(const std::string& key, const std::string& uid);

  // ---- readers

  Ptr get(const std::string& key) const;
  std::vector<Ptr> by_index(const std::string& value) const;  // sorted by key
  std::vector<Ptr> all() const;                               // sorted by key
  std::vector<std::string> keys() const;                      // sorted
  std::size_t size() const;
  // Callers that act on the absence of an object must check this too. Nullopt: the object with this
  // key is readable, or does not exist.
  std::optional<Unreadable> unreadable(const std::string& key) const;
  std::vector<std::string> unreadable_keys() const;  // sorted; nearly always none

 private:
  struct Entry {
    mutable Ptr object;
    mutable std::uint32_t listed_in = 0;  // number of the last list that contained it
    mutable std::uint32_t folded_in = 0;  // number of the list during which update() stored it
  };
  struct Less {  // by key, without building one
    using is_transparent = void;
    bool operator()(const Entry& a, const Entry& b) const;
    bool operator()(const Entry& a, std::string_view key) const;
    bool operator()(std::string_view key, const Entry& b) const;
  };
  using Entries = std::set<Entry, Less>;
  // If the watch reported a delete before its reply came, the uid is kept needlessly until the next
  // list: hence a bound. The newest entries are needed only for seconds.
  static constexpr std::size_t kMaxDeleted = 4096;

  bool was_deleted(const T& reported) const REQUIRES(mutex_);
  bool stays(const Entry& stored, const T& reported) const REQUIRES(mutex_);
  bool outlives_list(const Entry& stored, std::string_view version) const REQUIRES(mutex_);
  const Entry& set(const std::string& key, T object) REQUIRES(mutex_);
  Ptr remove(typename Entries::iterator at) REQUIRES(mutex_);
  void index(const Entry& entry) REQUIRES(mutex_);
  void unindex(const Entry& entry) REQUIRES(mutex_);
  void see(std::string_view version) REQUIRES(mutex_);
  void forget_unreadable(const std::string& key) REQUIRES(mutex_);

  const IndexOf index_of_;
  mutable Mutex mutex_;
  Entries entries_ GUARDED_BY(mutex_);
  // Sorted by key. The entries of a set have stable addresses.
  std::unordered_map<std::string, std::vector<const Entry*>> index_ GUARDED_BY(mutex_);
  // uids of own deletes that the watch has not reported yet, with the current list's number.
  std::unordered_map<std::string, std::uint32_t> deleted_ GUARDED_BY(mutex_);
  std::deque<std::string> deleted_order_ GUARDED_BY(mutex_);  // oldest first, includes ended ones
  // By key, with the number of the last list that contained it.
  std::map<std::string, std::pair<Unreadable, std::uint32_t>> unreadable_ GUARDED_BY(mutex_);
  // The version of the last list, or of the newest event since. All older states are known.
  std::string position_ GUARDED_BY(mutex_);
  std::uint32_t list_ GUARDED_BY(mutex_) = 1;  // number of the current or last list
  bool listing_ GUARDED_BY(mutex_) = false;
  SharePool pool_ GUARDED_BY(mutex_);
};

// "namespace/name", or "name".
template <typename T>
std::string object_key(const T& object);

}  // namespace nervex::kube

#include "kube/cache/store_impl.h"
