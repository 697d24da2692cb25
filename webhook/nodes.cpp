#include "webhook/nodes.h"

#include <string_view>
#include <utility>
#include <vector>

#include "kube/api.h"
#include "kube/cache/reflector.h"

namespace nervex::webhook {
namespace {

constexpr std::chrono::seconds kViewAge{5};
// Approximate maximum of one plan: copies of the largest accepted job, and rows of nodes.
constexpr std::size_t kPlanBytes = 16 << 20;
constexpr std::size_t kPlansAtOnce = 2;
constexpr std::chrono::milliseconds kPlanWait{500};

}  // namespace

Nodes::Nodes(kube::Reflectors& watches, const Clock& clock)
    : clock_(clock), plans_(kPlansAtOnce * kPlanBytes) {
  kube::ReflectorSink sink = kube::sink_into<kube::Node>(store_, kube::decode_node, nullptr);
  sink.end_list = [this, ended = std::move(sink.end_list)](std::string_view version) {
    ended(version);
    const MutexLock lock(mutex_);
    listed_ = true;
  };
  watches.add_optional("nodes", kube::api_path(kube::kNodes), store_, std::move(sink), [](bool) {});
}

std::shared_ptr<const placement::Cluster> Nodes::view() {
  const MutexLock lock(mutex_);
  if (!listed_) return nullptr;
  if (!view_ || clock_.mono() >= viewed_ + kViewAge) {
    std::vector<placement::NodeView> views;
    for (const auto& node : store_.all()) views.push_back({node, node->allocatable});
    view_ = std::make_shared<const placement::Cluster>(views);
    viewed_ = clock_.mono();
  }
  return view_;
}

CapacityVerdict Nodes::find_never_fitting(const Json& object, const Json& stored) {
  const auto share = plans_.take(kPlanBytes, kPlanWait);
  const auto nodes = share ? view() : nullptr;
  CapacityVerdict verdict;
  if (!nodes) return verdict;
  verdict.object = webhook::find_never_fitting(object, *nodes);
  if (verdict.object && !stored.is_null()) {
    verdict.stored = webhook::find_never_fitting(stored, *nodes);
  }
  return verdict;
}

}  // namespace nervex::webhook
