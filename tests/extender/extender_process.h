// tests/extender/extender_process.h - the extender's parts that end with the process, fed by tests.
#pragma once

#include <algorithm>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "extender/act/lost_nodes.h"
#include "extender/act/planner.h"
#include "extender/bind/bind.h"
#include "extender/bind/routes.h"
#include "extender/observe/cluster_cache.h"
#include "extender/observe/live_objects.h"
#include "extender/watches.h"
#include "planner/bind/filter.h"
#include "tests/extender/held_binds.h"
#include "tests/support/feed.h"

namespace nervex::testing {

struct ExtenderOptions {
  extender::HoldOptions holds{};
  const Clock* hold_clock = nullptr;  // different from the other parts' clock
  planner::HealingOptions healing{};
  planner::PlanExpiryOptions plan_expiry{};
  std::chrono::milliseconds node_lost_after{60'000};
  queue::PreemptionMode preemption = queue::PreemptionMode::kOff;
  queue::ReservationOptions reservation = {};
};

struct ExtenderProcess {
  // Sends its requests to `api`, which may be a Door before `cluster`. Has listed nothing yet.
  ExtenderProcess(kube::Api& api, const FakeApi& cluster, const Clock& clock,
                  const ExtenderOptions& options = {})
      : cache(groups, pods, volumes, clock),
        planner(api, cache.planner, clock,
                {options.healing, options.preemption, options.reservation}, options.plan_expiry),
        holds(cache.binds, options.hold_clock != nullptr ? *options.hold_clock : clock,
              options.holds),
        binder(api, cache.binds, holds, pods, clock),
        lost_nodes(api, nodes, pods, clock, options.node_lost_after) {
    cache.observe_folds([this](const std::string& uid) { holds.group_changed(uid); });
    planner.begin_cycles_with([this] { return lost_nodes.mark_pods(); });
    const auto add = [&](const kube::ResourceKind& kind, kube::ReflectorSink sink) {
      feeds.push_back(std::make_unique<Feed>(cluster, kube::api_path(kind), std::move(sink)));
      return feeds.back().get();
    };
    node_feed = add(kube::kNodes, extender::node_sink(nodes, cache.updates, planner, &lost_nodes));
    pod_feed =
        add(kube::kPods, extender::pod_sink(pods, cache.updates, holds, planner, &lost_nodes));
    quota_feed = add(kube::kResourceQuotas, extender::quota_sink(quotas, cache.updates, planner));
    claim_feed = add(kube::kPersistentVolumeClaims,
                     extender::claim_sink(volumes.claims, cache.updates, planner));
    volume_feed = add(kube::kPersistentVolumes,
                      extender::volume_sink(volumes.volumes, cache.updates, planner));
    queue_feed = add(kube::kQueues, extender::queue_sink(queues, cache.updates, planner));
    namespace_feed =
        add(kube::kNamespaces, extender::namespace_sink(namespaces, cache.updates, planner));
    device_class_feed = add(kube::kDeviceClasses,
                            extender::device_class_sink(device_classes, cache.updates, planner));
    group_feed = add(kube::kPodGroups, extender::group_sink(groups, cache.updates, holds, planner));
  }

  void list(std::int64_t version) {
    for (auto& feed : feeds) feed->list(version);
  }
  void deliver(std::int64_t version) {
    for (auto& feed : feeds) feed->deliver(version);
  }
  bool knows(std::int64_t version) const {
    return std::all_of(feeds.begin(), feeds.end(),
                       [&](const auto& feed) { return feed->position() >= version; });
  }

  kube::Store<kube::Node> nodes;
  kube::Store<kube::Pod> pods;
  kube::Store<gang::PodGroup> groups;
  extender::VolumeStores volumes;
  kube::Store<kube::Quota> quotas;
  kube::Store<queue::Queue> queues;
  kube::Store<kube::Namespace> namespaces;
  kube::Store<kube::DeviceClass> device_classes;
  extender::ClusterCache cache;
  extender::Planner planner;
  extender::Holds holds;
  extender::Binder binder;
  extender::LostNodes lost_nodes;
  std::vector<std::unique_ptr<Feed>> feeds;
  Feed* node_feed = nullptr;
  Feed* pod_feed = nullptr;
  Feed* quota_feed = nullptr;
  Feed* claim_feed = nullptr;
  Feed* volume_feed = nullptr;
  Feed* queue_feed = nullptr;
  Feed* namespace_feed = nullptr;
  Feed* device_class_feed = nullptr;
  Feed* group_feed = nullptr;
  HeldBinds held{binder, holds};
};

}  // namespace nervex::testing
