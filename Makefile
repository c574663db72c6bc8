# SPDX-License-Identifier: BSD-2-Clause
# geckobpf: one Makefile, no recursion; all output goes to $(BUILD). `make help` lists what there is.

VERSION := 0.1.0
CC ?= cc
CXX ?= c++
CLANG ?= clang
BPFTOOL ?= bpftool
PKG_CONFIG ?= pkg-config
PYTHON ?= python3
CFLAGS ?= -O2 -g
PREFIX ?= /usr/local
DESTDIR ?=
V ?= 0
SAN ?=
STATIC ?=
DEPS ?=
WERROR ?=

MACHINE := $(shell uname -m)
ARCH := $(patsubst aarch64,arm64,$(patsubst x86_64,x86,$(MACHINE)))
MULTIARCH := $(shell $(CC) -print-multiarch 2>/dev/null)
BUILD ?= build$(if $(SAN),-$(if $(findstring thread,$(SAN)),tsan,san))$(if $(STATIC),-static)
# bpftool is in /usr/sbin, which is not on every user's PATH.
export PATH := $(PATH):/usr/sbin:/sbin

ifeq ($(V),1)
say = @true
Q =
else
say = @printf '  %-8s %s\n'
Q = @
endif

# A warning is an error for us (ci/check.sh), not for a user with a newer compiler.
WARNINGS := $(if $(WERROR),-Werror)
OUR_CFLAGS := -std=c11 -D_GNU_SOURCE -D_FILE_OFFSET_BITS=64 -DGECKOBPF_VERSION='"$(VERSION)"' \
	-Wall -Wextra -Wshadow -Wstrict-prototypes -Wmissing-prototypes -Wundef -Wvla \
	-Wno-unused-parameter $(WARNINGS) -fno-omit-frame-pointer -Iuser -Iinclude -I$(BUILD)/skel
SAN_FLAGS := $(if $(SAN),-fsanitize=$(SAN) -fno-sanitize-recover=all -DGECKOBPF_SANITIZED)
STATIC_FLAGS := $(if $(STATIC),-DGECKOBPF_STATIC)
BPF_CFLAGS := -g -O2 -mcpu=v2 -target bpf -D__TARGET_ARCH_$(ARCH) -Wall -Wextra -Wno-unused-parameter \
	$(WARNINGS) -Ivmlinux/$(ARCH) -Iinclude -Ibpf $(if $(MULTIARCH),-I/usr/include/$(MULTIARCH))
USER_CC = $(CC) $(OUR_CFLAGS) $(SAN_FLAGS) $(STATIC_FLAGS) $(CFLAGS) $(CPPFLAGS)
BPF_CC = $(CLANG) $(BPF_CFLAGS)
# A static library wants its own dependencies after it; and zlib is before libelf, which may have a crc32 of its own. That all
# of them are there is checked by ci/tools.sh.
CORE_MODULES := zlib liblzma libzstd jansson libelf
APP_MODULES := libbpf libcap
libs_of = $(foreach module,$(1),$(shell $(PKG_CONFIG) $(if $(STATIC),--static) --libs $(module) 2>/dev/null))
CORE_LIBS := $(call libs_of,$(CORE_MODULES)) -liberty
APP_LIBS := $(CORE_LIBS) $(call libs_of,$(APP_MODULES))

