// base/http_body.h - how does a request's body get here, and may it? Reads from the connection.
#pragma once

#include <atomic>
#include <cstddef>
#include <string>
#include <variant>

#include "base/connection.h"
#include "base/http_head.h"

namespace nervex {

// What all bodies of a server that are large may hold of its memory at once: connections times the
// largest body would be more than any container has. Thread-safe.
class BodyBudget {
 public:
  explicit BodyBudget(std::size_t bytes) : bytes_(bytes) {}

 private:
  friend class BodyShare;
  const std::size_t bytes_;
  std::atomic<std::size_t> used_ = 0;
};

// One body's part of the budget, for as long as this lives. Small bodies (64 KiB) are free.
class BodyShare {
 public:
  explicit BodyShare(BodyBudget& budget) : budget_(budget) {}
  ~BodyShare() { budget_.used_ -= held_; }
  BodyShare(const BodyShare&) = delete;
  BodyShare& operator=(const BodyShare&) = delete;

  // False if there is not so much left; the share is then as before.
  bool grow_to(std::size_t bytes);

 private:
  BodyBudget& budget_;
  std::size_t held_ = 0;
};

// Reads as many bytes as `head` says, in the time that the connection's deadline leaves. Memory is
// taken as bytes arrive, not as they are announced. Refusals: 408 it does not arrive in time, 400
// it ends too early or is framed wrongly, 413 it is too large, 503 the budget is used up.
std::variant<std::string, HttpRefusal> read_http_body(Connection& connection, const HttpHead& head,
                                                      const HttpHeadLimits& limits,
                                                      BodyShare& share);

}  // namespace nervex
