#include "kube/model/protobuf.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <simdjson.h>
#include <protozero/pbf_reader.hpp>

#include "base/clock.h"
#include "base/text.h"
#include "kube/model/json.h"

namespace nervex::kube {
namespace {

// ---- the fields that are read

enum class Kind {
  kText,
  kInt,
  kBool,
  kTime,
  kObject,
  kInline,   // its fields belong to the outer object in JSON
  kTexts,    // a list
  kInts,     // a list
  kObjects,  // a list
  kItems,    // a list that is present even if empty
  kTextMap,
  kAmountMap,  // of quantities
};

struct Field {
  std::uint32_t number;
  std::string_view name;
  Kind kind;
  std::span<const Field> fields{};  // of an object
};
using Fields = std::span<const Field>;

using enum Kind;

constexpr std::array kRequirement{Field{1, "key", kText}, Field{2, "operator", kText},
                                  Field{3, "values", kTexts}};
constexpr std::array kNodeTerm{Field{1, "matchExpressions", kObjects, kRequirement},
                               Field{2, "matchFields", kObjects, kRequirement}};
constexpr std::array kNodeSelector{Field{1, "nodeSelectorTerms", kObjects, kNodeTerm}};
constexpr std::array kPreferred{Field{1, "weight", kInt},
                                Field{2, "preference", kObject, kNodeTerm}};
constexpr std::array kNodeAffinity{
    Field{1, "requiredDuringSchedulingIgnoredDuringExecution", kObject, kNodeSelector},
    Field{2, "preferredDuringSchedulingIgnoredDuringExecution", kObjects, kPreferred}};
constexpr std::array kLabelSelector{Field{1, "matchLabels", kTextMap},
                                    Field{2, "matchExpressions", kObjects, kRequirement}};
constexpr std::array kPodTerm{Field{1, "labelSelector", kObject, kLabelSelector},
                              Field{2, "namespaces", kTexts},
                              Field{3, "topologyKey", kText},
                              Field{4, "namespaceSelector", kObject, kLabelSelector},
                              Field{5, "matchLabelKeys", kTexts},
                              Field{6, "mismatchLabelKeys", kTexts}};
constexpr std::array kPodAntiAffinity{
    Field{1, "requiredDuringSchedulingIgnoredDuringExecution", kObjects, kPodTerm}};
constexpr std::array kAffinity{Field{1, "nodeAffinity", kObject, kNodeAffinity},
                               Field{3, "podAntiAffinity", kObject, kPodAntiAffinity}};
constexpr std::array kToleration{Field{1, "key", kText}, Field{2, "operator", kText},
                                 Field{3, "value", kText}, Field{4, "effect", kText},
                                 Field{5, "tolerationSeconds", kInt}};
constexpr std::array kTopologySpread{Field{1, "maxSkew", kInt},
                                     Field{2, "topologyKey", kText},
                                     Field{3, "whenUnsatisfiable", kText},
                                     Field{4, "labelSelector", kObject, kLabelSelector},
                                     Field{5, "minDomains", kInt},
                                     Field{6, "nodeAffinityPolicy", kText},
                                     Field{7, "nodeTaintsPolicy", kText},
                                     Field{8, "matchLabelKeys", kTexts}};
constexpr std::array kClaim{Field{1, "claimName", kText}};
constexpr std::array kVolumeSource{Field{10, "persistentVolumeClaim", kObject, kClaim}};
constexpr std::array kVolume{Field{1, "name", kText}, Field{2, "", kInline, kVolumeSource}};
constexpr std::array kGate{Field{1, "name", kText}};
constexpr std::array kPort{Field{2, "hostPort", kInt}, Field{4, "protocol", kText}};
constexpr std::array kResources{Field{1, "limits", kAmountMap}, Field{2, "requests", kAmountMap}};
constexpr std::array kExitCodes{Field{1, "operator", kText}, Field{2, "values", kInts}};
constexpr std::array kRestartRule{Field{1, "action", kText},
                                  Field{2, "exitCodes", kObject, kExitCodes}};
constexpr std::array kContainer{Field{1, "name", kText}, Field{6, "ports", kObjects, kPort},
                                Field{8, "resources", kObject, kResources},
                                Field{24, "restartPolicy", kText},
                                Field{25, "restartPolicyRules", kObjects, kRestartRule}};
constexpr std::array kPodSpec{Field{1, "volumes", kObjects, kVolume},
                              Field{2, "containers", kObjects, kContainer},
                              Field{3, "restartPolicy", kText},
                              Field{4, "terminationGracePeriodSeconds", kInt},
                              Field{7, "nodeSelector", kTextMap},
                              Field{10, "nodeName", kText},
                              Field{16, "hostname", kText},
                              Field{17, "subdomain", kText},
                              Field{18, "affinity", kObject, kAffinity},
                              Field{19, "schedulerName", kText},
                              Field{20, "initContainers", kObjects, kContainer},
                              Field{22, "tolerations", kObjects, kToleration},
                              Field{25, "priority", kInt},
                              Field{32, "overhead", kAmountMap},
                              Field{33, "topologySpreadConstraints", kObjects, kTopologySpread},
                              Field{38, "schedulingGates", kObjects, kGate},
                              Field{40, "resources", kObject, kResources}};

constexpr std::array kWaiting{Field{1, "reason", kText}, Field{2, "message", kText}};
constexpr std::array kTerminated{Field{1, "exitCode", kInt}, Field{3, "reason", kText},
                                 Field{4, "message", kText}, Field{6, "finishedAt", kTime}};
constexpr std::array kState{Field{1, "waiting", kObject, kWaiting},
                            Field{3, "terminated", kObject, kTerminated}};
constexpr std::array kContainerStatus{Field{1, "name", kText},
                                      Field{2, "state", kObject, kState},
                                      Field{3, "lastState", kObject, kState},
                                      Field{4, "ready", kBool},
                                      Field{5, "restartCount", kInt},
                                      Field{10, "allocatedResources", kAmountMap},
                                      Field{11, "resources", kObject, kResources}};
constexpr std::array kCondition{Field{1, "type", kText}, Field{2, "status", kText},
                                Field{4, "lastTransitionTime", kTime}, Field{5, "reason", kText},
                                Field{6, "message", kText}};
constexpr std::array kPodStatus{Field{1, "phase", kText},
                                Field{2, "conditions", kObjects, kCondition},
                                Field{3, "message", kText},
                                Field{4, "reason", kText},
                                Field{6, "podIP", kText},
                                Field{7, "startTime", kTime},
                                Field{8, "containerStatuses", kObjects, kContainerStatus},
                                Field{10, "initContainerStatuses", kObjects, kContainerStatus},
                                Field{11, "nominatedNodeName", kText},
                                Field{19, "allocatedResources", kAmountMap},
                                Field{20, "resources", kObject, kResources}};

constexpr std::array kOwner{Field{1, "kind", kText}, Field{3, "name", kText},
                            Field{4, "uid", kText}, Field{5, "apiVersion", kText},
                            Field{6, "controller", kBool}};
constexpr std::array kObjectMeta{Field{1, "name", kText},
                                 Field{3, "namespace", kText},
                                 Field{5, "uid", kText},
                                 Field{6, "resourceVersion", kText},
                                 Field{7, "generation", kInt},
                                 Field{8, "creationTimestamp", kTime},
                                 Field{9, "deletionTimestamp", kTime},
                                 Field{10, "deletionGracePeriodSeconds", kInt},
                                 Field{11, "labels", kTextMap},
                                 Field{12, "annotations", kTextMap},
                                 Field{13, "ownerReferences", kObjects, kOwner},
                                 Field{14, "finalizers", kTexts}};
// The object's identity and version.
constexpr std::array kIdentity{Field{1, "name", kText}, Field{3, "namespace", kText},
                               Field{5, "uid", kText}, Field{6, "resourceVersion", kText}};
constexpr std::array kIdentityOnly{Field{1, "metadata", kObject, kIdentity}};
constexpr std::array kPod{Field{1, "metadata", kObject, kObjectMeta},
                          Field{2, "spec", kObject, kPodSpec},
                          Field{3, "status", kObject, kPodStatus}};

// Of metav1.Time. JSON also has only seconds.
constexpr std::array kTimeParts{Field{1, "seconds", kInt}};

constexpr std::array kListMeta{Field{2, "resourceVersion", kText}, Field{3, "continue", kText}};
constexpr std::array kPodList{Field{1, "metadata", kObject, kListMeta},
                              Field{2, "items", kItems, kPod}};
constexpr std::array kStatusDetails{Field{5, "retryAfterSeconds", kInt}};
constexpr std::array kStatus{Field{2, "status", kText}, Field{3, "message", kText},
                             Field{4, "reason", kText},
                             Field{5, "details", kObject, kStatusDetails}, Field{6, "code", kInt}};

// ---- from bytes to JSON

using protozero::pbf_reader;
using protozero::pbf_wire_type;

// The parts of a message that are read, in the order of `fields`; list items keep their order.
struct Part {
  const Field* field;
  std::string_view bytes{};  // for fields with a length
  std::int64_t number = 0;   // for fields without a length
};

std::vector<Part> split_fields(std::string_view message, Fields fields) {
  constexpr std::size_t kUsual = 8;
  std::vector<Part> parts;
  parts.reserve(std::min(kUsual, fields.size()));
  pbf_reader reader(message.data(), message.size());
  while (reader.next()) {
    const auto field = std::find_if(fields.begin(), fields.end(),
                                    [&](const Field& one) { return one.number == reader.tag(); });
    const bool is_number = field != fields.end() &&
                           (field->kind == kInt || field->kind == kInts || field->kind == kBool);
    const auto wanted = is_number ? pbf_wire_type::varint : pbf_wire_type::length_delimited;
    if (field == fields.end() || reader.wire_type() != wanted) {
      reader.skip();
    } else if (is_number) {
      parts.push_back({&*field, {}, reader.get_int64()});
    } else {
      const auto view = reader.get_view();
      parts.push_back({&*field, std::string_view(view.data(), view.size())});
    }
  }
  // The API server writes them in this order; other writers may not.
  const auto is_before = [](const Part& a, const Part& b) { return a.field < b.field; };
  if (!std::is_sorted(parts.begin(), parts.end(), is_before)) {
    std::stable_sort(parts.begin(), parts.end(), is_before);
  }
  return parts;
}

// One text field of a small message: a quantity's amount, or a map entry.
std::string_view text_in(std::string_view message, std::uint32_t number) {
  std::string_view text;
  pbf_reader reader(message.data(), message.size());
  while (reader.next()) {
    if (reader.tag() == number && reader.wire_type() == pbf_wire_type::length_delimited) {
      const auto view = reader.get_view();
      text = {view.data(), view.size()};
    } else {
      reader.skip();
    }
  }
  return text;
}

class Writer {
 public:
  explicit Writer(std::string& out) : out_(out) {}

