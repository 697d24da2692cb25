#include "placement/explain.h"

#include <fmt/format.h>

#include <algorithm>
#include <tuple>

#include "kube/model/resources.h"

namespace nervex::placement {

namespace {

std::string amount(const NoFit& no_fit) { return kube::format_need(no_fit.resource, no_fit.each); }

// remedy_for() reads these again.
constexpr std::string_view kNever = "can never fit";
constexpr std::string_view kNoNodeAllowed = "no node is allowed: ";
constexpr std::string_view kNoNodes = "the cluster has no nodes";
constexpr std::string_view kNoneFree = "no node has it free";
constexpr std::string_view kTooSmall = " too small";
constexpr std::string_view kFull = " full";
constexpr std::string_view kNotReady = " not ready";
constexpr std::string_view kCordoned = " cordoned";
constexpr std::string_view kAboveQuota = ", more than the quota allows at all";

// ", 3 are full"; nothing for none.
std::string nodes_that(int count, std::string_view one, std::string_view several) {
  return count == 0 ? "" : fmt::format(", {} {}", count, count == 1 ? one : several);
}

// Each as an administrator finds it with kubectl get nodes and kubectl describe node.
std::string not_allowed(const NoFit& no_fit) {
  return nodes_that(no_fit.nodes_tainted, "has an untolerated taint", "have untolerated taints") +
         nodes_that(no_fit.nodes_not_selected, "does not match nodeSelector or affinity",
                    "do not match nodeSelector or affinity") +
         nodes_that(no_fit.nodes_volume_elsewhere, "cannot reach its volume",
                    "cannot reach its volume") +
         nodes_that(no_fit.nodes_not_ready, "is not ready", "are not ready") +
         nodes_that(no_fit.nodes_cordoned, "is cordoned", "are cordoned") +
         nodes_that(no_fit.nodes_avoided, "is avoided after a pod was refused there",
                    "are avoided after pods were refused there");
}

std::string who(const NoFit& no_fit, std::string_view verb) {
  if (no_fit.wanted == 1)
    return fmt::format("{}: {}: it needs {}", no_fit.role, verb, amount(no_fit));
  return fmt::format("{}: {} of {} {}: each needs {}", no_fit.role, no_fit.unplaced, no_fit.wanted,
                     verb, amount(no_fit));
}

std::string explain_quota(const NoFit& no_fit) {
  std::string_view resource = no_fit.resource;
  if (constexpr std::string_view kRequests = "requests."; resource.starts_with(kRequests)) {
    resource.remove_prefix(kRequests.size());
  }
  const auto text = [&](std::int64_t of) { return kube::format_amount(resource, of); };
  const std::string used = text(no_fit.quota_used);
  return fmt::format(
      "over quota by {} {}: resourcequota {} allows {}, {} {} used{}, the gang needs {}{}",
      no_fit.resource, text(no_fit.each), no_fit.quota, text(no_fit.quota_hard), used,
      used == "1" ? "is" : "are",
      no_fit.quota_planned == 0 ? ""
                                : fmt::format(", {} more are planned", text(no_fit.quota_planned)),
      text(no_fit.quota_need), no_fit.quota_need > no_fit.quota_hard ? kAboveQuota : "");
}

std::string explain_nowhere(const NoFit& no_fit) {
  const std::string why = not_allowed(no_fit);
  if (why.empty()) return fmt::format("{}: {}", no_fit.role, kNoNodes);
  return fmt::format("{}: {}{}", no_fit.role, kNoNodeAllowed, why.substr(2));
}

std::string explain_never(const NoFit& no_fit) {
  const std::string others = not_allowed(no_fit);
  if (no_fit.together) {
    return fmt::format(
        "{}: {} beside the rest of its gang: {} needs {}; the nodes do not hold all pods of the "
        "gang even when empty{}",
        no_fit.role, kNever, no_fit.wanted == 1 ? "it" : "each", amount(no_fit), others);
  }
  const std::string start = who(no_fit, kNever);
  if (no_fit.most > 0) {
    return fmt::format("{}; the nodes have capacity for {} even when empty{}", start, no_fit.most,
                       others);
  }
  const std::string largest = kube::format_amount(no_fit.resource, no_fit.largest_node);
  if (no_fit.largest_node < no_fit.each) {
    return fmt::format("{}; the largest node has {} even when empty{}", start, largest, others);
  }
  return fmt::format("{} beside its other requests; no node has both even when empty{}", start,
                     others);
}

std::string explain_wait(const NoFit& no_fit) {
  const int free = no_fit.nodes_free;
  const std::string_view verb =
      no_fit.wanted == 1 || no_fit.unplaced == 1 ? "does not fit" : "do not fit";
  // "Not free" would send people to look for pods that are in the way.
  if (free + no_fit.nodes_full + no_fit.nodes_too_small == 0 && no_fit.nodes_avoided > 0) {
    return who(no_fit, verb) + "; no other node may be used: " + not_allowed(no_fit).substr(2);
  }
  const std::string now = free == 0   ? std::string(kNoneFree)
                          : free == 1 ? "1 node has it free"
                                      : fmt::format("{} nodes have it free", free);
  const std::string full = free > 0 ? nodes_that(no_fit.nodes_full, "more is full", "more are full")
                                    : nodes_that(no_fit.nodes_full, "is full", "are full");
  return who(no_fit, verb) + "; " + now + full +
         nodes_that(no_fit.nodes_too_small, "is too small", "are too small") + not_allowed(no_fit);
}

// A user who asked for no replicas yet shall know what is counted.
std::string reserved_part(const NoFit& no_fit) {
  if (no_fit.reserved == 0) return "";
  if (no_fit.wanted == 1) return "; it is to be reserved for requests (reservedReplicas)";
  const bool all = no_fit.reserved == no_fit.wanted;
  return fmt::format("; {} {} to be reserved for requests (reservedReplicas)",
                     all ? fmt::format("all {}", no_fit.wanted)
                         : fmt::format("{} of the {}", no_fit.reserved, no_fit.wanted),
                     no_fit.reserved == 1 ? "is" : "are");
}

// Rare, and nobody has to do anything; but it is not a fact that the gang does not fit.
std::string_view search_part(const NoFit& no_fit) {
  return no_fit.gave_up ? "; it may fit in a way that was not tried: the search has a limit" : "";
}

// A user who looks for this amount in the template does not find it.
std::string_view enlarged_part(const NoFit& no_fit) {
  return no_fit.enlarged ? "; a LimitRange or webhook makes its pods larger than their template"
                         : "";
}

std::string domain_part(const NoFit& no_fit) {
  return no_fit.domain.empty() ? ""
                               : fmt::format("; pod affinity wants them in one {}", no_fit.domain);
}

}  // namespace

std::string explain(const NoFit& no_fit) {
  if (!no_fit.quota.empty()) return explain_quota(no_fit);
  if (no_fit.resource.empty()) return explain_nowhere(no_fit) + domain_part(no_fit);
  std::string text = no_fit.never ? explain_never(no_fit) : explain_wait(no_fit);
  return text.append(domain_part(no_fit))
      .append(search_part(no_fit))
      .append(reserved_part(no_fit))
      .append(enlarged_part(no_fit));
}

Remedy remedy_for(std::string_view explanation) {
  const auto says = [&](std::string_view part) {
    return explanation.find(part) != std::string_view::npos;
  };
  if (says(kNever) || says(kAboveQuota)) return Remedy::kAskForLess;
  // Not one of the nodes that may be used is large enough.
  const bool none_will_do = says(kNoneFree) && says(kTooSmall) && !says(kFull);
  if (says(kNoNodeAllowed) || says(kNoNodes) || none_will_do) return Remedy::kAllowNodes;
  return says(kNotReady) || says(kCordoned) ? Remedy::kOpenNodes : Remedy::kWait;
}

bool same_cause(const NoFit& a, const NoFit& b) {
  // Whether any node is barred, not how many: an administrator who changes that looks for it. Free
  // and full nodes come and go with every pod.
  const auto kind = [](const NoFit& x) {
    return std::tuple(std::string_view(x.role), std::string_view(x.resource),
                      std::string_view(x.quota), std::string_view(x.domain), x.never, x.together,
                      x.never && x.most == 0, x.nodes_tainted > 0, x.nodes_not_selected > 0,
                      x.nodes_volume_elsewhere > 0, x.nodes_not_ready > 0, x.nodes_cordoned > 0,
                      x.nodes_avoided > 0);
  };
  return kind(a) == kind(b);
}

}  // namespace nervex::placement
