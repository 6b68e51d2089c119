// Proves that predicates and paths are read, printed and evaluated as their grammar says.
#include "value/predicate.hpp"

#include <doctest/doctest.h>

#include "base/json.hpp"
#include "unit/base/failing_memory.hpp"
#include "value/value_json.hpp"

namespace soma {

namespace {

Value value_from(std::string_view json) {
  CAPTURE(json);
  const Result<Json> read = Json::parse(json);
  REQUIRE(read.ok());
  return value_of(read->root());
}

constexpr std::string_view sample = R"({"score":0.9,"n":3,"name":"anna","ok":true,"none":null,
    "user":{"name":"bob","tags":["a","b","c"]},"list":[1,2,[3]],"a b":1,"":2,"it":4,"else":false,
    "has":5,"true":6,"default":true,"big":9007199254740992})";

std::string canonical(std::string_view text) {
  const Result<Predicate> predicate = Predicate::parse(text);
  return predicate.ok() ? predicate->canonical() : predicate.error().message();
}

std::string outcome(std::string_view text, const Value& value) {
  const Predicate predicate = Predicate::parse(text).value();
  const Result<bool> result = predicate.test(value);
  if (result.ok()) return *result ? "true" : "false";
  CHECK(result.error().id() == "run.predicate");
  return result.error().message();
}

std::string repeated(size_t count, std::string_view part) {
  std::string out;
  for (size_t i = 0; i < count; ++i) out += part;
  return out;
}

