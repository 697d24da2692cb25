// kube/auth/exec_plugin.h - what does a credential plugin read, and what does its answer mean?
// Pure; exec_login.h runs it.
//
// The protocol of client.authentication.k8s.io/v1 and v1beta1, as in kubectl: a program named in a
// kubeconfig prints an ExecCredential with a token, a client certificate, or both.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "base/error.h"

namespace nervex::kube {

struct ExecPlugin {
  enum class Interactive { kNever, kIfAvailable, kAlways };

  std::string api_version;  // one of the two above
  std::string command;      // a name to look up in PATH, or a path
  std::vector<std::string> args;
  std::vector<std::string> env;  // "NAME=value", added to our own
  std::string install_hint;      // how to get the command, for people
  Interactive interactive = Interactive::kIfAvailable;
  std::string cluster;  // JSON: spec.cluster of its ExecCredential; empty: left out

  bool operator==(const ExecPlugin&) const = default;
};

struct ExecCredential {
  std::string token;
  std::string client_cert;  // PEM; both or neither of certificate and key
  std::string client_key;
  std::optional<SysTime> expires;  // none: valid until the server refuses it

  bool operator==(const ExecCredential&) const = default;
};

// Whether the plugin may use the terminal. kInvalid: it needs one and there is none.
Result<bool> is_interactive(const ExecPlugin& plugin, bool has_terminal);

// The value of KUBERNETES_EXEC_INFO.
std::string exec_info(const ExecPlugin& plugin, bool interactive);

// Parses the plugin's output. kInvalid says what is wrong with it, but never quotes it.
Result<ExecCredential> read_exec_credential(const ExecPlugin& plugin, std::string_view text);

// A credential counts as expired this long before its end, because a request takes time.
inline constexpr std::chrono::seconds kExpirySkew{10};
bool is_expired(const ExecCredential& credential, SysTime now);

// "credential plugin aws: exit code 1: <its stderr>; <hint>", for the user who must fix it.
std::string exec_failure(const ExecPlugin& plugin, std::string_view what,
                         std::string_view stderr_text);

}  // namespace nervex::kube
