// tests/webhook/samples.h - what do the webhook's tests share?
#pragma once

#include <memory>

#include "tests/job/schema/samples.h"
#include "webhook/answer.h"

namespace nervex::webhook {

using testing::a_job;
using testing::job_check;
using testing::job_with;
using testing::with_odd_parts;

inline Sources sources_with(const std::shared_ptr<const job::SchemaCheck>& check) {
  return {.check = [check] { return check; },
          .newer_check = [check](const job::SchemaCheck&, MonoTime) { return check; },
          .facts = [](const kube::AdmissionRequest&, Hook, const HttpRequest&) { return Facts{}; },
          .server_user = "server"};
}

}  // namespace nervex::webhook
