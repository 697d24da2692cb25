// kube/cache/store.h - what do we know of a kind? Objects by key, with one index, for many readers.
//
// Two tell a store what is: the reflector, with lists and watch events, and the program itself,
// with the API server's answers to its own writes, which are folded in ahead of the watch so that
// no decision is made on a cache older than the program's last write (read-your-writes). Who wins:
//
//   event against stored   the newer resourceVersion; the stored one if they are equal
//   list against stored    the list, even if its object looks older: lists are consistent reads
//                          (quorum), so an older one means that etcd was restored from a backup.
//                          But what update() or forget() folded in since begin_list() may be newer
//                          than the list and stays, unless the list's version says otherwise
//   own write              counts unless the watch has reported its version or a later one
//   own delete             the uid never comes back, until the watch reports its end
//
// What folding in cannot give: a write whose reply is lost or cannot be read is not in the store
// until the watch reports it, and neither is any with an opaque resourceVersion. Writes must be
// safe to repeat then: deterministic names, preconditions on uid or resourceVersion.
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

// An object that is there, and of which this program makes nothing.
struct Unreadable {
  std::string uid;
  bool deleting = false;
  std::string why;  // in the decoder's words
};

// Objects are immutable once stored: readers share them without copying. Thread-safe; no callback
// runs under the lock but `index_of`, which must be pure. T needs `.meta` (kube::Meta) or, like
// Node, `.name`, `.uid` and `.resource_version`. Every `key` must be the object's key_of().
// Memory: 64 bytes an object beside the object itself, 8 more if it is indexed; what pods and
// nodes have in common is held once (SharePool).
template <typename T>
class Store {
 public:
  using Ptr = std::shared_ptr<const T>;
  using IndexOf = std::function<std::string(const T&)>;  // "" = not indexed

  explicit Store(IndexOf index_of = nullptr) : index_of_(std::move(index_of)) {}
  Store(const Store&) = delete;
  Store& operator=(const Store&) = delete;

  // ---- what lists and watches report, by one thread

  // All that is reported from here to end_list() is one list. Call it before the list is asked for.
  // A list that fails is discarded by the next begin_list().
  void begin_list();
  // The list is complete and as of `version`: what it does not have was deleted. Returns that.
  std::vector<Ptr> end_list(std::string_view version);
  // A listed object, or one that was added or modified. Returns what was there and what is there
  // now; the same twice if nothing changes.
  std::pair<Ptr, Ptr> exchange(const std::string& key, T object);
  // The same; returns what was there.
  Ptr put(const std::string& key, T object);
  // Something of this key is there and cannot be read: unreadable() tells, and what is stored
  // stays, unless it is of another uid: then it was deleted, and is returned.
  Ptr keep(const std::string& key, Unreadable what);
  // A deletion, or a state that does not count as being there. Returns what was there. Does nothing
  // if that is newer than `version` (a namesake of ours was folded in since). With its `uid`
  // this is the end of that object.
  Ptr erase(const std::string& key, std::string_view version = "", std::string_view uid = "");

  // ---- what our own writes came to, by any thread

  // Folds in what the API server answered; false if it was ignored because the watch has already
  // reported this version or a later one, so that a late reply never brings back what was deleted
  // meanwhile. Compares numbers: once something was reported, opaque resourceVersions are all
  // ignored.
  bool update(const std::string& key, T object);
  // The object of this uid was deleted: the API server said so to our delete. Returns what was
  // there.
  Ptr forget(const std::string& key, const std::string& uid);

  // ---- readers

  Ptr get(const std::string& key) const;
  std::vector<Ptr> by_index(const std::string& value) const;  // sorted by key
  std::vector<Ptr> all() const;                               // sorted by key
  std::vector<std::string> keys() const;                      // sorted
  std::size_t size() const;
  // Whoever acts upon the absence of an object asks this, too. Nullopt: what is there now under
  // this key can be read, or nothing is there.
  std::optional<Unreadable> unreadable(const std::string& key) const;
  std::vector<std::string> unreadable_keys() const;  // sorted; nearly always none

 private:
  struct Entry {
    mutable Ptr object;
    mutable std::uint32_t listed_in = 0;  // number of the last list that had it
    mutable std::uint32_t folded_in = 0;  // number of the list during which update() put it here
  };
  struct Less {  // by key, without making one
    using is_transparent = void;
    bool operator()(const Entry& a, const Entry& b) const;
    bool operator()(const Entry& a, std::string_view key) const;
    bool operator()(std::string_view key, const Entry& b) const;
  };
  using Entries = std::set<Entry, Less>;
  // Of a delete that the watch reported before the reply came the uid is kept in vain, until the
  // next list: hence a bound. What the newest ones are good for is over in seconds.
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
  // Sorted by key. A set's entries stay where they are.
  std::unordered_map<std::string, std::vector<const Entry*>> index_ GUARDED_BY(mutex_);
  // uids of own deletes of which the watch did not tell yet, with the number of the list then.
  std::unordered_map<std::string, std::uint32_t> deleted_ GUARDED_BY(mutex_);
  std::deque<std::string> deleted_order_ GUARDED_BY(mutex_);  // oldest first, also of ended ones
  // By key, with the number of the last list that had it.
  std::map<std::string, std::pair<Unreadable, std::uint32_t>> unreadable_ GUARDED_BY(mutex_);
  // The version of the last list, or of the newest event since. All older states are known.
  std::string position_ GUARDED_BY(mutex_);
  std::uint32_t list_ GUARDED_BY(mutex_) = 1;  // number of the list under way or last made
  bool listing_ GUARDED_BY(mutex_) = false;
  SharePool pool_ GUARDED_BY(mutex_);
};

// "namespace/name", or "name".
template <typename T>
std::string key_of(const T& object);

}  // namespace nervex::kube

#include "kube/cache/store_impl.h"
