#include "kube/model/extender_api.h"

#include <utility>

#include "kube/model/json.h"
#include "kube/model/pod_scan.h"
#include "kube/model/scan_parts.h"

namespace nervex::kube {
namespace {

bool is_object(Value value) { return value.type() == simdjson::ondemand::json_type::object; }

Error nodes_in_full() {
  return {Code::kInvalid,
          "filter arguments: whole nodes were sent; the extender needs nodeCacheCapable: true"};
}

}  // namespace

Result<FilterArgs> decode_filter_args(std::string_view body, const PodFilter& filter) {
  return scan<FilterArgs>("filter arguments", body, [&](Scanned& scanned) -> Result<FilterArgs> {
    FilterArgs args;
    bool has_names = false;
    bool has_nodes = false;
    each_field(scanned.root(), [&](std::string_view key, Value item) {
      if (key == "Pod") args.pod = scan_pod(item, filter);
      if (key == "Nodes") has_nodes = is_object(item);
      if (key == "NodeNames") {
        each_item(item, [&](Value name) { args.node_names.push_back(scan_string(name)); });
        has_names = !args.node_names.empty();
      }
    });
    if (has_nodes && !has_names) return nodes_in_full();
    if (args.pod.meta.name.empty()) {
      return Error{Code::kInvalid, "filter arguments: Pod.metadata.name is missing"};
    }
    return args;
  });
}

Result<BindArgs> decode_bind_args(std::string_view body) {
  return scan<BindArgs>("bind arguments", body, [](Scanned& scanned) -> Result<BindArgs> {
    BindArgs args;
    each_field(scanned.root(), [&](std::string_view key, Value item) {
      if (key == "PodName") args.pod_name = scan_text(item);
      if (key == "PodNamespace") args.pod_namespace = scan_text(item);
      if (key == "PodUID") args.pod_uid = scan_text(item);
      if (key == "Node") args.node = scan_text(item);
    });
    if (args.pod_name.empty() || args.pod_namespace.empty() || args.node.empty()) {
      return Error{Code::kInvalid, "bind arguments: PodName, PodNamespace or Node is missing"};
    }
    return args;
  });
}

std::string encode_filter_result(const FilterResult& result) {
  std::string text = R"({"NodeNames":)";
  append_texts(text, result.node_names);
  text += R"(,"FailedNodes":{},"FailedAndUnresolvableNodes":{)";
  const char* separator = "";
  for (const auto& [node, why] : result.failed_and_unresolvable) {
    text += std::exchange(separator, ",");
    append_text(text, node);
    text += ':';
    append_text(text, why);
  }
  text += R"(},"Error":)";
  append_text(text, result.error);
  text += '}';
  return text;
}

std::string encode_bind_result(const std::string& error) {
  std::string text = R"({"Error":)";
  append_text(text, error);
  text += '}';
  return text;
}

}  // namespace nervex::kube
