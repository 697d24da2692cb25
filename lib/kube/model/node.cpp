#include "kube/model/node.h"

#include "kube/model/scan_parts.h"

namespace nervex::kube {
namespace {

Taint scan_taint(Value value) {
  Taint taint;
  each_field(value, [&](std::string_view key, Value item) {
    if (key == "key") taint.key = scan_text(item);
    if (key == "value") taint.value = scan_text(item);
    if (key == "effect") taint.effect = scan_text(item);
  });
  return taint;
}

void scan_metadata(Value value, Node& node) {
  each_field(value, [&](std::string_view key, Value item) {
    if (key == "name") node.name = scan_text(item);
    if (key == "uid") node.uid = scan_text(item);
    if (key == "resourceVersion") node.resource_version = scan_text(item);
    if (key == "labels") node.labels = scan_strings(item);
  });
}

void scan_spec(Value value, Node& node) {
  each_field(value, [&](std::string_view key, Value item) {
    if (key == "unschedulable") node.unschedulable = is_true(item);
    if (key == "taints") {
      each_item(item, [&](Value taint) { node.taints.push_back(scan_taint(taint)); });
    }
  });
}

void scan_status(Value value, Node& node) {
  each_field(value, [&](std::string_view key, Value item) {
    if (key == "allocatable") {
      for (const auto& [name, amount] : scan_amounts(item)) node.allocatable.set(name, amount);
    } else if (key == "conditions") {
      each_item(item, [&](Value entry) {
        const Condition condition = scan_condition(entry);
        if (condition.type != "Ready") return;
        node.ready = condition.is_true;
        node.is_unreachable = !condition.is_true && !condition.is_false;
        node.ready_changed = condition.since;
      });
    }
  });
}

}  // namespace

Result<Node> decode_node(std::string_view json) {
  return scan<Node>("node", json, [](Scanned& scanned) -> Result<Node> {
    Node node;
    each_field(scanned.root(), [&](std::string_view key, Value item) {
      if (key == "metadata") scan_metadata(item, node);
      if (key == "spec") scan_spec(item, node);
      if (key == "status") scan_status(item, node);
    });
    if (node.name.empty()) return Error{Code::kInvalid, "node: metadata.name is missing"};
    return node;
  });
}

}  // namespace nervex::kube
