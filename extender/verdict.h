// extender/verdict.h - what does a gang's status say, and when is it worth saying again? Pure.
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <string_view>

#include "gang/explain.h"
#include "gang/pod_group.h"

namespace nervex::extender {

// An explanation whose numbers alone changed is rewritten at most this often.
inline constexpr std::chrono::milliseconds kRetellAfter{60'000};

// The explanation that a status carries.
struct LastReported {
  gang::NoFit no_fit;
  SysTime at{};  // when it was written
};

struct Verdict {
  std::string reason;
  std::string message;
  SysTime since{};
  std::optional<LastReported> told;  // of a gang that waits: to be given again next time
  // The message says less than is known; look again after this.
  std::optional<std::chrono::milliseconds> retell_after;
};

Verdict planned_verdict(const gang::GangStatus* before, std::size_t pods, SysTime now);

// The API server does not store a plan of so many pods; `words` are its own.
Verdict refused_verdict(const gang::GangStatus* before, std::size_t pods, std::string_view message,
                        SysTime now);

// `told` is what the same function answered when `before` was written; null: not known.
Verdict waiting_verdict(const gang::GangStatus* before, const gang::NoFit& no_fit,
                        const LastReported* told, SysTime now);

}  // namespace nervex::extender
