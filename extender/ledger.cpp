#include "extender/ledger.h"

#include <fmt/format.h>

#include <algorithm>

#include "kube/model/anti_affinity.h"

namespace nervex::extender {
namespace {

const char* reason_text(kube::NodeFit fit) {
  switch (fit) {
    case kube::NodeFit::kAllowed:
      break;
    case kube::NodeFit::kNotReady:
      return "not ready";
    case kube::NodeFit::kUnschedulable:
      return "cordoned";
    case kube::NodeFit::kTainted:
      return "tainted";
    case kube::NodeFit::kNotSelected:
      return "not selected any more";
    case kube::NodeFit::kVolumeElsewhere:
      return "out of reach of a volume";
  }
  return "allowed";
}

}  // namespace

const gang::NodeView* Ledger::find(std::string_view name) const {
  const auto at = std::lower_bound(
      nodes_.begin(), nodes_.end(), name,
      [](const gang::NodeView& view, std::string_view wanted) { return view.node->name < wanted; });
  return at == nodes_.end() || at->node->name != name ? nullptr : &*at;
}

gang::NodeView* Ledger::find(std::string_view name) {
  return const_cast<gang::NodeView*>(std::as_const(*this).find(name));
}

std::string_view Ledger::shared_and_taken(const gang::MemberSet& set,
                                          const gang::NodeView& view) const {
  for (const auto& [resource, amount] : set.shape.requests.amounts()) {
    const std::string_view key = kube::topology_key_of(resource);
    if (key.empty() || key == kube::kHostname) continue;
    const auto value = view.node->labels.find(key);
    if (value == view.node->labels.end()) continue;
    const bool is_taken = std::any_of(nodes_.begin(), nodes_.end(), [&](const auto& other) {
      if (other.free.get(resource) >= 0) return false;
      const auto its = other.node->labels.find(key);
      return its != other.node->labels.end() && its->second == value->second;
    });
    if (is_taken) return resource;
  }
  return {};
}

bool Ledger::is_plain(std::string_view node) const {
  const gang::NodeView* view = find(node);
  return view != nullptr && view->node->ready && !view->node->unschedulable &&
         view->node->taints.empty();
}

std::string Ledger::objection(const gang::MemberSet& set, std::string_view node) const {
  const gang::NodeView* view = find(node);
  if (view == nullptr) return fmt::format("node {} was deleted", node);
  const kube::NodeFit fit = kube::judge(*view->node, set.shape.constraints);
  return fit == kube::NodeFit::kAllowed ? "" : fmt::format("node {} is {}", node, reason_text(fit));
}

Result<Nothing> Ledger::check(const gang::MemberSet& set, std::string_view node) const {
  if (auto why = objection(set, node); !why.empty()) return Error{Code::kConflict, std::move(why)};
  const gang::NodeView* view = find(node);
  std::string lacking(set.shape.requests.first_lacking(view->free));
  if (lacking.empty()) lacking = shared_and_taken(set, *view);
  if (lacking.empty()) return ok();
  if (const auto key = kube::topology_key_of(lacking); !key.empty()) {
    return Error{
        Code::kConflict,
        fmt::format("{} keeps apart by {} from a pod on node {} or near it", set.role, key, node)};
  }
  if (kube::is_implicit(lacking)) {
    return Error{Code::kConflict, fmt::format("{} is taken on node {} and {} needs it",
                                              kube::format_need(lacking, 1), node, set.role)};
  }
  return Error{Code::kConflict,
               fmt::format("node {} has {} {} left and {} needs {}", node,
                           kube::format_amount(lacking, view->free.get(lacking)), lacking, set.role,
                           kube::format_amount(lacking, set.shape.requests.get(lacking)))};
}

bool Ledger::fits(const gang::MemberSet& set, std::string_view node) const {
  const gang::NodeView* view = find(node);
  return view != nullptr && set.shape.requests.fits_in(view->free) &&
         kube::judge(*view->node, set.shape.constraints) == kube::NodeFit::kAllowed &&
         shared_and_taken(set, *view).empty();
}

bool Ledger::has_capacity(const gang::MemberSet& set, std::string_view node) const {
  const gang::NodeView* view = find(node);
  return view != nullptr && set.shape.requests.fits_in(view->free);
}

bool Ledger::has_capacity_for_its_own(const gang::MemberSet& set, std::string_view node) {
  gang::NodeView* view = find(node);
  if (view == nullptr) return false;
  view->free += set.shape.requests;
  const bool fits = set.shape.requests.fits_in(view->free);
  view->free -= set.shape.requests;
  return fits;
}

bool Ledger::is_allowed(const gang::MemberSet& set, std::string_view node) const {
  return objection(set, node).empty();
}

void Ledger::take(const gang::MemberSet& set, std::string_view node) {
  if (gang::NodeView* view = find(node)) view->free -= set.shape.requests;
}

void Ledger::give_back(const gang::MemberSet& set, std::string_view node) {
  if (gang::NodeView* view = find(node)) view->free += set.shape.requests;
  has_given_back_ = true;
}

}  // namespace nervex::extender
