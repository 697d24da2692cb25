// kube/auth/exec_login.h - the credential that a plugin gives us, fetched when one is needed.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>

#include "base/clock.h"
#include "base/http/call_limit.h"
#include "base/mutex.h"
#include "kube/auth/exec_plugin.h"

namespace nervex::kube {

// What a plugin said and how it ended; as run_process() does it, which tests replace.
using RunPlugin = std::function<Result<ExecCredential>()>;

// Runs it once, as a process without a shell. A plugin that does not end is killed after a minute,
// after ten if it may be talking to a person. Errors are kTransient, for a plugin can be fixed
// while we run, and say what it wrote to stderr, and its install hint.
Result<ExecCredential> run_exec_plugin(const ExecPlugin& plugin, const CallLimit& limit);

// Thread-safe. Of several callers that need a new credential one runs the plugin, and the others
// wait for its answer.
class ExecLogin {
 public:
  ExecLogin(RunPlugin run, const Clock& clock) : run_(std::move(run)), clock_(clock) {}

  struct Issued {
    ExecCredential credential;
    std::uint64_t number = 0;  // counts from 1: another number is another credential
  };
  Result<Issued> get();
  // The server refused that credential: another one is fetched next time.
  void drop(std::uint64_t number);

 private:
  Result<Issued> fetch();

  const RunPlugin run_;
  const Clock& clock_;
  Mutex mutex_;
  CondVar fetched_;
  bool fetching_ GUARDED_BY(mutex_) = false;
  std::uint64_t fetches_ GUARDED_BY(mutex_) = 0;     // that have ended, well or not
  std::optional<Error> failure_ GUARDED_BY(mutex_);  // of the last one
  std::optional<Issued> issued_ GUARDED_BY(mutex_);
};

}  // namespace nervex::kube
