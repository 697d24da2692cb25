// cli/verbs/verbs.h - which verbs does nervexctl have? Each is a file of its name.
#pragma once

#include "cli/verb.h"

namespace nervex::cli {

void add_certs(Verbs& verbs);
void add_completion(Verbs& verbs);
void add_delete(Verbs& verbs);
void add_doctor(Verbs& verbs);
void add_events(Verbs& verbs);
void add_explain(Verbs& verbs);
void add_list(Verbs& verbs);
void add_logs(Verbs& verbs);
void add_queue(Verbs& verbs);
void add_replicas(Verbs& verbs);
void add_scale(Verbs& verbs);
void add_simulate(Verbs& verbs);
void add_submit(Verbs& verbs);
void add_suspend(Verbs& verbs);  // and resume
void add_top(Verbs& verbs);
void add_validate(Verbs& verbs);
void add_wait(Verbs& verbs);

}  // namespace nervex::cli
