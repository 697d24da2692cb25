// kube/cache/reflector_rules.h - what does a reflector do next, and has it seen all that was stored
// when somebody asked? Pure.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/error.h"

namespace nervex::kube {

// ---- a watch or a list ended: what next, and when?

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
// Without any for longer, the position itself is not trusted: an etcd that was restored from a
// backup is behind it, and then a watch hears nothing at all until it has caught up.
inline constexpr std::chrono::milliseconds kSilence{120'000};

// The position is not trusted either after so many short watches in a row: about ten minutes of
// back-off.
inline constexpr int kFailuresBeforeList = 20;

NextTry after_watch(const RequestEnd& end, int failures_before);

// May a streaming list have been refused by a server that does not know it (400, 422)? Then lists
// come in pages for good.
bool refuses_streaming(const RequestEnd& end);
// Or did it break off half-way? What came is lost then, where pages would get further each time.
bool broke_off(const RequestEnd& end);

// ---- has a cache seen all that was stored when somebody asked?

// A leader that has just taken its lease asks this of every cache: what the leader before it wrote
// may not have come through a standby's watch yet. Two things answer a question: a complete list
// that was begun after it (lists are consistent reads), or a watch that has reached the version
// which a consistent read, made after the question, showed.
class Freshness {
 public:
  using Question = std::uint64_t;  // counts from 1; an answer to a later one answers the earlier

  void ask() { ++asked_; }
  Question asked() const { return asked_; }  // the latest one; 0: nobody has asked
  bool is_open() const { return answered_ < asked_; }

  // A list that was begun when `question` was the latest one is complete.
  void listed(Question question);
  // A consistent read, begun when `question` was the latest one, showed `version`, while the watch
  // was at `position`. False if the watch is beyond that version: then the history went back
  // (restored etcd), and only a list can answer.
  bool expect(Question question, std::string version, std::string_view position);
  // A version was asked for already, for the latest question.
  bool is_expecting() const { return is_open() && expected_for_ == asked_; }
  // The watch has reported everything up to `position`.
  void reached(std::string_view position);

 private:
  Question asked_ = 0;
  Question answered_ = 0;
  Question expected_for_ = 0;
  std::string expected_;
};

}  // namespace nervex::kube
