// kube/lru.h - a map that forgets what was not asked for longest.
#pragma once

#include <cstddef>
#include <list>
#include <string>
#include <unordered_map>
#include <utility>

namespace nervex::kube {

// At most `limit` values by text. Not thread-safe.
template <typename T>
class Lru {
 public:
  explicit Lru(std::size_t limit) : limit_(limit) {}

  // The value of `key`, a T() if there was none. Valid until the next call.
  T& get(const std::string& key) {
    const auto [at, is_new] = by_key_.try_emplace(key);
    if (is_new) {
      latest_.emplace_front(&at->first, T());
    } else {
      latest_.splice(latest_.begin(), latest_, at->second);
    }
    at->second = latest_.begin();
    if (by_key_.size() > limit_) {
      by_key_.erase(by_key_.find(*latest_.back().first));
      latest_.pop_back();
    }
    return latest_.front().second;
  }
  std::size_t size() const { return by_key_.size(); }

 private:
  using Order = std::list<std::pair<const std::string*, T>>;  // keys are the map's own
  const std::size_t limit_;
  Order latest_;
  std::unordered_map<std::string, typename Order::iterator> by_key_;
};

}  // namespace nervex::kube
