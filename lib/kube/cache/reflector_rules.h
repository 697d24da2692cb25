// kube/cache/reflector_rules.h - what does a reflector do next, and is its cache up to date? Pure.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/error.h"

namespace nervex::kube {

// ---- after a watch or a list: the next request and its time

// How a request for a list, a watch or both ended.
struct RequestEnd {
  std::optional<Code> error;           // none: normally, or by the server's timeout
  std::chrono::milliseconds lasted{};  // from the request to its end
  bool is_complete = false;            // if it began as a list: all initial events came
  bool brought_something = false;      // an event or a bookmark
  bool follows_list = false;           // it began as a list, or nothing has come since one
};

struct NextTry {
  bool list = false;     // else watch from the current position
  bool at_once = false;  // else after the back-off
  int failures = 0;      // consecutive failed watches
  bool operator==(const NextTry&) const = default;
};

// A watch that ends sooner is not reopened at once (client-go's "very short watch").
inline constexpr std::chrono::milliseconds kWorthwhile{1'000};

// Watches that ask for bookmarks get one about once a minute (kubernetes.md, section 4). After a
// longer silence the position itself is not trusted: an etcd restored from a backup is behind it,
// and a watch then gets nothing until etcd has caught up.
inline constexpr std::chrono::milliseconds kSilence{120'000};

// After this many short watches in a row, about ten minutes of back-off, the position is not
// trusted.
inline constexpr int kFailuresBeforeList = 20;

// An expired position needs a list, and the server answers again: the list comes at once,
// regardless of the back-off. Not if that position was a list's own: that would be a busy loop.
NextTry after_watch(const RequestEnd& end, int failures_before);

// Whether the server may have refused a streaming list because it does not support it (400, 422).
// All later lists then come in pages.
bool refuses_streaming(const RequestEnd& end);
// Whether it broke off midway. The received part is lost; pages would get further each time.
bool broke_off(const RequestEnd& end);

// ---- is a cache up to date with a question?

// A new leader asks this of every cache, because the previous leader's writes may not have reached
// a standby's watch yet. A question is answered by a complete list that began after it (lists are
// consistent reads), or by a watch that reached the version of a consistent read made after it.
class Freshness {
 public:
  using Question = std::uint64_t;  // counts from 1; a later answer covers earlier questions

  void ask() { ++asked_; }
  Question asked() const { return asked_; }  // the latest one; 0: none yet
  bool is_open() const { return answered_ < asked_; }

  // A list that was begun when `question` was the latest one is complete.
  void listed(Question question);
  // A consistent read, begun when `question` was the latest one, returned `version`, with the watch
  // at `position`. False if the watch is beyond that version: the history went back (restored
  // etcd), and only a list can answer.
  bool expect(Question question, std::string version, std::string_view position);
  // The version for the latest question is already known.
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
