#include "webhook/template_dry_run.h"

#include <array>
#include <charconv>
#include <utility>

#include <fmt/format.h>

#include "base/text.h"
#include "job/pod_manifest.h"
#include "kube/model/json_hash.h"

namespace nervex::webhook {
namespace {

constexpr kube::ResourceKind kPodTemplates{"", "v1", "podtemplates"};
constexpr const char* kName = "nervex-admission-dry-run";
constexpr std::size_t kMaxWords = 500;
// Of an error's path: it contains map keys, whose length users choose.
constexpr std::size_t kMaxField = 500;
constexpr std::size_t kMaxErrors = 100;  // of a verdict; users do not read more at once
// The source of a refusal may change: an older API server, a policy. So may that of an acceptance.
constexpr std::chrono::seconds kRefusalLasts{60};
constexpr std::chrono::minutes kAcceptanceLasts{10};
// Pause after an API server did not answer, so that callers do not wait for it each time.
constexpr std::chrono::seconds kPauseAfterFailure{5};

struct TemplateRole {
  std::string_view name;
  job::Role role;
};
constexpr std::array<TemplateRole, 4> kRoles{{{"coordinator", job::Role::kCoordinator},
                                              {"collector", job::Role::kCollector},
                                              {"learner", job::Role::kLearner},
                                              {"aggregator", job::Role::kAggregator}}};

job::Role role_named(std::string_view name) {
  for (const auto& one : kRoles) {
    if (one.name == name) return one.role;
  }
  return job::Role::kLearner;
}

// Only the parts that decide how the job's pods look. Values of a wrong type do not matter.
job::Job job_with_templates(const Json& object) {
  const auto template_at = [&](std::string_view role) {
    const Json* found = kube::find(object, {"spec", role, "template"});
    return found == nullptr ? Json() : *found;
  };
  const auto role_with = [](Json pod_template) {
    job::RoleSpec role;
    role.pod_template = std::move(pod_template);
    return role;
  };
  job::Job made;
  made.spec.priority_class_name = kube::string_at(object, {"spec", "priorityClassName"});
  made.spec.volumes = kube::array_at(object, {"spec", "volumes"});
  made.spec.coordinator_template = template_at("coordinator");
  made.spec.collector = role_with(template_at("collector"));
  made.spec.learner = role_with(template_at("learner"));
  return made;
}

job::FieldErrorType parse_error_type(std::string_view reason) {
  using enum job::FieldErrorType;
  for (const auto type :
       {kRequired, kNotSupported, kForbidden, kTooLong, kTooMany, kDuplicate, kNotFound}) {
    if (job::cause_type(type) == reason) return type;
  }
  return kInvalid;
}

job::FieldError error_with_words(job::FieldErrorType type, const std::string& field,
                                 const std::string& words) {
  job::FieldError error{type, cut_text(field, kMaxField), "", ""};
  error.words = cut_text(words, kMaxWords);
  return error;
}

// "template.spec.volumes[3].name" with 3 -> {3, ".name"}.
struct VolumeField {
  std::size_t index = 0;
  std::string_view rest;
};
std::optional<VolumeField> volume_field(std::string_view field) {
  constexpr std::string_view kVolumes = "template.spec.volumes[";
  if (!field.starts_with(kVolumes)) return std::nullopt;
  field.remove_prefix(kVolumes.size());
  VolumeField found;
  const auto [end, error] = std::from_chars(field.data(), field.data() + field.size(), found.index);
  if (error != std::errc() || end == field.data() + field.size() || *end != ']') {
    return std::nullopt;
  }
  found.rest = field.substr(static_cast<std::size_t>(end - field.data()) + 1);
  return found;
}

// Whether a template is unreadable only because of the job's volumes, which follow its `own` ones:
// all volumes that `words` name, as in `unknown field "template.spec.volumes[2].x"`.
bool is_about_job_volumes(std::string_view words, std::size_t own) {
  constexpr std::string_view kTemplate = "template.";
  bool found = false;
  for (auto at = words.find(kTemplate); at != words.npos; at = words.find(kTemplate, at + 1)) {
    const std::string_view named = words.substr(at);
    const auto volume = volume_field(named);
    // For a wrong type the API server gives no index: template.spec.volumes.name.
    const bool has_no_index = named.starts_with("template.spec.volumes.");
    if (!(volume && volume->index >= own) && !(has_no_index && own == 0)) return false;
    found = true;
  }
  return found;
}

// Whether a mount is said to have no volume although the template or the job has it: then the
// volume itself is wrong, and another error reports that.
bool follows_from_volume(const job::FieldError& error, const Json& object, std::string_view role) {
  if (error.field.find(".volumeMounts[") == std::string::npos &&
      error.field.find(".volumeDevices[") == std::string::npos) {
    return false;
  }
  if (error.type != job::FieldErrorType::kNotFound) return false;
  for (const Json* volumes :
       {&kube::array_at(object, {"spec", "volumes"}),
        &kube::array_at(object, {"spec", role, "template", "spec", "volumes"})}) {
    for (const Json& volume : *volumes) {
      const std::string name = kube::string_at(volume, {"name"});
      if (!name.empty() && error.words.ends_with(fmt::format("\"{}\"", name))) return true;
    }
  }
  return false;
}

}  // namespace

// ---- pure

Json pod_template_to_ask(const Json& object, std::string_view role) {
  const Json* written = kube::find(object, {"spec", role, "template"});
  if (written == nullptr || !written->is_object()) return nullptr;
  job::PodContext context;
  if (role == "aggregator") context.aggregator_template = *written;
  Json spec = job::pod_spec(job_with_templates(object), role_named(role), {}, nullptr, context);
  spec["schedulerName"] = job::kSchedulerName;
  Json metadata = Json::object();
  for (const char* part : {"labels", "annotations"}) {
    if (const Json* found = kube::find(*written, {"metadata", part})) metadata[part] = *found;
  }
  return {{"apiVersion", "v1"},
          {"kind", "PodTemplate"},
          {"metadata", {{"name", kName}}},
          {"template", {{"metadata", std::move(metadata)}, {"spec", std::move(spec)}}}};
}

std::optional<Hash128> template_key(SipHash hash, const Json& object, std::string_view role) {
  const Json* written = kube::find(object, {"spec", role, "template"});
  if (written == nullptr || !written->is_object()) return std::nullopt;
  // All inputs of the above: of roles only the coordinator's default restartPolicy differs.
  hash.add(role == "coordinator" ? role : "");
  hash.add(kube::text_at(object, {"spec", "priorityClassName"}));
  kube::add_json(hash, kube::array_at(object, {"spec", "volumes"}));
  kube::add_json(hash, *written);
  return hash.finish();
}

namespace {

// Messages of the API server's decoders (1.36): other 400s come from admission, such as policies
// for all kinds of objects.
bool is_decoding_error(std::string_view message) {
  return message.find("strict decoding error") != std::string_view::npos ||
         message.find("cannot be handled as a") != std::string_view::npos;
}

}  // namespace

std::optional<TemplateVerdict> parse_verdict(int http_status, std::string_view body) {
  if (http_status != 400 && http_status != 422) return std::nullopt;
  const auto status = kube::parse_json(body);
  if (!status) return std::nullopt;
  TemplateVerdict verdict;
  const std::string message = kube::string_at(*status, {"message"});
  verdict.is_unreadable = http_status == 400;
  if (verdict.is_unreadable) {
    if (!is_decoding_error(message)) return std::nullopt;
    verdict.errors.push_back(error_with_words(job::FieldErrorType::kInvalid, "template", message));
    return verdict;
  }
  for (const Json& cause : kube::array_at(*status, {"details", "causes"})) {
    const std::string field = kube::string_at(cause, {"field"});
    if (field != "template" && !field.starts_with("template.")) continue;
    if (verdict.errors.size() == kMaxErrors) break;
    verdict.errors.push_back(error_with_words(parse_error_type(kube::string_at(cause, {"reason"})),
                                              field, kube::string_at(cause, {"message"})));
  }
  if (verdict.errors.empty()) return std::nullopt;
  return verdict;
}

job::FieldErrors errors_in_job(const TemplateVerdict& verdict, const Json& object,
                               std::string_view role) {
  if (verdict.errors.empty()) return {};
  const std::size_t own =
      kube::array_at(object, {"spec", role, "template", "spec", "volumes"}).size();
  const bool has_class = !kube::string_at(object, {"spec", "priorityClassName"}).empty();
  job::FieldErrors errors = verdict.errors;
  std::erase_if(errors,
                [&](const auto& error) { return follows_from_volume(error, object, role); });
  for (auto& error : errors) {
    // The API server omits `metadata` in that path.
    for (const std::string_view part : {"labels", "annotations"}) {
      if (error.field == fmt::format("template.{}", part)) {
        error.field = fmt::format("template.metadata.{}", part);
      }
    }
    // The controller turns nodeName into an affinity.
    const std::string node =
        kube::string_at(object, {"spec", role, "template", "spec", "nodeName"});
    if (!node.empty() && error.field.find(".matchFields[") != std::string::npos &&
        error.words.find(fmt::format("\"{}\"", node)) != std::string::npos) {
      error.field = "template.spec.nodeName";
    }
    const auto volume = volume_field(error.field);
    if (verdict.is_unreadable && error.field == "template" &&
        is_about_job_volumes(error.words, own)) {
      error.field = "spec.volumes";
    } else if (error.field == "template.spec.priorityClassName" && has_class) {
      error.field = "spec.priorityClassName";  // replaces the template's
    } else if (volume && volume->index >= own) {
      error.field = fmt::format("spec.volumes[{}]{}", volume->index - own, volume->rest);
    } else {
      error.field = fmt::format("spec.{}.{}", role, error.field);
    }
  }
  return errors;
}

// ---- requests

namespace {

std::size_t estimate_bytes(const TemplateVerdict& verdict) {
  std::size_t bytes = sizeof verdict;
  for (const auto& error : verdict.errors) {
    bytes += sizeof error + error.field.size() + error.value.size() + error.detail.size() +
             error.words.size();
  }
  return bytes;
}

}  // namespace

bool TemplateDryRuns::is_pausing() const {
  return failed_ && clock_.mono() < failed_at_ + kPauseAfterFailure;
}

std::optional<Result<TemplateVerdict>> TemplateDryRuns::known(const Hash128& key) {
  const MutexLock lock(mutex_);
  if (const auto* verdict = verdicts_.find(key, clock_.mono())) return *verdict;
  if (is_pausing()) return *failed_;
  return std::nullopt;
}

// Waiting callers use it often, so it copies nothing.
bool TemplateDryRuns::is_known(const Hash128& key) {
  const MutexLock lock(mutex_);
  return verdicts_.find(key, clock_.mono()) != nullptr || is_pausing();
}

void TemplateDryRuns::keep(const Hash128& key, const TemplateVerdict& verdict) {
  const std::chrono::seconds lasts = verdict.errors.empty() ? kAcceptanceLasts : kRefusalLasts;
  const MutexLock lock(mutex_);
  failed_.reset();
  const MonoTime now = clock_.mono();
  verdicts_.put(key, verdict, estimate_bytes(verdict), now + lasts, now);
}

Result<TemplateVerdict> TemplateDryRuns::ask(const Json& object, std::string_view role,
                                             std::string_view version, const MayAsk& may_ask) {
  const auto key = template_key(SipHash(hash_key_).add(version), object, role);
  if (!key) return TemplateVerdict{};
  if (auto answer = known(*key)) return *std::move(answer);
  if (may_ask) {
    const auto may = may_ask([&] { return is_known(*key); });
    // Concurrent jobs with the same template need only one question.
    if (auto answer = known(*key)) return *std::move(answer);
    if (!may) return may.error();
  }
  const std::string body = kube::to_text(pod_template_to_ask(object, role));
  auto verdict = post(body, "Strict");
  if (verdict && verdict->is_unreadable) {
    // An unknown field hides all other errors. Our own check names such fields anyway.
    const auto others = post(body, "Ignore");
    if (others && !others->is_unreadable) {
      verdict->errors.insert(verdict->errors.end(), others->errors.begin(), others->errors.end());
    }
  }
  if (verdict) {
    keep(*key, *verdict);
    return verdict;
  }
  // A refusal that only this template may cause, such as a policy's, is no reason to stop asking
  // about other templates.
  if (verdict.error().code != Code::kTransient) return verdict;
  const MutexLock lock(mutex_);
  failed_ = verdict.error();
  failed_at_ = clock_.mono();
  return verdict;
}

Result<TemplateVerdict> TemplateDryRuns::post(const std::string& body,
                                              std::string_view validation) {
  std::optional<TemplateVerdict> refused;
  const auto reply = api_.send({.method = "POST",
                                .path = fmt::format("{}?dryRun=All&fieldValidation={}&timeout=1s",
                                                    kube::api_path(kPodTemplates, ns_), validation),
                                .body = body,
                                .content_type = "application/json",
                                .before_sending = {},
                                .on_refusal = [&](int status, std::string_view text) {
                                  refused = parse_verdict(status, text);
                                }});
  // An object of this name exists: the API server finds that after the full validation.
  if (reply || reply.error().code == Code::kConflict) return TemplateVerdict{};
  if (refused) return *std::move(refused);
  return reply.error();
}

}  // namespace nervex::webhook
