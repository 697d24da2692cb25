// base/health.h - is this program alive, and can it do its work? What probes get.
#pragma once

#include <atomic>
#include <functional>
#include <string>
#include <vector>

#include "base/error.h"

namespace nervex {

// A check fails with the reason in words; the code does not matter. It runs in each probe, on the
// HTTP server's threads: thread-safe, and fast. Checks are added before probes can come.
class Health {
 public:
  using Check = std::function<Result<Nothing>()>;

  // Alive: false means that a restart would help. Never for what somebody else must repair.
  void add_live(std::string name, Check check);
  // Ready: false takes the program out of its service's endpoints.
  void add_ready(std::string name, Check check);

  // From now on the program is not ready: it is about to end. Thread-safe.
  void set_stopping() { stopping_ = true; }
  bool is_stopping() const { return stopping_; }

  // The message has one line "NAME: REASON" for each check that fails. Thread-safe.
  Result<Nothing> check_live() const;
  Result<Nothing> check_ready() const;

 private:
  struct Named {
    std::string name;
    Check check;
  };
  static std::string failures_of(const std::vector<Named>& checks);

  std::vector<Named> live_;
  std::vector<Named> ready_;
  std::atomic<bool> stopping_ = false;
};

}  // namespace nervex
