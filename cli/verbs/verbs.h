// cli/verbs/verbs.h - which verbs does nervexctl have? Each is a file of its name.
#pragma once

#include "cli/verb.h"

namespace nervex::cli {

void add_certs(Verbs& verbs);
void add_explain(Verbs& verbs);
void add_replicas(Verbs& verbs);
void add_validate(Verbs& verbs);

}  // namespace nervex::cli
