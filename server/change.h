// server/change.h - what does one call change, and what does it answer?
#pragma once

#include "job/types.h"
#include "server/envelope.h"

namespace nervex::server {

struct Change {
  job::Requests requests;  // the whole new spec.requests
  Listing named;           // the answer: addresses that are right as soon as it is written
  bool changes = false;    // false: there is nothing to write
};

}  // namespace nervex::server
