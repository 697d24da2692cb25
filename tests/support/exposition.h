// tests/support/exposition.h - can Prometheus read this text? Like `promtool check metrics`.
#pragma once

#include <string>
#include <vector>

namespace nervex::testing {

// Problems of a text in Prometheus' format 0.0.4, one sentence each; empty if none. Checks
//   the grammar of each line; HELP and TYPE once, before the samples, and together; samples of a
//   family together and with its name; no duplicate sample; counters end in _total and are not
//   negative; histograms have le, +Inf, rising buckets, _sum and _count. (As promtool's lint.)
std::vector<std::string> exposition_problems(const std::string& text);

// Only "# HELP" and "# TYPE" lines: each metric without its values.
std::string exposition_heads(const std::string& text);

}  // namespace nervex::testing
