#include "kube/model/shared_json.h"

#include <stdexcept>
#include <string>
#include <utility>

namespace nervex::kube {

void SharedJson::pack() {
  if (!value_) return;
  std::string text = to_text(*value_);
  text.shrink_to_fit();
  text_ = Shared<std::string>(std::move(text));
  value_.reset();
}

void SharedJson::unpack() {
  if (!is_packed()) return;
  auto value = parse_json(*text_);
  if (!value) throw std::logic_error("a packed JSON value is broken");
  text_.reset();
  value_ = Shared<Json>(*std::move(value));
}

}  // namespace nervex::kube
