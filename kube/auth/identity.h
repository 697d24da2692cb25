// kube/auth/identity.h - whom do we trust, and as whom do we ask, at this moment?
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "base/clock.h"
#include "base/http/client.h"
#include "base/mutex.h"
#include "kube/auth/exec_login.h"
#include "kube/config.h"

namespace nervex::kube {

// ---- files with our credentials

// Looks at a ConnectionConfig's files once a minute, and when asked to. Their contents count, not
// their dates: the kubelet swaps symbolic links. A file that cannot be read keeps its old text, and
// is logged once. Thread-safe.
class CredentialFiles {
 public:
  CredentialFiles(const ConnectionConfig& config, const Clock& clock);

  // The texts of now, if they are not those that were returned last (at first: the config's).
  std::optional<HttpCredentials> changed();
  // Something went wrong for which a changed file may be the reason: the next call looks.
  void look_soon();

 private:
  bool is_due();

  const std::string ca_file_;
  const std::string cert_file_;
  const std::string key_file_;
  const Clock& clock_;
  Mutex mutex_;
  HttpCredentials texts_ GUARDED_BY(mutex_);
  std::optional<MonoTime> looked_at_ GUARDED_BY(mutex_);
  bool was_readable_ GUARDED_BY(mutex_) = true;
};

// The bearer token that somebody else keeps fresh in a file.
// Read again when it is a minute old (the kubelet renews projected tokens at 80 % of their life),
// and after the server refused it. Thread-safe.
class TokenFile {
 public:
  TokenFile(std::string file, const Clock& clock) : file_(std::move(file)), clock_(clock) {}

  // kTransient while the file has never been readable; afterwards the old token does.
  Result<std::string> get();
  // The server did not like it.
  void drop();

 private:
  std::optional<std::string> fresh_value();

  const std::string file_;
  const Clock& clock_;
  Mutex mutex_;
  std::string value_ GUARDED_BY(mutex_);
  std::optional<MonoTime> read_at_ GUARDED_BY(mutex_);
};

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
