#include "kube/model/json_hash.h"

#include <bit>
#include <cstdint>

namespace nervex::kube {
namespace {

// The highest byte of a value's first word: apart from those of texts (base/sip_hash.h).
enum class Tag : std::uint64_t {
  kNull = 0x80,
  kFalse,
  kTrue,
  kArray,
  kObject,
  kInteger,
  kNegative,
  kFloat,
  kOther,
};

constexpr std::uint64_t word(Tag tag, std::size_t count = 0) {
  return static_cast<std::uint64_t>(tag) << 56U | count;
}

}  // namespace

void add_array(SipHash& hash, std::size_t items) { hash.add(word(Tag::kArray, items)); }

void add_object(SipHash& hash, std::size_t members) { hash.add(word(Tag::kObject, members)); }

void add_json(SipHash& hash, const Json& value) {
  switch (value.type()) {
    case Json::value_t::null:
      hash.add(word(Tag::kNull));
      return;
    case Json::value_t::boolean:
      hash.add(word(value.get<bool>() ? Tag::kTrue : Tag::kFalse));
      return;
    case Json::value_t::string:
      hash.add(std::string_view(value.get_ref<const std::string&>()));
      return;
    case Json::value_t::array:
      add_array(hash, value.size());
      for (const Json& item : value) add_json(hash, item);
      return;
    case Json::value_t::object:
      add_object(hash, value.size());
      for (const auto& [key, member] : value.get_ref<const Json::object_t&>()) {
        hash.add(std::string_view(key));
        add_json(hash, member);
      }
      return;
    case Json::value_t::number_unsigned:
      hash.add(word(Tag::kInteger)).add(value.get<std::uint64_t>());
      return;
    case Json::value_t::number_integer: {
      const auto number = value.get<std::int64_t>();
      hash.add(word(number < 0 ? Tag::kNegative : Tag::kInteger))
          .add(static_cast<std::uint64_t>(number));
      return;
    }
    case Json::value_t::number_float:
      hash.add(word(Tag::kFloat)).add(std::bit_cast<std::uint64_t>(value.get<double>()));
      return;
    default:  // no value of a JSON text
      hash.add(word(Tag::kOther));
  }
}

}  // namespace nervex::kube
