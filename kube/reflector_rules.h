// kube/reflector_rules.h - a watch or a list ended: what next, and when? Pure.
#pragma once

#include <chrono>
#include <optional>

#include "base/error.h"

namespace nervex::kube {

// How one request ended that was to bring a list, a watch or both.
struct RequestEnd {
  std::optional<Code> error;           // none: as it should, or by the server's time-out
  std::chrono::milliseconds lasted{};  // from the request to its end
  bool is_complete = false;            // the initial events had ended, if it began as a list
  bool brought_something = false;      // an event or a bookmark
};

struct NextTry {
  bool list = false;     // else watch from where we are
  bool at_once = false;  // else after the back-off
  int failures = 0;      // watches in a row that failed
  bool operator==(const NextTry&) const = default;
};

// A watch that ends sooner was not worth opening at once again (client-go's "very short watch").
inline constexpr std::chrono::milliseconds kWorthwhile{1'000};

// Bookmarks come about once a minute to a watch that asked for them (kubernetes.md, section 4).
// Without any for longer, the position itself is doubted: an etcd that was restored from a backup
// is behind it, and then a watch hears nothing at all until it has caught up.
inline constexpr std::chrono::milliseconds kSilence{120'000};

// The same doubt after so many short watches in a row: about ten minutes of back-off.
inline constexpr int kFailuresBeforeList = 20;

NextTry after_watch(const RequestEnd& end, int failures_before);

// May a streaming list have been refused by a server that does not know it (400, 422)? Then lists
// come in pages for good.
bool refuses_streaming(const RequestEnd& end);
// Or did it break off half-way? What came is lost then, where pages would get further each time.
bool broke_off(const RequestEnd& end);

}  // namespace nervex::kube
