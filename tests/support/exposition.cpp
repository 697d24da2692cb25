#include "tests/support/exposition.h"

#include <cmath>
#include <cstdlib>
#include <map>
#include <optional>
#include <regex>
#include <set>
#include <sstream>

namespace nervex::testing {
namespace {

struct Sample {
  std::string name;
  std::map<std::string, std::string> labels;
  double value = 0;
};

// {a="b",c="d\"e"}: the grammar of exposition_formats.md in the Prometheus documentation.
const std::regex kSample(
    R"re(([a-zA-Z_:][a-zA-Z0-9_:]*)(\{(?:[a-zA-Z_][a-zA-Z0-9_]*="(?:[^"\\]|\\["\\n])*",?)*\})? (\S+))re");
const std::regex kLabel(R"re(([a-zA-Z_][a-zA-Z0-9_]*)="((?:[^"\\]|\\["\\n])*)")re");
const std::regex kHead(R"re(# (HELP|TYPE) ([a-zA-Z_:][a-zA-Z0-9_:]*) (.+))re");

std::optional<double> number(const std::string& text) {
  if (text == "+Inf") return HUGE_VAL;
  if (text == "-Inf") return -HUGE_VAL;
  if (text == "NaN" || text == "Nan") return NAN;
  char* end = nullptr;
  const double value = std::strtod(text.c_str(), &end);
  if (text.empty() || end != text.c_str() + text.size()) return std::nullopt;
  return value;
}

std::string without_suffix(const std::string& name, const std::string& type) {
  if (type != "histogram") return name;
  for (const std::string suffix : {"_bucket", "_sum", "_count"}) {
    if (name.ends_with(suffix)) return name.substr(0, name.size() - suffix.size());
  }
  return name;
}

class Check {
 public:
  std::vector<std::string> run(const std::string& text) {
    if (!text.empty() && text.back() != '\n') report("the last line has no end");
    std::istringstream in(text);
    for (std::string line; std::getline(in, line);) take(line);
    finish_family();
    return std::move(problems_);
  }

 private:
  void report(const std::string& problem) { problems_.push_back(problem); }

  void take(const std::string& line) {
    std::smatch match;
    if (std::regex_match(line, match, kHead)) return take_head(match[1], match[2], match[3]);
    if (!std::regex_match(line, match, kSample)) return report("no sample: " + line);
    Sample sample{match[1], {}, 0};
    const std::string labels = match[2];
    for (std::sregex_iterator at(labels.begin(), labels.end(), kLabel), end; at != end; ++at) {
      if (!sample.labels.emplace((*at)[1], (*at)[2]).second) report("a label twice: " + line);
    }
    const auto value = number(match[3]);
    if (!value) return report("no number: " + line);
    sample.value = *value;
    take_sample(sample, line.substr(0, line.rfind(' ')));
  }

  void take_head(const std::string& what, const std::string& name, const std::string& rest) {
    if (name != family_) {
      finish_family();
      family_ = name;
      type_.clear();
      has_help_ = false;
      if (!families_.insert(name).second) report("the family comes twice: " + name);
    }
    if (what == "HELP") {
      if (has_help_) report("HELP twice: " + name);
      has_help_ = true;
      return;
    }
    if (!type_.empty()) report("TYPE twice: " + name);
    if (!samples_.empty()) report("TYPE behind samples: " + name);
    type_ = rest;
    static const std::set<std::string> kTypes{"counter", "gauge", "histogram"};
    if (!kTypes.contains(type_)) report("a type we do not use: " + name + " " + type_);
    if (type_ == "counter" && !name.ends_with("_total")) report("no _total: " + name);
    if (type_ != "counter" && name.ends_with("_total")) report("_total of no counter: " + name);
  }

  void take_sample(const Sample& sample, const std::string& series) {
    if (family_.empty() || without_suffix(sample.name, type_) != family_) {
      return report("a sample outside of its family: " + series);
    }
    if (!has_help_ || type_.empty()) report("no HELP or no TYPE: " + series);
    if (!seen_.insert(series).second) report("a sample twice: " + series);
    if (type_ != "gauge" && !(sample.value >= 0)) report("negative: " + series);
    samples_.push_back(sample);
  }

  void finish_family() {
    if (!family_.empty() && samples_.empty()) report("no sample: " + family_);
    if (type_ == "histogram") check_histogram();
    samples_.clear();
  }

  void check_histogram() {
    struct Series {
      std::map<double, double> buckets;
      std::optional<double> sum, count;
    };
    std::map<std::map<std::string, std::string>, Series> all;
    for (Sample sample : samples_) {
      const auto le = sample.labels.find("le");
      const double bound = le == sample.labels.end() ? NAN : number(le->second).value_or(NAN);
      sample.labels.erase("le");
      Series& series = all[sample.labels];
      if (sample.name.ends_with("_sum")) series.sum = sample.value;
      if (sample.name.ends_with("_count")) series.count = sample.value;
      if (!sample.name.ends_with("_bucket")) continue;
      if (std::isnan(bound)) {
        report("a bucket without le: " + family_);
      } else {
        series.buckets[bound] = sample.value;
      }
    }
    for (const auto& [labels, series] : all) {
      if (!series.sum || !series.count) report("no _sum or no _count: " + family_);
      const auto last = series.buckets.rbegin();
      if (last == series.buckets.rend() || last->first != HUGE_VAL) {
        report("no bucket +Inf: " + family_);
      } else if (series.count && last->second != *series.count) {
        report("+Inf and _count differ: " + family_);
      }
      double before = 0;
      for (const auto& [bound, count] : series.buckets) {
        if (count < before) report("buckets fall: " + family_);
        before = count;
      }
    }
  }

  std::vector<std::string> problems_;
  std::set<std::string> families_;
  std::set<std::string> seen_;
  std::string family_;  // of the lines that come now
  std::string type_;
  bool has_help_ = false;
  std::vector<Sample> samples_;
};

}  // namespace

std::vector<std::string> exposition_problems(const std::string& text) { return Check().run(text); }

std::string exposition_heads(const std::string& text) {
  std::string heads;
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);) {
    if (line.starts_with("# ")) heads += line + "\n";
  }
  return heads;
}

}  // namespace nervex::testing
