#include "planner/facts/foreign_view.h"

#include "kube/model/foreign_pod_group.h"

namespace nervex::planner {
namespace {

std::string describe(const std::string& name, bool is_pod) {
  return (is_pod ? "pod " : "podgroup ") + name;
}

}  // namespace

std::string plain_key(const kube::Meta& pod) { return pod.ns + ("/pod/" + pod.uid); }

std::string foreign_key(const kube::ForeignPodGroup& group) {
  return group.is_pod ? plain_key(group.meta) : group.meta.key();
}

std::string describe_foreign(const kube::ForeignPodGroup& group) {
  return describe(group.meta.name, group.is_pod);
}

std::string describe_foreign_of(const kube::Meta& pod) {
  const std::string& group = kube::foreign_group_name(pod);
  return describe(group.empty() ? pod.name : group, group.empty());
}

}  // namespace nervex::planner
