#include "job/names.h"
#include "job/object_meta.h"
#include "job/pod_manifest.h"

namespace nervex::job {

Json service_manifest(const Job& job, Role role, Slot slot, const PodContext& context) {
  const std::string name = pod_name(job, role, slot);
  const int port = main_port(template_of(job, role, context), role);
  return {{"apiVersion", "v1"},
          {"kind", "Service"},
          {"metadata", object_meta(job, role, name, Json())},
          {"spec",
           {{"clusterIP", "None"},  // headless: the name resolves to the pod itself
            {"publishNotReadyAddresses", true},
            {"selector", {{kPodNameLabel, name}}},
            {"ports", Json::array({{{"name", kMainPort},
                                    {"port", port},
                                    {"targetPort", port},
                                    {"protocol", "TCP"}}})}}}};
}

}  // namespace nervex::job
