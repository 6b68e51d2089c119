// Proves that strict JSON is read for what it says, and that everything else is refused, each with
// its place, what was expected and what is there.
#include "base/json.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <thread>

#include "base/json_scan.hpp"
#include "base/json_validate.hpp"
#include "base/json_writer.hpp"
#include "unit/base/failing_memory.hpp"

namespace soma {

namespace {

// What a document says, written again through the views.
void write(JsonWriter& writer, JsonView view) {
  switch (view.kind()) {
    case JsonKind::Null: writer.value(nullptr); break;
    case JsonKind::Bool: writer.value(view.truth()); break;
    case JsonKind::Number: writer.value(view.number()); break;
    case JsonKind::Text: writer.value(view.text()); break;
    case JsonKind::Array:
      writer.array();
      for (JsonView at = view.first(); at; at = at.next()) write(writer, at);
      writer.close();
      break;
    case JsonKind::Object:
      writer.object();
      for (JsonView at = view.first(); at; at = at.next()) write(writer.key(at.key()), at);
      writer.close();
      break;
  }
}

std::string read(std::string_view text) {
  const Result<Json> json = Json::parse(text);
  if (!json.ok()) return json.error().message();
  JsonWriter writer;
  write(writer, json->root());
  return std::move(writer).take();
}

std::string nested(size_t depth, std::string_view open = "[", std::string_view close = "]") {
  std::string out;
  for (size_t i = 0; i < depth; ++i) out += open;
  for (size_t i = 0; i < depth; ++i) out += close;
  return out;
}

struct Taken {
  std::string_view text, says;
};

struct Refused {
  std::string_view text, message;
};

constexpr Taken good_json[] = {
    {"null", "null"},
    {"true", "true"},
    {"false", "false"},
    {" \t\r\n null \t\r\n ", "null"},
    {"[]", "[]"},
    {"{}", "{}"},
    {" [ ] ", "[]"},
    {" { } ", "{}"},
    {"[null]", "[null]"},
    {"[1,2,[3,[]],{}]", "[1,2,[3,[]],{}]"},
    {R"( { "a" : 1 , "b" : [ true , false ] } )", R"({"a":1,"b":[true,false]})"},
    {R"({"":{"":0}})", R"({"":{"":0}})"},
    {R"({"a":{"a":1},"b":{"a":2}})", R"({"a":{"a":1},"b":{"a":2}})"},
    {R"({"a":1,"A":2})", R"({"a":1,"A":2})"},
    // numbers
    {"0", "0"},
    {"-0", "-0"},
    {"-0.0", "-0"},
    {"1", "1"},
    {"-1", "-1"},
    {"10", "10"},
    {"0.5", "0.5"},
    {"-0.25", "-0.25"},
    {"1e3", "1000"},
    {"1E3", "1000"},
    {"1e+3", "1000"},
    {"1e-3", "0.001"},
    {"0e99999999999999999999", "0"},
    {"0.0e-5", "0"},
    {"9007199254740992", "9007199254740992"},
    {"-9007199254740992", "-9007199254740992"},
    {"9007199254740994.0", "9.007199254740994e+15"},
    {"9500000000000000.0", "9.5e+15"},
    {"1e16", "1e+16"},
    {"123456789.123456789", "123456789.12345679"},
    {"0.1", "0.1"},
    {"1.7976931348623157e308", "1.7976931348623157e+308"},
    {"-1.7976931348623158e308", "-1.7976931348623157e+308"},
    {"5e-324", "5e-324"},
    {"2.2250738585072014e-308", "2.2250738585072014e-308"},
    {"1e-400", "0"},
    {"-1e-400", "-0"},
    {"1e-99999999999999999999", "0"},
    {"[1.5,[2.5,{\"x\":-3.5}],4.5]", "[1.5,[2.5,{\"x\":-3.5}],4.5]"},
    // strings
    {R"("")", R"("")"},
    {R"("a\"b\\c\/d")", R"("a\"b\\c/d")"},
    {R"("\b\f\n\r\t")", R"("\b\f\n\r\t")"},
    {R"("\u0041\u00e9\u20AC")", "\"Aé€\""},
    {R"("\ud83d\ude00")", "\"😀\""},
    {R"("\uD800\uDC00\uDBFF\uDFFF")", "\"\xF0\x90\x80\x80\xF4\x8F\xBF\xBF\""},
    {R"("\ufffe\uffff\ud7ff\ue000")", "\"\xEF\xBF\xBE\xEF\xBF\xBF\xED\x9F\xBF\xEE\x80\x80\""},
    {"\"é€😀\x7f\"", "\"é€😀\\u007f\""},
    {"\"\xEF\xBB\xBF\"", "\"\xEF\xBB\xBF\""},
    {R"({"k\u0065y":"\\u0000"})", R"({"key":"\\u0000"})"},
};

}  // namespace

TEST_CASE("what is JSON is read") {
  for (const Taken& row : good_json) {
    CAPTURE(row.text);
    CHECK(read(row.text) == row.says);
  }
}

namespace {

constexpr Refused not_json[] = {
    {"", "line 1, column 1 (byte 0): expected a value, got the end of the text"},
    {" \n ", "line 2, column 2 (byte 3): expected a value, got the end of the text"},
    {"nul", "line 1, column 1 (byte 0): expected a value, got 'nul'"},
    {"True", "expected a value, got 'True'"},
    {"nullx", "line 1, column 5 (byte 4): expected the end of the text after the value, got 'x'"},
    {"1 2", "column 3 (byte 2): expected the end of the text after the value, got '2'"},
    {"[] ]", "column 4 (byte 3): expected the end of the text after the value, got ']'"},
    {"NaN", "expected a value, got 'NaN'"},
    {"Infinity", "expected a value, got 'Infinity'"},
    {"'a'", "expected a value, got '''"},
    {"// c\n1", "expected a value, got '/'"},
    {"\xC2\xA0" "1", "expected a value, got '\xC2\xA0'"},
    {"\x0C" "1", "expected a value, got '\\x0c'"},
    {"undefined_but_very_long_word", "got 'undefined_but_very_long_…'"},
    // structure
    {"[", "column 2 (byte 1): expected a value, got the end of the text"},
    {"[1", "column 3 (byte 2): expected ',' or ']', got the end of the text"},
    {"[1,", "column 4 (byte 3): expected a value, got the end of the text"},
    {"[1,]", "column 4 (byte 3): expected a value, got ']'"},
    {"[,1]", "column 2 (byte 1): expected a value, got ','"},
    {"[1 2]", "column 4 (byte 3): expected ',' or ']', got '2'"},
    {"[1}", "expected ',' or ']', got '}'"},
    {"{", "expected a key in double quotes, got the end of the text"},
    {"{]", "expected a key in double quotes, got ']'"},
    {"{a:1}", "expected a key in double quotes, got 'a'"},
    {"{1:1}", "expected a key in double quotes, got '1'"},
    {R"({"a")", "expected ':' after the key, got the end of the text"},
    {R"({"a",1})", "expected ':' after the key, got ','"},
    {R"({"a":})", "expected a value, got '}'"},
    {R"({"a":1)", "expected ',' or '}', got the end of the text"},
    {R"({"a":1,})", "column 8 (byte 7): expected a key in double quotes, got '}'"},
    {R"({"a":1]})", "expected ',' or '}', got ']'"},
    {"[\n  1,\n  \"é\" x\n]", "line 3, column 7 (byte 14): expected ',' or ']', got 'x'"},
    // numbers
    {"-", "column 2 (byte 1): expected a digit, got the end of the text"},
    {"+1", "expected a value, got '+'"},
    {".5", "expected a value, got '.'"},
    {"1.", "column 3 (byte 2): expected a digit after the decimal point, got the end of the text"},
    {"1.e5", "expected a digit after the decimal point, got 'e5'"},
    {"1e", "expected a digit of the exponent, got the end of the text"},
    {"1e+", "expected a digit of the exponent, got the end of the text"},
    {"01", "column 2 (byte 1): expected no digit after a leading 0, got '1'"},
    {"-01", "column 3 (byte 2): expected no digit after a leading 0, got '1'"},
    {"[00]", "expected no digit after a leading 0, got '0'"},
    {"0x10", "expected the end of the text after the value, got 'x10'"},
    {"--1", "expected a digit, got '-'"},
    {"1,5", "expected the end of the text after the value, got ','"},
    // strings
    {"\"", "column 2 (byte 1): expected '\"' at the end of the string, got the end of the text"},
    {"\"a\\", "expected an escape: one of"},
    {"\"a\\\"", "expected '\"' at the end of the string, got the end of the text"},
    {R"("\x41")", R"(expected an escape: one of \" \\ \/ \b \f \n \r \t \u, got '\x')"},
    {R"("\U0041")", "expected an escape"},
    {"\"a\nb\"", "column 3 (byte 2): expected control characters to be escaped, got '\\x0a'"},
    {"\"\t\"", "expected control characters to be escaped, got '\\x09'"},
    {std::string_view("\"a\0b\"", 5), "expected control characters to be escaped, got '\\x00'"},
    {std::string_view("1\0", 2), "expected the end of the text after the value, got '\\x00'"},
    {R"("a\u0000")", R"(column 3 (byte 2): expected no NUL in a string, got '\u0000')"},
    {R"("\u12")", "expected four hexadecimal digits after \\u"},
    {R"("\u12g4")", "expected four hexadecimal digits after \\u, got '\\u12g4'"},
    {R"("\u)", "expected four hexadecimal digits after \\u"},
    {R"("\ud800")", "expected the escape of a low surrogate after a high one"},
    {R"("\ud800\u0041")", "expected the escape of a low surrogate after a high one, got '\\u0041'"},
    {R"("\ud800\ud800")", "expected the escape of a low surrogate after a high one"},
    {R"("\ud800\n")", "expected the escape of a low surrogate after a high one, got '\\n'"},
    {R"("\ud800x")", "expected the escape of a low surrogate after a high one, got 'x'"},
    {R"("\udc00")", "expected no low surrogate without a high one before it, got '\\udc00'"},
    {R"("\udc00\ud800")", "expected no low surrogate without a high one before it"},
    // bytes
    {"\xEF\xBB\xBF{}", "line 1, column 1 (byte 0): expected a value, got"},
    {"\"\xC3\"", "line 1, column 2 (byte 1): expected valid UTF-8, got '\\xc3'"},
    {"\"\xE2\x82", "expected valid UTF-8"},
    {"\"\xC0\xAF\"", "expected valid UTF-8, got '\\xc0"},
    {"\"\xED\xA0\x80\"", "expected valid UTF-8, got '\\xed"},
    {"\"\xF4\x90\x80\x80\"", "expected valid UTF-8, got '\\xf4"},
    {"\"\xFF\"", "expected valid UTF-8, got '\\xff'"},
    {"\xFF\xFE[\x00]", "expected valid UTF-8, got '\\xff'"},
};

}  // namespace

TEST_CASE("what is not JSON is refused, with the place") {
  for (const Refused& row : not_json) {
    CAPTURE(row.text);
    const Result<Json> json = Json::parse(row.text);
    REQUIRE_FALSE(json.ok());
    CHECK(json.error().reason() == Reason::document_syntax);
    CAPTURE(json.error().message());
    CHECK(json.error().message().find(row.message) != std::string::npos);
  }
  CHECK(read("\xEF\xBB\xBF{}").find("remove the byte order mark") != std::string::npos);
}

TEST_CASE("what a double or 64 bits would change is refused") {
  const Refused table[] = {
      {"1e400", "line 1, column 1 (byte 0): expected a number that a double holds, got '1e400'"},
      {"[0, -1e400]", "column 5 (byte 4): expected a number that a double holds"},
      {"1.7976931348623159e308", "expected a number that a double holds"},
      {"1e99999999999999999999", "expected a number that a double holds"},
      {"0.00001e314", "expected a number that a double holds"},
      {"9007199254740993", "expected a whole number within ±9007199254740992"},
      {"-9007199254740993", "write it as a text, in double quotes"},
      {"9223372036854775808", "expected a whole number within"},
      {"100000000000000000000000000", "expected a whole number within"},
  };
  for (const Refused& row : table) {
    CAPTURE(row.text);
    const Result<Json> json = Json::parse(row.text);
    REQUIRE_FALSE(json.ok());
    CHECK(json.error().reason() == Reason::document_limit);
    CAPTURE(json.error().message());
    CHECK(json.error().message().find(row.message) != std::string::npos);
  }
  // The place of the first digit decides, not the exponent.
  CHECK(read("1" + std::string(400, '0') + ".0e-400") == "1");
  CHECK(read("0." + std::string(400, '0') + "1e401") == "1");
  CHECK(read("0." + std::string(5000, '1')) == "0.1111111111111111");
  CHECK(read("0." + std::string(400, '0') + "1") == "0");
  CHECK(Json::parse("1" + std::string(400, '0') + ".5").error().id() == "document.limit");
}

TEST_CASE("equal keys are refused however they are spelled, all at once") {
  const Result<Json> json =
      Json::parse("{\"a\":1,\n \"b\":{\"x\":0,\"\\u0078\":0},\n \"\\u0061\":2}");
  REQUIRE_FALSE(json.ok());
  const Error& error = json.error();
  CHECK(error.id() == "document.duplicate_key");
  CHECK(error.message() ==
        "line 2, column 13 (byte 20): expected a key that the object does not have yet, got "
        "'\"\\u0078\"': remove one of the two");
  REQUIRE(error.others().size() == 1);
  CHECK(error.others()[0].message().starts_with("line 3, column 2 (byte 34): "));

  CHECK(Json::parse(R"({"é":1,"\u00e9":2})").error().id() == "document.duplicate_key");
  CHECK(Json::parse(R"({"\ud83d\ude00":1,"😀":2})").error().id() == "document.duplicate_key");
  CHECK(Json::parse(R"({"":1,"":2})").error().id() == "document.duplicate_key");
  CHECK(Json::parse(R"([{"a":{"b":1}},{"a":1,"c":[{"c":1}],"a":2}])").error().message().find(
            "(byte 36)") != std::string::npos);
  CHECK(Json::parse(R"({"a/b":1,"a\/c":2,"a":3})").ok());

  std::string many = "{\"k\":0";
  for (int i = 0; i < 100000; ++i) many += ",\"k\":0";
  CHECK(Json::parse(many + "}").error().others().size() == 15);
}

TEST_CASE("depth and size are limited") {
  CHECK(Json::parse(nested(512)).ok());
  CHECK(Json::parse(nested(512, "{\"k\":", "}").insert(512 * 5, "1")).ok());
  const Result<Json> deep = Json::parse(nested(513));
  REQUIRE_FALSE(deep.ok());
  CHECK(deep.error().id() == "document.limit");
  CHECK(deep.error().message() ==
        "line 1, column 513 (byte 512): expected arrays and objects at most 512 deep, got '[': "
        "nest it less deeply");
  CHECK(Json::parse(nested(1000000)).error().id() == "document.limit");
  CHECK(Json::parse(std::string(1000000, '[')).error().id() == "document.limit");
  CHECK(Json::parse("[[1],[2],[[3]]]", {.depth_max = 3}).ok());
  CHECK_FALSE(Json::parse("[[1],[2],[[3]]]", {.depth_max = 2}).ok());
  CHECK(Json::parse("7", {.depth_max = 0}).ok());
  // More than cJSON takes is not offered to it.
  CHECK(Json::parse(nested(1000), {.depth_max = 1000000}).ok());
  CHECK(Json::parse(nested(1001), {.depth_max = 1000000}).error().id() == "document.limit");

  CHECK(Json::parse("[1]", {.bytes_max = 3}).ok());
  CHECK(Json::parse("[1]", {.bytes_max = 2}).error().message() ==
        "expected a document of at most 2 bytes, got 3 bytes");
}

TEST_CASE("an error has its facts one by one") {
  const Result<Json> json = Json::parse("[\n1,\n ]");
  REQUIRE_FALSE(json.ok());
  std::string facts;
  for (const Detail& fact : json.error().details()) facts += fact.key + "=" + fact.value + ";";
  CHECK(facts == "line=3;column=2;offset=6;expected=a value;got=']';");
}

TEST_CASE("views show kinds, members and integers") {
  const Json json = Json::parse(R"({"n":3,"half":0.5,"big":1e300,"edge":-9007199254740992,
    "whole":2.0,"over":9007199254740994.0,"list":[1,"two",null],"yes":true,"none":null})").value();
  const JsonView root = json.root();
  CHECK(root.is(JsonKind::Object));
  CHECK(root.size() == 9);
  CHECK(root.member("n").integer() == 3);
  CHECK(root.member("half").integer() == std::nullopt);
  CHECK(root.member("big").integer() == std::nullopt);
  CHECK(root.member("edge").integer() == -9007199254740992);
  CHECK(root.member("whole").integer() == 2);
  CHECK(root.member("over").integer() == std::nullopt);
  CHECK(root.member("over").number() == 9007199254740994.0);
  CHECK(root.member("yes").truth());
  CHECK(root.member("none").is(JsonKind::Null));
  CHECK_FALSE(root.member("missing"));
  CHECK_FALSE(root.member("missing").is(JsonKind::Null));
  CHECK_FALSE(root.member(std::string_view("n\0", 2)));
  const JsonView list = root.member("list");
  CHECK(list.size() == 3);
  CHECK(list.first().next().text() == "two");
  CHECK_FALSE(list.first().next().next().next());
  CHECK(list.first().next().next().is(JsonKind::Null));
  CHECK(json_kind_name(list.kind()) == "array");
  CHECK(json_kind_name(JsonKind::Text) == "text");
}

