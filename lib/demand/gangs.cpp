#include "demand/gangs.h"

#include <fmt/format.h>

namespace nervex::demand {

namespace {

using gang::GangKind;
using job::Role;

// `role`: of kAddedReplicas.
std::string gang_name(const gang::Gang& gang, Role role) {
  switch (gang.kind) {
    case GangKind::kBase:
      return std::string(gang::kBaseGang);
    case GangKind::kAddedReplicas:
      return fmt::format("{}-{}-{}", gang::kBaseGang, to_string(role), gang.first_ordinal);
    case GangKind::kRequest:
      return request_gang_name(gang.request_id);
  }
  return "";
}

}  // namespace

gang::Gang base_gang() { return {std::string(gang::kBaseGang), GangKind::kBase, 0, 0, {}}; }

gang::Gang added_replicas_gang(Role role, int first_ordinal) {
  gang::Gang gang{"", GangKind::kAddedReplicas, 0, first_ordinal, {}};
  gang.name = gang_name(gang, role);
  return gang;
}

gang::Gang request_gang(std::int64_t id) {
  return {request_gang_name(id), GangKind::kRequest, id, 0, {}};
}

std::string request_gang_name(std::int64_t id) { return fmt::format("request-{}", id); }

std::string set_name(const gang::Gang& gang, Role role, int part) {
  switch (gang.kind) {
    case GangKind::kBase:
      return std::string(to_string(role));
    case GangKind::kAddedReplicas:
      return gang.name;
    case GangKind::kRequest:
      return role == Role::kDdpLearner ? fmt::format("{}-{}-{}", gang.name, to_string(role), part)
                                       : fmt::format("{}-{}", gang.name, to_string(role));
  }
  return "";
}

bool is_consistent(const gang::Gang& gang, const gang::MemberSet& set) {
  const auto role = job::parse_role(set.role);
  return role && gang.name == gang_name(gang, *role) && set.name == set_name(gang, *role, set.part);
}

}  // namespace nervex::demand
