#include "placement/explain.h"

#include <fmt/format.h>

#include <algorithm>
#include <tuple>

#include "kube/model/resources.h"

namespace nervex::placement {

namespace {

using gang::InsufficientCapacity;
using gang::NeverFits;
using gang::NeverFitsTogether;
using gang::NodeCounts;
using gang::NoNodeAllowed;
using gang::NotAdmitted;
using gang::OverQuota;
using gang::ResourceNeed;
using gang::UnplacedSet;

std::string format_need(const ResourceNeed& need) {
  return kube::format_need(need.resource, need.each);
}

// ", 3 are full"; empty for 0.
std::string nodes_that(int count, std::string_view one, std::string_view several) {
  return count == 0 ? "" : fmt::format(", {} {}", count, count == 1 ? one : several);
}

// Uses the terms of kubectl get nodes and kubectl describe node.
std::string list_barred(const NodeCounts& nodes) {
  return nodes_that(nodes.tainted, "has an untolerated taint", "have untolerated taints") +
         nodes_that(nodes.not_selected, "does not match nodeSelector or affinity",
                    "do not match nodeSelector or affinity") +
         nodes_that(nodes.volume_elsewhere, "cannot reach its volume", "cannot reach its volume") +
         nodes_that(nodes.not_ready, "is not ready", "are not ready") +
         nodes_that(nodes.cordoned, "is cordoned", "are cordoned") +
         nodes_that(nodes.avoided, "is avoided after a pod was refused there",
                    "are avoided after pods were refused there");
}

// "6 of 32 do not fit: each needs nvidia.com/gpu 8"
std::string start_sentence(const UnplacedSet& set, const ResourceNeed& need,
                           std::string_view verb) {
  if (set.wanted == 1) return fmt::format("{}: it needs {}", verb, format_need(need));
  return fmt::format("{} of {} {}: each needs {}", set.unplaced, set.wanted, verb,
                     format_need(need));
}

// "3 of 8 do not fit within maxSkew 1 of topology.kubernetes.io/zone: b has the fewest pods ..."
std::string describe_skew(const UnplacedSet& set, const gang::SkewLimit& skew) {
  std::string start = fmt::format("{} of {} {} within maxSkew {} of {}", set.unplaced, set.wanted,
                                  set.unplaced == 1 ? "does not fit" : "do not fit", skew.max_skew,
                                  skew.topology_key);
  if (skew.min_domains > 1) {
    return fmt::format("{}: minDomains is {}, and allowed nodes have {} value{} of this label",
                       start, skew.min_domains, skew.domains, skew.domains == 1 ? "" : "s");
  }
  if (skew.fewest.empty()) return start;
  return fmt::format("{}: {} has the fewest pods and no capacity for more", start, skew.fewest);
}

using gang::DomainLimit;

// "3 of 8 do not fit in one example.com/rack: rack-b has capacity for 5, rack-a for 4; 2 ..."
std::string describe_domain(const UnplacedSet& set, std::string_view verb,
                            std::string_view capacity) {
  const DomainLimit& domain = *set.domain;
  const bool is_class = domain.reason == DomainLimit::Reason::kNodeClasses;
  std::string text = fmt::format(
      "{} of {} {} {}{}", set.unplaced, set.wanted, verb,
      is_class ? "on nodes of one class" : "in one " + domain.key,
      domain.reason == DomainLimit::Reason::kPodAffinity ? ", as pod affinity requires" : "");
  if (domain.joins_pods)
    text += is_class ? ", that of its pods" : ", where the job has pods or capacity";
  if (domain.is_narrowed) text += ", on nodes that its other topologies and nodeClasses leave";
  std::string_view start = ": ";
  for (const auto& [value, pods] : domain.capacity) {
    const std::string_view name = !value.empty()  ? std::string_view(value)
                                  : start == ": " ? "one"
                                                  : "another";
    text += fmt::format("{}{} {} {}", start, name, start == ": " ? capacity : "for", pods);
    start = ", ";
  }
  return domain.needed < 2 ? text
                           : text + fmt::format("; {} together would hold all", domain.needed);
}

// No node is in any domain.
bool is_without_domain(const UnplacedSet& set) {
  return set.domain && set.domain->capacity.empty() && set.nodes == NodeCounts{};
}

bool is_about_domain(const UnplacedSet& set) { return set.domain && !set.domain->capacity.empty(); }

std::string say(const OverQuota& cause) {
  const std::string_view resource = gang::strip_requests(cause.resource);
  const auto text = [&](std::int64_t amount) { return kube::format_amount(resource, amount); };
  const std::string used = text(cause.used);
  const std::string planned =
      cause.planned == 0 ? "" : fmt::format(", {} more are planned", text(cause.planned));
  return fmt::format(
      "over quota by {} {}: resourcequota {} allows {}, {} {} used{}, the gang needs {}{}",
      cause.resource, text(cause.over), cause.quota, text(cause.hard), used,
      used == "1" ? "is" : "are", planned, text(cause.need),
      cause.need > cause.hard ? ", more than the whole quota" : "");
}

const std::string& say(const NotAdmitted& cause) { return cause.text; }

std::string say(const NoNodeAllowed& cause) {
  if (cause.set.skew && cause.set.skew->min_domains <= 1) {
    return describe_skew(cause.set, *cause.set.skew) + ": no allowed node has this label";
  }
  if (cause.set.skew) return describe_skew(cause.set, *cause.set.skew);
  if (is_without_domain(cause.set)) {
    const DomainLimit& domain = *cause.set.domain;
    if (domain.reason != DomainLimit::Reason::kNodeClasses) {
      return fmt::format("no node has the label {}", domain.key);
    }
    return domain.key.empty()
               ? "nodeClasses: nodes have no class, because nervex-extender runs "
                 "with an empty --node-class-label"
               : fmt::format("no node has a class of nodeClasses in its label {}", domain.key);
  }
  const std::string why = list_barred(cause.set.nodes);
  if (why.empty()) return "the cluster has no nodes";
  return "no node is allowed: " + why.substr(2);
}

std::string say(const NeverFitsTogether& cause) {
  return fmt::format(
      "can never fit beside the rest of its gang: {} needs {}; the nodes cannot hold all pods of "
      "the gang even when empty{}",
      cause.set.wanted == 1 ? "it" : "each", format_need(cause.need), list_barred(cause.set.nodes));
}

std::string say(const NeverFits& cause) {
  if (is_about_domain(cause.set)) {
    return describe_domain(cause.set, "can never fit", "has capacity, even when empty, for");
  }
  const std::string others = list_barred(cause.set.nodes);
  const std::string start = start_sentence(cause.set, cause.need, "can never fit");
  if (cause.most > 0) {
    return fmt::format("{}; the nodes have capacity for {} even when empty{}", start, cause.most,
                       others);
  }
  if (cause.largest_node < cause.need.each) {
    const auto largest = kube::format_amount(cause.need.resource, cause.largest_node);
    return fmt::format("{}; the largest node has {} even when empty{}", start, largest, others);
  }
  return fmt::format("{} beside its other requests; no node has both even when empty{}", start,
                     others);
}

std::string say(const InsufficientCapacity& cause) {
  const UnplacedSet& set = cause.set;
  if (set.skew && set.skew->fewest.empty()) {
    return describe_skew(set, *set.skew) + " beside other constraints";
  }
  if (set.skew) return describe_skew(set, *set.skew);
  if (is_about_domain(set)) {
    return describe_domain(set, set.unplaced == 1 ? "does not fit" : "do not fit",
                           "has capacity for");
  }
  const NodeCounts& nodes = set.nodes;
  const std::string start = start_sentence(
      set, cause.need, set.wanted == 1 || set.unplaced == 1 ? "does not fit" : "do not fit");
  // "Not free" would make people look for pods that block the nodes.
  if (nodes.free + nodes.full + nodes.too_small == 0 && nodes.avoided > 0) {
    return start + "; no other node may be used: " + list_barred(nodes).substr(2);
  }
  const std::string free = nodes.free == 0   ? "no node has it free"
                           : nodes.free == 1 ? "1 node has it free"
                                             : fmt::format("{} nodes have it free", nodes.free);
  const std::string full = nodes.free > 0 ? nodes_that(nodes.full, "more is full", "more are full")
                                          : nodes_that(nodes.full, "is full", "are full");
  return start + "; " + free + full + nodes_that(nodes.too_small, "is too small", "are too small") +
         list_barred(nodes);
}

// A user who has not requested replicas yet must learn what is counted.
std::string reserved_part(const UnplacedSet& set) {
  if (set.reserved == 0) return "";
  if (set.wanted == 1) return "; it is reserved capacity for requests (reservedReplicas)";
  const bool all = set.reserved == set.wanted;
  return fmt::format("; {} {} reserved capacity for requests (reservedReplicas)",
                     all ? fmt::format("all {}", set.wanted)
                         : fmt::format("{} of the {}", set.reserved, set.wanted),
                     set.reserved == 1 ? "is" : "are");
}

// Rare, and users cannot act on it; but that the gang does not fit is not proven.
std::string_view search_part(const gang::NoFit& no_fit) {
  const auto* cause = std::get_if<InsufficientCapacity>(&no_fit);
  return cause != nullptr && cause->search_gave_up
             ? "; it may still fit: the search stopped at its limit"
             : "";
}

std::string_view preemption_part(const gang::NoFit& no_fit) {
  using gang::PreemptionOutcome;
  const auto* cause = std::get_if<InsufficientCapacity>(&no_fit);
  switch (cause == nullptr ? PreemptionOutcome::kNotSearched : cause->preemption) {
    case PreemptionOutcome::kNotEnough:
      return "; what may be preempted for it is not enough";
    case PreemptionOutcome::kSearchGaveUp:
      return "; preemption may help: the search for victims stopped at its limit";
    case PreemptionOutcome::kRateLimited:
      return "; its queue has reached its limit of preemptions for now";
    case PreemptionOutcome::kBackOff:
      return "; it preempts nothing for now, because its last start failed";
    case PreemptionOutcome::kControllerAway:
      return "; nothing is preempted until the controller (deployment nervex-operator) requeues "
             "what was preempted before";
    case PreemptionOutcome::kNotSearched:
      break;
  }
  return "";
}

// Which gang that is, is not said: it may be of another namespace.
std::string_view reservation_part(const gang::NoFit& no_fit) {
  using gang::ReservationOutcome;
  const auto* cause = std::get_if<InsufficientCapacity>(&no_fit);
  switch (cause == nullptr ? ReservationOutcome::kNone : cause->reservation) {
    case ReservationOutcome::kOwn:
      return "; nodes are reserved for the gang until it fits there";
    case ReservationOutcome::kOfOthers:
      return "; some nodes are reserved for another job: only jobs that end in time "
             "(activeDeadlineSeconds) or can be reclaimed (preemptible) start there";
    case ReservationOutcome::kNone:
      break;
  }
  return "";
}

// The user does not find this amount in the template.
std::string_view enlarged_part(const ResourceNeed& need) {
  return need.enlarged
             ? "; a LimitRange or a webhook raises the pods' requests above the template's"
             : "";
}

// Of a domain that holds the pods of the set, but not beside others.
std::string domain_part(const UnplacedSet& set) {
  if (!set.domain || is_about_domain(set) || is_without_domain(set)) return "";
  switch (set.domain->reason) {
    case DomainLimit::Reason::kPodAffinity:
      return fmt::format("; pod affinity requires them in one {}", set.domain->key);
    case DomainLimit::Reason::kTopology:
      return fmt::format("; topology requires them in one {}", set.domain->key);
    case DomainLimit::Reason::kNodeClasses:
      return "; they may use nodes of their nodeClasses alone";
  }
  return "";
}

}  // namespace

std::string explain_without_role(const gang::NoFit& no_fit) {
  std::string text =
      std::visit([](const auto& cause) -> std::string { return say(cause); }, no_fit);
  const UnplacedSet* set = gang::find_set(no_fit);
  const ResourceNeed* need = gang::find_need(no_fit);
  if (set != nullptr) text += domain_part(*set);
  if (set == nullptr || need == nullptr) return text;
  return text.append(search_part(no_fit))
      .append(preemption_part(no_fit))
      .append(reservation_part(no_fit))
      .append(reserved_part(*set))
      .append(enlarged_part(*need));
}

std::string explain(const gang::NoFit& no_fit) {
  const UnplacedSet* set = gang::find_set(no_fit);
  return (set == nullptr ? "" : set->role + ": ") + explain_without_role(no_fit);
}

}  // namespace nervex::placement
