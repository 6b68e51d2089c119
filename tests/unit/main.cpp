// The main function of every unit-test binary: doctest's own.
//
// Precompiled, the header comes too early to see that the second name implies the first.
#define DOCTEST_CONFIG_IMPLEMENT
#define DOCTEST_CONFIG_IMPLEMENT_WITH_MAIN
#include <doctest/doctest.h>
