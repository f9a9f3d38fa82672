# rankinit: one non-recursive Makefile. `make help` lists its targets and variables.
# A new source file is a choice of layer: put its name into one of the lists below.

BASE   := err exitcode buf strvec scan digest calendar cpuset signame json log secret
MODEL  := option_rows option_names option_values options settings spec spec_keys spec_check \
          program hydra accelerate accelerate_doc accelerate_rows accelerate_place platform \
          platform_place vendor devices devices_find devices_read cpus cpus_bind plan plan_program \
          plan_ranks plan_shape plan_places plan_master plan_rdzv plan_output plan_security \
          plan_files plan_stop plan_limits waiting preflight rlimit rankenv span collective \
          patterns finding traceback error_file evidence fsm limits stuck outcome judge restart \
          ranks lag sentence exit_policy platform_rows platform_slurm platform_cloud platform_kube \
          platform_check
REPORT := field groups lag_view bars shrink summary summary_facts page columns view plan_view \
          plan_view_json plan_view_text hints salvage saved pods explain explain_judge \
          explain_sentence explain_nodes explain_notes explain_page status status_view
SYS    := source file numbered users caps seccomp confine facts facts_devices facts_nvidia \
          facts_topology facts_cgroup inherit sigset terminal logs prepare attempt device_check \
          resolve wait_master spawn reap descendants console relay relay_prefix relay_read \
          relay_write relay_files relay_splice relay_end rendezvous deliver publish loop \
          loop_actions loop_events loop_limits loop_restart loop_wait inputs explain status ask \
          install
CMD    := main

# Third-party libraries, dependants first. Each has one home: see tests/check-layers.
LIBS   := -lcyaml -lyaml -ljansson -lcares -lseccomp -lcap

# ---- choices ------------------------------------------------------------------------------

VARIANT ?= release
BUILD   ?= build
DESTDIR ?=
PREFIX  ?= /usr/local
WERROR  ?= -Werror
CFLAGS  ?=
LDFLAGS ?=

ifeq ($(filter $(VARIANT),release debug san cov fuzz),)
$(error VARIANT=$(VARIANT) is unknown: use release, debug, san, cov or fuzz)
endif
ifneq ($(filter default undefined,$(origin CC)),)
CC := $(if $(filter fuzz,$(VARIANT)),clang,gcc)
endif
ifneq ($(filter default undefined,$(origin AR)),)
AR := ar
endif

SHELL     := /bin/bash
MAKEFLAGS += --no-builtin-rules
ifeq ($(MAKELEVEL)$(filter -j% --jobserver%,$(MAKEFLAGS)),0)
MAKEFLAGS += -j$(shell nproc)
endif
.DELETE_ON_ERROR:
.DEFAULT_GOAL := all

B       := $(BUILD)/$(VARIANT)
# With libFuzzer in the objects there is no program, only fuzz targets.
BIN     := $(if $(filter fuzz,$(VARIANT)),,$(B)/rankinit)
PAYLOAD := $(B)/payload
VERSION := $(file <.version)
Q       := $(if $(V),,@)
SILENT    = $(findstring s,$(firstword -$(MAKEFLAGS)))
say      = $(if $(V)$(SILENT),,@printf '  %-5s %s\n' $(1) $(2))

# `make deps X` on a bare machine: nothing of X may start before deps has ended.
AFTER_DEPS := $(if $(filter deps,$(MAKECMDGOALS)),deps)

# ---- flags --------------------------------------------------------------------------------

WARN := -Wall -Wextra -Wconversion -Wsign-conversion -Wshadow -Wstrict-prototypes \
        -Wold-style-definition -Wmissing-prototypes -Wmissing-declarations -Wredundant-decls \
        -Wvla -Wformat=2 -Wundef -Wwrite-strings -Wpointer-arith -Wcast-qual -Wcast-align \
        -Wdouble-promotion -Wimplicit-fallthrough -Wnested-externs -Wdate-time -Wunused-macros
WARN_GCC := -Wlogical-op -Wduplicated-cond -Wduplicated-branches -Wformat-signedness
# Asked when first used, not when read: `make deps` may have to install the compiler first.
IS_GCC = $(eval IS_GCC := $(if $(findstring clang,$(shell $(CC) --version 2>&1)),,y))$(IS_GCC)

