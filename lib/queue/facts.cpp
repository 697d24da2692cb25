#include "queue/facts.h"

namespace nervex::queue {

std::string find_home(const QueueTree& tree, const Namespaces& namespaces,
                      const gang::QueuePlace& place, std::string_view ns) {
  if (tree.find(place.name)) return place.name;
  if (const auto known = namespaces.find(ns); known != namespaces.end()) {
    const auto queue = find_queue(tree, "", *known->second);
    const auto* index = std::get_if<QueueIndex>(&queue);
    if (index != nullptr && *index != kRoot) return tree[*index].name;
  }
  for (const std::string& parent : place.parents) {
    if (tree.find(parent)) return parent;
  }
  return "";
}

std::string find_home_of_pods(const QueueTree& tree, const Namespaces& namespaces,
                              std::string_view named, std::string_view ns) {
  const auto known = namespaces.find(ns);
  if (known == namespaces.end()) return "";
  for (const std::string_view wanted : {named, std::string_view()}) {
    const auto queue = find_queue(tree, wanted, *known->second);
    if (const auto* index = std::get_if<QueueIndex>(&queue)) return tree[*index].name;
  }
  return "";
}

std::variant<QueueIndex, Inadmissible> Facts::find_queue(std::string_view wanted,
                                                         std::string_view ns) const {
  const auto known = namespaces->find(ns);
  if (known != namespaces->end()) return queue::find_queue(tree(), wanted, *known->second);
  if (!tree().is_root_alone()) return NamespaceNotSeen{std::string(ns)};
  if (!wanted.empty()) return QueueNotFound{std::string(wanted)};
  return kRoot;
}

std::optional<QueueIndex> Facts::find_default_queue(std::string_view ns) const {
  const auto queue = find_queue("", ns);
  const auto* index = std::get_if<QueueIndex>(&queue);
  return index == nullptr ? std::nullopt : std::optional(*index);
}

}  // namespace nervex::queue