TEST_CASE("cJSON gets no number that a locale could change") {
  const ValidJson valid = validate_json(R"([1.5,{"2":-3e5},"4.5",6])", {}).value();
  CHECK(valid.text == R"([0  ,{"2":0   },"4.5",0])");
  CHECK(valid.numbers == std::vector<double>{1.5, -3e5, 6});
}

TEST_CASE("documents are parsed and released on several threads at once") {
  std::vector<int> good(4);
  std::vector<std::thread> threads;
  for (size_t i = 0; i < good.size(); ++i) {
    threads.emplace_back([&good, i] {
      for (int turn = 0; turn < 200; ++turn) {
        Json json = Json::parse(R"({"a":[1,2,{"b":"text"}]})").value();
        json = Json::parse(R"({"c":[0.5]})").value();
        good[i] += json.root().member("c").first().number() == 0.5;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  CHECK(good == std::vector<int>(4, 200));
}

TEST_SUITE_BEGIN("own new");

TEST_CASE("a document lies in the memory of its runtime, and returns there") {
  Memory memory({});
  std::optional<Json> json;
  {
    const MemoryScope scope(&memory);
    json = Json::parse(R"({"a":[1,2,{"b":"text"}]})").value();
  }
  CHECK(memory.allocated.bytes.load() > 0);
  json.reset();
  CHECK(memory.allocated.bytes.load() == 0);
}

TEST_CASE("without memory a document is not half there") {
  const std::string text = R"({"a":[1,2.5,{"b\n":"a text longer than a short one is"}],"c":{}})";
  CHECK(fixture::run_out_of_memory([&text] { (void)Json::parse(text); }) > 20);
  CHECK(fixture::run_out_of_memory([] { (void)Json::parse(R"({"a":1,"a":2})"); }) > 5);
}

TEST_SUITE_END();

}  // namespace soma
