// certs/x509.h - how are an authority and a serving certificate made, and what does one say?
// The one place that makes X.509 certificates (RFC 5280). No I/O but OpenSSL's random numbers.
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

// What this program needs to know of a certificate.
struct CertificateFacts {
  Validity validity;
  bool is_authority = false;
  // Subject alternative names, "DNS:a.b.svc" or "IP:127.0.0.1", as `issue_serving` takes them. An
  // IPv6 address in its eight numbers, never shortened.
  std::vector<std::string> names;
};

// A self-signed authority on P-256 that may sign leaves, but no further authorities.
KeyPair make_authority(const std::string& common_name, const Validity& validity);

// A leaf on P-256 for TLS servers, its key new each time. `names` as in CertificateFacts, the first
// also as common name. kInvalid: the authority's texts cannot be read, or a name is none.
Result<KeyPair> issue_serving(const KeyPair& authority, const std::vector<std::string>& names,
                              const Validity& validity);

// Of the first certificate of `pem`. kInvalid: there is none.
Result<CertificateFacts> read_certificate(const std::string& pem);

// A name for `issue_serving` in the one spelling in which `read_certificate` gives it back:
// "IP:fd00::1" is "IP:fd00:0:0:0:0:0:0:1". What is no address stays as it is.
std::string name_as_read(const std::string& name);

// Whether the key can be read and is that of the (first) certificate.
bool key_fits(const KeyPair& pair);

// Whether the key of `authority` signed `cert`. Looks at no dates.
bool is_signed_by(const std::string& cert, const std::string& authority);

// The certificates of a bundle, each as PEM of its own in the same form as `make_authority` writes.
// Stops at the first thing that is none.
std::vector<std::string> split_bundle(const std::string& pem);

}  // namespace nervex::certs
