// kube/model/protobuf.h - how are pods read that the API server sends in its binary encoding?
//
// The API server keeps pods in that encoding and shares it among all who watch: JSON is made again,
// which cost a third more CPU time with three watches (docs/performance.md). It is turned into JSON
// with only the fields that this suite reads, so that there is one decoder of each kind. Numbers of
// fields: generated.proto of k8s.io/api and k8s.io/apimachinery v0.36.3; they never change.
#pragma once

#include <string>
#include <string_view>

#include "base/error.h"

namespace nervex::kube {

// Media type, for Accept. Replies to a watch have ";stream=watch" behind it.
inline constexpr std::string_view kProtobufType = "application/vnd.kubernetes.protobuf";

// Can json_of_protobuf() read all objects of this collection? `path` as in a request, with or
// without a query.
bool has_protobuf(std::string_view path);

// A reply's body: a Pod, a PodList or a Status. Fields that nothing in kube/model reads are left
// out, and so are empty texts, zeros and false. kInvalid: it is not in this encoding, is cut off,
// or is of another kind. Cost: one pass over the bytes.
Result<std::string> json_of_protobuf(std::string_view body);

// One event of a watch, as the line that a JSON watch would have brought; of a pod that was deleted
// only which one it was, and its version.
Result<std::string> json_of_watch_event(std::string_view frame);

}  // namespace nervex::kube
