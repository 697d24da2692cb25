#include "planner/bind/filter.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace nervex::planner {
namespace {

kube::FilterResult retry_later(std::string why) {
  kube::FilterResult result;
  result.error = std::move(why);
  return result;
}

// A reason for one node is enough: kube-scheduler 1.36 drops every node that the reply does not
// name.
kube::FilterResult fail_all_nodes(const kube::FilterArgs& args, std::string why) {
  kube::FilterResult result;
  if (!args.node_names.empty()) {
    result.failed_and_unresolvable.emplace_back(args.node_names.front(), std::move(why));
  }
  return result;
}

std::string slot_text(const gang::PodSlot& slot) {
  return gang::slot_key(slot.role, slot.slot.ordinal);
}

// Admission may enlarge a pod: its gang is planned again as soon as our cache has the pod.
std::string outgrown_text(const kube::Pod& pod, const gang::PodSlot& slot, const SlotSeen& seen) {
  const std::string resource(pod.requests.first_lacking(seen.requests));
  if (resource.empty()) return "";
  const auto amount = [&](const kube::Resources& resources) {
    return kube::format_amount(resource, resources.get(resource));
  };
  return fmt::format(
      "{} asks for {} {} but {} was planned: a LimitRange, RuntimeClass or injected "
      "sidecar enlarged the pod; its gang is planned again",
      slot_text(slot), resource, amount(pod.requests), amount(seen.requests));
}

kube::FilterResult filter_gang_pod(const kube::FilterArgs& args, const gang::PodSlot& slot,
                                   const SlotSeen& seen) {
  if (!seen.group) return retry_later("the pod's PodGroup was not seen yet, retrying");
  const gang::PodGroup& group = *seen.group;
  if (group.meta.ns != args.pod.meta.ns) {
    return fail_all_nodes(args, "the pod names a PodGroup of another namespace");
  }
  if (gang::Origin(group.meta) != gang::Origin(args.pod.meta)) {
    return fail_all_nodes(args, "the pod is not owned by the job of the PodGroup that it names");
  }
  if (slot.placement >= seen.next_placement) {
    return retry_later(fmt::format("placement {} of podgroup {} was not seen yet, retrying",
                                   slot.placement, group.meta.name));
  }
  if (!seen.placement || seen.placement->number != slot.placement ||
      seen.placement->slot != slot.slot) {
    return fail_all_nodes(args,
                          fmt::format("placement {} of {} was superseded: delete this pod, its "
                                      "gang is planned again with new pods",
                                      slot.placement, slot_text(slot)));
  }
  if (auto why = outgrown_text(args.pod, slot, seen); !why.empty()) {
    return retry_later(std::move(why));
  }
  const std::string& node = seen.placement->node;
  const auto& names = args.node_names;
  if (std::find(names.begin(), names.end(), node) == names.end()) {
    return fail_all_nodes(args,
                          fmt::format("{} is planned on node {}, which the scheduler's own checks "
                                      "refused",
                                      slot_text(slot), node));
  }
  kube::FilterResult result;
  result.node_names = {node};
  return result;
}

std::string waits(std::string_view gang) { return fmt::format("{} waits", gang); }

std::string refused_node(std::string_view node) {
  return fmt::format("planned on node {}, which the scheduler's own checks refused", node);
}

// Why a pod without a nomination has none. A change of this text does not requeue the pod, so it
// leaves out what only the planner knows.
std::string foreign_text(const ForeignPodSeen& seen) {
  if (!seen.message.empty()) return fmt::format("{}: {}", waits(seen.gang), seen.message);
  if (seen.min_member <= 1) return waits(seen.gang) + " for capacity";
  return fmt::format("{} until {} of its pods exist and fit", waits(seen.gang), seen.min_member);
}

// Any client that may patch the pod's status can nominate it: the hold keeps the gang whole then.
kube::FilterResult filter_foreign_pod(const kube::FilterArgs& args, const ForeignPodSeen& seen) {
  if (!seen.is_found && seen.is_kind_missing) {
    return fail_all_nodes(
        args, waits(seen.gang) + ": this cluster has no PodGroups of scheduling.x-k8s.io");
  }
  if (!seen.is_found) return fail_all_nodes(args, waits(seen.gang) + ": it was not found");
  const std::string& node = args.pod.nominated_node;
  if (node.empty()) return fail_all_nodes(args, foreign_text(seen));
  const auto& names = args.node_names;
  if (std::find(names.begin(), names.end(), node) == names.end()) {
    return fail_all_nodes(args, fmt::format("{}: {}", seen.gang, refused_node(node)));
  }
  kube::FilterResult result;
  result.node_names = {node};
  return result;
}

// A pod that never waits.
kube::FilterResult filter_other_pod(const kube::FilterArgs& args,
                                    const std::vector<ReservedNode>& reserved) {
  kube::FilterResult result;
  std::string unknown;
  auto node = reserved.begin();
  for (const std::string& name : args.node_names) {
    const bool is_reserved = node != reserved.end() && node->name == name;
    bool fits = true;
    // Where nothing is reserved kube-scheduler's own count is enough.
    if (is_reserved && !node->spare) {
      unknown = name;
      fits = false;
    } else if (is_reserved) {
      fits = args.pod.requests.fits_in(*node->spare);
    }
    if (fits) result.node_names.push_back(name);
    if (is_reserved) ++node;
  }
  if (!result.node_names.empty()) return result;
  if (unknown.empty()) return fail_all_nodes(args, "capacity is reserved for gangs");
  return retry_later(
      fmt::format("capacity is reserved for gangs on node {}, which nervex-extender does not know "
                  "yet, retrying",
                  unknown));
}

}  // namespace

kube::FilterResult filter(const kube::FilterArgs& args, const FilterView& view) {
  if (!view.synced) return retry_later("nervex-extender has not read the cluster yet, retrying");
  if (view.slot) return filter_gang_pod(args, *view.slot, view.seen);
  if (view.is_stray || !kube::annotation(args.pod.meta, gang::kPodGroupUidAnnotation).empty()) {
    return fail_all_nodes(args, "the pod's gang annotations are damaged");
  }
  if (view.foreign) return filter_foreign_pod(args, *view.foreign);
  return filter_other_pod(args, view.reserved);
}

bool names_refused_node(std::string_view message, std::string_view node) {
  return message.find(refused_node(node)) != std::string_view::npos;
}

bool says_gang_waits(std::string_view message, std::string_view gang) {
  return message.find(waits(gang)) != std::string_view::npos;
}

}  // namespace nervex::planner
