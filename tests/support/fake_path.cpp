#include "tests/support/fake_path.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "kube/model/meta.h"

namespace nervex::testing {
namespace {

std::string percent_decode(const std::string& text) {
  std::string decoded;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '%' && i + 2 < text.size()) {
      decoded += static_cast<char>(std::stoi(text.substr(i + 1, 2), nullptr, 16));
      i += 2;
    } else {
      decoded += text[i];
    }
  }
  return decoded;
}

std::vector<std::string> split(const std::string& text, char separator) {
  std::vector<std::string> parts;
  std::string part;
  for (const char c : text) {
    if (c == separator) {
      if (!part.empty()) parts.push_back(std::move(part));
      part.clear();
    } else {
      part += c;
    }
  }
  if (!part.empty()) parts.push_back(std::move(part));
  return parts;
}

std::map<std::string, std::string> parse_query(const std::string& text) {
  std::map<std::string, std::string> query;
  for (const auto& part : split(text, '&')) {
    const auto equals = part.find('=');
    query[percent_decode(part.substr(0, equals))] =
        equals == std::string::npos ? "" : percent_decode(part.substr(equals + 1));
  }
  return query;
}

// "a=b", "a==b", "a!=b", "a", "!a". `value` is null where the object has nothing there.
bool meets(const std::string& requirement, const auto& look_up) {
  if (requirement.front() == '!') return look_up(requirement.substr(1)) == nullptr;
  const auto equals = requirement.find('=');
  if (equals == std::string::npos) return look_up(requirement) != nullptr;
  const bool is_negated = equals > 0 && requirement[equals - 1] == '!';
  const std::string key = requirement.substr(0, is_negated ? equals - 1 : equals);
  std::string wanted = requirement.substr(equals + 1);
  if (wanted.starts_with('=')) wanted.erase(0, 1);
  const Json* value = look_up(key);
  const bool is_equal = value != nullptr ? *value == wanted : false;
  return is_negated ? !is_equal : is_equal;
}

bool meets_labels(const std::string& selector, const Json& object) {
  const auto label = [&](const std::string& key) {
    return kube::find(object, {"metadata", "labels", key});
  };
  const auto requirements = split(selector, ',');
  return std::all_of(requirements.begin(), requirements.end(),
                     [&](const std::string& requirement) { return meets(requirement, label); });
}

bool meets_fields(const std::string& selector, const Json& object) {
  static const Json kEmpty = "";  // an absent field equals the empty text
  const auto field = [&](const std::string& path) {
    const Json* at = &object;
    for (const auto& step : split(path, '.')) {
      at = kube::find(*at, {step});
      if (at == nullptr) return &kEmpty;
    }
    return at;
  };
  const auto requirements = split(selector, ',');
  return std::all_of(requirements.begin(), requirements.end(),
                     [&](const std::string& requirement) { return meets(requirement, field); });
}

}  // namespace

std::string FakePath::query_value(const std::string& key) const {
  const auto at = query.find(key);
  return at == query.end() ? "" : at->second;
}

FakePath parse_path(const std::string& url) {
  FakePath path;
  const auto question = url.find('?');
  if (question != std::string::npos) path.query = parse_query(url.substr(question + 1));
  std::vector<std::string> parts;
  for (const auto& part : split(url.substr(0, question), '/'))
    parts.push_back(percent_decode(part));
  // "api", version, ... or "apis", group, version, ...
  const std::size_t skip = !parts.empty() && parts[0] == "apis" ? 3 : 2;
  if (parts.size() <= skip) return path;
  const std::string prefix = skip == 3 ? parts[1] + "/" + parts[2] + "/" : "/" + parts[1] + "/";
  std::vector<std::string> rest(parts.begin() + static_cast<std::ptrdiff_t>(skip), parts.end());
  if (rest[0] == "namespaces" && rest.size() > 2) {
    path.ns = rest[1];
    rest.erase(rest.begin(), rest.begin() + 2);
  }
  path.plural = rest[0];
  path.collection = prefix + path.plural;
  if (rest.size() > 1) path.name = rest[1];
  if (rest.size() > 2) path.sub_resource = rest[2];
  return path;
}

FakePath make_fake_path(const std::string& collection, const std::string& key) {
  FakePath path;
  path.collection = collection;
  path.plural = collection.substr(collection.rfind('/') + 1);
  auto object = kube::NamespacedName::parse(key);
  path.ns = std::move(object.ns);
  path.name = std::move(object.name);
  return path;
}

bool is_selected(const FakePath& path, const Json& object) {
  if (!path.ns.empty() && kube::string_at(object, {"metadata", "namespace"}) != path.ns) {
    return false;
  }
  return meets_labels(path.query_value("labelSelector"), object) &&
         meets_fields(path.query_value("fieldSelector"), object);
}

}  // namespace nervex::testing
