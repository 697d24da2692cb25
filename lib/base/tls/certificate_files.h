// base/tls/certificate_files.h - which certificate does a server use now? Its files are replaced
// while it runs.
//
// Servers outlive their certificates: cert-manager renews these, and the kubelet replaces a mounted
// Secret's files through one symbolic link. So their content is checked every few seconds, and a
// matching pair is used from the next handshake on.
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
  std::string client_ca_file{};  // PEM; if set, callers need a certificate of one of these
  std::chrono::milliseconds poll = std::chrono::seconds(10);
};

// Thread-safe except load() and start().
class CertificateFiles {
 public:
  // `clock` is borrowed for its life.
  CertificateFiles(TlsFiles files, const Clock& clock);
  ~CertificateFiles();  // stops checking
  CertificateFiles(const CertificateFiles&) = delete;
  CertificateFiles& operator=(const CertificateFiles&) = delete;

  // Calls load(), which must succeed, and then load() every `poll` on its own thread.
  Result<Nothing> start();
  // Checks the files once. Unchanged files give the last result, cheaply. kInvalid: a file is
  // unreadable, invalid, or does not match the others; the previous files stay in use, and
  // check_files() says why. Logs once per change.
  Result<Nothing> load();

  // For the next handshake; null before the first successful load().
  TlsContext current() const;
  // When the first certificate of the chain in use expires; empty before there is one.
  std::optional<SysTime> expires() const;
  // Callers can trust the certificate in use. kTransient: expired, not valid yet, or absent.
  Result<Nothing> check_valid() const;
  // The files' content is in use and valid. Stricter than check_valid(): an old certificate still
  // serves callers, but an administrator must act before it expires.
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
  std::jthread thread_;  // last: it uses the other members
};

}  // namespace nervex
