#include "job/template/syntax.h"

#include <algorithm>

#include <arpa/inet.h>

#include <fmt/format.h>

namespace nervex::job::pod_template {
namespace {

bool is_lower(char c) { return c >= 'a' && c <= 'z'; }
bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_letter(char c) { return is_lower(c) || (c >= 'A' && c <= 'Z'); }
bool is_lower_or_digit(char c) { return is_lower(c) || is_digit(c); }
bool is_letter_or_digit(char c) { return is_letter(c) || is_digit(c); }

template <typename Allowed, typename AtEnds>
bool consists_of(std::string_view text, Allowed allowed, AtEnds at_ends) {
  return !text.empty() && std::all_of(text.begin(), text.end(), allowed) && at_ends(text.front()) &&
         at_ends(text.back());
}

bool is_label_text(std::string_view text) {
  return consists_of(
      text, [](char c) { return is_lower_or_digit(c) || c == '-'; }, is_lower_or_digit);
}

// part(text) for each part between dots.
template <typename Part>
bool all_parts(std::string_view text, Part part) {
  for (;;) {
    const auto dot = text.find('.');
    if (!part(text.substr(0, dot))) return false;
    if (dot == std::string_view::npos) return true;
    text.remove_prefix(dot + 1);
  }
}

bool is_subdomain_text(std::string_view text) { return all_parts(text, is_label_text); }

bool is_search_part(std::string_view text) {
  if (text.starts_with('_')) text.remove_prefix(1);
  return consists_of(
      text, [](char c) { return is_lower_or_digit(c) || c == '-' || c == '_'; }, is_lower_or_digit);
}

bool is_key_name(std::string_view text) {
  return consists_of(
      text, [](char c) { return is_letter_or_digit(c) || c == '-' || c == '_' || c == '.'; },
      is_letter_or_digit);
}

template <typename Allowed>
bool all_are(std::string_view text, Allowed allowed) {
  return std::all_of(text.begin(), text.end(), allowed);
}

// iqn.2001-04.com.example:disk
bool is_iqn(std::string_view text) {
  const auto colon = text.find(':');
  const std::string_view left = text.substr(0, colon);
  if (colon == text.npos || left.size() <= 12 || colon + 1 == text.size()) return false;
  const auto in_authority = [](char c) { return is_letter_or_digit(c) || c == '-' || c == '.'; };
  const auto in_target = [](char c) {
    return std::string_view(",;*&$| \t\n\f\r").find(c) == std::string_view::npos;
  };
  return left.starts_with("iqn.") && all_are(left.substr(4, 4), is_digit) && left[8] == '-' &&
         all_are(left.substr(9, 2), is_digit) && left[11] == '.' &&
         all_are(left.substr(12), in_authority) && all_are(text.substr(colon + 1), in_target);
}

std::string longer_than(std::size_t limit) {
  return fmt::format("must be no more than {} characters", limit);
}
std::string more_bytes_than(std::size_t limit) {
  return fmt::format("must be no more than {} bytes", limit);
}

// Path elements that file systems and shells read as a step out of a folder.
std::string dots_problem(std::string_view text) {
  if (text == ".") return "must not be '.'";
  if (text == "..") return "must not be '..'";
  if (text.starts_with("..")) return "must not start with '..'";
  return "";
}

}  // namespace

std::string dns_label_problem(std::string_view text) {
  if (text.size() > 63) return longer_than(63);
  if (is_label_text(text)) return "";
  if (is_subdomain_text(text)) return "must not contain dots";
  return "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', "
         "and must start and end with an alphanumeric character";
}

std::string dns_subdomain_problem(std::string_view text) {
  if (text.size() > 253) return longer_than(253);
  if (is_subdomain_text(text)) return "";
  return "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' "
         "or '.', and must start and end with an alphanumeric character";
}

std::string dns_search_problem(std::string_view text) {
  if (text == ".") return "";
  if (text.ends_with('.')) text.remove_suffix(1);
  if (text.size() > 253) return longer_than(253);
  if (all_parts(text, is_search_part)) return "";
  return "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '_', "
         "'-' or '.', and must start and end with an alphanumeric character";
}

std::string label_key_problem(std::string_view text) {
  constexpr std::string_view kForm =
      "must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an "
      "alphanumeric character";
  std::string_view name = text;
  if (const auto slash = text.find('/'); slash != std::string_view::npos) {
    const std::string_view prefix = text.substr(0, slash);
    name = text.substr(slash + 1);
    if (name.find('/') != std::string_view::npos) return fmt::format("a valid label key {}", kForm);
    if (prefix.empty()) return "prefix part must be non-empty";
    if (prefix.size() > 253) return "prefix part " + more_bytes_than(253);
    if (const auto why = dns_subdomain_problem(prefix); !why.empty()) return "prefix part " + why;
  }
  if (name.empty()) return "name part must be non-empty";
  if (name.size() > 63) return "name part " + more_bytes_than(63);
  return is_key_name(name) ? "" : fmt::format("name part {}", kForm);
}

std::string label_value_problem(std::string_view text) {
  if (text.size() > 63) return more_bytes_than(63);
  if (text.empty() || is_key_name(text)) return "";
  return "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or "
         "'.', and must start and end with an alphanumeric character";
}

std::string port_name_problem(std::string_view text) {
  if (text.size() > 15) return longer_than(15);
  const auto allowed = [](char c) { return is_lower_or_digit(c) || c == '-'; };
  if (text.empty() || !std::all_of(text.begin(), text.end(), allowed)) {
    return "must contain only alpha-numeric characters (a-z, 0-9), and hyphens (-)";
  }
  if (!std::any_of(text.begin(), text.end(), is_lower)) {
    return "must contain at least one letter (a-z)";
  }
  if (text.find("--") != std::string_view::npos) return "must not contain consecutive hyphens";
  if (text.front() == '-' || text.back() == '-') return "must not begin or end with a hyphen";
  return "";
}

std::string variable_name_problem(std::string_view text) {
  const auto allowed = [](char c) { return c >= ' ' && c <= '~' && c != '='; };
  if (std::all_of(text.begin(), text.end(), allowed)) return "";
  return "a valid environment variable name must consist only of printable ASCII characters other "
         "than '='";
}

std::string config_key_problem(std::string_view text) {
  if (text.size() > 253) return longer_than(253);
  const auto allowed = [](char c) {
    return is_letter_or_digit(c) || c == '-' || c == '_' || c == '.';
  };
  if (!std::all_of(text.begin(), text.end(), allowed)) {
    return "a valid config key must consist of alphanumeric characters, '-', '_' or '.'";
  }
  return dots_problem(text);
}

std::string header_name_problem(std::string_view text) {
  const auto allowed = [](char c) { return is_letter_or_digit(c) || c == '-'; };
  if (!text.empty() && std::all_of(text.begin(), text.end(), allowed)) return "";
  return "a valid HTTP header must consist of alphanumeric characters or '-'";
}

std::string sysctl_problem(std::string_view text) {
  const auto part = [](std::string_view segment) {
    return consists_of(
        segment, [](char c) { return is_lower_or_digit(c) || c == '-' || c == '_'; },
        is_lower_or_digit);
  };
  std::string dotted(text);
  std::replace(dotted.begin(), dotted.end(), '/', '.');
  if (text.size() <= 253 && all_parts(dotted, part)) return "";
  return "must have at most 253 characters and consist of lower case alphanumeric characters, '-' "
         "or '_', in parts with '.' or '/' between them";
}

std::string ip_problem(std::string_view text) {
  std::string address;  // without leading zeros: the API server allows them, the library does not
  for (std::size_t i = 0; i < text.size(); ++i) {
    const bool leads = text[i] == '0' && (address.empty() || address.back() == '.');
    const bool more = i + 1 < text.size() && is_digit(text[i + 1]);
    if (!leads || !more) address += text[i];
  }
  in6_addr parsed{};  // large enough for both
  if (inet_pton(AF_INET, address.c_str(), &parsed) == 1 ||
      inet_pton(AF_INET6, address.c_str(), &parsed) == 1) {
    return "";
  }
  return "must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)";
}

std::string iscsi_name_problem(std::string_view name) {
  const bool is_eui = name.starts_with("eui");
  if (is_eui || name.starts_with("naa")) {
    const std::size_t letters = is_eui ? 16 : 32;
    const bool valid = name.size() == 4 + letters && all_are(name.substr(4), is_letter_or_digit);
    return valid ? "" : "must be valid format";
  }
  if (!name.starts_with("iqn")) return "must be valid format starting with iqn, eui, or naa";
  // The API server accepts any text before a valid name.
  for (auto at = std::size_t{0}; at != name.npos; at = name.find("iqn.", at + 1)) {
    if (is_iqn(name.substr(at))) return "";
  }
  return "must be valid format";
}

std::string climbing_path_problem(std::string_view text) {
  while (true) {
    const auto slash = text.find('/');
    if (text.substr(0, slash) == "..") return "must not contain '..'";
    if (slash == std::string_view::npos) return "";
    text.remove_prefix(slash + 1);
  }
}

std::string descending_path_problem(std::string_view text) {
  if (text.starts_with('/')) return "must be a relative path";
  return climbing_path_problem(text);
}

}  // namespace nervex::job::pod_template
