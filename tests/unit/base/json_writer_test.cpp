// Proves that what the JSON writer writes is valid JSON of exactly the expected form.
#include "base/json_writer.hpp"

#include <doctest/doctest.h>

#include <limits>

using namespace soma;

TEST_CASE("nesting, commas and every kind of value") {
  JsonWriter json;
  json.object()
      .field("text", "a")
      .field("whole", i64{-9007199254740993})
      .field("large", std::numeric_limits<u64>::max())
      .field("real", 0.5)
      .field("yes", true)
      .key("none")
      .value(nullptr)
      .key("list")
      .array()
      .value(1)
      .array()
      .close()
      .object()
      .close()
      .close()
      .close();
  CHECK(std::move(json).take() ==
        R"({"text":"a","whole":-9007199254740993,"large":18446744073709551615,"real":0.5,)"
        R"("yes":true,"none":null,"list":[1,[],{}]})");
}

TEST_CASE("text is escaped, and always valid UTF-8") {
  JsonWriter json;
  json.array()
      .value("\"\\\n\x01\x7f")
      .value("é\xff€\xc3")
      .value(std::string_view("a\0b", 3))
      .close();
  CHECK(std::move(json).take() ==
        R"(["\"\\\n\u0001\u007f","é)"
        "\xef\xbf\xbd€\xef\xbf\xbd"
        R"(","a\u0000b"])");
}

TEST_CASE("numbers that JSON does not have are null") {
  JsonWriter json;
  json.array()
      .value(std::numeric_limits<double>::infinity())
      .value(std::numeric_limits<double>::quiet_NaN())
      .value(1e300)
      .close();
  CHECK(std::move(json).take() == "[null,null,1e+300]");
}
