#include "extender/bind/bind.h"

#include <fmt/format.h>

#include <memory>
#include <utility>

#include "base/log.h"
#include "extender/observe/live_objects.h"
#include "planner/bind/commit.h"

namespace nervex::extender {
namespace {

// Each 409 means that another write came first; there are few writers.
constexpr int kMostTries = 5;

Json binding_for(const kube::BindArgs& args) {
  return Json{{"apiVersion", "v1"},
              {"kind", "Binding"},
              {"metadata",
               {{"name", args.pod_name}, {"namespace", args.pod_namespace}, {"uid", args.pod_uid}}},
              {"target", {{"apiVersion", "v1"}, {"kind", "Node"}, {"name", args.node}}}};
}

Result<kube::Pod> read_live(kube::Api& api, const kube::BindArgs& args) {
  return read_pod(api, args.pod_namespace, args.pod_name, args.pod_uid);
}

// Ends the commit that BindCache::begin_commit() began, on every way out of the scope.
struct CommitGuard {
  BindCache& cache;
  const std::string& uid;
  const std::string& gang;
  Result<Nothing> result = Error{Code::kTransient, "the commit was interrupted"};
  BindCache::Outcome outcome = BindCache::Outcome::kUnconfirmed;

  ~CommitGuard() { cache.end_commit(uid, gang, result, outcome); }
};

gang::PodGroupStatus with_committed(gang::PodGroupStatus status, std::string_view gang,
                                    SysTime now) {
  for (gang::GangStatus& entry : status.gangs) {
    if (entry.name != gang) continue;
    entry.committed = true;
    entry.started_at = now;
    entry.refusals = {};
  }
  return status;
}

bool is_committed(const gang::PodGroup& group, std::string_view gang) {
  const gang::GangStatus* status = gang::find_gang(group.status, gang);
  return status != nullptr && status->committed;
}

Error cannot_start(const std::string& gang, const Error& error) {
  return with_context(fmt::format("gang {} cannot start now", gang), error);
}

}  // namespace

Result<Nothing> Binder::bind(const kube::BindArgs& args,
                             const std::function<bool()>& has_caller_left) {
  auto bind = prepare(args);
  if (!bind) return bind.error();
  if (bind->call) {
    if (auto held = wait(*bind, has_caller_left); !held) return held;
    const auto is_last = start(*bind);
    if (!is_last) return is_last.error();
    if (*is_last) {
      if (auto held = wait(*bind, has_caller_left); !held) return held;
    }
  }
  return finish(*bind);
}

Result<Binder::Bind> Binder::prepare(const kube::BindArgs& args) const {
  const auto pod = find_pod(args);
  if (!pod) return pod.error();
  if ((*pod)->meta.deleting) return Error{Code::kNotFound, "the pod is being deleted"};
  Bind bind{args, *pod, std::nullopt};
  if (const auto slot = gang::pod_slot(**pod)) {
    bind.call = {
        *slot, cache_.slot_seen(*slot).gang, (*pod)->meta.uid, planner::HoldUntil::kAllHere, {}};
    if (auto may = check(bind); !may) return may.error();
    cache_.note_bind_call(*slot);
  } else if (is_stray(**pod) ||
             !kube::annotation((*pod)->meta, gang::kPodGroupUidAnnotation).empty()) {
    return Error{Code::kInvalid, "the pod's gang annotations are damaged"};
  } else if (auto gang = foreign_gang_name(**pod); !gang.empty()) {
    const kube::PodPtr known = pods_.get((*pod)->meta.key());
    if (!known || known->meta.uid != args.pod_uid) {  // its gang cannot be counted yet
      return Error{Code::kTransient, "the pod was not seen yet, retrying"};
    }
    bind.call = {
        {}, std::move(gang), args.pod_uid, planner::HoldUntil::kQuorumHere, {known, args.node}};
  }
  return bind;
}

Result<Nothing> Binder::wait(const Bind& bind, const std::function<bool()>& has_caller_left) {
  const Holds::Outcome held = holds_.wait(*bind.call, has_caller_left);
  learn(bind, held);
  return held.result;
}

Result<bool> Binder::start(Bind& bind) {
  if (bind.call->until == planner::HoldUntil::kQuorumHere) return false;
  const planner::SlotSeen seen =
      cache_.slot_seen(bind.call->slot);  // the spec may have moved it to another gang
  if (auto done = commit(bind.call->slot.pod_group_uid, seen.gang); !done) return done.error();
  bind.call->gang = seen.gang;
  bind.call->until = planner::HoldUntil::kOthersBound;
  return seen.bind_last;
}

Result<Nothing> Binder::finish(const Bind& bind) {
  if (!bind.call) return write_binding(bind.args);
  if (bind.call->until != planner::HoldUntil::kQuorumHere) {  // else it was assumed with its gang
    if (auto may = check(bind); !may) return may;             // the placement may have moved since
    if (auto assumed = assume(bind); !assumed) return assumed;
  }
  auto bound = write_binding(bind.args);
  if (bound) return bound;
  if (bound.error().code == Code::kTransient) {  // it may be stored all the same
    cache_.note_unconfirmed_bind(bind.args.pod_uid, clock_.mono());
    wake_planner_();
  } else {
    cache_.forget(bind.call->slot, bind.args.pod_uid);
  }
  return bound;
}

Result<Nothing> Binder::check(const Bind& bind) const {
  const gang::PodSlot& slot = bind.call->slot;
  return planner::check_bind(slot, cache_.slot_seen(slot), bind.args.pod_namespace, bind.args.node);
}

Result<Nothing> Binder::assume(const Bind& bind) {
  const auto& [args, pod, call] = bind;
  auto other = cache_.assume(call->slot, *pod, args.node);
  if (other && *other && was_deleted_unseen(args.pod_namespace, **other)) {
    cache_.forget(call->slot, (*other)->uid);
    other = cache_.assume(call->slot, *pod, args.node);
  }
  const std::string slot = gang::slot_key(call->slot.role, call->slot.slot.ordinal);
  if (!other) return with_context(slot, other.error());
  if (!*other) return ok();
  return Error{Code::kConflict, fmt::format("{} is pod {} already", slot, (*other)->name)};
}

void Binder::learn(const Bind& bind, const Holds::Outcome& held) {
  if (held.refusals.empty()) return;
  const std::string& gang = bind.call->gang;
  gang::PodGroupPtr group = cache_.slot_seen(bind.call->slot).group;
  for (int tries = 0; tries < kMostTries && group; ++tries) {
    const auto status = planner::refuse_plan(*group, gang, held.refusals, clock_.now());
    if (!status) return;
    auto written = write_status(api_, *group, *status);
    if (written) {
      log_info("gang refused by kube-scheduler",
               {{"podgroup", group->meta.key()},
                {"gang", gang},
                {"message", gang::find_gang(*status, gang)->message}});
      return;  // the watch reports it to the planner, too
    }
    // It may still be stored; if not, the plan is looked at again at the next deadline.
    if (written.error().code != Code::kConflict) {
      return log_warn("podgroup status not written",
                      {{"podgroup", group->meta.key()}, {"error", written.error().message}});
    }
    auto live = read_pod_group(api_, *group);
    group = live ? std::make_shared<const gang::PodGroup>(*std::move(live)) : nullptr;
  }
}

Result<kube::PodPtr> Binder::find_pod(const kube::BindArgs& args) const {
  const kube::PodPtr known = pods_.get(args.pod_namespace + "/" + args.pod_name);
  if (known && known->meta.uid == args.pod_uid) return known;
  auto live = read_live(api_, args);
  if (!live) return live.error();
  return std::make_shared<const kube::Pod>(*std::move(live));
}

// No watch event reports a pod that was created and deleted while a list of all pods was under way.
bool Binder::was_deleted_unseen(const std::string& ns, const planner::NamedPod& pod) const {
  const kube::PodPtr known = pods_.get(ns + "/" + pod.name);
  if (known && known->meta.uid == pod.uid) return false;  // the watch will report its deletion
  const auto live = read_pod(api_, ns, pod.name, pod.uid);
  return !live && live.error().code == Code::kNotFound;
}

Result<Nothing> Binder::commit(const std::string& uid, const std::string& gang) {
  for (int tries = 0; tries < kMostTries; ++tries) {
    const auto begun = cache_.begin_commit(uid, gang);
    if (!begun) return cannot_start(gang, begun.error());
    if (std::holds_alternative<BindCache::Committed>(*begun)) return ok();
    auto written = write_commit(*std::get<BindCache::Commit>(*begun).group, gang);
    wake_planner_();
    if (!written && written.error().code != Code::kConflict) return written;
  }
  return cannot_start(gang, {Code::kConflict, "its PodGroup keeps changing"});
}

Result<Nothing> Binder::write_commit(const gang::PodGroup& group, const std::string& gang) {
  CommitGuard commit{cache_, group.meta.uid, gang};
  const auto written = write_status(api_, group, with_committed(group.status, gang, clock_.now()));
  const auto stored = written ? written : read_pod_group(api_, group);
  if (stored) cache_.fold(*stored);
  if (stored && is_committed(*stored, gang)) {
    commit.result = ok();
    commit.outcome = BindCache::Outcome::kKnown;
    log_info("gang committed", {{"podgroup", group.meta.key()}, {"gang", gang}});
    return ok();
  }
  if (written) return Error{Code::kInternal, "the commit was answered without being stored"};
  commit.result = written.error();
  if (written.error().code == Code::kConflict) commit.result = ok();  // other calls may retry
  // An earlier write whose reply was lost may be stored: only a read shows it.
  if (stored) commit.outcome = BindCache::Outcome::kKnown;
  return written.error();
}

Result<Nothing> Binder::write_binding(const kube::BindArgs& args) const {
  const std::string path =
      kube::api_path(kube::kPods, args.pod_namespace, args.pod_name, "binding");
  const auto reply =
      api_.send({"POST", path, kube::to_text(binding_for(args)), "application/json"});
  if (reply) return ok();
  const Code code = reply.error().code;
  if (code != Code::kConflict && code != Code::kTransient) return reply.error();
  const auto live = read_live(api_, args);  // bound by an earlier call whose reply was lost?
  if (live && live->node == args.node) return ok();
  return reply.error();
}

}  // namespace nervex::extender