  void object(std::string_view message, Fields fields) {
    out_ += '{';
    bool is_first = true;
    members(message, fields, is_first);
    out_ += '}';
  }

 private:
  void members(std::string_view message, Fields fields, bool& is_first) {
    const std::vector<Part> parts = split_fields(message, fields);
    for (auto at = parts.begin(); at != parts.end();) {
      const auto end =
          std::find_if(at, parts.end(), [&](const Part& part) { return part.field != at->field; });
      if (at->field->kind == kInline) {
        for (; at != end; ++at) members(at->bytes, at->field->fields, is_first);
      } else if (!is_zero(end[-1])) {
        if (!std::exchange(is_first, false)) out_ += ',';
        text(at->field->name);
        out_ += ':';
        value({at, end});
      }
      at = end;
    }
    for (const Field& field : fields) {
      if (field.kind != kItems) continue;
      const bool is_there = std::any_of(parts.begin(), parts.end(),
                                        [&](const Part& part) { return part.field == &field; });
      if (is_there) continue;
      if (!std::exchange(is_first, false)) out_ += ',';
      text(field.name);
      out_ += ":[]";
    }
  }

  // Values that JSON omits. For a field that is not a list the last one counts.
  static bool is_zero(const Part& last) {
    const Kind kind = last.field->kind;
    return (kind == kInt || kind == kBool)    ? last.number == 0
           : (kind == kText || kind == kTime) ? last.bytes.empty()
                                              : false;
  }