# The rooms of APP_ROOMS need libbpf and the skeletons, or stand on those that do; the others make libcore.a. A test or benchmark links
# libapp.a and libbpf only if it includes something of APP_ROOMS, or of libbpf.
APP_ROOMS := capture session cmd
ROOMS := base reader elf buffer target unwind symbol service recording archive profile format
# Of files arch_<machine>.c and arch_<machine>_<part>.c those for this machine.
CORE_SRC := $(sort $(foreach room,$(ROOMS),$(wildcard user/$(room)/*.c)))
CORE_SRC := $(filter-out $(foreach room,$(ROOMS),$(wildcard user/$(room)/arch_*.c)),$(CORE_SRC)) \
	$(foreach room,$(ROOMS),$(wildcard user/$(room)/arch_$(MACHINE).c user/$(room)/arch_$(MACHINE)_*.c))
CORE_OBJ := $(CORE_SRC:%.c=$(BUILD)/%.o)
APP_SRC := $(sort $(foreach room,$(APP_ROOMS),$(wildcard user/$(room)/*.c)) $(wildcard user/*.c))
APP_OBJ := $(APP_SRC:%.c=$(BUILD)/%.o)
LIB_OBJ := $(filter-out $(BUILD)/user/main.o,$(APP_OBJ))
SKEL := $(BUILD)/skel/geckobpf.skel.h
BIN := $(BUILD)/geckobpf
# The program again, with the BPF object that each of these clangs makes: $(BUILD)/clang-16/geckobpf.
SKEL_SRC := $(shell grep -l '^\#include "geckobpf.skel.h"' $(APP_SRC))
CLANGS := $(shell sed -n 's/^clangs \([^ ]*\).*/\1/p' ci/packages.txt)
CLANG_BIN := $(CLANGS:%=$(BUILD)/%/geckobpf)

UNIT_SRC := $(sort $(wildcard tests/unit/test_*.c))
UNIT_BIN := $(UNIT_SRC:%.c=$(BUILD)/%)
TARGET_SRC := $(sort $(wildcard tests/targets/*.c))
TARGET_BIN := $(TARGET_SRC:%.c=$(BUILD)/%)
PRELOAD_SRC := $(sort $(wildcard tests/e2e/*.c))
PRELOAD_BIN := $(PRELOAD_SRC:%.c=$(BUILD)/%.so)
BENCH_SRC := $(sort $(wildcard tests/bench/*.c))
BENCH_BIN := $(BENCH_SRC:%.c=$(BUILD)/%)
BPF_TEST_OBJ := $(sort $(patsubst %.c,$(BUILD)/%.o,$(wildcard tests/bpf/*.c)) \
	$(patsubst %.cc,$(BUILD)/%.o,$(wildcard tests/bpf/*.cc)))
BPF_TEST_BIN := $(BUILD)/tests/bpf/selftest
SESSION_TEST_BIN := $(BUILD)/tests/session/test_sessions
GOLDEN_SRC := $(sort $(wildcard tests/golden/*.c))
GOLDEN_BIN := $(GOLDEN_SRC:%.c=$(BUILD)/%)
SHADOW_SRC := $(sort $(wildcard tests/oracle/shadow_*.c))
ORACLE_SRC := $(filter-out $(SHADOW_SRC),$(sort $(wildcard tests/oracle/*.c)))
ORACLE_BIN := $(BUILD)/tests/oracle/unwind_oracle
SHADOW_BIN := $(BUILD)/tests/oracle/shadow_oracle
FUZZ_SRC := $(sort $(wildcard tests/fuzz/fuzz_*.c))
FUZZ_BIN := $(FUZZ_SRC:tests/fuzz/%.c=build-fuzz/%)
APP_TESTS := $(shell grep -lE $(foreach room,$(APP_ROOMS),-e '^\#include "$(room)/') -e '^\#include <bpf/' $(UNIT_SRC) $(GOLDEN_SRC) $(BENCH_SRC))

.PHONY: all deps install run demo check unit selftest golden oracle shadow e2e fuzz vm bench soak soak-hostile lint format clean help targets
.DELETE_ON_ERROR:
.SECONDARY:

all: $(BIN)

# Installs the Debian packages of the groups DEPS of ci/packages.txt.
deps:
	$(Q)ci/deps.sh $(or $(DEPS),build)

help:
	@echo 'make            build $(BIN)   (STATIC=1: one static binary; SAN=address,undefined; V=1: show commands)'
	@echo 'make deps       install what the build needs (root, Debian; DEPS="test clangs": what the tests need)'
	@echo 'make install    PREFIX=$(PREFIX) DESTDIR='
	@echo 'make demo       install what is missing, build, profile a demo program, show its hottest functions (root)'
	@echo 'make check      install what the tests need, run them all (root)'
	@echo 'make unit | selftest | golden | e2e | fuzz    parts of it'
	@echo 'make vm         the same binary on every kernel from 5.10 on, in QEMU (VM="6.1 6.12": some rows)'
	@echo 'make oracle     compare the unwind tables of all ELF files of this system with libdw'
	@echo 'make shadow     compare stacks with the calls that programs really make, step by step'
	@echo 'make bench      the benchmark table (root)'
	@echo 'make soak       ten minutes of the flight recorder on a busy machine (root; SOAK="--minutes 60")'
	@echo 'make soak-hostile    ten minutes of every attack that is known, at once (root; SOAK="--minutes 1")'
	@echo 'make run ARGS="--pid 42"           build and run'
	@echo 'make lint | dead-code | format | clean | compile_commands.json'

# ---- the kernel's side -------------------------------------------------------
# What objects depend on besides their sources: flags and version. The file is written only when they change, and when the
# tools are there.
TOOLS := $(firstword $(CC)) $(CLANG) $(BPFTOOL) $(PKG_CONFIG)
HAS_TOOLS = CC='$(CC) $(CPPFLAGS)' PKG_CONFIG='$(PKG_CONFIG)' STATIC_LIBS='$(if $(STATIC),$(APP_LIBS))' DEPS='$(DEPS)' \
	ci/tools.sh $(TOOLS) -- $(CORE_MODULES) $(APP_MODULES)
FLAGS := $(USER_CC) $(LDFLAGS) $(BPF_CC) $(CXX)
$(BUILD)/flags: export FLAGS := $(FLAGS)
$(BUILD)/flags build-fuzz/flags: FORCE
	@mkdir -p $(@D)
	@printf '%s\n' "$$FLAGS" | cmp -s - $@ || { $(HAS_TOOLS) && printf '%s\n' "$$FLAGS" >$@; }
.PHONY: FORCE

$(BUILD)/bpf/%.bpf.o: bpf/%.bpf.c $(BUILD)/flags
	$(say) CLANG $@
	@mkdir -p $(@D)
	$(Q)$(BPF_CC) -MMD -MP -MF $(@:.o=.d) -MT $@ -c $< -o $@.tmp
	$(Q)$(BPFTOOL) gen object $@ $@.tmp
	@rm -f $@.tmp

$(SKEL): $(BUILD)/bpf/geckobpf.bpf.o
	$(say) SKEL $@
	@mkdir -p $(@D)
	$(Q)$(BPFTOOL) gen skeleton $< name geckobpf > $@.tmp && mv $@.tmp $@

# ---- user space --------------------------------------------------------------
$(APP_OBJ) $(APP_TESTS:%.c=$(BUILD)/%.o) $(BPF_TEST_OBJ): | $(SKEL)

$(BUILD)/%.o: %.c $(BUILD)/flags
	$(say) CC $@
	@mkdir -p $(@D)
	$(Q)$(USER_CC) -MMD -MP -c $< -o $@

$(BUILD)/libcore.a: $(CORE_OBJ)
	$(say) AR $@
	@rm -f $@
	$(Q)$(AR) rcs $@ $^

$(BUILD)/libapp.a: $(LIB_OBJ)
	$(say) AR $@
	@rm -f $@
	$(Q)$(AR) rcs $@ $^

# What a program is linked of: its objects and the archives it depends on, of which libapp.a needs libcore.a and libbpf.
linked = $(filter %.o,$^) $(filter %/libapp.a,$^) $(filter %/libcore.a,$^) -o $@ \
	$(if $(STATIC),-static) $(if $(filter %/libapp.a,$^),$(APP_LIBS),$(CORE_LIBS)) -lpthread

$(BIN): $(BUILD)/user/main.o $(BUILD)/libapp.a $(BUILD)/libcore.a
	$(say) LINK $@
	$(Q)$(CC) $(SAN_FLAGS) $(CFLAGS) $(LDFLAGS) $(linked)

# A BPF object must load whichever clang made it. Only what sees it is compiled again.
$(BUILD)/clang-%/skel/geckobpf.skel.h: FORCE
	$(Q)$(MAKE) --no-print-directory DEPS=clangs CLANG=clang-$* BUILD=$(BUILD)/clang-$* $@

$(BUILD)/clang-%/geckobpf: $(BUILD)/clang-%/skel/geckobpf.skel.h $(SKEL_SRC) $(BUILD)/user/main.o $(BUILD)/libapp.a $(BUILD)/libcore.a
	$(say) LINK $@
	$(Q)$(USER_CC) -iquote $(@D)/skel $(LDFLAGS) $(filter %.c,$^) $(linked)

install: $(BIN)
	install -d $(DESTDIR)$(PREFIX)/bin
	install -m 755 $(BIN) $(DESTDIR)$(PREFIX)/bin/geckobpf
	install -d $(DESTDIR)$(PREFIX)/share/man/man1
	install -m 644 docs/geckobpf.1 $(DESTDIR)$(PREFIX)/share/man/man1/geckobpf.1

run: $(BIN)
	$(BIN) $(ARGS)

# ---- tests -------------------------------------------------------------------
$(APP_TESTS:%.c=$(BUILD)/%): $(BUILD)/libapp.a

# Allocation failure is tested by wrapping the allocator: tests/unit/alloc.h.
$(BUILD)/tests/unit/test_%: $(BUILD)/tests/unit/test_%.o $(BUILD)/libcore.a
	$(say) LINK $@
	$(Q)$(CC) $(SAN_FLAGS) $(CFLAGS) $(LDFLAGS) -Wl,--wrap=malloc,--wrap=calloc,--wrap=realloc $(linked) -lcmocka

# A process that owns sessions, as an agent does.
$(SESSION_TEST_BIN): $(BUILD)/tests/session/test_sessions.o $(BUILD)/libapp.a $(BUILD)/libcore.a
	$(say) LINK $@
	$(Q)$(CC) $(SAN_FLAGS) $(CFLAGS) $(LDFLAGS) $(linked) -lcmocka

$(BUILD)/tests/golden/%: $(BUILD)/tests/golden/%.o $(BUILD)/libcore.a
	$(say) LINK $@
	$(Q)$(CC) $(SAN_FLAGS) $(CFLAGS) $(LDFLAGS) $(linked)

# The only program that needs libdw: what it says about stack frames is what our tables have to say.
$(ORACLE_BIN): $(ORACLE_SRC:%.c=$(BUILD)/%.o) $(BUILD)/libcore.a
	$(say) LINK $@
	$(Q)$(CC) $(SAN_FLAGS) $(CFLAGS) $(LDFLAGS) $^ -o $@ -ldw -lelf

$(BUILD)/tests/bench/%: $(BUILD)/tests/bench/%.o $(BUILD)/libcore.a
	$(say) LINK $@
	$(Q)$(CC) $(SAN_FLAGS) $(CFLAGS) $(LDFLAGS) $(linked)

# What it measures ends where a finished profile would be compressed.
$(BUILD)/tests/bench/libmade.so: tests/bench/made.S
	$(say) LINK $@
	@mkdir -p $(@D)
	$(Q)$(CC) -shared -nostdlib -Wl,--build-id $< -o $@
$(BUILD)/tests/bench/capture: | $(BUILD)/tests/bench/libmade.so
$(BUILD)/tests/bench/capture: LDFLAGS += -Wl,--wrap=output_write,--wrap=output_splices

# The unwinder's test of itself is its own subject: no frame pointers, all calls are calls.
SHAPE_FLAGS = -fomit-frame-pointer
SHAPE_CFLAGS = -O2 -g -fno-optimize-sibling-calls -fexceptions -fasynchronous-unwind-tables $(SHAPE_FLAGS)
$(BUILD)/tests/bpf/frame_pointer.o: SHAPE_FLAGS = -fno-omit-frame-pointer -fno-exceptions \
	-fno-asynchronous-unwind-tables -fno-unwind-tables

$(BUILD)/tests/bpf/%.o: tests/bpf/%.c $(BUILD)/flags
	$(say) CC $@
	@mkdir -p $(@D)
	$(Q)$(CC) $(OUR_CFLAGS) $(CFLAGS) $(CPPFLAGS) $(SHAPE_CFLAGS) -MMD -MP -c $< -o $@

$(BUILD)/tests/bpf/%.o: tests/bpf/%.cc $(BUILD)/flags
	$(say) CXX $@
	@mkdir -p $(@D)
	$(Q)$(CXX) -Wall -Wextra $(CPPFLAGS) $(SHAPE_CFLAGS) -MMD -MP -c $< -o $@

$(BPF_TEST_BIN): $(BPF_TEST_OBJ) $(BUILD)/libapp.a $(BUILD)/libcore.a
	$(say) LINK $@
	$(Q)$(CXX) $(CFLAGS) $(LDFLAGS) -Wl,-z,lazy $(linked)

# Programs that get profiled: with frame pointers, so that their stacks are known, but for `bare`; and never sanitized.
TARGET_FRAMES = -fno-omit-frame-pointer
$(BUILD)/tests/targets/bare: TARGET_FRAMES = -fomit-frame-pointer
$(BUILD)/tests/targets/%: tests/targets/%.c $(BUILD)/flags
	$(say) TARGET $@
	@mkdir -p $(@D)
	$(Q)$(CC) -std=c11 -D_GNU_SOURCE -O1 -g $(TARGET_FRAMES) -fno-optimize-sibling-calls \
		-fno-inline -Wall -MMD -MP $< -o $@ $(if $(STATIC),-static) -lpthread -lm

# What is preloaded into geckobpf, so that what it asks of the system fails.
$(BUILD)/tests/e2e/%.so: tests/e2e/%.c $(BUILD)/flags
	$(say) PRELOAD $@
	@mkdir -p $(@D)
	$(Q)$(CC) -std=c11 -D_GNU_SOURCE -O1 -g -Wall -MMD -MP -shared -fPIC $< -o $@ -ldl

targets: $(TARGET_BIN) $(PRELOAD_BIN)

unit:
	$(Q)$(MAKE) --no-print-directory SAN=address,undefined unit-run
.PHONY: unit-run
unit-run: $(UNIT_BIN)
	$(Q)ci/run-unit.sh $^

selftest: $(BPF_TEST_BIN) $(SESSION_TEST_BIN)
	$(Q)ci/run-unit.sh $^

# What several threads share, under ThreadSanitizer. (Its shadow memory and randomised addresses do not go together.)
tsan:
	$(Q)$(MAKE) --no-print-directory SAN=thread tsan-run
.PHONY: tsan tsan-run
tsan-run: $(addprefix $(BUILD)/tests/unit/,test_compressor test_memory_threads test_deflater)
	$(Q)setarch -R ci/run-unit.sh $^

golden: $(BIN) $(GOLDEN_BIN)
	$(Q)tests/golden/run.sh $(BUILD)

oracle: $(ORACLE_BIN)
	$(Q)$(ORACLE_BIN) $(ORACLE)

$(SHADOW_BIN): $(SHADOW_SRC:%.c=$(BUILD)/%.o) $(BUILD)/libcore.a
	$(say) LINK $@
	$(Q)$(CC) $(SAN_FLAGS) $(CFLAGS) $(LDFLAGS) $(linked)

shadow: $(SHADOW_BIN)
	$(Q)tests/oracle/shadow.sh $(BUILD) $(SHADOW)

e2e: $(BIN) $(CLANG_BIN) targets $(BUILD)/tests/bench/capture $(BUILD)/tests/golden/weights
	$(Q)$(PYTHON) tests/e2e/run.py --build $(BUILD) $(E2E)

FUZZ_OBJ := $(patsubst %.c,build-fuzz/%.o,$(CORE_SRC))
FUZZ_CC := $(CLANG) $(OUR_CFLAGS) -Wno-unknown-warning-option -g -O1 -fno-sanitize-recover=all -fsanitize=fuzzer-no-link,address,undefined

build-fuzz/flags: export FLAGS := $(FUZZ_CC)

build-fuzz/%.o: %.c build-fuzz/flags
	$(say) FUZZ $@
	@mkdir -p $(@D)
	$(Q)$(FUZZ_CC) -MMD -MP -c $< -o $@

build-fuzz/libfuzz.a: $(FUZZ_OBJ)
	$(say) AR $@
	@rm -f $@
	$(Q)$(AR) rcs $@ $^

# What it writes, it reads.
build-fuzz/fuzz_archive: FUZZ_LINK = -Wl,--wrap=output_write,--wrap=output_splices

build-fuzz/fuzz_%: build-fuzz/tests/fuzz/fuzz_%.o build-fuzz/libfuzz.a
	$(say) LINK $@
	$(Q)$(CLANG) -fsanitize=fuzzer,address,undefined $(FUZZ_LINK) $^ -o $@ $(CORE_LIBS) -lpthread

fuzz: $(FUZZ_BIN)
	$(Q)ci/run-fuzz.sh $(or $(FUZZ_SECONDS),60) $^

# The kernel matrix: VM="5.10 6.1" for some of its rows.
vm:
	$(Q)ci/deps.sh build vm clangs
	$(Q)$(MAKE) --no-print-directory STATIC=1 vm-run
.PHONY: vm-run
vm-run: $(BIN) $(CLANG_BIN) $(addprefix $(BUILD)/tests/targets/,hot bare waiter) $(BPF_TEST_BIN)
	$(Q)ci/vm.sh $(VM)

check:
	$(Q)ci/check.sh

demo:
	$(Q)ci/demo.sh

bench: $(BIN) targets $(BENCH_BIN) $(BPF_TEST_BIN)
	$(Q)$(PYTHON) tests/bench/bench.py --build $(BUILD) $(BENCH)

soak: $(BIN) targets
	$(Q)$(PYTHON) tests/soak/soak.py --build $(BUILD) $(SOAK)

soak-hostile: $(BIN) targets
	$(Q)$(PYTHON) tests/soak/soak_hostile.py --build $(BUILD) $(SOAK)

lint:
	$(Q)ci/lint.sh

# What no command reaches is not in a program that is linked without it: in a build of its own, in which nothing is inlined.
dead-code:
	$(Q)$(MAKE) --no-print-directory BUILD=build/whole CFLAGS='-O0 -ffunction-sections' LDFLAGS=-Wl,--gc-sections dead-code-run
.PHONY: dead-code dead-code-run
dead-code-run: $(BIN)
	$(Q)ci/dead-code.sh $(BIN) $(CORE_OBJ) $(APP_OBJ)

# One entry a source, for editors and checkers.
compile_commands.json: $(SKEL) FORCE
	$(say) JSON $@
	$(Q)for file in $(COMPILED); do echo "$$USER_CC -c $$file"; done >$@.tmp
	$(Q)for file in $(wildcard bpf/*.bpf.c); do echo "$$BPF_CC -c $$file"; done >>$@.tmp
	$(Q)sed -e 's/[\\"]/\\&/g' -e 's|.* \([^ ]*\)$$|{"directory": "$(CURDIR)", "command": "&", "file": "\1"}|' \
		-e '1s/^/[/; $$!s/$$/,/; $$s/$$/]/' $@.tmp >$@
	@rm $@.tmp
compile_commands.json: export USER_CC := $(USER_CC)
compile_commands.json: export BPF_CC := $(BPF_CC)
COMPILED = $(CORE_SRC) $(APP_SRC) $(UNIT_SRC) $(GOLDEN_SRC) $(BENCH_SRC) $(ORACLE_SRC) $(SHADOW_SRC) $(FUZZ_SRC)

format:
	clang-format -i $$(git ls-files '*.c' '*.h' | grep -v '^vmlinux/')

clean:
	rm -rf build build-san build-tsan build-static build-fuzz

-include $(shell find $(BUILD) build-fuzz -name '*.d' 2>/dev/null)
