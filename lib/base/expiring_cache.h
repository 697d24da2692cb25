// base/expiring_cache.h - which values are kept for a while, within a limit of bytes? For values
// whose number and size callers control. Not thread-safe.
#pragma once

#include <cstddef>
#include <map>
#include <string>
#include <type_traits>
#include <unordered_map>
#include <utility>

#include "base/clock.h"

namespace nervex {

// By key, which should be a hash: a caller's text may be as long as the value. find() and put()
// drop expired values; above the limit the value that expires first is evicted.
template <typename Value, typename Key = std::string>
class ExpiringCache {
 public:
  explicit ExpiringCache(std::size_t max_bytes) : max_bytes_(max_bytes) {}

  // Null if absent. Valid until the next call.
  const Value* find(const Key& key, MonoTime now) {
    drop_expired(now);
    const auto at = by_key_.find(key);
    return at == by_key_.end() ? nullptr : &at->second->second.value;
  }

  // `value_bytes`: the value's size, by the caller's count. A value above a quarter of the limit is
  // not stored, because it would evict values of other callers.
  void put(const Key& key, Value value, std::size_t value_bytes, MonoTime expires, MonoTime now) {
    drop_expired(now);
    erase(key);
    const std::size_t bytes = 2 * text_bytes(key) + value_bytes + kEntryBytes;
    if (bytes > max_bytes_ / 4 || expires <= now) return;
    while (bytes_ + bytes > max_bytes_) drop(by_time_.begin());
    bytes_ += bytes;
    by_key_.emplace(key, by_time_.emplace(expires, Entry{key, std::move(value), bytes}));
  }

  std::size_t size() const { return by_time_.size(); }
  std::size_t bytes() const { return bytes_; }

 private:
  static std::size_t text_bytes(const Key& key) {
    if constexpr (std::is_same_v<Key, std::string>) return key.size();
    return 0;
  }

  // The nodes of both maps, with keys of a fixed size.
  static constexpr std::size_t kEntryBytes = 200;

  struct Entry {
    Key key;
    Value value;
    std::size_t bytes = 0;
  };
  using ByTime = std::multimap<MonoTime, Entry>;

  void drop_expired(MonoTime now) {
    while (!by_time_.empty() && by_time_.begin()->first <= now) drop(by_time_.begin());
  }
  void erase(const Key& key) {
    const auto at = by_key_.find(key);
    if (at != by_key_.end()) drop(at->second);
  }
  void drop(typename ByTime::iterator entry) {
    bytes_ -= entry->second.bytes;
    by_key_.erase(entry->second.key);
    by_time_.erase(entry);
  }

  const std::size_t max_bytes_;
  std::size_t bytes_ = 0;
  ByTime by_time_;
  std::unordered_map<Key, typename ByTime::iterator> by_key_;
};

}  // namespace nervex
