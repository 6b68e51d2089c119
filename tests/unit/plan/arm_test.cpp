// Proves that arms are told apart by their text, print it canonically, and take the values they
// should.
#include <doctest/doctest.h>

#include "plan/arm.hpp"

namespace soma {

namespace {

std::string text_of(std::string_view arm) { return Arm::parse(arm).value().text(); }

bool takes(const Arm& arm, const Value& value) { return arm.takes(value).value(); }
bool takes(std::string_view arm, const Value& value) {
  return takes(Arm::parse(arm).value(), value);
}

Value branch(Value value) { return Value::map({{"branch", std::move(value)}, {"value", {}}}); }

}  // namespace

TEST_CASE("a predicate is printed canonically") {
  CHECK(Arm::parse("score>0.80").value().kind() == Arm::Kind::Predicate);
  CHECK(text_of("score>0.80") == "score > 0.8");
  CHECK(text_of(R"("a"==it)") == R"("a" == it)");
  CHECK(takes("score > 0.8", Value::map({{"score", Value::number(0.9)}})));
  CHECK_FALSE(takes("score > 0.8", Value::map({{"score", Value::number(0.8)}})));
}

TEST_CASE("else takes everything, however it is spelt") {
  for (const std::string_view text : {"else", "default", " else "}) {
    CAPTURE(text);
    CHECK(text_of(text) == "else");
    CHECK(Arm::parse(text).value().kind() == Arm::Kind::Else);
    CHECK(takes(text, {}));
  }
  CHECK(Arm::label("else").kind() == Arm::Kind::Else);
  CHECK(Arm::label("default").text() == "else");
}

TEST_CASE("a label is a JSON string, and takes the text, the bool and the branch of that name") {
  const Arm deploy = Arm::label("deploy");
  CHECK(deploy.kind() == Arm::Kind::Label);
  CHECK(deploy.text() == R"("deploy")");
  CHECK(takes(deploy, Value::text("deploy")));
  CHECK_FALSE(takes(deploy, Value::text("deploy ")));
  CHECK_FALSE(takes(deploy, {}));
  CHECK(takes(deploy, branch(Value::text("deploy"))));
  CHECK_FALSE(takes(deploy, branch(Value::text("retrain"))));
  // One level deep, and under that name only.
  CHECK_FALSE(takes(deploy, branch(branch(Value::text("deploy")))));
  CHECK_FALSE(takes(deploy, Value::map({{"value", Value::text("deploy")}})));

  CHECK(takes(Arm::label("true"), Value::boolean(true)));
  CHECK_FALSE(takes(Arm::label("true"), Value::boolean(false)));
  CHECK(takes(Arm::label("false"), Value::boolean(false)));
  CHECK(takes(Arm::label("false"), branch(Value::boolean(false))));
  CHECK_FALSE(takes(Arm::label("1"), Value::integer(1)));
  CHECK_FALSE(takes(Arm::label("null"), {}));
}

TEST_CASE("a text that is one string in quotes is a label") {
  CHECK(Arm::parse(R"("deploy")").value().kind() == Arm::Kind::Label);
  CHECK(takes(R"( "deploy" )", Value::text("deploy")));
  CHECK(text_of(R"( "\u0064eploy" )") == R"("deploy")");
  // In a plan, a label in quotes is a label whatever it says.
  const Arm quoted = Arm::parse(R"("else")").value();
  CHECK(quoted.kind() == Arm::Kind::Label);
  CHECK_FALSE(takes(quoted, {}));
  CHECK(takes(quoted, Value::text("else")));
}

TEST_CASE("an arm's text is that arm") {
  for (const std::string_view label : {"deploy", "", "a \"b\"\\\n", "größer", "it == 1", " else"}) {
    CAPTURE(label);
    const Arm arm = Arm::label(label);
    const Arm again = Arm::parse(arm.text()).value();
    CHECK(again.kind() == arm.kind());
    CHECK(again.text() == arm.text());
    CHECK(takes(again, Value::text(std::string(label))));
  }
}

TEST_CASE("what is neither is refused as a predicate") {
  for (const std::string_view text : {"", "score >", "\"open", "\"a\" \"b\"", "\"\\u0000\"",
                                      "\xff", "\"\xff\""}) {
    CAPTURE(text);
    const Result<Arm> arm = Arm::parse(text);
    REQUIRE_FALSE(arm.ok());
    CHECK(arm.error().reason() == Reason::predicate_syntax);
  }
  CHECK(Arm::parse("score > 1").value().takes({}).error().reason() == Reason::run_predicate);
}

}  // namespace soma
