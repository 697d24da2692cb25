// kube/auth/exec_login.h - which credential does a plugin provide? Fetched when needed.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>

#include "base/clock.h"
#include "base/http/call_limit.h"
#include "base/mutex.h"
#include "kube/auth/exec_plugin.h"

namespace nervex::kube {

// A plugin's output and exit, as from run_process(). Tests replace it.
using RunPlugin = std::function<Result<ExecCredential>()>;

// Runs the plugin once, as a process without a shell. Kills it after a minute, or after ten if it
// may interact with a person. Errors are kTransient, since a plugin can be fixed while we run; they
// contain its stderr and its install hint.
Result<ExecCredential> run_exec_plugin(const ExecPlugin& plugin, const CallLimit& limit);

// Thread-safe. When several callers need a new credential, one runs the plugin and the others wait
// for its answer.
class ExecLogin {
 public:
  ExecLogin(RunPlugin run, const Clock& clock) : run_(std::move(run)), clock_(clock) {}

  struct Issued {
    ExecCredential credential;
    std::uint64_t number = 0;  // counts from 1; a new number means a new credential
  };
  Result<Issued> get();
  // The server refused that credential: the next call fetches another one.
  void drop(std::uint64_t number);

 private:
  Result<Issued> fetch();

  const RunPlugin run_;
  const Clock& clock_;
  Mutex mutex_;
  CondVar fetched_;
  bool fetching_ GUARDED_BY(mutex_) = false;
  std::uint64_t fetches_ GUARDED_BY(mutex_) = 0;     // finished ones, failed or not
  std::optional<Error> failure_ GUARDED_BY(mutex_);  // of the last one
  std::optional<Issued> issued_ GUARDED_BY(mutex_);
};

}  // namespace nervex::kube
