# SPDX-License-Identifier: MIT
# Everyday commands in front of CMake and Ninja. `make help` lists them.

PREFIX ?= /usr/local
DESTDIR ?=
FUZZ_SECONDS ?= 60
MUTANTS ?=
ONLY ?=
ARGS ?=
CYCLES ?= 100

BENCHES := $(patsubst bench/%.c,bench-%,$(shell grep -ls '^int main\b' bench/*.c))

.PHONY: all run test torture bench $(BENCHES) fuzz mutants coverage lint format install clean help
.DEFAULT_GOAL := all

# Two at once in one tree would write over each other.
all: build/release/build.ninja
	@if command -v flock >/dev/null; then flock build/release.lock cmake --build build/release; \
	    else cmake --build build/release; fi

# Ninja notices changes to the CMake files by itself, but not to the presets.
build/%/build.ninja: CMakePresets.json
	@command -v cmake >/dev/null && command -v ninja >/dev/null || \
	    { echo "cmake or ninja is missing: scripts/setup run installs them." >&2; exit 1; }
	@mkdir -p build
	@cmake --preset $* >build/$*.log 2>&1 || { cat build/$*.log >&2; exit 1; }
	@touch $@

run:
	@scripts/setup run
	@$(MAKE) --no-print-directory all
	@scripts/run

test:
	@scripts/setup test
	@MUTANTS=$(MUTANTS) scripts/test $(ONLY)

torture: all
	@scripts/setup test
	@TOCSIN_CYCLES=$(CYCLES) python3 test/fault/kill_test.py build/release/tocsin

bench: $(BENCHES)
$(BENCHES): bench-%:
	@scripts/setup bench
	@$(MAKE) -s --no-print-directory build/bench/build.ninja
	@cmake --build build/bench --target $@
	@build/bench/$@ $(ARGS)

fuzz:
	@scripts/setup fuzz
	@$(MAKE) -s --no-print-directory build/fuzz/build.ninja
	@cmake --build build/fuzz $(if $(ONLY),--target $(addsuffix _fuzz,$(ONLY)))
	@scripts/fuzz $(FUZZ_SECONDS) $(ONLY)

mutants:
	@scripts/setup test
	@MUTANTS=$(MUTANTS) scripts/mutants $(ONLY)

coverage:
	@scripts/setup test
	@$(MAKE) -s --no-print-directory build/coverage/build.ninja
	@cmake --build build/coverage
	@scripts/coverage

lint:
	@scripts/setup lint
	@$(MAKE) -s --no-print-directory build/lint/build.ninja
	@scripts/lint

format:
	@scripts/setup lint
	@scripts/lint --format

install: all
	@DESTDIR="$(DESTDIR)" cmake --install build/release --prefix "$(PREFIX)"

clean:
	rm -rf build

help:
	@echo "make            build the binary: build/release/tocsin"
	@echo "make run        install what is missing, build, start the server, say what to try"
	@echo "make test       everything that can fail; ONLY=unit runs the steps named so"
	@echo "make torture    kill -9 the server CYCLES=$(CYCLES) times, and judge what survived"
	@echo "make lint       format, clang-tidy, cppcheck, layers, sizes; some five minutes"
	@echo "make format     bring the C files into the house format"
	@echo "make bench      all benchmarks; make bench-wheel ARGS=--help runs one"
	@echo "make fuzz       each fuzz target for FUZZ_SECONDS=$(FUZZ_SECONDS); ONLY=wheel runs one"
	@echo "make mutants    break each promise and see a test notice; MUTANTS=5 takes a sample,"
	@echo "                ONLY=inbox those named so"
	@echo "make coverage   which lines the unit tests ran, by file"
	@echo "make install    into PREFIX=$(PREFIX), below DESTDIR if given"
	@echo "make clean      remove build/"
