#include "kube/auth/identity.h"

#include <utility>

#include "base/log.h"

namespace nervex::kube {

Identity::Identity(const ConnectionConfig& config, HttpClient& http, const Clock& clock)
    : fixed_token_(config.token),
      has_fixed_cert_(!config.client_cert.empty()),
      http_(http),
      files_(config, clock),
      credentials_{config.ca, config.client_cert, config.client_key} {
  if (!config.token_file.empty()) token_file_.emplace(config.token_file, clock);
  const bool is_complete = has_fixed_cert_ || token_file_ || !fixed_token_.empty();
  if (config.exec && !is_complete) {
    exec_.emplace(
        [plugin = *config.exec, &http] { return run_exec_plugin(plugin, http.call_limit()); },
        clock);
  }
}

Result<Identity::Presented> Identity::present() {
  adopt_files();
  if (token_file_) {
    auto token = token_file_->get();
    if (!token) return token.error();
    return Presented{*std::move(token), 0};
  }
  if (!exec_) return Presented{fixed_token_, 0};
  auto issued = exec_->get();
  if (!issued) return issued.error();
  if (auto adopted = adopt(*issued); !adopted) {
    exec_->drop(issued->number);
    return Error{Code::kTransient, "credential plugin: " + adopted.error().message};
  }
  return Presented{std::move(issued->credential.token), issued->number};
}

bool Identity::refused(const Presented& shown) {
  files_.look_soon();
  if (token_file_) token_file_->drop();
  if (exec_) exec_->drop(shown.number);
  return adopt_files() || token_file_ || exec_;
}

bool Identity::failed(const Error& error) {
  files_.look_soon();
  return error.code == Code::kUnauthorized && adopt_files();
}

// A file that makes no sense changes nothing: it may be half written, or the other half of a pair
// may be on its way. It is reported once, for the files are not said to have changed again.
bool Identity::adopt_files() {
  const auto changed = files_.changed();
  if (!changed) return false;
  Result<Nothing> applied = ok();
  {
    const MutexLock lock(mutex_);
    HttpCredentials wanted = credentials_;
    wanted.ca = changed->ca;
    if (has_fixed_cert_) {
      wanted.client_cert = changed->client_cert;
      wanted.client_key = changed->client_key;
    }
    applied = apply(wanted);
  }
  if (applied) {
    log_info("connections use changed certificate files from now on");
  } else {
    log_warn("changed certificate files cannot be used, the old ones still count",
             {{"error", applied.error().message}});
  }
  return applied.has_value();
}

Result<Nothing> Identity::adopt(const ExecLogin::Issued& issued) {
  const MutexLock lock(mutex_);
  if (issued.number <= adopted_) return ok();
  HttpCredentials wanted = credentials_;
  wanted.client_cert = issued.credential.client_cert;
  wanted.client_key = issued.credential.client_key;
  // A token alone needs no new connections.
  const bool is_same_cert = wanted.client_cert == credentials_.client_cert &&
                            wanted.client_key == credentials_.client_key;
  if (!is_same_cert) {
    if (auto applied = apply(wanted); !applied) return applied;
  }
  adopted_ = issued.number;
  return ok();
}

Result<Nothing> Identity::apply(const HttpCredentials& wanted) {
  auto set = http_.set_credentials(wanted);
  if (set) credentials_ = wanted;
  return set;
}

}  // namespace nervex::kube