HARDEN := -fstack-protector-strong -fstack-clash-protection -U_FORTIFY_SOURCE -D_FORTIFY_SOURCE=2
SAN    := -fsanitize=address,undefined -fno-sanitize-recover=all -fno-omit-frame-pointer
# Nothing here is unwound; a debugger has the tables of rankinit.full.
SMALL  := -ffunction-sections -fdata-sections -fno-asynchronous-unwind-tables -fno-unwind-tables
# Relocations in a bit each instead of 24 bytes: 64 KB less. Other linkers than this do not know it yet.
COMMA := ,
PACKED = $(eval PACKED := $(if $(findstring x86_64,$(shell $(CC) -dumpmachine \
                    2>&1)),$(COMMA)-z$(COMMA)pack-relative-relocs))$(PACKED)
# Static, yet position-independent: measured at one page fault and 50 KB, and PID 1 of a container,
# often root, reads what its ranks write.
# Linker warnings are fatal because glibc warns so of calls that need its shared libraries.
STATIC = -static-pie -Wl,--gc-sections,--fatal-warnings,-z,relro,-z,now,-z,noexecstack$(PACKED)

# Small, for most of it runs once; HOT sees every byte that ranks write.
OPT_release := -Os -g -fPIE $(SMALL) $(HARDEN)
OPT_debug   := -Og -g3 -fPIE $(SMALL) $(HARDEN)
OPT_san     := -O1 -g $(SAN)
OPT_cov     := -O0 -g --coverage
OPT_fuzz    := -O1 -g $(SAN) -fsanitize=fuzzer-no-link
LINK_release  = $(STATIC)
LINK_debug    = $(STATIC)
LINK_san     := $(SAN)
LINK_cov     := --coverage
LINK_fuzz    := $(SAN)

DIALECT      := -std=gnu11 -D_GNU_SOURCE -iquote lib
ALL_CPPFLAGS := $(DIALECT) -DRANKINIT_VERSION='"$(VERSION)"' $(CPPFLAGS)
ALL_CFLAGS    = $(WARN) $(if $(IS_GCC),$(WARN_GCC)) $(WERROR) \
                -ffile-prefix-map=$(CURDIR)=. $(OPT_$(VARIANT)) $(CFLAGS)
ALL_LDFLAGS   = $(LINK_$(VARIANT)) $(LDFLAGS)

# ---- files --------------------------------------------------------------------------------

objects = $(patsubst %,$(B)/$(1)/%.o,$(2))
OBJ_BASE   := $(call objects,lib/base,$(BASE))
OBJ_MODEL  := $(call objects,lib/model,$(MODEL))
OBJ_REPORT := $(call objects,lib/report,$(REPORT))
OBJ_SYS    := $(call objects,lib/sys,$(SYS))
OBJ_CMD    := $(call objects,cmd/rankinit,$(CMD))
OBJ_LIB    := $(OBJ_BASE) $(OBJ_MODEL) $(OBJ_REPORT) $(OBJ_SYS)
# In link order: an archive can only use those after it, so a call upwards does not even link.
ARCHIVES   := $(patsubst %,$(B)/lib/%.a,sys report model base)

HOT := $(call objects,lib/sys,$(filter relay% logs,$(SYS))) \
       $(call objects,lib/model,span collective patterns finding traceback evidence) \
       $(call objects,lib/base,buf)
$(HOT): private OPT_release += -O2

UNIT      := $(patsubst tests/unit/%.c,$(B)/unit/%,$(sort $(wildcard tests/unit/test_*.c)))
FUZZ      := $(patsubst tests/fuzz/%.c,$(B)/fuzz/%,$(sort $(wildcard tests/fuzz/fuzz_*.c)))
OBJ_TESTS := $(UNIT:%=%.o) $(FUZZ:%=%.o)

# Unit tests that valgrind runs: what reads bytes that are not ours, and what draws documents.
MEMCHECK  := accelerate caps deliver deliver_summary logs plan_ranks platform_rows rankenv salvage \
             spec_check stuck users

