#include "queue/inadmissible.h"

#include <array>
#include <type_traits>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "kube/model/resources.h"

namespace nervex::queue {
namespace {

// By Inadmissible::index().
constexpr std::array<std::string_view, std::variant_size_v<Inadmissible>> kInadmissibleCodes = {
    "QueueNotFound",    "QueueUnreadable", "NamespaceNotSelected",
    "NamespaceNotSeen", "QueueAmbiguous",  "ParentNotFound",
    "QueueCycle",       "QueueStopped",    "LimitExceeded",
    "NodeClassLimit",   "LimitKept"};

// "a and b", "a, b, c and 7 more": a cluster may have hundreds of queues.
std::string join_some(const std::vector<std::string>& names, std::string_view between) {
  constexpr std::size_t kMost = 5;
  if (names.size() <= kMost) return fmt::format("{}", fmt::join(names, between));
  return fmt::format("{}{}{} more", fmt::join(names.begin(), names.begin() + kMost, between),
                     between, names.size() - kMost);
}

struct Sentence {
  std::string operator()(const NamespaceNotSeen& reason) const {
    return fmt::format("the labels of namespace {} are not known yet", reason.ns);
  }
  std::string operator()(const QueueNotFound& reason) const {
    return fmt::format("queue {} does not exist", reason.queue);
  }
  std::string operator()(const QueueUnreadable& reason) const {
    return fmt::format("queue {} cannot be read: {}", reason.queue, reason.why);
  }
  std::string operator()(const NamespaceNotSelected& reason) const {
    return fmt::format("queue {} does not allow namespace {} (namespaceSelector)", reason.queue,
                       reason.ns);
  }
  std::string operator()(const QueueAmbiguous& reason) const {
    return fmt::format(
        "namespace {} is selected by the queues {}: name one in spec.queue of the job or in the "
        "namespace's label nervex.sensetime.com/queue",
        reason.ns, join_some(reason.queues, " and "));
  }
  std::string operator()(const ParentNotFound& reason) const {
    return fmt::format("queue {} has the parent {}, which does not exist", reason.queue,
                       reason.parent);
  }
  std::string operator()(const QueueCycle& reason) const {
    return fmt::format("the parents of the queues form a cycle: {} -> {}",
                       join_some(reason.queues, " -> "), reason.queues.front());
  }
  std::string operator()(const QueueStopped& reason) const {
    return fmt::format("queue {} is stopped", reason.queue);
  }
  std::string operator()(const NodeClassLimit& reason) const {
    std::string left;
    for (const auto& [node_class, amount] : reason.left) {
      left += fmt::format("{}{} on {}", left.empty() ? "" : ", ",
                          kube::format_amount(reason.resource, amount), node_class);
    }
    return fmt::format(
        "it does not fit the nodes that queue {} may still use: of {} its limits leave {}",
        reason.queue, reason.resource, left);
  }
  std::string operator()(const LimitKept& reason) const {
    const std::string others =
        reason.until ? fmt::format("; what ends before {} still starts", to_rfc3339(*reason.until))
                     : std::string();
    return fmt::format(
        "{} leaves {} {} beside what is kept for a job that is ahead and has waited long, {} are "
        "needed{}",
        reason.quota.empty() ? "the limit of queue " + reason.queue : "quota " + reason.quota,
        reason.resource, kube::format_amount(reason.resource, reason.left),
        kube::format_amount(reason.resource, reason.need), others);
  }
  std::string operator()(const LimitExceeded& reason) const {
    const auto amount = [&](std::int64_t value) {
      return kube::format_amount(reason.resource, value);
    };
    if (reason.need > reason.limit) {
      return fmt::format("{} {} are needed, more than the limit of queue {}, {}", reason.resource,
                         amount(reason.need), reason.queue, amount(reason.limit));
    }
    return fmt::format("the limit of queue {} is {} {}: {} are used, {} are needed", reason.queue,
                       reason.resource, amount(reason.limit), amount(reason.used),
                       amount(reason.need));
  }
};

}  // namespace

gang::NotAdmitted describe(const Inadmissible& reason) {
  gang::NotAdmitted out{std::string(code(reason)), "", "", explain(reason)};
  std::visit(
      [&out](const auto& rule) {
        if constexpr (requires { rule.queue; }) out.queue = rule.queue;
        if constexpr (requires { rule.resource; }) out.resource = rule.resource;
        if constexpr (requires { rule.limit; }) {
          out.is_too_large = rule.need > rule.limit;
        }
      },
      reason);
  return out;
}

std::string_view code(const Inadmissible& reason) { return kInadmissibleCodes[reason.index()]; }

std::string explain(const Inadmissible& reason) { return std::visit(Sentence{}, reason); }

bool same_cause(const Inadmissible& a, const Inadmissible& b) {
  if (a.index() != b.index()) return false;
  return std::visit(
      [&b](const auto& rule) {
        const auto& other = std::get<std::decay_t<decltype(rule)>>(b);
        if constexpr (requires { rule.need; }) {
          return rule.queue == other.queue && rule.resource == other.resource;
        } else {
          return rule == other;
        }
      },
      a);
}

}  // namespace nervex::queue
