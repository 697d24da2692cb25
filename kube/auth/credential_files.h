// kube/auth/credential_files.h - have the files with our trust, certificate or token changed?
#pragma once

#include <optional>
#include <string>

#include "base/clock.h"
#include "base/http/client.h"
#include "base/mutex.h"
#include "kube/config.h"

namespace nervex::kube {

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

}  // namespace nervex::kube
