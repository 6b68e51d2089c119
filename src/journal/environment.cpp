// What SQLite is told when it asks for a variable of the environment: that there is none.
//
// SQLite reads two at its first use, to learn where temporary files go. The library reads no
// environment, and needs no temporary files; the linker sends every call of getenv that stands in
// the library here (the Makefile's NO_ENVIRONMENT). Tests link without that.

extern "C" char* __wrap_getenv(const char* name);
char* __wrap_getenv(const char*) { return nullptr; }
