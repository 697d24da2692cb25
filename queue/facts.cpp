#include "queue/facts.h"

namespace nervex::queue {

std::variant<QueueIndex, Inadmissible> Facts::find_queue(std::string_view wanted,
                                                         std::string_view ns) const {
  const auto known = namespaces->find(ns);
  if (known != namespaces->end()) return queue::find_queue(tree(), wanted, *known->second);
  if (!tree().is_root_alone()) return NamespaceNotSeen{std::string(ns)};
  if (!wanted.empty()) return QueueNotFound{std::string(wanted)};
  return kRoot;
}

}  // namespace nervex::queue
