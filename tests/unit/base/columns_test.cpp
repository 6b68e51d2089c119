// Proves that columns align, whatever the cells hold, and that numbers are shown short.
#include "base/columns.hpp"

#include <doctest/doctest.h>

namespace soma {

TEST_CASE("columns are as wide as their widest cell, and lines end in no space") {
  Columns columns("rl");
  columns.row({"1", "a", "x"});
  columns.row({"100", "bcd"});
  columns.row({"", "", "y"});
  CHECK(columns.str() ==
        "  1  a    x\n"
        "100  bcd\n"
        "          y\n");
}

TEST_CASE("characters are counted, not bytes") {
  Columns columns("ll");
  columns.row({"é", "x"});
  columns.row({"ab", "y"});
  CHECK(columns.str() == "é   x\nab  y\n");
}

TEST_CASE("no rows and empty rows are fine") {
  CHECK(Columns("l").str().empty());
  Columns columns("l");
  columns.row({});
  CHECK(columns.str() == "\n");
}

TEST_CASE("numbers are shown by the fewest digits that give them back") {
  CHECK(short_number(1e-5f) == "1e-05");
  CHECK(short_number(100000) == "100000");
  CHECK(short_number(0.125) == "0.125");
  CHECK(short_number(0.1) == "0.1");
  CHECK(short_number(-3) == "-3");
}

TEST_CASE("bytes are shown in the largest unit that leaves at least one") {
  CHECK(human_bytes(0) == "0 B");
  CHECK(human_bytes(1023) == "1023 B");
  CHECK(human_bytes(1024) == "1.0 KiB");
  CHECK(human_bytes(1536) == "1.5 KiB");
  CHECK(human_bytes(u64{96} << 20) == "96.0 MiB");
  CHECK(human_bytes(u64{5} << 50) == "5120.0 TiB");
}

}  // namespace soma
