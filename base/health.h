// base/health.h - is this program alive, and can it do its work? What probes are told.
#pragma once

#include <atomic>
#include <functional>
#include <string>
#include <vector>

namespace nervex {

// A check returns "" if all is well, else the reason in words. It runs in each probe, on the HTTP
// server's threads: thread-safe, and fast. Checks are added before probes can come.
class Health {
 public:
  using Check = std::function<std::string()>;

  // Alive: false means that a restart would help. Never for what somebody else must repair.
  void add_live(std::string name, Check check);
  // Ready: false takes the program out of its service's endpoints.
  void add_ready(std::string name, Check check);

  // From now on the program is not ready: it is about to end. Thread-safe.
  void set_stopping() { stopping_ = true; }
  bool is_stopping() const { return stopping_; }

  // "" or one line "NAME: REASON" for each check that fails. Thread-safe.
  std::string not_live() const;
  std::string not_ready() const;

 private:
  struct Named {
    std::string name;
    Check check;
  };
  static std::string failed(const std::vector<Named>& checks);

  std::vector<Named> live_;
  std::vector<Named> ready_;
  std::atomic<bool> stopping_ = false;
};

}  // namespace nervex
