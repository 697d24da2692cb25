// `completion`, and the hidden call that its scripts make.
#include "cli/verbs/completion.h"

#include <string_view>

#include <CLI/CLI.hpp>

#include "base/program.h"
#include "cli/cluster_flags.h"
#include "cli/help/complete.h"
#include "cli/output.h"
#include "cli/text.h"
#include "cli/verbs/verbs.h"
#include "kube/client.h"
#include "kube/model/meta.h"
#include "kube/model/watch.h"
#include "kube/paged_list.h"

namespace nervex::cli {
namespace {

constexpr std::string_view kCompleteCall = "__complete";
// kubectl calls a program of this name to complete `kubectl nervex`.
constexpr std::string_view kKubectlCall = "kubectl_complete-nervex";

struct CompletionFlags {
  std::string shell;
};

void define_completion(CLI::App& command, CompletionFlags& flags) {
  command.add_option("shell", flags.shell, "shell that sources the script")
      ->required()
      ->check(CLI::IsMember({"bash", "zsh", "fish"}))
      ->type_name("SHELL");
}

int run_completion(const CompletionFlags& flags) {
  write_out(completion_script(flags.shell));
  return kExitOk;
}

std::string collection_path(Completion::More more, const std::string& ns) {
  if (more == Completion::More::kJobs) return kube::api_path(kube::kNervexJobs, ns);
  return kube::api_path(more == Completion::More::kQueues ? kube::kQueues : kube::kNamespaces);
}

// Names that the user may list; none if the API server does not answer soon.
std::vector<std::string> read_names(const std::vector<std::string>& typed, Completion::More more) {
  constexpr std::chrono::seconds kPatience{2};
  ClusterFlags flags;
  flags.kubeconfig = typed_value(typed, "--kubeconfig");
  flags.context = typed_value(typed, "--context");
  flags.ns = typed_value(typed, "--namespace", "-n");
  auto config = load_connection(flags);
  if (!config) return {};
  config->request_timeout = kPatience;
  config->call_timeout = kPatience;
  kube::Client api(*config, "nervexctl");
  constexpr int kPageSize = 500;
  std::vector<std::string> names;
  const auto listed =
      kube::list_in_pages(api, collection_path(more, config->ns), kPageSize,
                          [&](std::string_view text) -> Result<Nothing> {
                            const auto id = kube::identify(text);
                            if (id) names.push_back(kube::NamespacedName::parse(id->key).name);
                            return ok();
                          });
  return listed ? names : std::vector<std::string>();
}

}  // namespace

std::optional<std::vector<std::string>> words_to_complete(int argc, char** argv) {
  const std::string_view program(argv[0]);
  const bool is_kubectls = program.substr(program.rfind('/') + 1) == kKubectlCall;
  const bool is_call = argc > 1 && argv[1] == kCompleteCall;
  if (!is_kubectls && !is_call) return std::nullopt;
  return std::vector<std::string>(argv + (is_kubectls ? 1 : 2), argv + argc);
}

int print_completion(const CLI::App& app, const std::vector<std::string>& typed) {
  using More = Completion::More;
  Completion completion = complete(app, typed);
  if (completion.more != More::kNothing && completion.more != More::kFiles) {
    const std::string last = typed.empty() ? "" : typed.back();
    const std::string prefix = last.substr(last.find('=') + 1);  // npos + 1 is 0
    for (auto& name : read_names(typed, completion.more)) {
      if (!name.starts_with(prefix)) continue;
      const bool is_assigned = last.starts_with("--") && prefix.size() < last.size();
      completion.words.push_back(is_assigned ? last.substr(0, last.size() - prefix.size()) + name
                                             : name);
    }
  }
  for (const auto& word : completion.words) write_out(printable(word) + "\n");
  write_out(completion.more == More::kFiles ? ":0\n" : ":4\n");
  return kExitOk;
}

void add_completion(Verbs& verbs) {
  verbs.add<CompletionFlags>(
      {.name = "completion",
       .what =
           "Prints a completion script for bash, zsh or fish. It completes verbs, flags, and names "
           "of jobs and namespaces. In bash: source <(nervexctl completion bash). For `kubectl "
           "nervex`, kubectl "
           "needs the link kubectl_complete-nervex, beside kubectl-nervex, on the PATH.",
       .examples = {"completion bash", "completion zsh", "completion fish"}},
      define_completion, run_completion);
}

}  // namespace nervex::cli
