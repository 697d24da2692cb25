#include "gang/no_fit.h"

#include <algorithm>
#include <array>
#include <limits>
#include <tuple>

#include "kube/model/resources.h"

namespace nervex::gang {
namespace {

// ---- JSON: each field is named once for both directions

template <typename Counts, typename Visit>
void visit_counts(Counts& nodes, const Visit& visit) {
  visit("free", nodes.free);
  visit("full", nodes.full);
  visit("tooSmall", nodes.too_small);
  visit("tainted", nodes.tainted);
  visit("notSelected", nodes.not_selected);
  visit("volumeElsewhere", nodes.volume_elsewhere);
  visit("notReady", nodes.not_ready);
  visit("cordoned", nodes.cordoned);
  visit("avoided", nodes.avoided);
}

template <typename OfSet, typename Codec>
void visit_fields(OfSet& set, const Codec& codec) requires requires {
  set.unplaced;
}
{
  codec.text("role", set.role);
  codec.number("wanted", set.wanted);
  codec.number("unplaced", set.unplaced);
  codec.number("reserved", set.reserved);
  codec.domain(set.domain);
  codec.counts("nodes", set.nodes);
  codec.skew("skew", set.skew);
}

template <typename OfNeed, typename Codec>
void visit_fields(OfNeed& need, const Codec& codec) requires requires {
  need.each;
}
{
  codec.text("resource", need.resource);
  codec.amount("each", need.resource, need.each);
  codec.flag("enlarged", need.enlarged);
}

// By PreemptionOutcome, ReservationOutcome and DomainLimit::Reason; the first one is left out.
constexpr std::array<std::string_view, 6> kPreemptions = {
    "", "NotEnough", "SearchGaveUp", "RateLimited", "BackOff", "ControllerAway"};
constexpr std::array<std::string_view, 3> kReservations = {"", "Own", "OfOthers"};

constexpr std::array<std::string_view, 3> kDomainReasons = {"", "Topology", "NodeClasses"};

template <typename Limit, typename Codec>
void visit_domain(Limit& domain, const Codec& codec) {
  codec.text("domain", domain.key);
  codec.outcome("domainReason", kDomainReasons, domain.reason);
  codec.number("domainsNeeded", domain.needed);
  codec.flag("domainJoinsPods", domain.joins_pods);
  codec.flag("domainNarrowed", domain.is_narrowed);
}

template <typename Cause, typename Codec>
void visit_fields(Cause& cause, const Codec& codec) {
  if constexpr (requires { cause.set; }) visit_fields(cause.set, codec);
  if constexpr (requires { cause.need.each; }) visit_fields(cause.need, codec);
  if constexpr (requires { cause.search_gave_up; }) {
    codec.flag("searchGaveUp", cause.search_gave_up);
    codec.outcome("preemption", kPreemptions, cause.preemption);
    codec.outcome("reservation", kReservations, cause.reservation);
  }
  if constexpr (requires { cause.largest_node; }) {
    codec.number("most", cause.most);
    codec.amount("largestNode", cause.need.resource, cause.largest_node);
  }
  if constexpr (requires { cause.quota; }) {
    codec.text("quota", cause.quota);
    codec.text("resource", cause.resource);
    codec.amount("over", cause.resource, cause.over);
    codec.amount("hard", cause.resource, cause.hard);
    codec.amount("used", cause.resource, cause.used);
    codec.amount("planned", cause.resource, cause.planned);
    codec.amount("need", cause.resource, cause.need);
  }
  if constexpr (requires { cause.is_too_large; }) {
    codec.text("queue", cause.queue);
    codec.text("resource", cause.resource);
    codec.text("message", cause.text);
    codec.flag("tooLarge", cause.is_too_large);
  }
}

template <typename Limit, typename Codec>
void visit_skew(Limit& skew, const Codec& codec) {
  codec.text("topologyKey", skew.topology_key);
  codec.number("maxSkew", skew.max_skew);
  codec.number("domains", skew.domains);
  codec.number("minDomains", skew.min_domains);
  codec.text("fewest", skew.fewest);
}

struct Encoder {
  Json& out;

