#include "controller/act/perform.h"

#include <algorithm>
#include <atomic>
#include <functional>
#include <mutex>
#include <utility>
#include <vector>

#include "controller/act/writes.h"
#include "controller/decide/attempt/creation_failures.h"
#include "controller/decide/objects/services.h"
#include "controller/decide/reasons.h"

namespace nervex::controller {

namespace {

std::optional<Failure> failure(std::optional<Error> error, std::string_view event_reason) {
  if (!error) return std::nullopt;
  return Failure{*std::move(error), event_reason};
}

// Runs one action at a time; each returns its failure, if any.
struct Perform {
  Writes& writes;
  Stores& stores;
  kube::EventRecorder& events;
  const job::Job& job;
  WritePool& pool;

  std::optional<Failure> one(std::string_view event_reason,
                             const std::function<Result<Nothing>()>& write) const {
    return failure(pool.run(1, [&](std::size_t) { return write(); }), event_reason);
  }

  template <typename T>
  std::optional<Failure> each(const std::vector<T>& items, std::string_view event_reason,
                              Result<Nothing> (Writes::*write)(const T&)) const {
    return failure(pool.run(items.size(), [&](std::size_t i) { return (writes.*write)(items[i]); }),
                   event_reason);
  }

  // A target protected by a policy does not block the others. An error that may pass and would
  // affect the others too stops the rest, as do many refusals without a success.
  std::optional<Failure> let_go(const std::vector<Target>& targets,
                                Result<Nothing> (Writes::*write)(const Target&)) const {
    constexpr int kMostRefused = 100;
    std::mutex mutex;
    int refusals = 0;
    bool has_succeeded = false;
    std::optional<std::pair<std::size_t, Error>> refused;  // the first by index
    auto failed = pool.run(targets.size(), [&](std::size_t i) -> Result<Nothing> {
      auto done = (writes.*write)(targets[i]);
      const std::lock_guard lock(mutex);
      if (done) has_succeeded = true;
      if (done || !is_definite(done.error().code)) return done;
      if (!refused || i < refused->first) refused.emplace(i, done.error());
      if (++refusals >= kMostRefused && !has_succeeded) return done;
      return ok();
    });
    if (!failed && refused) failed = std::move(refused->second);
    return failure(std::move(failed), kFailedDelete);
  }

  // A name of another object is a permanent failure. `failed_name` belongs to the error: if an
  // earlier object's failure may pass, that one is the error.
  std::optional<Failure> create_each(const std::vector<Json>& manifests,
                                     Result<Nothing> (Writes::*write)(const Json&)) const {
    constexpr std::size_t kNone = ~std::size_t{0};
    std::atomic<std::size_t> definite = kNone;
    auto failed =
        failure(pool.run(manifests.size(),
                         [&](std::size_t i) {
                           auto done = (writes.*write)(manifests[i]);
                           if (!done && is_definite(done.error().code)) {
                             std::size_t first = definite;
                             while (i < first && !definite.compare_exchange_weak(first, i))
                               continue;
                           }
                           return done;
                         }),
                kFailedCreate);
    if (failed && definite != kNone) {
      failed->failed_name = kube::string_at(manifests[definite], {"metadata", "name"});
      failed->had_node_name = !kube::string_at(manifests[definite], {"spec", "nodeName"}).empty();
      failed->is_taken =
          failed->error.code == Code::kForbidden && writes.has_other_owner(manifests[definite]);
    }
    return failed;
  }

