#include "controller/decide/round.h"

#include "controller/decide/refusals.h"

namespace nervex::controller {
namespace {

bool goes_on(const job::Status& status) {
  return status.phase != job::Phase::kNone && !is_final(status.phase);
}

}  // namespace

Round::Round(const Observed& observed) : Round(observed, current_attempt(observed)) {}

Round::Round(const Observed& observed, Attempt of)
    : seen(observed),
      attempt(std::move(of)),
      job(seen.job),
      requests_lost(controller::requests_lost(job)),
      slots(job, attempt.has_aggregator) {
  losses.replaced = job.status.replaced;
  if (attempt.group == nullptr || !goes_on(job.status)) return;
  job.status.ended = ended_slots(seen.job.status, attempt);
  slots.mark_over(job.status.ended);
  backing_off = slots_backing_off(seen, attempt, slots);
  placements = all_placements(attempt.group->status);
  if (requests_lost) return;
  vanished = vanished_pods(*this);
  losses = replace_lost(*this);
  if (losses.replaced == job.status.replaced) return;
  job.status.replaced = losses.replaced;
  slots = WantedSlots(job, attempt.has_aggregator);
}

}  // namespace nervex::controller
