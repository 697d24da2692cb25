#include "kube/auth/exec_plugin.h"

#include <fmt/format.h>

#include "base/text.h"
#include "kube/model/json.h"

namespace nervex::kube {
namespace {

constexpr std::size_t kMaxQuoted = 2048;  // of its error output; the end says most

Error invalid(std::string_view problem) {
  return {Code::kInvalid, fmt::format("its answer {}", problem)};
}

std::string_view trimmed(std::string_view text) {
  const auto is_space = [](char c) { return c == ' ' || c == '\n' || c == '\r' || c == '\t'; };
  while (!text.empty() && is_space(text.back())) text.remove_suffix(1);
  while (!text.empty() && is_space(text.front())) text.remove_prefix(1);
  return text;
}

Result<Nothing> check_kind(const ExecPlugin& plugin, const Json& answer) {
  const std::string kind = string_at(answer, {"kind"});
  const std::string version = string_at(answer, {"apiVersion"});
  if (kind == "ExecCredential" && version == plugin.api_version) return ok();
  return invalid(fmt::format("is a \"{}\" of \"{}\", expected an ExecCredential of \"{}\"", kind,
                             version, plugin.api_version));
}

}  // namespace

Result<bool> is_interactive(const ExecPlugin& plugin, bool has_terminal) {
  if (plugin.interactive == ExecPlugin::Interactive::kNever) return false;
  if (plugin.interactive == ExecPlugin::Interactive::kAlways && !has_terminal) {
    return Error{Code::kInvalid, "it needs an interactive terminal, and there is none"};
  }
  return has_terminal;
}

std::string exec_info(const ExecPlugin& plugin, bool interactive) {
  Json spec = {{"interactive", interactive}};
  if (!plugin.cluster.empty()) {
    if (auto cluster = parse_json(plugin.cluster)) spec["cluster"] = *std::move(cluster);
  }
  return to_text(
      {{"kind", "ExecCredential"}, {"apiVersion", plugin.api_version}, {"spec", std::move(spec)}});
}

Result<ExecCredential> read_exec_credential(const ExecPlugin& plugin, std::string_view text) {
  const auto answer = parse_json(trimmed(text));
  if (!answer || !answer->is_object()) return invalid("is not a JSON object");
  if (auto checked = check_kind(plugin, *answer); !checked) return checked.error();
  ExecCredential credential;
  credential.token = string_at(*answer, {"status", "token"});
  credential.client_cert = string_at(*answer, {"status", "clientCertificateData"});
  credential.client_key = string_at(*answer, {"status", "clientKeyData"});
  if (credential.client_cert.empty() != credential.client_key.empty()) {
    return invalid("needs status.clientCertificateData and clientKeyData together");
  }
  if (credential.token.empty() && credential.client_cert.empty()) {
    return invalid("contains neither a token nor a client certificate");
  }
  const std::string expires = string_at(*answer, {"status", "expirationTimestamp"});
  if (expires.empty()) return credential;
  const auto time = parse_rfc3339(expires);
  if (!time) return invalid("has an invalid status.expirationTimestamp");
  credential.expires = *time;
  return credential;
}

bool is_expired(const ExecCredential& credential, SysTime now) {
  return credential.expires && now >= *credential.expires - kExpirySkew;
}

std::string exec_failure(const ExecPlugin& plugin, std::string_view what,
                         std::string_view stderr_text) {
  std::string text = fmt::format("credential plugin {}: {}", plugin.command, what);
  const std::string_view said = last_bytes(trimmed(stderr_text), kMaxQuoted);
  if (!said.empty()) text += fmt::format(": {}", said);
  const std::string_view hint = trimmed(plugin.install_hint);
  if (!hint.empty()) text += fmt::format("; {}", hint);
  return text;
}

}  // namespace nervex::kube
