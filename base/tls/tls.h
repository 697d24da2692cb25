// base/tls/tls.h - keys, certificates and trust: how does a TLS session get them? OpenSSL's only
// door, next to base/net/connection.
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

// Immutable once made, shared by sessions: a new certificate means a new context, and sessions that
// are open keep the old one.
using TlsContext = std::shared_ptr<SSL_CTX>;

// PEM texts; the certificate's own chain follows it. Both contexts speak TLS 1.2 or newer. Errors
// are kInvalid and say which of the texts is wrong, by the name given for it.
struct TlsIdentity {
  std::string cert_name = "certificate";  // where it comes from, for messages
  std::string cert;
  std::string key_name = "key";
  std::string key;
};
Result<TlsContext> server_tls_context(const TlsIdentity& identity);
// The same, and callers must show a certificate that one of `client_ca` has issued.
Result<TlsContext> mutual_tls_context(const TlsIdentity& identity, const std::string& client_ca,
                                      const std::string& client_ca_name);
// `ca` empty: the system's store, wherever the distribution keeps it; SSL_CERT_FILE and
// SSL_CERT_DIR name another. `identity.cert` empty: no client certificate.
Result<TlsContext> client_tls_context(const std::string& ca, const TlsIdentity& identity);

// The file of certificate authorities that OpenSSL has to be told of: it looks only where the
// distribution keeps them for which it was built, and finds nothing in an image without the links
// that Debian's package openssl makes, or in another distribution. Empty: it finds them itself, or
// there are none. `exists` is asked for files and folders.
std::string unknown_authorities_file(const std::function<bool(const char* path)>& exists);

// When all certificates that a context shows are valid: certificate and chain.
struct TlsValidity {
  SysTime from;
  SysTime until;
};
// kInvalid: a certificate holds something else than dates.
Result<TlsValidity> validity_of(const TlsContext& context);

TlsSession accepting_session(const TlsContext& context);
// The server must prove to be `name`, a DNS name or an IP address; null if it can be neither.
TlsSession connecting_session(const TlsContext& context, const std::string& name);

// Takes what OpenSSL noted on this thread since the last call, in words; "" if nothing.
std::string take_tls_errors();

}  // namespace nervex