  void text(const char* name, const std::string& value) const {
    if (!value.empty()) out[name] = value;
  }
  void number(const char* name, int value) const {
    if (value != 0) out[name] = value;
  }
  void flag(const char* name, bool value) const {
    if (value) out[name] = true;
  }
  template <typename Codes, typename Outcome>
  void outcome(const char* name, const Codes& codes, Outcome value) const {
    if (value != Outcome{}) out[name] = codes[static_cast<std::size_t>(value)];
  }
  void amount(const char* name, std::string_view resource, std::int64_t value) const {
    if (value != 0) out[name] = kube::format_amount(strip_requests(resource), value);
  }
  void counts(const char* name, const NodeCounts& nodes) const {
    Json counts = Json::object();
    visit_counts(nodes, [&](const char* kind, int count) {
      if (count != 0) counts[kind] = count;
    });
    if (!counts.empty()) out[name] = std::move(counts);
  }
  void skew(const char* name, const std::optional<SkewLimit>& skew) const {
    if (skew) visit_skew(*skew, Encoder{out[name]});
  }
  void domain(const std::optional<DomainLimit>& domain) const {
    if (!domain) return;
    visit_domain(*domain, *this);
    for (const auto& [value, pods] : domain->capacity) {
      out["domainCapacity"].push_back({{"value", value}, {"pods", pods}});
    }
  }
};

int read_count(const Json& from, std::string_view name) {
  constexpr std::int64_t kMost = std::numeric_limits<int>::max();
  return static_cast<int>(std::clamp<std::int64_t>(kube::int_at(from, {name}), 0, kMost));
}

struct Decoder {
  const Json& from;

