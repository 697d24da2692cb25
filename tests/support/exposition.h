// tests/support/exposition.h - is this text what Prometheus can read? As `promtool check metrics`.
#pragma once

#include <string>
#include <vector>

namespace nervex::testing {

// What is wrong with a text in Prometheus' format 0.0.4, one sentence each; empty if nothing:
//   the grammar of each line; HELP and TYPE once, before the samples, and together; samples of a
//   family together and of its name; no sample twice; counters end in _total and are not negative;
//   histograms have le, +Inf, rising buckets, _sum and _count. (promtool's lint asks the same.)
std::vector<std::string> exposition_problems(const std::string& text);

// "# HELP" and "# TYPE" lines only: what a metric is, without its values.
std::string exposition_heads(const std::string& text);

}  // namespace nervex::testing
