// base/tls/tls.h - how does a TLS session get keys, certificates and trust? With
// base/net/connection the only user of OpenSSL's TLS.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include <openssl/types.h>

#include "base/clock.h"
#include "base/error.h"

namespace nervex {

struct TlsSessionDeleter {
  void operator()(SSL* session) const;
};
using TlsSession = std::unique_ptr<SSL, TlsSessionDeleter>;

// Immutable once made, shared by sessions: a new certificate means a new context, and open sessions
// keep the old one.
using TlsContext = std::shared_ptr<SSL_CTX>;

// PEM texts; the certificate's own chain follows it. Both contexts use TLS 1.2 or newer. Errors are
// kInvalid and name the wrong text by the name given for it.
struct TlsIdentity {
  std::string cert_name = "certificate";  // its source, for messages
  std::string cert;
  std::string key_name = "key";
  std::string key;
};
Result<TlsContext> server_tls_context(const TlsIdentity& identity);
// The same, and callers must show a certificate issued by one of `client_ca`.
Result<TlsContext> mutual_tls_context(const TlsIdentity& identity, const std::string& client_ca,
                                      const std::string& client_ca_name);
// `ca` empty: the system's store, wherever the distribution keeps it; SSL_CERT_FILE and
// SSL_CERT_DIR override it. `identity.cert` empty: no client certificate.
Result<TlsContext> client_tls_context(const std::string& ca, const TlsIdentity& identity);
// The same without verification of the server: any certificate is accepted.
Result<TlsContext> unverified_tls_context(const TlsIdentity& identity);

// The authorities file that OpenSSL must be given. It looks only in the path of the distribution it
// was built for, and finds nothing in another distribution or in an image without the links from
// Debian's package openssl. Empty: OpenSSL finds them itself, or there are none. Calls `exists`
// with files and folders.
std::string unknown_authorities_file(const std::function<bool(const char* path)>& exists);

// When all certificates of a context, with the chain, are valid.
struct TlsValidity {
  SysTime from;
  SysTime until;
};
// kInvalid: a certificate contains invalid dates.
Result<TlsValidity> certificate_validity(const TlsContext& context);

TlsSession accepting_session(const TlsContext& context);
// The server must prove to be `name`, a DNS name or an IP address; null if it is neither.
TlsSession connecting_session(const TlsContext& context, const std::string& name);

// Takes OpenSSL's errors on this thread since the last call, as text; "" if none.
std::string take_tls_errors();

}  // namespace nervex