  void value(std::span<const Part> parts) {
    const Part& last = parts.back();
    switch (last.field->kind) {
      case kText:
        return text(last.bytes);
      case kInt:
        out_ += fmt::to_string(last.number);
        return;
      case kBool:
        out_ += "true";
        return;
      case kTime:
        return time(last.bytes);
      case kObject:
      case kInline:
        return object(last.bytes, last.field->fields);
      case kTexts:
        return list(parts, '[', ']', [this](const Part& part) { text(part.bytes); });
      case kInts:
        return list(parts, '[', ']',
                    [this](const Part& part) { out_ += fmt::to_string(part.number); });
      case kObjects:
      case kItems:
        return list(parts, '[', ']',
                    [this](const Part& part) { object(part.bytes, part.field->fields); });
      case kTextMap:
        return list(parts, '{', '}', [this](const Part& part) { entry(part, false); });
      case kAmountMap:
        return list(parts, '{', '}', [this](const Part& part) { entry(part, true); });
    }
  }

  template <typename F>
  void list(std::span<const Part> parts, char open, char close, F write) {
    out_ += open;
    for (const Part& part : parts) {
      if (&part != parts.data()) out_ += ',';
      write(part);
    }
    out_ += close;
  }

  void entry(const Part& part, bool is_amount) {
    const std::string_view value = text_in(part.bytes, 2);
    text(text_in(part.bytes, 1));
    out_ += ':';
    text(is_amount ? text_in(value, 1) : value);
  }

