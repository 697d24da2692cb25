#include "kube/cache/reflectors.h"

namespace nervex::kube {

void Reflectors::start() {
  for (auto& watch : watches_) watch.reflector->start();
}

void Reflectors::stop() { watches_.clear(); }

std::string Reflectors::not_synced() const {
  for (const auto& watch : watches_) {
    if (auto reason = watch.reflector->not_synced(watch.kind); !reason.empty()) return reason;
  }
  return "";
}

void Reflectors::refresh() {
  for (auto& watch : watches_) watch.reflector->refresh();
}

std::string Reflectors::not_current() const {
  if (auto reason = not_synced(); !reason.empty()) return reason;
  for (const auto& watch : watches_) {
    if (auto reason = watch.reflector->not_fresh(watch.kind); !reason.empty()) return reason;
  }
  return "";
}

bool Reflectors::wait_until_current(const std::stop_token& stop) {
  MutexLock lock(mutex_);
  return progressed_.wait(mutex_, stop, [this] { return not_current().empty(); });
}

void Reflectors::progressed() {
  // With the lock: nobody stands between looking at the caches and beginning to wait.
  const MutexLock lock(mutex_);
  progressed_.notify_all();
}

void Reflectors::visit(
    const std::function<void(const char* kind, std::function<std::size_t()>)>& visit) const {
  for (const auto& watch : watches_) visit(watch.kind, watch.size);
}

}  // namespace nervex::kube
