#include "controller/decide/make_round.h"

#include <optional>
#include <utility>

#include "controller/decide/attempt/created_pods.h"
#include "controller/decide/attempt/creation_failures.h"
#include "controller/decide/attempt/replacement.h"
#include "controller/decide/objects/pod_group.h"
#include "controller/decide/round/pod_context.h"

namespace nervex::controller {

Round make_round(const Observed& seen) { return make_round(seen, current_attempt(seen)); }

namespace {

Round begin_round(const Observed& seen, Attempt attempt) {
  Round round(seen, std::move(attempt));
  job::Status& status = round.job.status;
  const gang::PodGroup* group = round.attempt.group;
  round.requests_lost = requests_lost(round.job);
  round.slots = WantedSlots(round.job, round.attempt.has_aggregator);
  status.services = service_mode(seen, round.attempt);
  const bool is_capped = round.job.spec.reservation_seconds > seen.max_reservation_seconds;
  status.max_reservation_seconds =
      is_capped ? std::optional(seen.max_reservation_seconds) : std::nullopt;
  status.returned_collector = job::returned_through(round.job, job::Role::kCollector);
  status.returned_learner = job::returned_through(round.job, job::Role::kLearner);
  round.losses.replaced = status.replaced;
  if (group == nullptr || !is_in_progress(status)) return round;

  status.ended = ended_slots(seen.job.status, round.attempt);
  round.slots.mark_over(status.ended);
  round.backing_off = slots_backing_off(seen, round.attempt, round.slots);
  round.placements = all_placements(group->status);
  if (round.requests_lost) return round;

  round.vanished = vanished_pods(round);
  round.losses = replace_lost(round);
  const bool has_news = round.losses.replaced != status.replaced;
  status.replaced = round.losses.replaced;
  if (!continue_exhausted(round.job) && !has_news) return round;
  round.slots = WantedSlots(round.job, round.attempt.has_aggregator);
  return round;
}

}  // namespace

Round make_round(const Observed& seen, Attempt attempt) {
  Round round = begin_round(seen, std::move(attempt));
  round.exceeds_pod_limit = finds_no_space(round);
  return round;
}

}  // namespace nervex::controller
