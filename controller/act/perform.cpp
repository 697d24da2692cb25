#include "controller/act/perform.h"

#include <algorithm>
#include <atomic>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

#include "controller/act/writes.h"
#include "controller/decide/conditions.h"
#include "controller/decide/creation_failures.h"
#include "controller/decide/services.h"

namespace nervex::controller {

namespace {

std::optional<Failure> failure(const Result<Nothing>& done, std::string_view event_reason) {
  if (done) return std::nullopt;
  return Failure{done.error(), event_reason};
}

std::optional<Failure> failure(std::optional<Error> error, std::string_view event_reason) {
  if (!error) return std::nullopt;
  return Failure{*std::move(error), event_reason};
}

// One action after the other; each says how it failed, if it did.
struct Perform {
  Writes& writes;
  kube::EventRecorder& events;
  const job::Job& job;
  std::size_t parallel_writes;

  template <typename T>
  std::optional<Failure> each(const std::vector<T>& items, std::string_view event_reason,
                              Result<Nothing> (Writes::*write)(const T&)) const {
    return failure(slow_start(items.size(), parallel_writes,
                              [&](std::size_t i) { return (writes.*write)(items[i]); }),
                   event_reason);
  }

  // A name that somebody else holds fails for good. `failed_name` belongs to the error: where an
  // earlier object's failure may pass by itself, that one is the error.
  std::optional<Failure> create_each(const std::vector<Json>& manifests,
                                     Result<Nothing> (Writes::*write)(const Json&)) const {
    constexpr std::size_t kNone = ~std::size_t{0};
    std::atomic<std::size_t> definite = kNone;
    auto failed =
        failure(slow_start(manifests.size(), parallel_writes,
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
      failed->is_taken =
          failed->error.code == Code::kForbidden && writes.is_somebody_elses(manifests[definite]);
    }
    return failed;
  }

  std::optional<Failure> operator()(const CreatePodGroup& action) const {
    return failure(writes.create_pod_group(action.manifest), kFailedCreate);
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
  std::optional<Failure> operator()(const CreatePods& action) const {
    return create_each(action.manifests, &Writes::create_pod);
  }
  std::optional<Failure> operator()(const ConfirmFree& action) const {
    return failure(writes.confirm_free(action), "");
  }
  std::optional<Failure> operator()(const DeletePodGroups& action) const {
    return each(action.targets, kFailedDelete, &Writes::delete_pod_group);
  }
  std::optional<Failure> operator()(const DeletePods& action) const {
    return each(action.targets, kFailedDelete, &Writes::delete_pod);
  }
  // All are tried: one that somebody's policy forbids keeps no other pod.
  std::optional<Failure> operator()(const ReleasePods& action) const {
    std::mutex mutex;
    std::optional<Failure> first;
    const auto tried = slow_start(action.targets.size(), parallel_writes, [&](std::size_t i) {
      if (auto failed = failure(writes.release_pod(action.targets[i]), kFailedDelete)) {
        const std::lock_guard lock(mutex);
        if (!first) first = std::move(failed);
      }
      return ok();
    });
    return tried ? failure(tried, kFailedDelete) : first;
  }
  std::optional<Failure> operator()(const DeleteServices& action) const {
    return each(action.targets, kFailedDelete, &Writes::delete_service);
  }
  std::optional<Failure> operator()(const PatchPodGroup& action) const {
    return failure(writes.patch_pod_group(action), kFailedCreate);
  }
  std::optional<Failure> operator()(const UpdateStatus& action) const {
    return failure(writes.update_status(action.status), "");
  }
  std::optional<Failure> operator()(const DeleteJob&) const {
    return failure(writes.delete_job(), kFailedDelete);
  }
  std::optional<Failure> operator()(const RecordEvent& action) const {
    events.record({std::string(job::kApiVersion), std::string(job::kKind), job.meta.ns,
                   job.meta.name, job.meta.uid},
                  action.event);
    return std::nullopt;
  }
};

}  // namespace

Performer::Performer(kube::Api& api, Stores& stores, kube::EventRecorder& events,
                     std::size_t parallel_writes)
    : api_(api), stores_(stores), events_(events), parallel_writes_(parallel_writes) {}

std::optional<Failure> Performer::perform(const job::Job& job, const Actions& actions) {
  Writes writes(api_, stores_, job);
  const Perform perform{writes, events_, job, parallel_writes_};
  std::optional<Failure> not_released;
  for (const auto& action : actions) {
    auto failed = std::visit(perform, action);
    if (failed && !std::holds_alternative<ReleasePods>(action)) return failed;
    if (failed) not_released = std::move(failed);
  }
  return not_released;
}

namespace {

using Write = std::function<Result<Nothing>(std::size_t)>;

// Libraries may throw; a thread must not.
std::optional<Error> guarded(const Write& write, std::size_t i) {
  try {
    if (auto done = write(i); !done) return done.error();
  } catch (const std::exception& e) {
    return Error{Code::kInternal, e.what()};
  }
  return std::nullopt;
}

std::optional<Error> run_round(std::size_t first, std::size_t size, const Write& write) {
  std::vector<std::optional<Error>> errors(size);
  {
    std::vector<std::jthread> threads;
    for (std::size_t i = 1; i < size; ++i) {
      threads.emplace_back([&, i] { errors[i] = guarded(write, first + i); });
    }
    errors[0] = guarded(write, first);
  }  // joins
  const auto failed =
      std::find_if(errors.begin(), errors.end(), [](const auto& e) { return e.has_value(); });
  return failed == errors.end() ? std::nullopt : *failed;
}

}  // namespace

std::optional<Error> slow_start(std::size_t count, std::size_t limit, const Write& write) {
  std::size_t round = 1;
  for (std::size_t first = 0; first < count;) {
    const std::size_t size = std::min(round, count - first);
    if (auto error = run_round(first, size, write)) return error;
    first += size;
    round = std::min(round * 2, limit);
  }
  return std::nullopt;
}

}  // namespace nervex::controller