struct Taken {
  std::string_view text, canonical, result;
};
constexpr Taken taken[] = {
    {"score>0.8", "score > 0.8", "true"},
    {" \t\nscore \r >\n0.8 ", "score > 0.8", "true"},
    {"score<=0.8", "score <= 0.8", "false"},
    {"n==3", "n == 3", "true"},
    {"n == 3.0", "n == 3", "true"},
    {"n != 3e0", "n != 3", "false"},
    {"n >= 3", "n >= 3", "true"},
    {"n < 300e-2", "n < 3", "false"},
    {"n > -0.0", "n > 0", "true"},
    {"n > -0", "n > 0", "true"},
    {"n < 1e16", "n < 1e+16", "true"},
    {"n < 9.5e15", "n < 9500000000000000", "true"},
    {"n < 1E-7", "n < 1e-07", "false"},
    {"n < 9223372036854775807", "n < 9223372036854775807", "true"},
    {"n > -9223372036854775808", "n > -9223372036854775808", "true"},
    {"big < 9007199254740993", "big < 9007199254740993", "true"},
    {"big == 9007199254740993", "big == 9007199254740993", "false"},
    {"big >= 9007199254740992.0", "big >= 9007199254740992", "true"},
    {"1<2", "1 < 2", "true"},
    {"3 == n", "3 == n", "true"},
    // operands alone
    {"ok", "ok", "true"},
    {"true", "true", "true"},
    {"false", "false", "false"},
    {"has(n)", "has(n)", "true"},
    {"has ( user . name )", "has(user.name)", "true"},
    {"has(nothing)", "has(nothing)", "false"},
    {"has(n.x)", "has(n.x)", "false"},
    {"has(none)", "has(none)", "true"},
    {"has(it)", "has(it)", "true"},
    {"has(list[3])", "has(list[3])", "false"},
    {"has(list[-3])", "has(list[-3])", "true"},
    {"has(list[-4])", "has(list[-4])", "false"},
    {"has(n) == false", "has(n) == false", "false"},
    {"true != ok", "true != ok", "false"},
    // names that mean something else, and names that are none
    {"it.n == 3", "n == 3", "true"},
    {"it [\"n\"] == 3", "n == 3", "true"},
    {"it[\"a b\"] == 1", "it[\"a b\"] == 1", "true"},
    {"it[\"\"] == 2", "it[\"\"] == 2", "true"},
    {"it.it == 4", "it.it == 4", "true"},
    {"it == 4", "it == 4", "false"},
    {"has == 5", "it.has == 5", "true"},
    {"it.true == 6", "it.true == 6", "true"},
    {"else == false", "it.else == false", "true"},
    {"!else", "!it.else", "true"},
    {"it.default", "it.default", "true"},
    {"default && ok", "it.default && ok", "true"},
    {"truex == 1 || ok == true", "truex == 1 || ok == true",
     "truex: expected it to be a map with a member 'truex', got a map of 'score', 'n', 'name', "
     "'ok', 'none', 'user', 'list', 'a b' and 7 more; has(…) asks for a member"},
    {"else", "else", "true"},
    {" default ", "else", "true"},
    // paths
    {"user.name == \"bob\"", "user.name == \"bob\"", "true"},
    {"user[\"name\"] == \"bob\"", "user.name == \"bob\"", "true"},
    {"user.tags[0] == \"a\"", "user.tags[0] == \"a\"", "true"},
    {"user.tags[-1]==\"c\"", "user.tags[-1] == \"c\"", "true"},
    {"list[ 2 ] [ -1 ] == 3", "list[2][-1] == 3", "true"},
    {"list[-0] == 1", "list[0] == 1", "true"},
    {"user == it.user", "user == user", "true"},
    // texts
    {R"(name == "anna")", R"(name == "anna")", "true"},
    {R"(name == "\u0061nna")", R"(name == "anna")", "true"},
    {R"(name < "b")", R"(name < "b")", "true"},
    {R"(name < "ann")", R"(name < "ann")", "false"},
    {R"("\uffff" < "\ud83d\ude00")", "\"\xEF\xBF\xBF\" < \"😀\"", "true"},
    {R"("\n\/\"\\" == "x")", R"("\n/\"\\" == "x")", "false"},
    {"\"Z\" < \"a\"", "\"Z\" < \"a\"", "true"},
    // types
    {"n == \"3\"", "n == \"3\"", "false"},
    {"n != \"3\"", "n != \"3\"", "true"},
    {"none == null", "none == null", "true"},
    {"none == false", "none == false", "false"},
    {"ok == 1", "ok == 1", "false"},
    // structure
    {"ok&&n==3", "ok && n == 3", "true"},
    {"ok && n == 4 || has(n)", "ok && n == 4 || has(n)", "true"},
    {"ok && (n == 4 || has(n))", "ok && (n == 4 || has(n))", "true"},
    {"(ok && n == 4) || has(n)", "ok && n == 4 || has(n)", "true"},
    {"(ok)", "ok", "true"},
    {"((((ok))))", "ok", "true"},
    {"(ok && ok) && (ok && (ok && ok))", "ok && ok && ok && ok && ok", "true"},
    {"(ok || ok) || ok", "ok || ok || ok", "true"},
    {"!ok", "!ok", "false"},
    {"! ! ok", "!!ok", "true"},
    {"!(ok)", "!ok", "false"},
    {"!n==3", "!(n == 3)", "false"},
    {"!(n==3)", "!(n == 3)", "false"},
    {"!!n==3", "!!(n == 3)", "true"},
    {"!(ok && ok) || ok", "!(ok && ok) || ok", "true"},
    {"!(ok || ok)", "!(ok || ok)", "false"},
    {"!ok && ok", "!ok && ok", "false"},
    {"!has(x)", "!has(x)", "true"},
    // what decides early spares the rest
    {"has(x) && x > 1", "has(x) && x > 1", "false"},
    {"!has(x) || x > 1", "!has(x) || x > 1", "true"},
    {"ok || x", "ok || x", "true"},
};

}  // namespace

TEST_CASE("a text has a canonical form, and a result on the sample") {
  const Value value = value_from(sample);
  for (const Taken& row : taken) {
    CAPTURE(row.text);
    CHECK(canonical(row.text) == row.canonical);
    CHECK(canonical(row.canonical) == row.canonical);
    CHECK(outcome(row.text, value) == row.result);
    CHECK(outcome(row.canonical, value) == row.result);
  }
  CHECK(Predicate::parse("else").value().is_else());
  CHECK(Predicate::parse("default").value().is_else());
  CHECK_FALSE(Predicate::parse("it.else").value().is_else());
}

