#include "job/job_name.h"

#include <fmt/format.h>

#include <algorithm>

#include "job/names.h"

namespace nervex::job {

bool is_dns_1035(std::string_view name, bool is_prefix) {
  const auto letter = [](char c) { return c >= 'a' && c <= 'z'; };
  const auto allowed = [&](char c) { return letter(c) || (c >= '0' && c <= '9') || c == '-'; };
  return !name.empty() && letter(name.front()) && (is_prefix || name.back() != '-') &&
         std::all_of(name.begin(), name.end(), allowed);
}

std::string objection_to_job_name(std::string_view name) {
  if (std::cmp_greater(name.size(), kMaxJobNameLength)) {
    return fmt::format(
        "the name has {} characters, and no more than {} are possible: the names of "
        "the job's pods and services begin with it",
        name.size(), kMaxJobNameLength);
  }
  if (is_dns_1035(name)) return "";
  return "the name must be lower-case letters, digits or '-', begin with a letter and end with a "
         "letter or digit: the job's services are named after it";
}

}  // namespace nervex::job
