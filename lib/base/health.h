// base/health.h - is this program alive, and can it work? The answers to probes.
#pragma once

#include <atomic>
#include <functional>
#include <string>
#include <vector>

#include "base/error.h"

namespace nervex {

// A check fails with a reason in words; its code is ignored. It runs in each probe, on threads of
// the HTTP server: thread-safe, and fast. Add checks before probes can come.
class Health {
 public:
  using Check = std::function<Result<Nothing>()>;

  // Alive: false means that a restart would help. Never for problems outside this program.
  void add_live(std::string name, Check check);
  // Ready: false removes the program from its Service's endpoints.
  void add_ready(std::string name, Check check);

  // From now on the program is not ready, because it is ending. Thread-safe.
  void set_stopping() { stopping_ = true; }
  bool is_stopping() const { return stopping_; }

  // The message has one line "NAME: REASON" for each failing check. Thread-safe.
  Result<Nothing> check_live() const;
  Result<Nothing> check_ready() const;

 private:
  struct Named {
    std::string name;
    Check check;
  };
  static std::string collect_failures(const std::vector<Named>& checks);

  std::vector<Named> live_;
  std::vector<Named> ready_;
  std::atomic<bool> stopping_ = false;
};

}  // namespace nervex