namespace {

struct Refused {
  std::string_view text, message;
};
constexpr std::string_view operand =
    "a path, a number, a string, true, false, null, has(…), '!' or '('";
constexpr Refused refused[] = {
    {"", ", got the end of the text"},
    {"  ", "column 3: expected a path"},
    {"a >", "column 4: expected a path"},
    {"> 3", "column 1: expected a path"},
    {"a = 3", "column 3: expected '==' to compare, got '='"},
    {"a == = 3", "column 6: expected a path"},
    {"a === 3", "column 5: expected a path"},
    {"a <> 3", "column 4: expected a path"},
    {"a b", "column 3: expected '&&', '||' or the end, got 'b'"},
    {"a & b", "column 3: expected '&&', '||' or the end, got '&'"},
    {"a && ", "column 6: expected a path"},
    {"a && && b", "column 6: expected a path"},
    {"a || | b", "column 6: expected a path"},
    {"a and b", "column 3: expected '&&', '||' or the end, got 'and'"},
    {"a < b < c", "column 7: expected '&&', '||' or the end, got '<'"},
    {"(a == b) == c", "column 10: expected '&&', '||' or the end, got '='"},
    {"a == (b)", "column 6: expected a path"},
    {"a == !b", "column 6: expected a path"},
    {"(a", "column 3: expected '&&', '||' or ')', got the end of the text"},
    {"!(a", "column 4: expected '&&', '||' or ')', got the end of the text"},
    {"a)", "column 2: expected '&&', '||' or the end, got ')'"},
    {"()", "column 2: expected a path"},
    {"!", "column 2: expected a path"},
    {"!= 3", "column 2: expected a path"},
    {"é == 1", "column 1: expected a path"},
    {"\"é\" == é", "column 8: expected a path"},
    {"a\x01", "'a\\x01', column 2: expected '&&', '||' or the end, got '\\x01'"},
    {std::string_view("a\0", 2), "column 2: expected '&&', '||' or the end, got '\\x00'"},
    {"\"a\xFF\"", "column 3: expected valid UTF-8, got '\\xff'"},
    // constants
    {"3", "column 2: expected a comparison: the constant before is no bool, got the end"},
    {"\"x\" && a", "column 5: expected a comparison: the constant before is no bool, got '&'"},
    {"!null", "column 6: expected a comparison: the constant before is no bool"},
    {"a > 01", "column 6: expected no digit after a leading 0, got '1'"},
    {"a > 1.", "column 7: expected a digit after the decimal point"},
    {"a > .5", "column 5: expected a path"},
    {"a > +1", "column 5: expected a path"},
    {"a > -", "column 6: expected a digit"},
    {"a > -x", "column 6: expected a digit, got 'x'"},
    {"a > 1e", "column 7: expected a digit of the exponent"},
    {"a > 1e400", "column 5: expected a number that a double holds, got '1e400'"},
    {"a > 9223372036854775808", "column 5: expected a whole number of at most 64 bits"},
    {"a > 3x", "column 6: expected '&&', '||' or the end, got 'x'"},
    {"a > NaN.", "column 9: expected a name, got the end of the text"},
    {"a == 'x'", "column 6: expected a path"},
    {"a == \"x", "column 8: expected '\"' at the end of the string"},
    {"a == \"\\q\"", "column 7: expected an escape"},
    {"a == \"\\u0000\"", "column 7: expected no NUL in a string"},
    {"a == \"\\ud800\"", "expected the escape of a low surrogate after a high one"},
    {"a == \"\n\"", "column 7: expected control characters to be escaped"},
    // paths
    {"a.", "column 3: expected a name, got the end of the text"},
    {"a..b", "column 3: expected a name, got '.'"},
    {"a.1", "column 3: expected a name, got '1'"},
    {"a.\"b\"", "column 3: expected a name, got '\"'"},
    {"a[", "column 3: expected an integer or a string, got the end of the text"},
    {"a[]", "column 3: expected an integer or a string, got ']'"},
    {"a[b]", "column 3: expected an integer or a string, got 'b'"},
    {"a[1", "column 4: expected ']', got the end of the text"},
    {"a[1.5]", "column 3: expected an integer of at most 64 bits, got '1'"},
    {"a[1e2]", "column 3: expected an integer of at most 64 bits, got '1e2'"},
    {"a[9223372036854775808]", "column 3: expected an integer of at most 64 bits"},
    {"a[01]", "column 4: expected no digit after a leading 0"},
    {"a[\"x]", "expected '\"' at the end of the string"},
    {"true.x == 1", "column 5: expected '&&', '||' or the end, got '.'"},
    {"has(", "column 5: expected a path, got the end of the text"},
    {"has()", "column 5: expected a path, got ')'"},
    {"has(3)", "column 5: expected a path, got '3'"},
    {"has(a", "column 6: expected '.', '[' or ')', got the end of the text"},
    {"has(a == b)", "column 7: expected '.', '[' or ')', got '='"},
    {"has(has(a))", "column 8: expected '.', '[' or ')', got '('"},
    {"else x", "column 6: expected '&&', '||' or the end, got 'x'"},
};

}  // namespace

