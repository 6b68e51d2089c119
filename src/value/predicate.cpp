// Tests predicates on values, and prints them canonically.
//
// The canonical text is what plans hold and what their digests see, so one meaning should have one
// spelling, and parsing the spelling must give it back. Parentheses are printed where the grammar
// needs them (an || within an &&, either within a !) and around a comparison under !, where leaving
// them out would read as if the ! belonged to the left operand. The parser puts nested && and || of
// one kind into one node, and makes integers of whole numbers, so there is nothing left to differ
// but blanks, escapes and the spelling of numbers, which printing chooses.
//
// Recursion is as deep as nodes lie within each other: at most an || and an && for each of the
// nesting_max levels.
#include "value/predicate.hpp"

#include "value/describe.hpp"

namespace soma {

// ---- Printing

std::string_view Predicate::spelling(Compare compare) {
  switch (compare) {
    case Compare::Equal: return "==";
    case Compare::Unequal: return "!=";
    case Compare::Less: return "<";
    case Compare::LessEqual: return "<=";
    case Compare::Greater: return ">";
    case Compare::GreaterEqual: return ">=";
  }
  return "";
}

std::string Predicate::Operand::canonical() const {
  if (has) return "has(" + path->canonical() + ")";
  if (path) return path->canonical();
  switch (constant.kind()) {
    case ValueKind::Bool: return constant.truth() ? "true" : "false";
    case ValueKind::Integer: return text("{}", constant.integer());
    case ValueKind::Number: return text("{}", constant.number());
    case ValueKind::Text: return json_quoted(constant.text());
    case ValueKind::Null:
    case ValueKind::Bytes:
    case ValueKind::List:
    case ValueKind::Map:
    case ValueKind::Opaque: break;
  }
  return "null";
}

std::string Predicate::print(u32 at) const {
  const Node& node = nodes_[at];
  const auto join = [this, &node](std::string_view between, bool ors_in_parentheses) {
    std::string out;
    for (const u32 child : node.children) {
      const bool parentheses = ors_in_parentheses && nodes_[child].kind == Kind::Or;
      if (!out.empty()) out += between;
      out += parentheses ? "(" + print(child) + ")" : print(child);
    }
    return out;
  };
  switch (node.kind) {
    case Kind::Or: return join(" || ", false);
    case Kind::And: return join(" && ", true);
    case Kind::Not: {
      const Kind below = nodes_[node.children[0]].kind;
      const bool bare = below == Kind::Not || below == Kind::Truth;
      return bare ? "!" + print(node.children[0]) : "!(" + print(node.children[0]) + ")";
    }
    case Kind::Compare:
      return text("{} {} {}", node.operands[0].canonical(), spelling(node.compare),
                  node.operands[1].canonical());
    case Kind::Truth: return node.operands[0].canonical();
    case Kind::Else: return "else";
  }
  return "";
}

// ---- Testing

Result<const Value*> Predicate::Operand::value(const Value& it, Value& made) const {
  if (has) {
    made = Value::boolean(path->find(it) != nullptr);
    return &made;
  }
  if (path) return path->follow(it);
  return &constant;
}

Result<bool> Predicate::test_truth(const Operand& operand, const Value& it) {
  Value made;
  SOMA_ASSIGN(const Value* value, operand.value(it, made));
  if (!value->is(ValueKind::Bool)) {
    return fail(Reason::run_predicate,
                "{}: expected a bool, as it stands alone, got {}: compare it with something",
                operand.canonical(), describe(*value));
  }
  return value->truth();
}

Result<bool> Predicate::test_compare(const Node& node, const Value& it) {
  Value made[2];
  SOMA_ASSIGN(const Value* left, node.operands[0].value(it, made[0]));
  SOMA_ASSIGN(const Value* right, node.operands[1].value(it, made[1]));
  if (node.compare == Compare::Equal) return *left == *right;
  if (node.compare == Compare::Unequal) return !(*left == *right);

  const auto is_number = [](const Value& value) {
    return value.is(ValueKind::Integer) || value.is(ValueKind::Number);
  };
  std::partial_ordering order = std::partial_ordering::unordered;
  if (is_number(*left) && is_number(*right)) {
    order = order_of_numbers(*left, *right);
  } else if (left->is(ValueKind::Text) && right->is(ValueKind::Text)) {
    order = left->text() <=> right->text();  // the bytes of UTF-8 are ordered as its code points
  } else {
    return fail(Reason::run_predicate,
                "{} {} {}: expected two numbers or two texts to put in order, got {} and {}",
                node.operands[0].canonical(), spelling(node.compare), node.operands[1].canonical(),
                describe(*left), describe(*right));
  }
  switch (node.compare) {
    case Compare::Equal: return order == 0;
    case Compare::Unequal: return order != 0;
    case Compare::Less: return order < 0;
    case Compare::LessEqual: return order <= 0;
    case Compare::Greater: return order > 0;
    case Compare::GreaterEqual: return order >= 0;
  }
  return false;
}

Result<bool> Predicate::test(u32 at, const Value& it) const {
  const Node& node = nodes_[at];
  switch (node.kind) {
    case Kind::Or:
    case Kind::And: {
      const bool decisive = node.kind == Kind::Or;
      for (const u32 child : node.children) {
        SOMA_ASSIGN(const bool holds, test(child, it));
        if (holds == decisive) return decisive;
      }
      return !decisive;
    }
    case Kind::Not: {
      SOMA_ASSIGN(const bool holds, test(node.children[0], it));
      return !holds;
    }
    case Kind::Compare: return test_compare(node, it);
    case Kind::Truth: return test_truth(node.operands[0], it);
    case Kind::Else: break;
  }
  return true;
}

Result<bool> Predicate::test(const Value& it) const {
  return test(static_cast<u32>(nodes_.size() - 1), it);
}

}  // namespace soma
