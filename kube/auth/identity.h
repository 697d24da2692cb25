// kube/auth/identity.h - whom do we trust, and as whom do we ask, at this moment?
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "base/clock.h"
#include "base/http/client.h"
#include "base/mutex.h"
#include "kube/auth/credential_files.h"
#include "kube/auth/exec_login.h"
#include "kube/config.h"

namespace nervex::kube {

// Keeps tokens, certificates and authorities up to date without a restart, and puts the latter two
// into the HTTP client. What is given in the config beside a credential plugin wins over the
// plugin's, as with kubectl. Thread-safe.
class Identity {
 public:
  // `http` was made with the config's texts, and outlives this.
  Identity(const ConnectionConfig& config, HttpClient& http, const Clock& clock);

  struct Presented {
    std::string token;         // empty: none
    std::uint64_t number = 0;  // of the plugin's credential
  };
  // To be asked before each request; may read files or run the plugin. kTransient: none to be had.
  Result<Presented> present();

  // 401. True if another try has another credential to show.
  bool refused(const Presented& shown);
  // There was no answer. True if the server could not prove who it is and what we trust has changed
  // since: then the request was not sent, and may be.
  bool failed(const Error& error);

 private:
  bool adopt_files();
  Result<Nothing> adopt(const ExecLogin::Issued& issued);
  Result<Nothing> apply(const HttpCredentials& wanted) REQUIRES(mutex_);

  const std::string fixed_token_;
  const bool has_fixed_cert_;
  HttpClient& http_;
  std::optional<TokenFile> token_file_;
  std::optional<ExecLogin> exec_;
  CredentialFiles files_;
  // Held while the HTTP client takes them over, so that the newest ones win.
  Mutex mutex_;
  HttpCredentials credentials_ GUARDED_BY(mutex_);
  std::uint64_t adopted_ GUARDED_BY(mutex_) = 0;  // number of the plugin's credential in use
};

}  // namespace nervex::kube
