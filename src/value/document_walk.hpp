// Walks through a JSON document and notes what is wrong with it, each problem with its place.
#pragma once

#include "base/json.hpp"
#include "base/problems.hpp"

namespace soma::document {

// Documents that share tables of keys, as a set.
inline constexpr u32 in_graphs = 1, in_plans = 2, in_every = ~0U;

// What an object may have. The order of a table of keys is the order in which they are printed.
struct Key {
  std::string_view name;
  u32 kinds = ~0U;                // of nodes, as a set: which may have it
  u32 documents = in_every;
};

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
  // `document` is of the set above. Unknown keys are refused if strict, and passed over otherwise.
  Walk(u32 document, bool is_strict) : document_(document), is_strict_(is_strict) {}

  // Is this a document named `name` of that version? Of another, nothing more can be said. Both
  // keys may be missing unless they are required.
  bool read_header(JsonView json, const Place& at, std::string_view name, i64 version,
                   bool is_required);

  // Each member that `keys` know, as an Enum, which is its index there: read(key, value, place).
  // Others are refused, unless the reading is lenient.
  template <typename Enum, typename Read>
  void each_member(JsonView json, const Place& at, std::string_view what,
                   std::span<const Key> keys, Read read) {
    for (JsonView member = json.first(); member && !has_enough(); member = member.next()) {
      const Place place = {&at, member.key()};
      size_t index = 0;
      while (index < keys.size() && !(keys[index].name == member.key() && is_here(keys[index]))) {
        ++index;
      }
      if (index < keys.size()) {
        read(static_cast<Enum>(index), member, place);
      } else if (is_strict_) {
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
  // The member of that name; nothing, and it is noted as missing, if there is none.
  JsonView required(JsonView json, const Place& at, std::string_view name,
                    std::string_view expected);
  void read_text(JsonView json, const Place& at, std::string& out);
  void read_bool(JsonView json, const Place& at, bool& out);
  void read_integer(JsonView json, const Place& at, i64& out);
  static std::optional<i64> integer_in(JsonView json);
  // {"name": a text}: false, if it is no object with that key.
  bool read_choice(JsonView json, const Place& at, std::string_view name, std::string& out);

  // Counts the elements of a list against the limit of the whole document: a short text can ask for
  // much longer records.
  bool takes(JsonView json, const Place& at, size_t& count, size_t limit, std::string_view what);

  void missing(const Place& at, std::string_view expected);
  void mistyped(const Place& at, std::string_view expected, JsonView got);
  void unknown(const Place& at, std::string_view what, std::span<const Key> keys);
  void complain(Reason reason, const Place& at, std::string_view what);

  // Whoever has a thousand problems learns nothing from more of them, and each costs a message.
  static constexpr size_t problems_max = 1000;
  bool has_enough() const { return problems_.count() >= problems_max; }
  bool is_here(const Key& key) const { return (key.documents & document_) != 0; }

  const u32 document_;
  const bool is_strict_;
  Problems problems_;
};

}  // namespace soma::document
