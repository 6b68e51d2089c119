// Walks through a JSON document and notes what is wrong with it, each problem with its place.
#pragma once

#include "base/json.hpp"
#include "base/problems.hpp"
#include "graph/document_keys.hpp"

namespace soma::document {

// Where in a document something is: a member or an element of the place around it, which must
// outlive it. It becomes text only for a problem, so that a walk without any makes none.
struct Place {
  static constexpr size_t no_index = ~size_t{0};

  const Place* outer = nullptr;   // none: the document itself
  std::string_view key;           // of a member
  size_t index = no_index;        // of an element

  std::string str() const;        // "nodes[3].inputs[0].dtype"
};

// What readers of documents are made of. A value that is refused is noted, and nothing is read.
class Walk {
 protected:
  explicit Walk(Graph::Reading reading) : reading_(reading) {}

  // Each member that `keys` know, as an Enum, which is its index there: read(key, value, place).
  // Others are refused, unless the reading is lenient.
  template <typename Enum, typename Read>
  void each_member(JsonView json, const Place& at, std::string_view what,
                   std::span<const Key> keys, Read read) {
    for (JsonView member = json.first(); member && !has_enough(); member = member.next()) {
      const Place place = {&at, member.key()};
      size_t index = 0;
      while (index < keys.size() && keys[index].name != member.key()) ++index;
      if (index < keys.size()) {
        read(static_cast<Enum>(index), member, place);
      } else if (reading_ == Graph::Reading::Strict) {
        unknown(place, what, keys);
      }
    }
  }

  // Each element of a list: read(value, place).
  template <typename Read>
  void each_element(JsonView json, const Place& at, std::string_view expected, Read read) {
    if (!json.is(JsonKind::Array)) return mistyped(at, expected, json);
    size_t index = 0;
    for (JsonView element = json.first(); element && !has_enough(); element = element.next()) {
      read(element, Place{&at, {}, index++});
    }
  }

  bool is_object(JsonView json, const Place& at);
  void read_text(JsonView json, const Place& at, std::string& out);
  void read_bool(JsonView json, const Place& at, bool& out);
  void read_integer(JsonView json, const Place& at, i64& out);
  static std::optional<i64> integer_in(JsonView json);

  void missing(const Place& at, std::string_view expected);
  void mistyped(const Place& at, std::string_view expected, JsonView got);
  void unknown(const Place& at, std::string_view what, std::span<const Key> keys);
  void complain(Reason reason, const Place& at, std::string_view what);

  // Whoever has a thousand problems learns nothing from more of them, and each costs a message.
  static constexpr size_t problems_max = 1000;
  bool has_enough() const { return problems_.count() >= problems_max; }

  const Graph::Reading reading_;
  Problems problems_;
};

}  // namespace soma::document