TEST_CASE("what is no predicate is refused, with the column") {
  for (const Refused& row : refused) {
    CAPTURE(row.text);
    const Result<Predicate> predicate = Predicate::parse(row.text);
    REQUIRE_FALSE(predicate.ok());
    CHECK(predicate.error().id() == "predicate.syntax");
    std::string message(row.message);
    if (message.ends_with("a path")) message.replace(message.size() - 6, 6, operand);
    CAPTURE(predicate.error().message());
    CHECK(predicate.error().message().find(message) != std::string::npos);
  }
  const Error error = std::move(Predicate::parse("é = 3")).error();
  std::string facts;
  for (const Detail& detail : error.details()) facts += detail.key + "=" + detail.value + ";";
  CHECK(facts == "column=1;expected=" + std::string(operand) + ";got='é';");
}

TEST_CASE("nesting and length are limited, and what is accepted is accepted again") {
  for (const std::string_view open : {"!", "(", "!("}) {
    CAPTURE(open);
    const std::string close(open.ends_with('(') ? 1 : 0, ')');
    for (const std::string_view inner : {"a", "a == b", "a && b || c"}) {
      const std::string text = repeated(64, open) + std::string(inner) + repeated(64, close);
      const std::string printed = canonical(text);
      CHECK(Predicate::parse(text).ok());
      CHECK(canonical(printed) == printed);
      const std::string more = repeated(65, open) + std::string(inner) + repeated(65, close);
      CHECK(canonical(more).find("expected at most 64 levels of '!' and '('") != std::string::npos);
    }
  }
  CHECK(Predicate::parse(repeated(30, "(a || b && ") + "c" + repeated(30, ")")).ok());
  CHECK(canonical(repeated(4096, "(")).find("at most 64 levels") != std::string::npos);
  CHECK(canonical(repeated(4096, "!")).find("at most 64 levels") != std::string::npos);

  CHECK(Predicate::parse(repeated(4096, "a")).ok());
  CHECK(canonical(repeated(4097, "a")).find("at most 4096 bytes, got 4097") != std::string::npos);
  CHECK(Predicate::parse(repeated(4095, " ") + "a").ok());
  // Blanks make the canonical text longer: it is the one that must fit.
  const std::string dense = "a" + repeated(700, "&&a");
  CHECK(Predicate::parse(dense).value().canonical().size() == 1 + 700 * 5);
  CHECK(canonical("a" + repeated(900, "&&a")).find("in its canonical form, got 4501 bytes") !=
        std::string::npos);
  CHECK(Predicate::parse("a" + repeated(2000, "[0]")).error().id() == "predicate.syntax");
  CHECK(Predicate::parse("a" + repeated(1000, "[0]")).ok());
}

