// kube/model/protobuf.h - how are pods in the API server's binary encoding read?
//
// The API server caches pods in that encoding for all watchers, but encodes JSON for each: that
// cost a third more CPU time with three watches (docs/performance.md). The binary form is converted
// to JSON with only the fields that this suite reads, so each kind needs one decoder. Field
// numbers: generated.proto of k8s.io/api and k8s.io/apimachinery v0.36.3; they never change.
#pragma once

#include <string>
#include <string_view>

#include "base/error.h"

namespace nervex::kube {

// Media type for Accept. Replies to a watch append ";stream=watch".
inline constexpr std::string_view kProtobufType = "application/vnd.kubernetes.protobuf";

// Whether json_of_protobuf() can read all objects of this collection. `path` as in a request, with
// or without a query.
bool has_protobuf(std::string_view path);

// A reply's body: a Pod, a PodList or a Status. Omits fields that kube/model does not read, empty
// texts, zeros and false. kInvalid: another encoding, truncated, or another kind. Cost: one pass
// over the bytes.
Result<std::string> json_of_protobuf(std::string_view body);

// One watch event, as the line of a JSON watch; for a deleted pod only its identity and version.
Result<std::string> json_of_watch_event(std::string_view frame);

}  // namespace nervex::kube
