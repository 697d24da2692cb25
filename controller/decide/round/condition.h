// controller/decide/round/condition.h - how is a condition of the job read and set?
#pragma once

#include <string>
#include <string_view>

#include "controller/decide/round/observed.h"
#include "job/types.h"

namespace nervex::controller {

bool is_true(const job::Status& status, std::string_view type);
bool is_false(const job::Status& status, std::string_view type);
void remove_condition(job::Status& status, std::string_view type);

// Sets the observed generation and, if the condition is new or its status changes, the time.
void set_condition(const Observed& seen, job::Status& status, std::string_view type, bool is_true,
                   std::string_view reason, std::string message);

// PodsCreated=False with FailedCreate: creating an object fails.
bool has_failed_creation(const job::Status& status);

// metav1.Time has whole seconds: the written value then equals the one read back.
SysTime whole_seconds(SysTime time);

}  // namespace nervex::controller
