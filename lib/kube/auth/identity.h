// kube/auth/identity.h - whom does the client trust, and which identity does it present, now?
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

// ---- credential files

// Reads a ConnectionConfig's files once a minute and on request. Compares contents, not dates,
// because the kubelet swaps symbolic links. An unreadable file keeps its old text and is logged
// once. Thread-safe.
class CredentialFiles {
 public:
  CredentialFiles(const ConnectionConfig& config, const Clock& clock);

  // The current texts, if they differ from those last returned (at first: the config's).
  std::optional<HttpCredentials> changed();
  // A request failed, perhaps because a file has changed: the next call reads the files.
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

// A bearer token in a file that another program refreshes. Read again after a minute (the kubelet
// renews projected tokens at 80 % of their life), and after the server refused it. Thread-safe.
class TokenFile {
 public:
  TokenFile(std::string file, const Clock& clock) : file_(std::move(file)), clock_(clock) {}

  // kTransient until the file was read once; later failures return the old token.
  Result<std::string> get();
  // The server refused the token.
  void drop();

 private:
  std::optional<std::string> fresh_value();

  const std::string file_;
  const Clock& clock_;
  Mutex mutex_;
  std::string value_ GUARDED_BY(mutex_);
  std::optional<MonoTime> read_at_ GUARDED_BY(mutex_);
};

// Keeps tokens, certificates and authorities up to date without a restart, and passes the latter
// two to the HTTP client. Values in the config win over those of a credential plugin, as with
// kubectl. Thread-safe.
class Identity {
 public:
  // `http` was created with the config's texts and outlives this.
  Identity(const ConnectionConfig& config, HttpClient& http, const Clock& clock);

  struct Presented {
    std::string token;         // empty: none
    std::uint64_t number = 0;  // of the plugin's credential
  };
  // Call before each request; may read files or run the plugin. kTransient: no credential.
  Result<Presented> present();

  // After a 401. True if another credential is available for another try.
  bool refused(const Presented& shown);
  // After a request without an answer. True if the server failed verification and our trusted
  // authorities have changed since: the request was not sent, and may be retried.
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
  // Held while the HTTP client takes over credentials, so that the newest win.
  Mutex mutex_;
  HttpCredentials credentials_ GUARDED_BY(mutex_);
  std::uint64_t adopted_ GUARDED_BY(mutex_) = 0;  // number of the plugin's credential in use
};

}  // namespace nervex::kube
