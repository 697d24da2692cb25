#include "kube/cache/reflectors.h"

namespace nervex::kube {

void Reflectors::start() {
  for (auto& watch : watches_) watch.reflector->start();
}

void Reflectors::stop() { watches_.clear(); }

Result<Nothing> Reflectors::check_synced() const {
  for (const auto& watch : watches_) {
    if (!watch.is_checked()) continue;
    if (auto synced = watch.reflector->check_synced(watch.kind); !synced) return synced;
  }
  return ok();
}

void Reflectors::refresh() {
  for (auto& watch : watches_) watch.reflector->refresh();
}

Result<Nothing> Reflectors::check_current() const {
  if (auto synced = check_synced(); !synced) return synced;
  for (const auto& watch : watches_) {
    if (!watch.is_checked()) continue;
    if (auto fresh = watch.reflector->check_fresh(watch.kind); !fresh) return fresh;
  }
  return ok();
}

bool Reflectors::wait_until_current(const std::stop_token& stop) {
  MutexLock lock(mutex_);
  return progressed_.wait(mutex_, stop, [this] { return check_current().has_value(); });
}

void Reflectors::progressed() {
  // Under the lock, so that no waiter misses this between checking the caches and waiting.
  const MutexLock lock(mutex_);
  progressed_.notify_all();
}

void Reflectors::visit(
    const std::function<void(const char* kind, std::function<std::size_t()>)>& visit) const {
  for (const auto& watch : watches_) visit(watch.kind, watch.size);
}

}  // namespace nervex::kube