  std::optional<Failure> operator()(const CreatePodGroup& action) const {
    return one(kFailedCreate, [&] { return writes.create_pod_group(action); });
  }
  std::optional<Failure> operator()(const CreateServices& action) const {
    return create_each(action.manifests, &Writes::create_service);
  }
  std::optional<Failure> operator()(const CreateSharedService& action) const {
    const auto made = writes.create_shared_service(action.manifest);
    if (made && *made) return std::nullopt;
    Failure failed{made ? Error{Code::kForbidden, taken_service(job.meta.ns)} : made.error(),
                   kFailedCreate};
    failed.is_taken = made.has_value();
    failed.is_of_shared_service = true;
    return failed;
  }
  std::optional<Failure> operator()(const UpdateSharedService& action) const {
    auto failed = one(kFailedCreate, [&] { return writes.update_shared_service(action); });
    if (failed) failed->is_of_shared_service = true;
    return failed;
  }
  std::optional<Failure> operator()(const CreatePods& action) const {
    return create_each(action.manifests, &Writes::create_pod);
  }
  std::optional<Failure> operator()(const ConfirmFree& action) const {
    if (auto confirmed = writes.confirm_free(action); !confirmed) {
      return Failure{confirmed.error(), ""};
    }
    return std::nullopt;
  }
  std::optional<Failure> operator()(const DeletePodGroups& action) const {
    return each(action.targets, kFailedDelete, &Writes::delete_pod_group);
  }
  std::optional<Failure> operator()(const DeletePods& action) const {
    return let_go(action.targets, &Writes::delete_pod);
  }
  std::optional<Failure> operator()(const ReleasePods& action) const {
    return let_go(action.targets, &Writes::release_pod);
  }
  std::optional<Failure> operator()(const DeleteServices& action) const {
    return let_go(action.targets, &Writes::delete_service);
  }
  std::optional<Failure> operator()(const PatchPodGroup& action) const {
    return one(kFailedCreate, [&] { return writes.patch_pod_group(action); });
  }
  std::optional<Failure> operator()(const UpdateStatus& action) const {
    auto failed = one("", [&] { return writes.update_status(action.status); });
    if (failed && is_definite(failed->error.code)) failed->event_reason = kFailedStatusUpdate;
    return failed;
  }
  std::optional<Failure> operator()(const DeleteJob&) const {
    return one(kFailedDelete, [&] { return writes.delete_job(); });
  }
  std::optional<Failure> operator()(const DryRunPods& action) const {
    stores.dry_runs.ask({job.meta.key(), job.meta.uid, action.subject, action.time});
    return std::nullopt;
  }
  std::optional<Failure> operator()(const RecordEvent& action) const {
    events.record({std::string(job::kApiVersion), std::string(job::kKind), job.meta.ns,
                   job.meta.name, job.meta.uid},
                  action.event);
    return std::nullopt;
  }
};

template <typename T>
bool has_any(const Actions& actions) {
  return std::any_of(actions.begin(), actions.end(),
                     [](const Action& action) { return std::holds_alternative<T>(action); });
}

// True: the next actions follow anyway. Not for a Service that is deleted to be created again.
bool is_passed_over(const Action& action, const Failure& failed, const Actions& all) {
  if (std::holds_alternative<ReleasePods>(action)) return true;
  const bool is_deletion =
      std::holds_alternative<DeletePods>(action) ||
      (std::holds_alternative<DeleteServices>(action) && !has_any<CreateSharedService>(all));
  return is_deletion && is_definite(failed.error.code);
}

bool tells_of_deletion(const Action& action) {
  const auto* event = std::get_if<RecordEvent>(&action);
  return event != nullptr && event->event.reason == kSuccessfulDelete;
}

}  // namespace

Performer::Performer(kube::Api& api, Stores& stores, kube::EventRecorder& events, WritePool& pool)
    : api_(api), stores_(stores), events_(events), pool_(pool) {}

std::optional<Failure> Performer::perform(const job::Job& job, const Actions& actions) {
  Writes writes(api_, stores_, job);
  const Perform perform{writes, stores_, events_, job, pool_};
  std::optional<Failure> passed_over;
  for (const auto& action : actions) {
    if (passed_over && tells_of_deletion(action)) continue;
    auto failed = std::visit(perform, action);
    if (failed && !is_passed_over(action, *failed, actions)) return failed;
    if (failed) passed_over = std::move(failed);
  }
  if (passed_over) passed_over->goes_on = has_any<CreatePods>(actions);
  return passed_over;
}

}  // namespace nervex::controller
