// base/tls/certificate_files.h - which certificate does a server show now? Files that are replaced
// while it runs.
//
// Certificates live for weeks and servers for longer: cert-manager renews them, and the kubelet
// swaps a mounted Secret's files by one symbolic link. So their content is looked at every few
// seconds, and a pair that fits together is used from the next handshake on.
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <thread>
#include <variant>

#include "base/clock.h"
#include "base/error.h"
#include "base/mutex.h"
#include "base/tls/tls.h"

namespace nervex {

struct TlsFiles {
  std::string cert_file;         // PEM, leaf first, then the chain
  std::string key_file;          // PEM
  std::string client_ca_file{};  // PEM; if named, callers must show a certificate of one of these
  std::chrono::milliseconds poll = std::chrono::seconds(10);
};

// Thread-safe but for load() and start().
class CertificateFiles {
 public:
  // `clock` is borrowed for its life.
  CertificateFiles(TlsFiles files, const Clock& clock);
  ~CertificateFiles();  // stops looking
  CertificateFiles(const CertificateFiles&) = delete;
  CertificateFiles& operator=(const CertificateFiles&) = delete;

  // load(), which must succeed, and from then on load() every `poll` on a thread of its own.
  Result<Nothing> start();
  // Looks at the files once. Unchanged: as the last time, and cheap. kInvalid: a file cannot be
  // read, is none, or does not fit the others; what was in use stays, and check_files() says why.
  // Logs once per change.
  Result<Nothing> load();

  // For the next handshake; null before the first load() that succeeds.
  TlsContext current() const;
  // When the first certificate of the chain in use expires; nothing before there is one.
  std::optional<SysTime> expires() const;
  // Callers can trust what is in use. kTransient: it has expired, is not valid yet, or there is
  // none.
  Result<Nothing> check_valid() const;
  // What the files hold is in use and valid. More than check_valid(): an old certificate serves its
  // callers well, but somebody has to look before it ends.
  Result<Nothing> check_files() const;

 private:
  struct Texts {
    std::string cert;
    std::string key;
    std::string client_ca;
    bool operator==(const Texts&) const = default;
  };
  using Seen = std::variant<Texts, Error>;

  Seen read() const;
  Seen read_settled() const;
  Result<Nothing> use(const Seen& seen);
  void keep_loading(const std::stop_token& stop);
  void log_when_unusable();

  const TlsFiles files_;
  const Clock& clock_;
  std::optional<Seen> seen_;  // by the last load()
  std::string last_logged_;   // why the certificate is not valid
  mutable Mutex mutex_;
  TlsContext context_ GUARDED_BY(mutex_);
  TlsValidity validity_ GUARDED_BY(mutex_);
  Result<Nothing> last_load_ GUARDED_BY(mutex_) = ok();
  std::jthread thread_;  // last: it uses the rest
};

}  // namespace nervex