  void time(std::string_view message) {
    const std::vector<Part> parts = split_fields(message, kTimeParts);
    const std::int64_t seconds = parts.empty() ? 0 : parts.back().number;
    constexpr std::int64_t kYear9999 = 253'402'300'799;
    const bool is_possible = -kYear9999 < seconds && seconds <= kYear9999;
    text(is_possible ? to_rfc3339(SysTime(std::chrono::seconds(seconds))) : "");
  }

  void text(std::string_view bytes) {
    const auto is_plain = [](char c) {
      return static_cast<unsigned char>(c) >= 0x20 && c != '"' && c != '\\';
    };
    if (std::all_of(bytes.begin(), bytes.end(), is_plain) &&
        simdjson::validate_utf8(bytes.data(), bytes.size())) {
      out_ += '"';
      out_ += bytes;
      out_ += '"';
    } else {
      out_ += to_text(Json(std::string(bytes)));
    }
  }

  std::string& out_;
};

// ---- envelopes: "k8s\0" and a runtime.Unknown around each object

constexpr std::string_view kMagic{"k8s\0", 4};

struct Envelope {
  std::string_view kind;
  std::string_view object;
};

Result<Envelope> open_envelope(std::string_view bytes) {
  if (!bytes.starts_with(kMagic)) return Error{Code::kInvalid, "protobuf: wrong magic number"};
  bytes.remove_prefix(kMagic.size());
  return Envelope{text_in(text_in(bytes, 1), 2), text_in(bytes, 2)};
}

// `of_pod`: the pod fields to read.
Result<Nothing> append(std::string_view bytes, Fields of_pod, std::string& out) {
  const auto envelope = open_envelope(bytes);
  if (!envelope) return envelope.error();
  const auto& [kind, object] = *envelope;
  const Fields fields = kind == "Pod"       ? of_pod
                        : kind == "PodList" ? Fields(kPodList)
                        : kind == "Status"  ? Fields(kStatus)
                                            : Fields();
  if (fields.empty()) {
    return Error{Code::kInvalid,
                 fmt::format("protobuf: unexpected kind \"{}\"", first_bytes(kind, 64))};
  }
  Writer(out).object(object, fields);
  return ok();
}

// `write(std::string& out)`, with the library's exceptions caught.
template <typename F>
Result<std::string> written(F write) {
  std::string out;
  try {
    const Result<Nothing> done = write(out);
    if (!done) return done.error();
  } catch (const protozero::exception& e) {
    return Error{Code::kInvalid, fmt::format("protobuf: malformed: {}", e.what())};
  }
  return out;
}

}  // namespace

bool has_protobuf(std::string_view path) {
  return path.substr(0, path.find('?')) == "/api/v1/pods";
}

Result<std::string> json_of_protobuf(std::string_view body) {
  return written([&](std::string& out) { return append(body, kPod, out); });
}

Result<std::string> json_of_watch_event(std::string_view frame) {
  return written([&](std::string& out) -> Result<Nothing> {
    const std::string_view type = text_in(frame, 1);
    const bool is_known =
        std::all_of(type.begin(), type.end(), [](char c) { return 'A' <= c && c <= 'Z'; });
    if (!is_known) return Error{Code::kInvalid, "protobuf: a watch event without a type"};
    out.append(R"({"type":")").append(type).append(R"(","object":)");
    const Fields of_pod = type == "DELETED" ? Fields(kIdentityOnly) : Fields(kPod);
    if (auto done = append(text_in(text_in(frame, 2), 1), of_pod, out); !done) return done;
    out += '}';
    return ok();
  });
}

}  // namespace nervex::kube
