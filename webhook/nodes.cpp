#include "webhook/nodes.h"

#include <string_view>
#include <utility>
#include <vector>

#include "kube/api.h"
#include "kube/cache/reflector.h"

namespace nervex::webhook {
namespace {

constexpr std::chrono::seconds kViewAge{5};

}  // namespace

Nodes::Nodes(kube::Reflectors& watches, const Clock& clock) : clock_(clock) {
  kube::ReflectorSink sink = kube::sink_into<kube::Node>(store_, kube::decode_node, nullptr);
  sink.end_list = [this, ended = std::move(sink.end_list)](std::string_view version) {
    ended(version);
    const MutexLock lock(mutex_);
    listed_ = true;
  };
  watches.add_optional("nodes", kube::api_path(kube::kNodes), store_, std::move(sink), [](bool) {});
}

std::optional<NeverFits> Nodes::find_never_fitting(const Json& object) {
  const MutexLock lock(mutex_);
  if (!listed_) return std::nullopt;
  if (!view_ || clock_.mono() >= viewed_ + kViewAge) {
    std::vector<gang::NodeView> views;
    for (const auto& node : store_.all()) views.push_back({node, node->allocatable});
    view_.emplace(views);
    viewed_ = clock_.mono();
  }
  return webhook::find_never_fitting(object, *view_);
}

}  // namespace nervex::webhook
