#include "extender/ledger.h"

#include <fmt/format.h>

#include <algorithm>

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
  const std::string lacking(set.shape.requests.first_lacking(view->free));
  if (lacking.empty()) return ok();
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
         kube::judge(*view->node, set.shape.constraints) == kube::NodeFit::kAllowed;
}

bool Ledger::has_capacity(const gang::MemberSet& set, std::string_view node) const {
  const gang::NodeView* view = find(node);
  return view != nullptr && set.shape.requests.fits_in(view->free);
}

bool Ledger::is_allowed(const gang::MemberSet& set, std::string_view node) const {
  const gang::NodeView* view = find(node);
  return view != nullptr &&
         kube::judge(*view->node, set.shape.constraints) == kube::NodeFit::kAllowed;
}

void Ledger::take(const gang::MemberSet& set, std::string_view node) {
  if (gang::NodeView* view = find(node)) view->free -= set.shape.requests;
}

void Ledger::give_back(const gang::MemberSet& set, std::string_view node) {
  if (gang::NodeView* view = find(node)) view->free += set.shape.requests;
}

}  // namespace nervex::extender
