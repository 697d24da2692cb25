#include "job/names.h"
#include "job/object_meta.h"
#include "job/pod_manifest.h"
#include "job/ports.h"

namespace nervex::job {

Json service_manifest(const Job& job, Role role, Slot slot, const RequestEntry* entry,
                      const PodContext& context) {
  const std::string name = pod_name(job, role, slot);
  Json ports = Json::array();
  for (const auto& port : ports_of(job, role, slot, entry, context)) {
    ports.push_back({{"name", port.name},
                     {"port", port.number},
                     {"targetPort", port.number},
                     {"protocol", "TCP"}});
  }
  return {{"apiVersion", "v1"},
          {"kind", "Service"},
          {"metadata", object_meta(job, role, name, Json())},
          {"spec",
           {{"clusterIP", "None"},  // headless: the name resolves to the pod itself
            {"publishNotReadyAddresses", true},
            {"selector", {{kPodNameLabel, name}}},
            {"ports", std::move(ports)}}}};
}

}  // namespace nervex::job
