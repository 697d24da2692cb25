#include "kube/auth/exec_login.h"

#include <utility>

#include <unistd.h>

#include <fmt/format.h>

#include "base/process.h"

namespace nervex::kube {
namespace {

using namespace std::chrono_literals;

constexpr auto kAlone = 60s;          // long enough for a cloud's token service
constexpr auto kWithAPerson = 10min;  // who opens a browser and finds a second factor

Error failure(const ExecPlugin& plugin, std::string_view what, std::string_view said = "") {
  return {Code::kTransient, exec_failure(plugin, what, said)};
}

}  // namespace

Result<ExecCredential> run_exec_plugin(const ExecPlugin& plugin, const CallLimit& limit) {
  const auto interactive = is_interactive(plugin, isatty(STDIN_FILENO) == 1);
  if (!interactive) return failure(plugin, interactive.error().message);
  ProcessOptions options;
  options.argv = {plugin.command};
  options.argv.insert(options.argv.end(), plugin.args.begin(), plugin.args.end());
  options.env = plugin.env;
  options.env.push_back("KUBERNETES_EXEC_INFO=" + exec_info(plugin, *interactive));
  options.interactive = *interactive;
  const MonoTime now = SystemClock().mono();
  const MonoTime deadline = *interactive ? now + kWithAPerson : now + kAlone;
  const auto end = run_process(options, deadline, limit);
  if (!end) return failure(plugin, end.error().message);
  if (end->exit_code != 0) {
    return failure(plugin, fmt::format("exit code {}", end->exit_code), end->err);
  }
  auto credential = read_exec_credential(plugin, end->out);
  if (!credential) return failure(plugin, credential.error().message, end->err);
  return credential;
}

Result<ExecLogin::Issued> ExecLogin::get() {
  {
    MutexLock lock(mutex_);
    if (issued_ && !is_expired(issued_->credential, clock_.now())) return *issued_;
    if (fetching_) {
      const std::uint64_t before = fetches_;
      while (fetches_ == before) fetched_.wait(mutex_);
      if (failure_) return *failure_;
      if (issued_) return *issued_;
      return Error{Code::kTransient, "the API server refused a credential that was just issued"};
    }
    fetching_ = true;
  }
  return fetch();
}

// One thread at a time; releases the lock while the plugin runs.
Result<ExecLogin::Issued> ExecLogin::fetch() {
  auto credential = run_();
  MutexLock lock(mutex_);
  fetching_ = false;
  ++fetches_;
  failure_.reset();
  if (credential) {
    issued_ = Issued{*std::move(credential), fetches_};
  } else if (!issued_ ||
             (issued_->credential.expires && clock_.now() >= *issued_->credential.expires)) {
    failure_ = credential.error();
  }  // else the old one stays in use until it expires
  fetched_.notify_all();
  if (failure_) return *failure_;
  return *issued_;
}

void ExecLogin::drop(std::uint64_t number) {
  MutexLock lock(mutex_);
  if (issued_ && issued_->number == number) issued_.reset();
}

}  // namespace nervex::kube
