#include "base/tls/tls.h"

#include <algorithm>
#include <csignal>
#include <cstdlib>
#include <vector>

#include <unistd.h>

#include <fmt/format.h>
#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>

#include "base/tls/openssl_ptr.h"

namespace nervex {

namespace {

using namespace openssl;  // NOLINT: its few names are used throughout

Error invalid(std::string_view what, std::string_view problem) {
  const std::string details = take_tls_errors();
  return Error{Code::kInvalid,
               fmt::format("{}: {}{}{}", what, problem, details.empty() ? "" : ": ", details)};
}

// All certificates of a PEM text; stops at the first part that is not a certificate.
std::vector<Certificate> read_certificates(const std::string& pem) {
  std::vector<Certificate> certificates;
  const Bio bio = make_reader(pem);
  while (X509* read = PEM_read_bio_X509(bio.get(), nullptr, no_password, nullptr)) {
    certificates.emplace_back(read);
  }
  return certificates;
}

// Whether reading stopped at the end of the text rather than at an unreadable part.
bool read_to_the_end() {
  const unsigned long error = ERR_peek_last_error();
  const bool end = error == 0 || (ERR_GET_LIB(error) == ERR_LIB_PEM &&
                                  ERR_GET_REASON(error) == PEM_R_NO_START_LINE);
  if (end) ERR_clear_error();
  return end;
}

Result<Nothing> use_certificates(SSL_CTX* context, const TlsIdentity& identity) {
  const auto certificates = read_certificates(identity.cert);
  if (!read_to_the_end()) return invalid(identity.cert_name, "not a readable PEM certificate");
  if (certificates.empty()) return invalid(identity.cert_name, "holds no PEM certificate");
  if (SSL_CTX_use_certificate(context, certificates[0].get()) != 1) {
    return invalid(identity.cert_name, "certificate cannot be used");
  }
  for (std::size_t i = 1; i < certificates.size(); ++i) {
    if (SSL_CTX_add1_chain_cert(context, certificates[i].get()) != 1) {
      return invalid(identity.cert_name, "chain cannot be used");
    }
  }
  return ok();
}

Result<Nothing> use_key(SSL_CTX* context, const TlsIdentity& identity) {
  const Key key(
      PEM_read_bio_PrivateKey(make_reader(identity.key).get(), nullptr, no_password, nullptr));
  if (!key) return invalid(identity.key_name, "holds no readable, unencrypted PEM key");
  // Checked first, because OpenSSL's error would not name the two files.
  if (X509_check_private_key(SSL_CTX_get0_certificate(context), key.get()) != 1) {
    ERR_clear_error();
    return invalid(identity.key_name,
                   fmt::format("is not the key of the certificate in {}", identity.cert_name));
  }
  if (SSL_CTX_use_PrivateKey(context, key.get()) != 1) {
    return invalid(identity.key_name, "cannot be used");
  }
  return ok();
}

Result<Nothing> use_identity(SSL_CTX* context, const TlsIdentity& identity) {
  if (auto used = use_certificates(context, identity); !used) return used;
  return use_key(context, identity);
}

bool path_exists(const char* path) { return access(path, F_OK) == 0; }

Result<Nothing> trust_system(SSL_CTX* context) {
  const bool is_named = std::getenv(X509_get_default_cert_file_env()) != nullptr ||
                        std::getenv(X509_get_default_cert_dir_env()) != nullptr;
  const std::string file = is_named ? "" : unknown_authorities_file(path_exists);
  const bool is_read = file.empty() ? SSL_CTX_set_default_verify_paths(context) == 1
                                    : SSL_CTX_load_verify_file(context, file.c_str()) == 1;
  if (is_read) return ok();
  return invalid("certificate authorities", "the system's store cannot be read");
}

Result<Nothing> trust(SSL_CTX* context, const std::string& ca, const std::string& name) {
  const auto certificates = read_certificates(ca);
  if (!read_to_the_end() || certificates.empty()) {
    return invalid(name, "holds no readable PEM certificate");
  }
  X509_STORE* store = SSL_CTX_get_cert_store(context);
  // Each listed certificate is trusted, also an intermediate: as in Go, and so in Kubernetes.
  X509_STORE_set_flags(store, X509_V_FLAG_PARTIAL_CHAIN);
  for (const Certificate& certificate : certificates) {
    if (X509_STORE_add_cert(store, certificate.get()) != 1) {
      return invalid(name, "cannot be used");
    }
  }
  return ok();
}

Result<TlsContext> new_context(const SSL_METHOD* method) {
  // OpenSSL writes to sockets without MSG_NOSIGNAL: a peer that hangs up would end the process.
  std::signal(SIGPIPE, SIG_IGN);
  ERR_clear_error();
  TlsContext context(SSL_CTX_new(method), SSL_CTX_free);
  if (!context || SSL_CTX_set_min_proto_version(context.get(), TLS1_2_VERSION) != 1) {
    return Error{Code::kInternal, fmt::format("make a TLS context: {}", take_tls_errors())};
  }
  SSL_CTX_set_options(context.get(), SSL_OP_NO_RENEGOTIATION);
  SSL_CTX_set_mode(context.get(), SSL_MODE_ENABLE_PARTIAL_WRITE |
                                      SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER |
                                      SSL_MODE_RELEASE_BUFFERS);
  return context;
}

Result<TlsValidity> validity_of_one(const X509* certificate) {
  const auto from = parse_asn1_time(X509_get0_notBefore(certificate));
  const auto until = parse_asn1_time(X509_get0_notAfter(certificate));
  if (from && until) return TlsValidity{*from, *until};
  ERR_clear_error();
  return Error{Code::kInvalid, "the dates of a certificate cannot be read"};
}

bool is_ip_address(const std::string& name) {
  const std::unique_ptr<ASN1_OCTET_STRING, Freer<ASN1_OCTET_STRING_free>> address(
      a2i_IPADDRESS(name.c_str()));
  ERR_clear_error();
  return address != nullptr;
}

}  // namespace

// The paths of Go's crypto/x509 (root_linux.go, 1.26), and so of Kubernetes.
std::string unknown_authorities_file(const std::function<bool(const char* path)>& exists) {
  if (exists(X509_get_default_cert_file()) || exists(X509_get_default_cert_dir())) return {};
  for (const char* path : {"/etc/ssl/certs/ca-certificates.crt",  // Debian, and our images
                           "/etc/pki/tls/certs/ca-bundle.crt",    // Fedora
                           "/etc/ssl/ca-bundle.pem",              // SUSE
                           "/etc/pki/ca-trust/extracted/pem/tls-ca-bundle.pem",  // CentOS
                           "/etc/ssl/cert.pem"}) {                               // Alpine
    if (exists(path)) return path;
  }
  return {};
}

void TlsSessionDeleter::operator()(SSL* session) const { SSL_free(session); }

Result<TlsContext> server_tls_context(const TlsIdentity& identity) {
  auto context = new_context(TLS_server_method());
  if (!context) return context;
  // TLS 1.2 only as safe as TLS 1.3: forward secrecy and authenticated encryption, no CBC.
  if (SSL_CTX_set_cipher_list(context->get(), "ECDHE+AESGCM:ECDHE+CHACHA20") != 1) {
    return Error{Code::kInternal, fmt::format("choose ciphers: {}", take_tls_errors())};
  }
  // Sessions are resumed only by tickets, whose keys end with the context: after a certificate
  // change callers see the new one. A cache would hold 20,000 unused sessions.
  SSL_CTX_set_session_cache_mode(context->get(), SSL_SESS_CACHE_OFF);
  // Otherwise each record needs two system calls, the first one for its five-byte header.
  SSL_CTX_set_read_ahead(context->get(), 1);
  const unsigned char id[] = "nervex";  // otherwise callers with certificates cannot resume
  SSL_CTX_set_session_id_context(context->get(), id, sizeof id - 1);
  if (auto used = use_identity(context->get(), identity); !used) return used.error();
  return context;
}

Result<TlsContext> client_tls_context(const std::string& ca, const TlsIdentity& identity) {
  auto context = unverified_tls_context(identity);
  if (!context) return context;
  SSL_CTX_set_verify(context->get(), SSL_VERIFY_PEER, nullptr);
  auto trusted = ca.empty() ? trust_system(context->get())
                            : trust(context->get(), ca, "certificate authority");
  if (!trusted) return trusted.error();
  return context;
}

Result<TlsContext> unverified_tls_context(const TlsIdentity& identity) {
  auto context = new_context(TLS_client_method());
  if (!context || identity.cert.empty()) return context;
  if (auto used = use_identity(context->get(), identity); !used) return used.error();
  return context;
}

Result<TlsContext> mutual_tls_context(const TlsIdentity& identity, const std::string& client_ca,
                                      const std::string& client_ca_name) {
  auto context = server_tls_context(identity);
  if (!context) return context;
  if (auto trusted = trust(context->get(), client_ca, client_ca_name); !trusted) {
    return trusted.error();
  }
  SSL_CTX_set_verify(context->get(), SSL_VERIFY_PEER | SSL_VERIFY_FAIL_IF_NO_PEER_CERT, nullptr);
  return context;
}

Result<TlsValidity> certificate_validity(const TlsContext& context) {
  auto validity = validity_of_one(SSL_CTX_get0_certificate(context.get()));
  if (!validity) return validity;
  STACK_OF(X509)* chain = nullptr;
  SSL_CTX_get0_chain_certs(context.get(), &chain);
  for (int i = 0; i < sk_X509_num(chain); ++i) {
    const auto link = validity_of_one(sk_X509_value(chain, i));
    if (!link) return link.error();
    validity->from = std::max(validity->from, link->from);
    validity->until = std::min(validity->until, link->until);
  }
  return validity;
}

TlsSession accepting_session(const TlsContext& context) {
  TlsSession session(SSL_new(context.get()));
  NERVEX_CHECK(session);
  SSL_set_accept_state(session.get());
  return session;
}

TlsSession connecting_session(const TlsContext& context, const std::string& name) {
  TlsSession session(SSL_new(context.get()));
  NERVEX_CHECK(session);
  SSL_set_connect_state(session.get());
  if (is_ip_address(name)) {  // RFC 6066, 3: no SNI for addresses
    const int set = X509_VERIFY_PARAM_set1_ip_asc(SSL_get0_param(session.get()), name.c_str());
    return set == 1 ? std::move(session) : nullptr;
  }
  const bool set = SSL_set1_host(session.get(), name.c_str()) == 1 &&
                   SSL_set_tlsext_host_name(session.get(), name.c_str()) == 1;
  return set ? std::move(session) : nullptr;
}

std::string take_tls_errors() {
  std::string text;
  while (const unsigned long error = ERR_get_error()) {
    const char* reason = ERR_reason_error_string(error);
    if (!text.empty()) text += ", ";
    text += reason != nullptr ? reason : fmt::format("error {:#x}", error);
  }
  return text;
}

}  // namespace nervex
