#include "extender/watches.h"

#include "extender/observe/live_objects.h"

namespace nervex::extender {
namespace {

void tell_foreign(Holds& holds, const kube::PodPtr& before, const kube::PodPtr& after) {
  const std::string gang = foreign_gang_name(after ? *after : *before);
  if (gang.empty()) return;
  if (before && (!after || before->meta.uid != after->meta.uid)) {
    holds.foreign_pod_gone(gang, before->meta.uid, "the pod was deleted");
  } else if (after->meta.deleting && after->node.empty()) {
    holds.foreign_pod_gone(gang, after->meta.uid, "the pod is being deleted");
  } else if (before && after->node.empty() && !before->nominated_node.empty() &&
             after->nominated_node.empty()) {
    // While a bind is held only the planner does so.
    holds.foreign_pod_gone(gang, after->meta.uid, "the plan of the gang was dropped");
  }
  holds.foreign_changed(gang);
}

// The kubelet has started it, or it has ended.
bool has_begun(const kube::PodPtr& pod) {
  return pod && (pod->has_start_time || pod->is_finished());
}

void tell(Holds& holds, const kube::PodPtr& before, const kube::PodPtr& after) {
  const auto slot = gang::pod_slot(after ? *after : *before);
  if (!slot) return;
  const bool was_replaced = before && after && before->meta.uid != after->meta.uid;
  if (before && (!after || was_replaced)) {
    holds.pod_deleted(slot->pod_group_uid, before->meta.uid);
  }
  const bool was_bound = before && !was_replaced && !before->node.empty();
  // Its finalizer may keep it for a while, but it is no longer bound.
  if (after && after->meta.deleting && after->node.empty()) {
    holds.pod_deleted(slot->pod_group_uid, after->meta.uid);
  }
  const bool has_just_begun = has_begun(after) && (was_replaced || !has_begun(before));
  if (after && !after->node.empty() && (!was_bound || has_just_begun)) {
    holds.pod_bound(slot->pod_group_uid);
  }
}

}  // namespace

kube::ReflectorSink node_sink(kube::Store<kube::Node>& store, WatchUpdates& updates,
                              Planner& planner, LostNodes* lost_nodes) {
  return kube::sink_into<kube::Node>(
      store, kube::decode_node,
      [&updates, &planner, lost_nodes](const kube::NodePtr& before, const kube::NodePtr& after) {
        updates.node_changed(before, after);
        if (lost_nodes != nullptr) lost_nodes->node_changed(before, after);
        if (planner::matters(before, after)) planner.wake();
      });
}

kube::ReflectorSink pod_sink(kube::Store<kube::Pod>& store, WatchUpdates& updates, Holds& holds,
                             Planner& planner, LostNodes* lost_nodes) {
  kube::ReflectorSink sink = kube::sink_into<kube::Pod>(
      store, [](std::string_view json) { return kube::decode_pod(json, pod_filter()); },
      [&updates, &holds, &planner, lost_nodes](const kube::PodPtr& before,
                                               const kube::PodPtr& after) {
        const WatchUpdates::Look look = updates.pod_changed(before, after);
        tell(holds, before, after);
        if (foreign_pod_matters(before, after)) tell_foreign(holds, before, after);
        const bool is_on_lost_node = lost_nodes != nullptr && lost_nodes->pod_changed(after);
        if (look == WatchUpdates::Look::kNow || is_on_lost_node) {
          planner.wake();
        } else if (look == WatchUpdates::Look::kAtCapacity) {
          planner.wake_for_capacity();
        }
      });
  sink.begin_list = [&updates, begin = std::move(sink.begin_list)] {
    updates.pod_list_begins();
    begin();
  };
  sink.end_list = [&store, &updates, &planner,
                   end = std::move(sink.end_list)](std::string_view version) {
    end(version);
    if (updates.pods_listed(store)) planner.wake();
  };
  return sink;
}

kube::ReflectorSink group_sink(kube::Store<gang::PodGroup>& store, WatchUpdates& updates,
                               Holds& holds, Planner& planner) {
  return kube::sink_into<gang::PodGroup>(
      store, gang::parse_pod_group,
      [&](const gang::PodGroupPtr& before, const gang::PodGroupPtr& after) {
        updates.group_changed((after ? after : before)->meta.key());
        const bool is_gone = before && (!after || before->meta.uid != after->meta.uid);
        if (is_gone) holds.group_changed(before->meta.uid);
        if (after) holds.group_changed(after->meta.uid);
        planner.wake();
      });
}

kube::ReflectorSink claim_sink(kube::Store<kube::Claim>& store, WatchUpdates& updates,
                               Planner& planner) {
  using Ptr = std::shared_ptr<const kube::Claim>;
  return kube::sink_into<kube::Claim>(
      store, kube::decode_claim, [&](const Ptr& before, const Ptr& after) {
        if (before && after && before->volume == after->volume) return;  // only its status changed
        if (updates.claim_changed((after ? after : before)->meta.key())) planner.wake();
      });
}

kube::ReflectorSink volume_sink(kube::Store<kube::Volume>& store, WatchUpdates& updates,
                                Planner& planner) {
  using Ptr = std::shared_ptr<const kube::Volume>;
  return kube::sink_into<kube::Volume>(
      store, kube::decode_volume, [&](const Ptr& before, const Ptr& after) {
        if (before && after && before->node_terms == after->node_terms) return;
        if (updates.volume_changed((after ? after : before)->meta.name)) planner.wake();
      });
}

kube::ReflectorSink quota_sink(kube::Store<kube::Quota>& store, WatchUpdates& updates,
                               Planner& planner) {
  return kube::sink_into<kube::Quota>(store, kube::decode_quota,
                                      [&](const QuotaPtr& before, const QuotaPtr& after) {
                                        if (before && after && before->limits == after->limits &&
                                            before->not_best_effort == after->not_best_effort) {
                                          return;
                                        }
                                        if (updates.quota_changed(before, after)) planner.wake();
                                      });
}

kube::ReflectorSink queue_sink(kube::Store<queue::Queue>& store, WatchUpdates& updates,
                               Planner& planner) {
  return kube::sink_into<queue::Queue>(
      store, queue::parse_queue, [&](const QueuePtr& before, const QueuePtr& after) {
        const bool is_same_spec =
            before && after && before->uid == after->uid && before->generation == after->generation;
        // Changes of the status are mostly our own writes. Preemptions of a leader before this one
        // count.
        if (is_same_spec && before->preemptions == after->preemptions) return;
        updates.queue_changed(before, after);
        planner.wake();
      });
}

kube::ReflectorSink namespace_sink(kube::Store<kube::Namespace>& store, WatchUpdates& updates,
                                   Planner& planner) {
  return kube::sink_into<kube::Namespace>(
      store, kube::decode_namespace, [&](const NamespacePtr& before, const NamespacePtr& after) {
        if (before && after && before->meta.labels == after->meta.labels) return;
        if (updates.namespace_changed(before, after)) planner.wake();
      });
}

kube::ReflectorSink device_class_sink(kube::Store<kube::DeviceClass>& store, WatchUpdates& updates,
                                      Planner& planner) {
  return kube::sink_into<kube::DeviceClass>(
      store, kube::decode_device_class,
      [&](const kube::DeviceClassPtr& before, const kube::DeviceClassPtr& after) {
        if (updates.device_class_changed(before, after)) planner.wake();
      });
}

kube::ReflectorSink foreign_group_sink(kube::Store<kube::ForeignPodGroup>& store,
                                       WatchUpdates& updates, Holds& holds, Planner& planner) {
  return kube::sink_into<kube::ForeignPodGroup>(
      store, kube::decode_foreign_pod_group,
      [&](const kube::ForeignGroupPtr& before, const kube::ForeignGroupPtr& after) {
        updates.foreign_group_changed(before, after);
        holds.foreign_changed((after ? after : before)->meta.key());
        planner.wake();
      });
}

kube::ReflectorSink simulation_sink(kube::Store<planner::Simulation>& store, Simulator& simulator) {
  using Ptr = std::shared_ptr<const planner::Simulation>;
  return kube::sink_into<planner::Simulation>(store, planner::parse_simulation,
                                              [&simulator](const Ptr&, const Ptr& after) {
                                                if (after) simulator.look_at(after->meta.key());
                                              });
}

void add_watches(kube::Reflectors& watches, Stores& stores, WatchUpdates& updates, Holds& holds,
                 Planner& planner, LostNodes& lost_nodes, Simulator& simulator) {
  watches.add("nodes", kube::api_path(kube::kNodes), stores.nodes,
              node_sink(stores.nodes, updates, planner, &lost_nodes));
  watches.add("pods", kube::api_path(kube::kPods), stores.pods,
              pod_sink(stores.pods, updates, holds, planner, &lost_nodes));
  watches.add("resourcequotas", kube::api_path(kube::kResourceQuotas), stores.quotas,
              quota_sink(stores.quotas, updates, planner));
  watches.add("namespaces", kube::api_path(kube::kNamespaces), stores.namespaces,
              namespace_sink(stores.namespaces, updates, planner));
  watches.add("queues", kube::api_path(kube::kQueues), stores.queues,
              queue_sink(stores.queues, updates, planner));
  // Before the PodGroups that depend on them; a later change reaches those that are there.
  watches.add("persistentvolumeclaims", kube::api_path(kube::kPersistentVolumeClaims),
              stores.volumes.claims, claim_sink(stores.volumes.claims, updates, planner));
  watches.add("persistentvolumes", kube::api_path(kube::kPersistentVolumes), stores.volumes.volumes,
              volume_sink(stores.volumes.volumes, updates, planner));
  // Without them nodes would lack what a DeviceClass backs, and plans for it would be dropped.
  watches.add_awaited("deviceclasses", kube::api_path(kube::kDeviceClasses), stores.device_classes,
                      device_class_sink(stores.device_classes, updates, planner));
  watches.add("podgroups", kube::api_path(kube::kPodGroups), stores.groups,
              group_sink(stores.groups, updates, holds, planner));
  watches.add_optional("podgroups.scheduling.x-k8s.io", kube::api_path(kube::kForeignPodGroups),
                       stores.foreign_groups,
                       foreign_group_sink(stores.foreign_groups, updates, holds, planner),
                       [&updates](bool missing) { updates.set_foreign_kind_missing(missing); });
  // Optional, so that an upgrade may install its CRD later.
  watches.add_optional("simulations", kube::api_path(kube::kSimulations), stores.simulations,
                       simulation_sink(stores.simulations, simulator), [](bool) {});
}

}  // namespace nervex::extender