TEST_CASE("what can't be evaluated says what is there") {
  const Value value = value_from(sample);
  struct Row {
    std::string_view text, message;
  };
  const Row table[] = {
      {"n", "n: expected a bool, as it stands alone, got the integer 3: compare it with something"},
      {"none", "none: expected a bool, as it stands alone, got null: compare it with something"},
      {"name > 3",
       "name > 3: expected two numbers or two texts to put in order, got the text 'anna' and the "
       "integer 3"},
      {"ok < true", "expected two numbers or two texts to put in order, got true and true"},
      {"none < null", "got null and null"},
      {"list >= list", "got a list of 3 and a list of 3"},
      {"x == 1", "x: expected it to be a map with a member 'x', got a map of 'score', 'n'"},
      {"user.x == 1",
       "user.x: expected user to be a map with a member 'x', got a map of 'name', 'tags'; has(…) "
       "asks for a member"},
      {"user.name.x.y == 1",
       "expected user.name to be a map with a member 'x', got the text 'bob'"},
      {"list[3] == 1", "list[3]: expected list to be a list with an element 3, got a list of 3"},
      {"list[-4] == 1", "expected list to be a list with an element -4, got a list of 3"},
      {"user[0] == 1", "expected user to be a list with an element 0, got a map of 'name', 'tags'"},
      {"list[\"x y\"] == 1", "list[\"x y\"]: expected list to be a map with a member 'x y'"},
      {"ok && x", "x: expected it to be a map with a member 'x'"},
      {"!x", "x: expected it to be a map with a member 'x'"},
      {"has(x) || x", "x: expected it to be a map with a member 'x'"},
      {"x != 1", "x: expected it to be a map with a member 'x'"},
      {"1 == x", "x: expected it to be a map with a member 'x'"},
      {"it[0] == 1", "it[0]: expected it to be a list with an element 0"},
  };
  for (const Row& row : table) {
    CAPTURE(row.text);
    const std::string message = outcome(row.text, value);
    CAPTURE(message);
    CHECK(message.find(row.message) != std::string::npos);
  }
  CHECK(outcome("it == 3", Value::integer(3)) == "true");
  CHECK(outcome("it", Value::boolean(false)) == "false");
  CHECK(outcome("it[-1] > 1", value_from("[0, 1.5]")) == "true");
}

TEST_CASE("paths alone are read, printed and followed") {
  const Value value = value_from(sample);
  struct Row {
    std::string_view text, canonical, json;
  };
  const Row table[] = {
      {" it ", "it", ""},          {"n", "n", "3"},
      {"it.n", "n", "3"},          {"user . tags [ -1 ]", "user.tags[-1]", "\"c\""},
      {"it[\"a b\"]", "it[\"a b\"]", "1"}, {"it.has", "it.has", "5"},
      {"has", "it.has", "5"},      {"true", "it.true", "6"},
      {"list[2][0]", "list[2][0]", "3"},
  };
  for (const Row& row : table) {
    CAPTURE(row.text);
    const Path path = Path::parse(row.text).value();
    CHECK(path.canonical() == row.canonical);
    CHECK(Path::parse(row.canonical).value().canonical() == row.canonical);
    const Value* found = path.find(value);
    REQUIRE(found);
    CHECK(path.follow(value).value() == found);
    if (!row.json.empty()) CHECK(value_json(*found).value() == row.json);
  }
  CHECK(Path::parse("it").value().find(value) == &value);
  CHECK(Path::parse("user.x").value().find(value) == nullptr);
  CHECK(Path::parse("user.x").value().follow(value).error().id() == "run.predicate");
  CHECK(Path::parse("a b").error().message() ==
        "'a b', column 3: expected '.', '[' or the end, got 'b'");
  CHECK(Path::parse("").error().message() ==
        "'', column 1: expected a name, got the end of the text");
  CHECK(Path::parse("3").error().message().find("expected a name, got '3'") != std::string::npos);
  CHECK(Path::parse(repeated(4097, "a")).error().message().find("a path of at most 4096") !=
        std::string::npos);
}

TEST_SUITE_BEGIN("own new");

TEST_CASE("without memory a predicate is not half there") {
  const Value value = value_from(sample);
  CHECK(fixture::run_out_of_memory([&value] {
          const Result<Predicate> predicate =
              Predicate::parse("(ok && user[\"name\"] == \"a text longer than a short one is\") "
                               "|| !has(list[0]) || x > 1");
          if (predicate.ok()) (void)predicate->test(value);
        }) > 20);
}

TEST_SUITE_END();

}  // namespace soma