C_FILES  := $(sort $(wildcard cmd/*/*.c lib/*/*.c tests/*/*.c))
H_FILES  := $(sort $(wildcard lib/*/*.h tests/*/*.h))
TIDY_OK  := $(patsubst %,$(BUILD)/lint/%.ok,$(filter-out tests/%,$(C_FILES)))
SCRIPTS   = $(shell grep -rlE --exclude-dir=build --exclude-dir=.git \
              '^#!.*(bash|bats|/sh)|^# shellcheck shell=' .ci tests docker k8s 2>/dev/null | sort)

# ---- build --------------------------------------------------------------------------------

.PHONY: all unit payload
all: $(BIN) ## build the program: build/VARIANT/rankinit
unit: $(UNIT)
payload: $(PAYLOAD)
ifeq ($(VARIANT),debug)
all: $(FUZZ:%=%.o)
endif
ifeq ($(VARIANT),fuzz)
all: $(FUZZ)
endif

# Changes only when the compiler or its flags do; every object depends on it.
$(B)/flags: FORCE | $(AFTER_DEPS)
	$(shell mkdir -p $(@D))$(file >$@.new,$(CC) $(ALL_CPPFLAGS) $(ALL_CFLAGS) : $(ALL_LDFLAGS) $(LIBS))
	@if cmp -s $@.new $@; then rm $@.new; else mv $@.new $@; fi

define compile
@mkdir -p $(@D)
$(call say,CC,$<)
$(Q)$(CC) $(ALL_CPPFLAGS) $(ALL_CFLAGS) -MMD -MP -c -o $@ $<
endef
$(OBJ_LIB) $(OBJ_CMD): $(B)/%.o: %.c $(B)/flags
	$(compile)
$(UNIT:%=%.o) $(FUZZ:%=%.o): $(B)/%.o: tests/%.c $(B)/flags
	$(compile)

$(B)/lib/base.a: $(OBJ_BASE)
$(B)/lib/model.a: $(OBJ_MODEL)
$(B)/lib/report.a: $(OBJ_REPORT)
$(B)/lib/sys.a: $(OBJ_SYS)
$(ARCHIVES): Makefile $(B)/flags
	@mkdir -p $(@D)
	@rm -f $@
	$(Q)$(AR) rcsD $@ $(filter %.o,$^)

define link
$(call say,LINK,$@)
$(Q)$(CC) $(ALL_LDFLAGS) -o $@ $(filter %.o,$^) $(ARCHIVES) $(LIBS)
endef
$(B)/rankinit.full: $(OBJ_CMD) $(ARCHIVES)
	$(link)
$(UNIT): %: %.o $(ARCHIVES)
	$(link)
$(FUZZ): LINK_fuzz += -fsanitize=fuzzer
$(FUZZ): %: %.o $(ARCHIVES)
	$(link)

# The same objects with shared libraries: in a static program valgrind can replace no malloc.
DYNAMIC := $(B)/dynamic/rankinit $(patsubst %,$(B)/dynamic/test_%,$(MEMCHECK))
$(DYNAMIC): private LINK_$(VARIANT) := -pie
$(B)/dynamic/rankinit: $(OBJ_CMD) $(ARCHIVES)
	@mkdir -p $(@D)
	$(link)
$(B)/dynamic/test_%: $(B)/unit/test_%.o $(ARCHIVES)
	@mkdir -p $(@D)
	$(link)

# What ships has no symbols; build/VARIANT/rankinit.full keeps them, for a debugger.
$(B)/rankinit: $(B)/rankinit.full
	$(Q)$(if $(filter release,$(VARIANT)),strip -o $@ $<,ln -f $< $@)

# Never with sanitizers: their runtime changes the signals and the environment that it shows.
$(PAYLOAD): $(wildcard tests/payload/*.[ch]) $(B)/flags
	$(call say,CC,$@)
	$(Q)$(CC) $(DIALECT) $(WARN) $(WERROR) -O2 -g -static -pthread -o $@ $(filter %.c,$^)

# ---- run ----------------------------------------------------------------------------------

.PHONY: deps demo test test-unit test-smoke san memcheck soak bench fuzz fuzz-smoke check-layers
deps: ## install what the build and the tests need (silent when nothing is missing)
	@tests/deps

demo: all ## train with two real ranks in a container, then see one fail
	@docker/demo

test: all unit payload ## every test; the last line is "N passed, N failed"
	@VARIANT=$(VARIANT) BUILD=$(BUILD) tests/run

test-unit: unit ## the unit tests alone
	@VARIANT=$(VARIANT) BUILD=$(BUILD) tests/run --unit

test-smoke: all unit payload
	@VARIANT=$(VARIANT) BUILD=$(BUILD) tests/run --smoke

san: | $(AFTER_DEPS) ## unit and smoke tests with address and undefined-behaviour sanitizers
	@$(MAKE) --no-print-directory VARIANT=san test-smoke

memcheck: all payload $(DYNAMIC) ## some of both with valgrind, which also knows what was never written
	@VARIANT=$(VARIANT) tests/memcheck $(DYNAMIC)

soak: all payload ## the long versions of tests that repeat things: ten times as often
	@SOAK=10 BATS_TEST_TIMEOUT=1800 BATS_FILE_LIMIT=3600 VARIANT=$(VARIANT) BUILD=$(BUILD) \
	  tests/run tests/inits.bats tests/races.bats

bench: all payload ## start-up cost and throughput beside others, medians and ratios
	@tests/bench/run $(BIN)

fuzz-smoke: | $(AFTER_DEPS) ## run every fuzz target for a few seconds over its seeds
	@tests/fuzz/run --need-clang
	@$(MAKE) --no-print-directory VARIANT=fuzz CC=clang all
	@tests/fuzz/run $(BUILD)/fuzz/fuzz

fuzz: ## the same for six minutes each (FUZZ_SECONDS)
	@FUZZ_SECONDS=$${FUZZ_SECONDS:-360} $(MAKE) --no-print-directory fuzz-smoke

check-layers: $(OBJ_LIB) $(OBJ_CMD) ## prove layer directions, allowed symbols and size budgets
	@CHECK_CC="$(CC) $(DIALECT) $(WARN) -Werror" tests/check-layers $(B)

# ---- lint ---------------------------------------------------------------------------------

.PHONY: lint lint-format lint-cppcheck lint-shell lint-man lint-python format
lint: lint-format lint-cppcheck lint-shell lint-man lint-python $(TIDY_OK) ## formatting and static analysis
lint-format: | $(AFTER_DEPS)
	@clang-format --dry-run -Werror $(C_FILES) $(H_FILES) </dev/null
lint-cppcheck: | $(AFTER_DEPS)
	@cppcheck --quiet --error-exitcode=1 --inline-suppr --enable=warning,performance,portability \
	  --suppressions-list=tests/cppcheck.suppress --std=c11 -D__linux__ -D__x86_64__ \
	  -DRANKINIT_VERSION='"0"' -Ilib -j2 $(filter-out tests/%,$(C_FILES)) </dev/null
lint-shell: | $(AFTER_DEPS)
	@shellcheck -x $(SCRIPTS)
lint-man: | $(AFTER_DEPS)
	@mandoc -T lint -W warning cmd/rankinit/rankinit.1
lint-python: | $(AFTER_DEPS)
	@PYTHONPYCACHEPREFIX=$(BUILD)/lint/python /usr/bin/python3 -W error -m compileall -q lib/hydra
# Slow, so one stamp per file; any header renews them all.
$(TIDY_OK): $(BUILD)/lint/%.ok: % $(H_FILES) .clang-tidy tests/.clang-tidy | $(AFTER_DEPS)
	@mkdir -p $(@D)
	@clang-tidy --quiet $< -- $(ALL_CPPFLAGS) > $@.log 2>&1 || { cat $@.log; exit 1; }
	@touch $@

format: ## rewrite the C sources as .clang-format says
	@clang-format -i $(C_FILES) $(H_FILES)

# ---- install ------------------------------------------------------------------------------

.PHONY: install uninstall clean help FORCE
install: all ## install the program and its man page (DESTDIR, PREFIX)
	@install -D -m 755 $(BIN) $(DESTDIR)$(PREFIX)/bin/rankinit
	@install -D -m 644 cmd/rankinit/rankinit.1 $(DESTDIR)$(PREFIX)/share/man/man1/rankinit.1

uninstall: ## remove what install put there
	@rm -f $(DESTDIR)$(PREFIX)/bin/rankinit $(DESTDIR)$(PREFIX)/share/man/man1/rankinit.1

clean: ## remove everything built, but not the Python environment build/venv
	@if [ -d $(BUILD) ]; then find $(BUILD) -mindepth 1 -maxdepth 1 ! -name venv -exec rm -rf {} +; fi

help: ## this text
	@awk -F ':.*## ' '/^[a-z-]+:.*## /{printf "  %-14s %s\n", $$1, $$2}' Makefile
	@printf '\n  VARIANT=release|debug|san|cov|fuzz   what to build, under build/VARIANT (release)\n'
	@printf '  CC=gcc|clang   DESTDIR=   PREFIX=/usr/local   V=1 (show commands)\n'

-include $(OBJ_LIB:.o=.d) $(OBJ_CMD:.o=.d) $(OBJ_TESTS:.o=.d)
