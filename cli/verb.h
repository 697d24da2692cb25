// cli/verb.h - what is a verb of nervexctl, and how is the chosen one run?
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <CLI/App.hpp>

namespace nervex::cli {

inline constexpr const char* kUsualExitCodes = "0 success, 1 failure, 2 wrong usage";

// What --help says. A test runs the examples.
struct VerbText {
  std::string name;
  std::string what;                   // whole sentences; the first is shown in the list of verbs
  std::vector<std::string> examples;  // command lines without the program: "list -A"
  std::string exit_codes = kUsualExitCodes;
  std::string more = "";  // after all that
};

// The verbs of the program. Each has flags of its own type, one function that defines them and one
// that does the work.
class Verbs {
 public:
  explicit Verbs(CLI::App& app);

  template <typename Flags>
  void add(const VerbText& text, void (*define)(CLI::App& command, Flags& flags),
           int (*run)(const Flags& flags)) {
    add_to(app_, text, define, run);
  }

  // For a verb that has verbs, like `replicas add`: `group` is from add_group().
  template <typename Flags>
  void add_to(CLI::App& group, const VerbText& text,
              void (*define)(CLI::App& command, Flags& flags), int (*run)(const Flags& flags)) {
    auto verb = std::make_unique<VerbWith<Flags>>(add_command(group, text), run);
    define(*verb->command, verb->flags);
    verbs_.push_back(std::move(verb));
  }
  CLI::App& add_group(const std::string& name, const std::string& what);

  // Parses the command line and runs the chosen verb. Returns the exit code.
  int parse_and_run(int argc, char** argv);

 private:
  struct Verb {
    explicit Verb(CLI::App& defined) : command(&defined) {}
    virtual ~Verb() = default;
    virtual int run() const = 0;
    CLI::App* command;
  };
  template <typename Flags>
  struct VerbWith final : Verb {
    VerbWith(CLI::App& defined, int (*function)(const Flags&)) : Verb(defined), runs(function) {}
    int run() const override { return runs(flags); }
    Flags flags;
    int (*runs)(const Flags&);
  };

  static CLI::App& add_command(CLI::App& group, const VerbText& text);

  CLI::App& app_;
  std::vector<std::unique_ptr<Verb>> verbs_;
};

}  // namespace nervex::cli
