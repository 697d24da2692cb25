// certs/x509.h - how are authorities and serving certificates made and read? The only place that
// makes X.509 certificates (RFC 5280). No I/O except OpenSSL's random numbers.
#pragma once

#include <string>
#include <vector>

#include "base/clock.h"
#include "base/error.h"

namespace nervex::certs {

// PEM texts. Never logged: `key` is a secret.
struct KeyPair {
  std::string cert;
  std::string key;

  bool operator==(const KeyPair&) const = default;
};

struct Validity {
  SysTime from;
  SysTime until;
};

// The used facts of a certificate.
struct CertificateFacts {
  Validity validity;
  bool is_authority = false;
  // Subject alternative names, "DNS:a.b.svc" or "IP:127.0.0.1", as `issue_serving` takes them. IPv6
  // addresses have all eight numbers.
  std::vector<std::string> names;
};

// A self-signed P-256 authority that may sign leaves, but no further authorities.
KeyPair make_authority(const std::string& common_name, const Validity& validity);

// A P-256 leaf for TLS servers, with a new key each time. `names` as in CertificateFacts; the first
// is also the common name. kInvalid: unreadable authority texts, or an invalid name.
Result<KeyPair> issue_serving(const KeyPair& authority, const std::vector<std::string>& names,
                              const Validity& validity);

// Of the first certificate in `pem`. kInvalid: there is none.
Result<CertificateFacts> read_certificate(const std::string& pem);

// A name for `issue_serving`, spelled as `read_certificate` returns it: "IP:fd00::1" becomes
// "IP:fd00:0:0:0:0:0:0:1". Other texts are unchanged.
std::string name_as_read(const std::string& name);

// Whether the key is readable and belongs to the (first) certificate.
bool key_fits(const KeyPair& pair);

// Whether the key of `authority` signed `cert`. Ignores dates.
bool is_signed_by(const std::string& cert, const std::string& authority);

// The certificates of a bundle, each as its own PEM in the form of `make_authority`. Stops at the
// first part that is not a certificate.
std::vector<std::string> split_bundle(const std::string& pem);

}  // namespace nervex::certs
