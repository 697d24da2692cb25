#include "webhook/nodes.h"

#include <algorithm>
#include <string_view>
#include <utility>

#include "kube/api.h"
#include "kube/cache/reflector.h"

namespace nervex::webhook {
namespace {

constexpr std::chrono::seconds kViewAge{5};
// Approximate maximum of one plan: copies of the largest accepted job, and rows of nodes.
constexpr std::size_t kPlanBytes = 16 << 20;
constexpr std::size_t kPlansAtOnce = 2;
constexpr std::chrono::milliseconds kPlanWait{500};
// An answer holds as long as its view. This frees memory of jobs that do not come again.
constexpr std::chrono::minutes kAnswerAge{10};
constexpr std::size_t kAnswersBytes = std::size_t{1} << 20U;

// Kubelets write their nodes every few minutes, mostly without a change.
bool is_same(const std::shared_ptr<const kube::Node>& a,
             const std::shared_ptr<const kube::Node>& b) {
  if (a == b) return true;
  kube::Node written = *a;
  written.resource_version = b->resource_version;
  return written == *b;
}

// What kube-scheduler allocates from devices never counts against a job.
placement::Cluster make_cluster(const std::vector<std::shared_ptr<const kube::Node>>& nodes,
                                const std::vector<std::string>& delegated) {
  std::vector<placement::NodeView> views;
  for (const auto& node : nodes) {
    auto seen = std::make_shared<kube::Node>(*node);
    seen->allocatable = kube::with_delegated(node->allocatable, delegated);
    kube::Resources free = seen->allocatable;
    views.push_back({std::move(seen), std::move(free)});
  }
  return views;
}

std::size_t estimate_bytes(const std::optional<NeverFits>& answer) {
  return sizeof answer + (answer ? answer->field.size() + answer->why.size() : 0);
}

}  // namespace

Nodes::Nodes(kube::Reflectors& watches, const Clock& clock)
    : clock_(clock), answers_(kAnswersBytes), plans_(kPlansAtOnce * kPlanBytes) {
  kube::ReflectorSink sink = kube::sink_into<kube::Node>(store_, kube::decode_node, nullptr);
  sink.end_list = [this, ended = std::move(sink.end_list)](std::string_view version) {
    ended(version);
    const MutexLock lock(mutex_);
    are_nodes_listed_ = true;
  };
  watches.add_optional("nodes", kube::api_path(kube::kNodes), store_, std::move(sink), [](bool) {});
  sink = kube::sink_into<kube::DeviceClass>(classes_, kube::decode_device_class, nullptr);
  sink.end_list = [this, ended = std::move(sink.end_list)](std::string_view version) {
    ended(version);
    const MutexLock lock(mutex_);
    are_classes_listed_ = true;
  };
  watches.add_optional("deviceclasses", kube::api_path(kube::kDeviceClasses), classes_,
                       std::move(sink), [](bool) {});
}

std::shared_ptr<const Nodes::View> Nodes::view() {
  const MutexLock lock(mutex_);
  if (!are_nodes_listed_ || !are_classes_listed_) return nullptr;
  if (view_ && clock_.mono() < viewed_ + kViewAge) return view_;
  viewed_ = clock_.mono();
  NodeList nodes = store_.all();
  auto delegated = kube::backed_resources(classes_.all());
  if (view_ && view_->delegated == delegated && std::ranges::equal(view_->nodes, nodes, is_same)) {
    return view_;
  }
  auto cluster = make_cluster(nodes, delegated);
  view_ = std::make_shared<const View>(View{view_ ? view_->version + 1 : 1, std::move(nodes),
                                            std::move(delegated), std::move(cluster)});
  return view_;
}

std::optional<std::optional<NeverFits>> Nodes::known(const Hash128& needs) {
  const MutexLock lock(mutex_);
  const auto* answer = answers_.find(needs, clock_.mono());
  if (answer == nullptr) return std::nullopt;
  return std::make_optional(*answer);
}

std::optional<NeverFits> Nodes::judge(const Json& object, const View& view) {
  const Hash128 needs = hash_needs(SipHash(hash_key_).add(view.version), object);
  if (const auto answer = known(needs)) return *answer;
  const auto share = plans_.take(kPlanBytes, kPlanWait);
  if (!share) return std::nullopt;
  // Another review may have judged such a job while this one waited.
  if (const auto answer = known(needs)) return *answer;
  auto answer = webhook::find_never_fitting(object, view.cluster);
  if (!answer) return std::nullopt;
  const MutexLock lock(mutex_);
  const MonoTime now = clock_.mono();
  answers_.put(needs, *answer, estimate_bytes(*answer), now + kAnswerAge, now);
  return *std::move(answer);
}

CapacityVerdict Nodes::find_never_fitting(const Json& object, const Json& stored) {
  CapacityVerdict verdict;
  const auto nodes = view();
  if (!nodes) return verdict;
  verdict.object = judge(object, *nodes);
  if (verdict.object && !stored.is_null()) verdict.stored = judge(stored, *nodes);
  return verdict;
}

}  // namespace nervex::webhook