  void text(const char* name, std::string& value) const { value = kube::string_at(from, {name}); }
  void number(const char* name, int& value) const { value = read_count(from, name); }
  void flag(const char* name, bool& value) const { value = kube::bool_at(from, {name}); }
  template <typename Codes, typename Outcome>
  void outcome(const char* name, const Codes& codes, Outcome& value) const {
    const auto at = std::find(codes.begin(), codes.end(), kube::string_at(from, {name}));
    if (at != codes.end()) value = static_cast<Outcome>(at - codes.begin());
  }
  void amount(const char* name, std::string_view resource, std::int64_t& value) const {
    const std::string key(strip_requests(resource));
    const Json* quantity = kube::find(from, {name});
    if (quantity == nullptr) return;
    if (const auto read = kube::decode_resources(Json{{key, *quantity}})) value = read->get(key);
  }
  void counts(const char* name, NodeCounts& nodes) const {
    const Json* counts = kube::find(from, {name});
    if (counts == nullptr) return;
    visit_counts(nodes, [&](const char* kind, int& count) { count = read_count(*counts, kind); });
  }
  void skew(const char* name, std::optional<SkewLimit>& skew) const {
    const Json* limit = kube::find(from, {name});
    if (limit != nullptr) visit_skew(skew.emplace(), Decoder{*limit});
  }
  void domain(std::optional<DomainLimit>& domain) const {
    const bool has_any = kube::find(from, {"domain"}) != nullptr ||
                         kube::find(from, {"domainReason"}) != nullptr;  // no label: kNodeClasses
    if (!has_any) return;
    visit_domain(domain.emplace(), *this);
    for (const Json& one : kube::array_at(from, {"domainCapacity"})) {
      domain->capacity.push_back({kube::string_at(one, {"value"}), read_count(one, "pods")});
    }
  }
};

// By NoFit::index(). NotAdmitted, the last one, has its rule's.
constexpr std::array<std::string_view, std::variant_size_v<NoFit> - 1> kCodes = {
    "InsufficientCapacity", "NoNodeAllowed", "NeverFits", "NeverFitsTogether", "OverQuota"};
static_assert(std::is_same_v<std::variant_alternative_t<kCodes.size(), NoFit>, NotAdmitted>);

template <std::size_t I = 0>
NoFit make_cause(std::size_t index) {
  if constexpr (I + 1 < std::variant_size_v<NoFit>) {
    if (index != I) return make_cause<I + 1>(index);
  }
  return NoFit(std::in_place_index<I>);
}

template <typename Part, typename AnyNoFit>
auto* find_part(AnyNoFit& no_fit) {
  return std::visit(
      [](auto& cause) {
        using Found = std::conditional_t<std::is_const_v<AnyNoFit>, const Part, Part>;
        Found* found = nullptr;
        if constexpr (std::is_same_v<Part, UnplacedSet> && requires { cause.set; }) {
          found = &cause.set;
        }
        if constexpr (std::is_same_v<Part, ResourceNeed> && requires { cause.need.each; }) {
          found = &cause.need;
        }
        return found;
      },
      no_fit);
}

}  // namespace

const UnplacedSet* find_set(const NoFit& no_fit) { return find_part<UnplacedSet>(no_fit); }
UnplacedSet* find_set(NoFit& no_fit) { return find_part<UnplacedSet>(no_fit); }
const ResourceNeed* find_need(const NoFit& no_fit) { return find_part<ResourceNeed>(no_fit); }
ResourceNeed* find_need(NoFit& no_fit) { return find_part<ResourceNeed>(no_fit); }

void note_reservation(NoFit& no_fit, ReservationOutcome outcome) {
  if (auto* cause = std::get_if<InsufficientCapacity>(&no_fit)) cause->reservation = outcome;
}

void note_preemption(NoFit& no_fit, PreemptionOutcome outcome) {
  auto* cause = std::get_if<InsufficientCapacity>(&no_fit);
  if (cause != nullptr && outcome != PreemptionOutcome::kNotSearched) cause->preemption = outcome;
}

bool same_cause(const NoFit& a, const NoFit& b) {
  if (a.index() != b.index()) return false;
  if (const auto* quota = std::get_if<OverQuota>(&a)) {
    const auto& other = std::get<OverQuota>(b);
    return quota->quota == other.quota && quota->resource == other.resource;
  }
  if (const auto* rule = std::get_if<NotAdmitted>(&a)) {
    const auto& other = std::get<NotAdmitted>(b);
    return std::tie(rule->rule, rule->queue, rule->resource, rule->is_too_large) ==
           std::tie(other.rule, other.queue, other.resource, other.is_too_large);
  }
  // Compares whether nodes are barred, not how many: an administrator who changes that looks for
  // it. Free and full nodes change with every pod.
  const auto kind = [](const NoFit& no_fit) {
    const UnplacedSet& set = *find_set(no_fit);
    const ResourceNeed* need = find_need(no_fit);
    const auto* never = std::get_if<NeverFits>(&no_fit);
    const auto* full = std::get_if<InsufficientCapacity>(&no_fit);
    const NodeCounts& nodes = set.nodes;
    return std::tuple(std::string_view(set.role),
                      set.domain ? std::string_view(set.domain->key) : std::string_view(),
                      set.domain ? std::optional(set.domain->reason) : std::nullopt,
                      set.domain && !set.domain->capacity.empty(),
                      need == nullptr ? std::string_view() : std::string_view(need->resource),
                      never != nullptr && never->most == 0,
                      set.skew ? std::string_view(set.skew->topology_key) : std::string_view(),
                      full == nullptr ? ReservationOutcome::kNone : full->reservation,
                      nodes.tainted > 0, nodes.not_selected > 0, nodes.volume_elsewhere > 0,
                      nodes.not_ready > 0, nodes.cordoned > 0, nodes.avoided > 0);
  };
  return kind(a) == kind(b);
}

Remedy choose_remedy(const NoFit& no_fit) {
  if (is_proof(no_fit)) return Remedy::kAskForLess;
  if (const auto* quota = std::get_if<OverQuota>(&no_fit)) {
    return quota->need > quota->hard ? Remedy::kAskForLess : Remedy::kWait;
  }
  if (const auto* rule = std::get_if<NotAdmitted>(&no_fit)) {
    if (rule->is_about_pods()) return Remedy::kFixPods;
    if (rule->resource.empty()) return Remedy::kFixQueue;
    return rule->is_too_large ? Remedy::kAskForLess : Remedy::kWait;
  }
  if (std::holds_alternative<NoNodeAllowed>(no_fit)) return Remedy::kAllowNodes;
  const NodeCounts& nodes = find_set(no_fit)->nodes;
  const bool all_too_small = nodes.free == 0 && nodes.full == 0 && nodes.too_small > 0;
  if (all_too_small) return Remedy::kAllowNodes;
  return nodes.not_ready > 0 || nodes.cordoned > 0 ? Remedy::kOpenNodes : Remedy::kWait;
}

std::string_view code(const NoFit& no_fit) {
  const auto* rule = std::get_if<NotAdmitted>(&no_fit);
  return rule == nullptr ? kCodes[no_fit.index()] : std::string_view(rule->rule);
}

std::string_view code(Remedy remedy) {
  switch (remedy) {
    case Remedy::kAskForLess:
      return "AskForLess";
    case Remedy::kAllowNodes:
      return "AllowNodes";
    case Remedy::kOpenNodes:
      return "OpenNodes";
    case Remedy::kFixPods:
      return "FixPods";
    case Remedy::kFixQueue:
      return "FixQueue";
    case Remedy::kWait:
      break;
  }
  return "Wait";
}

Json encode_no_fit(const NoFit& no_fit) {
  Json out{{"code", code(no_fit)}};
  std::visit([&](const auto& cause) { visit_fields(cause, Encoder{out}); }, no_fit);
  return out;
}

std::optional<NoFit> decode_no_fit(const Json& from) {
  const std::string code = kube::string_at(from, {"code"});
  if (code.empty()) return std::nullopt;
  const auto at = std::find(kCodes.begin(), kCodes.end(), code);
  NoFit no_fit = make_cause(static_cast<std::size_t>(at - kCodes.begin()));
  if (auto* rule = std::get_if<NotAdmitted>(&no_fit)) rule->rule = code;
  std::visit([&](auto& cause) { visit_fields(cause, Decoder{from}); }, no_fit);
  return no_fit;
}

std::string_view strip_requests(std::string_view resource) {
  constexpr std::string_view kRequests = "requests.";
  if (resource.starts_with(kRequests)) resource.remove_prefix(kRequests.size());
  return resource;
}

}  // namespace nervex::gang
