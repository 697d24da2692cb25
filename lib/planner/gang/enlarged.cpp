#include "planner/gang/enlarged.h"

#include <algorithm>
#include <chrono>

#include "base/backoff.h"

namespace nervex::planner {
namespace {

using std::chrono::milliseconds;

constexpr milliseconds kFirst{600'000};
constexpr milliseconds kLongest = 64 * kFirst;
// A time further ahead than this comes from a wrong clock.
constexpr int kClocksDiffer = 2;

milliseconds lasts(int times) { return backoff_delay(kFirst, times - 1, kLongest); }

}  // namespace

SetSize compute_set_size(const gang::MemberSet& set, const gang::EnlargedSet* known,
                         const kube::Resources& seen) {
  SetSize size{set.shape.requests, std::nullopt};
  size.requests.raise_to(set.admitted.requests);
  if (known != nullptr && known->answer >= set.admitted.answer) {
    size.enlarged = *known;
    size.requests.raise_to(known->requests);
  }
  const kube::Resources before = size.requests;
  size.requests.raise_to(seen);
  if (size.requests == before) return size;
  gang::EnlargedSet learned{
      set.name, kube::without_implicit(size.requests), 1, {}, set.admitted.answer};
  if (size.enlarged) {
    const bool was_tried_without = size.enlarged->requests.empty();
    learned.times = size.enlarged->times + (was_tried_without ? 1 : 0);
  }
  size.enlarged = std::move(learned);
  return size;
}

EnlargedSets age_enlarged(std::vector<gang::EnlargedSet> known, const std::vector<GangWork>& gangs,
                          SysTime now) {
  EnlargedSets out{std::move(known), std::nullopt};
  const auto waits = [&](const std::string& name) {
    return std::any_of(gangs.begin(), gangs.end(), [&](const GangWork& gang) {
      return gang.no_fit && std::any_of(gang.sets.begin(), gang.sets.end(),
                                        [&](const auto* set) { return set->name == name; });
    });
  };
  for (gang::EnlargedSet& set : out.sets) {
    if (set.requests.empty()) continue;
    const bool is_new = set.until == SysTime{};
    if (is_new || set.until > now + kClocksDiffer * lasts(set.times)) {
      set.until = now + lasts(set.times);
    }
    if (!waits(set.set)) continue;
    if (set.until <= now) {
      set.requests = {};
      out.look_again = now;
    } else if (!out.look_again || set.until < *out.look_again) {
      out.look_again = set.until;
    }
  }
  return out;
}

}  // namespace nervex::planner
