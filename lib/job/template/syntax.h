// job/template/syntax.h - is this text a valid Kubernetes name, label, port or address?
//
// Each function returns "" or the error in the words of the API server (1.36,
// k8s.io/apimachinery/pkg/util/validation and pkg/api/validate/content), without its regular
// expressions. If a text has several errors, the first counts.
#pragma once

#include <string>
#include <string_view>

namespace nervex::job::pod_template {

std::string dns_label_problem(std::string_view text);      // RFC 1123, at most 63
std::string dns_subdomain_problem(std::string_view text);  // RFC 1123, at most 253
std::string dns_search_problem(std::string_view text);     // the same with underscores
std::string label_key_problem(std::string_view text);      // of labels: [prefix/]name
std::string label_value_problem(std::string_view text);
std::string port_name_problem(std::string_view text);
std::string variable_name_problem(std::string_view text);  // of environment variables
std::string config_key_problem(std::string_view text);     // of ConfigMaps and Secrets
std::string header_name_problem(std::string_view text);    // HTTP
std::string sysctl_problem(std::string_view text);
std::string ip_problem(std::string_view text);  // v4 or v6
std::string iscsi_name_problem(std::string_view text);

// Paths: a relative one that stays below its root, and one that must not contain "..".
std::string descending_path_problem(std::string_view text);
std::string climbing_path_problem(std::string_view text);

}  // namespace nervex::job::pod_template
