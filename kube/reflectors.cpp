#include "kube/reflectors.h"

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

void Reflectors::visit(
    const std::function<void(const char* kind, std::function<std::size_t()>)>& visit) const {
  for (const auto& watch : watches_) visit(watch.kind, watch.size);
}

}  // namespace nervex::kube
