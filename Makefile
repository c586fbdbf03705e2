# SPDX-License-Identifier: GPL-2.0-or-later
# make            both programs below $(O)
# make demo       installs what is missing, builds, runs the example world
# make test       installs what tests need, runs all tests; the last line counts them
# make check      format, analyzers, include direction, ELF shape, man pages, reproducibility
# make fuzz T=60  every fuzz target for T seconds       make bench     ratios against peers
# make test-long  the long forms                        make escape    the escape suite alone
# make fuzz-long  the closing run of root's parsers     make compat    packages of npm, a table of what works
# make reproduce  two builds of the guest compared      make hardening, make sbom   tables of how and of what both are made
# make install    DESTDIR= PREFIX=/usr/local            make uninstall, make format, make clean
# Everything built lies below $(O).  V=1 shows the commands.  All paths are relative: the checkout may lie in a folder
# whose name has spaces.

O ?= build
PREFIX ?= /usr/local
DESTDIR ?=
CC = gcc
CLANG ?= clang
T ?= 60
V ?=
Q = $(if $(V),,@)
comma = ,
say = $(if $(V),,@printf '  %-7s %s\n' '$1' '$2';)

VERSION = 0.1.0
ifndef SOURCE_DATE_EPOCH
SOURCE_DATE_EPOCH := $(shell git log -1 --format=%ct 2>/dev/null || echo 0)
endif
export SOURCE_DATE_EPOCH O CLANG
export LC_ALL = C
SHELL = /bin/sh
.DELETE_ON_ERROR:
.SUFFIXES:
MAKEFLAGS += --no-builtin-rules

# Debian files that end up inside the guest: FILE:SHA256, compared by .ci/fetch-deps and compiled into `audit`.
PINS = libmnl-dev_1.0.5-3_amd64.deb:7f9a7c3f470ec400171981816df189ec86b11083c3f8d391d0800ed09a87bfc3 \
	libnftnl-dev_1.2.9-1_amd64.deb:6379e99cfd0043a86b839ba10f4d5fca3613835fe0244dbb2532f5be86e775b8 \
	cjson_1.7.18-3.1+deb13u1.dsc:57b560dc195f857987986588ba2eb05f5f30d409c8dc715decfb582d5e56ecbf

# ---- flags ----------------------------------------------------------------------------------------------------------
STD = -std=c11 -D_GNU_SOURCE -DAGENTTWIN_VERSION='"$(VERSION)"'
WARN = -Wall -Wextra -Werror -Wshadow -Wconversion -Wsign-conversion -Wstrict-prototypes -Wmissing-prototypes -Wvla \
	-Wformat=2 -Wundef -Wpointer-arith -Wcast-qual -Wwrite-strings -Wnull-dereference -Wimplicit-fallthrough \
	-Wdate-time -Wframe-larger-than=16384
# Tests: sanitizers make frames larger, and confuse some warnings.
TEST_WARN = $(filter-out -Werror -Wframe-larger-than=16384,$(WARN))
WARN_GCC = -Wlogical-op -Wduplicated-cond -Wduplicated-branches -Wtrampolines -Warith-conversion -Wjump-misses-init
WARN_CLANG = -Wcomma -Wunreachable-code -Wno-unknown-warning-option
HARDEN = -O2 -g -fPIE -fstack-protector-strong -fstack-clash-protection -fno-delete-null-pointer-checks \
	-ffile-prefix-map=./= -fno-ident
HARDEN_GCC = -ftrivial-auto-var-init=zero -fzero-call-used-regs=used-gpr
# What the compiler of the host build takes: clang 14 refuses both of HARDEN_GCC.
CC_FLAGS = $(WARN) $(if $(findstring clang,$(CC)),$(WARN_CLANG),$(WARN_GCC) $(HARDEN_GCC)) $(HARDEN)
SAN = -O1 -g -fno-omit-frame-pointer -fsanitize=address,undefined -fno-sanitize-recover=all
DEPFLAGS = -MMD -MP
# Sections let the linker leave out what nothing calls: less to audit.
SECTIONS = -ffunction-sections -fdata-sections

D = $(O)/deps
FOREIGN = -isystem $(D)/include
MUSL_INC = -isystem $(D)/musl

# ---- rooms ----------------------------------------------------------------------------------------------------------
src = $(sort $(wildcard $1/*.c))
# The one part of firewall/ that the host links: rules and text, both pure.
HOST_FIREWALL = firewall/ruleset.c firewall/text.c
FOREIGN_SRC = cJSON llhttp api http
guest_room = $(patsubst %.c,$(O)/guest/%.o,$(call src,$1))
host_room = $(patsubst %.c,$(O)/host/%.o,$(call src,$1))
san_room = $(patsubst %.c,$(O)/san/%.o,$(call src,$1))

all: $(O)/agenttwin-guest $(O)/agenttwin-host
.PHONY: all bench-http demo examples test tests test-long check fuzz fuzz-long compat bench escape install uninstall clean format force

$(D)/info.txt: .ci/fetch-deps
	$(call say,DEPS,libmnl libnftnl cJSON)
	$(Q)sh .ci/fetch-deps '$(D)' $(PINS)

# guest: musl, static
MUSL_CC = musl-gcc
GUEST_FLAGS = $(STD) $(WARN) $(WARN_GCC) $(HARDEN) $(HARDEN_GCC) $(SECTIONS)
$(O)/guest/%.o: %.c | $(D)/info.txt
	$(call say,MUSL,$<)
	$(Q)mkdir -p $(@D)
	$(Q)$(MUSL_CC) $(GUEST_FLAGS) -I. -I$(O)/gen $(FOREIGN) $(MUSL_INC) $(DEPFLAGS) -c -o $@ $<
$(O)/guest/foreign/%.o: $(D)/info.txt
	$(Q)mkdir -p $(@D)
	$(Q)$(MUSL_CC) -w -std=c11 $(HARDEN) $(HARDEN_GCC) $(SECTIONS) -ffile-prefix-map=$(D)=deps $(FOREIGN) $(MUSL_INC) -c -o $@ $(D)/src/$*.c
$(O)/guest/proto.a: $(call guest_room,proto)
$(O)/guest/firewall.a: $(call guest_room,firewall)
$(O)/guest/guest.a: $(call guest_room,guest)
$(O)/guest/foreign.a: $(FOREIGN_SRC:%=$(O)/guest/foreign/%.o)
# What the guest says about its own making: a C string of lines, rewritten only when it changes.
BUILD_INFO = $(O)/gen/guest/build_info.inc
$(O)/guest/guest/build_info.o $(O)/san/guest/build_info.o $(O)/fuzz/guest/build_info.o: $(BUILD_INFO)
$(BUILD_INFO): force | $(D)/info.txt
	$(Q)mkdir -p $(@D)
	$(Q){ echo 'version $(VERSION)'; sed -e '/^$$/d' -e 's/^/package /' $(D)/info.txt; \
		printf 'pin %s\n' $(PINS); printf 'compiler '; gcc --version | head -n 1; \
		printf '%s\n' 'flags $(subst ','\'',$(GUEST_FLAGS))'; } | \
		sed -e 's/[\\"]/\\&/g' -e 's/.*/"&\\n"/' >$@.tmp
	$(Q)if cmp -s $@.tmp $@; then rm $@.tmp; else mv $@.tmp $@; fi
# host: the C library of the machine
$(O)/host/%.o: %.c | $(D)/info.txt
	$(call say,CC,$<)
	$(Q)mkdir -p $(@D)
	$(Q)$(CC) $(STD) $(CC_FLAGS) -D_FORTIFY_SOURCE=3 -I. -I$(O) $(FOREIGN) $(DEPFLAGS) -c -o $@ $<
$(O)/host/foreign/%.o: $(D)/info.txt
	$(Q)mkdir -p $(@D)
	$(Q)$(CC) -w -std=c11 $(HARDEN) $(FOREIGN) -c -o $@ $(D)/src/$*.c
$(O)/host/proto.a: $(call host_room,proto)
$(O)/host/firewall.a: $(HOST_FIREWALL:%.c=$(O)/host/%.o)
$(O)/host/host.a: $(call host_room,host)
$(O)/host/foreign.a: $(FOREIGN_SRC:%=$(O)/host/foreign/%.o)
# tests: every room, address and undefined-behaviour sanitizers
$(O)/san/%.o: %.c | $(D)/info.txt
	$(call say,SAN,$<)
	$(Q)mkdir -p $(@D)
	$(Q)$(CC) $(STD) $(TEST_WARN) -Wno-null-dereference $(SAN) -I. -I$(O) -I$(O)/gen $(FOREIGN) $(DEPFLAGS) -c -o $@ $<
$(O)/san/foreign/%.o: $(D)/info.txt
	$(Q)mkdir -p $(@D)
	$(Q)$(CC) -w -std=c11 $(SAN) $(FOREIGN) -c -o $@ $(D)/src/$*.c
$(O)/san/proto.a: $(call san_room,proto)
$(O)/san/firewall.a: $(call san_room,firewall)
$(O)/san/guest.a: $(filter-out $(O)/san/guest/main.o $(O)/san/guest/fortify.o,$(call san_room,guest))
$(O)/san/host.a: $(filter-out $(O)/san/host/main.o,$(call san_room,host))
$(O)/san/foreign.a: $(FOREIGN_SRC:%=$(O)/san/foreign/%.o)
%.a:
	$(Q)rm -f $@; ar rcsD $@ $^

# ---- the guest: static-pie by hand, because musl-gcc -static-pie silently makes a dynamic program ---------------------
MUSL_LIB ?= $(shell dirname "$$(sed -nE 's/.*[[:space:]]([^[:space:]]*\/rcrt1\.o|[^[:space:]]*\/Scrt1\.o).*/\1/p' /usr/lib/*-linux-musl/musl-gcc.specs 2>/dev/null | head -n 1)")
GCC_LIB = $(shell dirname "$$(gcc -print-file-name=crtbeginS.o)")
GUEST_A = $(O)/guest/guest.a $(O)/guest/firewall.a $(O)/guest/proto.a $(O)/guest/foreign.a
# $1: more objects and flags
guest_link = $(MUSL_CC) -static -nostartfiles -Wl,-pie,--no-dynamic-linker,-z,text,-z,relro,-z,now,-z,noexecstack \
		-Wl,--gc-sections,--build-id=none,-Map=$@.map -o $@ $(MUSL_LIB)/rcrt1.o $(MUSL_LIB)/crti.o $(GCC_LIB)/crtbeginS.o $1 \
		-Wl,--whole-archive $(O)/guest/guest.a -Wl,--no-whole-archive $(O)/guest/firewall.a $(O)/guest/proto.a \
		$(O)/guest/foreign.a $(D)/lib/libnftnl.a $(D)/lib/libmnl.a $(D)/lib/libbearssl.a $(GCC_LIB)/crtendS.o $(MUSL_LIB)/crtn.o
$(O)/agenttwin-guest.debug: $(GUEST_A)
	$(call say,LINK,$@)
	$(Q)$(call guest_link)
$(O)/agenttwin-guest: $(O)/agenttwin-guest.debug .ci/check-elf
	$(Q)objcopy --strip-all $< $@.tmp
	$(Q)sh .ci/check-elf $@.tmp
	$(Q)mv $@.tmp $@

# ---- the host: the guest is inside ------------------------------------------------------------------------------------
$(O)/host/guest-image.o: $(O)/agenttwin-guest host/guest-image.S
	$(Q)mkdir -p $(@D)
	$(Q)$(CC) -c -I$(O) -o $@ host/guest-image.S
HOST_LINK = -pie -Wl,-z,relro,-z,now,-z,noexecstack
HOST_A = $(O)/host/host.a $(O)/host/firewall.a $(O)/host/proto.a $(O)/host/foreign.a
# libjq with its regular expressions: their archives where the packages have them, else the shared library (Debian, Ubuntu).
JQ_A := $(filter /%,$(shell gcc -print-file-name=libjq.a) $(shell gcc -print-file-name=libonig.a))
LIBJQ = $(if $(word 2,$(JQ_A)),$(JQ_A) -lpthread,-ljq) -lm
# $1: the object that holds the guest
host_link = $(CC) $(HOST_LINK) -Wl,-Map=$@.map -o $@ $1 -Wl,--whole-archive $(O)/host/host.a -Wl,--no-whole-archive \
		$(O)/host/firewall.a $(O)/host/proto.a $(O)/host/foreign.a $(D)/lib/libbearssl.a $(LIBJQ)
$(O)/agenttwin-host: $(HOST_A) $(O)/host/guest-image.o
	$(call say,LINK,$@)
	$(Q)$(call host_link,$(O)/host/guest-image.o)

# ---- tests ------------------------------------------------------------------------------------------------------------
LIB_A = $(D)/lib/libnftnl.a $(D)/lib/libmnl.a $(D)/lib/libbearssl.a -lm
UNIT = $(patsubst tests/unit/%.c,$(O)/tests/unit/%,$(wildcard tests/unit/test_*.c))
SAN_A = $(O)/san/guest.a $(O)/san/host.a $(O)/san/firewall.a $(O)/san/proto.a $(O)/san/foreign.a
# A unit test may name linker wraps and foreign archives: a comment line `// LINK: -Wl,--wrap=socket` in its source.
$(O)/tests/unit/%: tests/unit/%.c $(SAN_A)
	$(call say,TEST,$@)
	$(Q)mkdir -p $(@D)
	$(Q)$(CC) $(STD) $(TEST_WARN) -Wno-null-dereference $(SAN) -I. -I$(O) $(FOREIGN) $(DEPFLAGS) -MF $@.d -MT $@ \
		-o $@ $< $$(sed -n 's|^// LINK: ||p' $<) -Wl,--start-group $(SAN_A) -Wl,--end-group $(LIB_A) $(LIBJQ)
# Drives the firewall room in shell tests and benchmarks.
$(O)/tests/fwtool: tests/lib/fwtool.c $(O)/san/firewall.a tests/lib/nlfault.h
	$(call say,TEST,$@)
	$(Q)mkdir -p $(@D)
	$(Q)$(CC) $(STD) $(TEST_WARN) -Wno-null-dereference $(SAN) -I. $(FOREIGN) -Wl,--wrap=sendto,--wrap=recvfrom,--wrap=open -o $@ $< \
		$(O)/san/firewall.a $(D)/lib/libnftnl.a $(D)/lib/libmnl.a
# The same without sanitizers, as the guest is built: for measuring.
$(O)/tests/fwbench: tests/lib/fwtool.c $(call host_room,firewall)
	$(Q)mkdir -p $(@D)
	$(Q)$(CC) $(STD) $(TEST_WARN) $(HARDEN) -I. $(FOREIGN) -Wl,--wrap=sendto,--wrap=recvfrom,--wrap=open -o $@ $^ $(D)/lib/libnftnl.a $(D)/lib/libmnl.a
# Opens a backend with any program as guest; without sanitizers, since the copy that becomes PID 1 closes what they hold.
NSRUN_HOST = process node node_digest lease cgroup cgroup_find remove local_watch ns_bind ns_files ns_ids ns_init ns_rootfs ns_doctor backend \
	backend_namespace backend_local diag cmd_doctor cmd_reap
$(O)/tests/nsrun: tests/lib/nsrun.c $(NSRUN_HOST:%=$(O)/host/host/%.o) $(O)/host/proto.a $(O)/host/foreign/cJSON.o | $(O)/tests/nsguest
	$(call say,TEST,$@)
	$(Q)mkdir -p $(@D)
	$(Q)$(CC) $(STD) $(WARN) $(HARDEN) -I. $(FOREIGN) -o $@ $^ $(D)/lib/libbearssl.a
$(O)/tests/nsguest: tests/lib/nsguest.c
	$(Q)mkdir -p $(@D)
	$(Q)$(CC) $(STD) $(WARN) $(HARDEN) -o $@ $<
# A small host that speaks to a guest and misbehaves on request.
$(O)/tests/fakehost: tests/lib/fakehost.c $(O)/host/firewall.a $(O)/host/proto.a
	$(call say,TEST,$@)
	$(Q)mkdir -p $(@D)
	$(Q)$(CC) $(STD) $(WARN) $(HARDEN) -I. $(FOREIGN) -o $@ $^ $(D)/lib/libbearssl.a
# Both programs as they are, but for a guest whose netlink fails when a file of the world says so.
FAULTY = $(O)/tests/faulty
$(FAULTY)/agenttwin-guest: tests/lib/nlfault.c tests/lib/nlfault.h $(GUEST_A)
	$(call say,TEST,$@)
	$(Q)mkdir -p $(@D)
	$(Q)$(MUSL_CC) $(GUEST_FLAGS) -I. $(MUSL_INC) -c -o $(FAULTY)/nlfault.o $<
	$(Q)$(call guest_link,$(FAULTY)/nlfault.o -s -Wl$(comma)--wrap=sendto$(comma)--wrap=recvfrom)
$(O)/tests/agenttwin-host-faulty: $(FAULTY)/agenttwin-guest $(HOST_A)
	$(call say,TEST,$@)
	$(Q)$(CC) -c -I$(FAULTY) -o $(FAULTY)/guest-image.o host/guest-image.S
	$(Q)$(call host_link,$(FAULTY)/guest-image.o)
# Plays the monitor for the twins.
$(O)/tests/twinrun: tests/lib/twinrun.c $(O)/san/guest.a $(O)/san/proto.a $(O)/san/foreign.a
	$(call say,TEST,$@)
	$(Q)mkdir -p $(@D)
	$(Q)$(CC) $(STD) $(TEST_WARN) -Wno-null-dereference $(SAN) -I. $(FOREIGN) -o $@ $^ $(D)/lib/libbearssl.a -lm
# The same without sanitizers, of the guest's own objects: for measuring.
$(O)/tests/twinbench: tests/lib/twinrun.c $(GUEST_A)
	$(Q)mkdir -p $(@D)
	$(Q)$(MUSL_CC) $(STD) $(HARDEN) -w -I. $(MUSL_INC) -static -o $@ -Wl,--start-group $^ $(D)/lib/libbearssl.a -Wl,--end-group
# Calls over few and many rows, without sockets.
$(O)/tests/rows: tests/bench/rows.c $(GUEST_A)
	$(Q)mkdir -p $(@D)
	$(Q)$(MUSL_CC) $(STD) $(HARDEN) -w -I. $(FOREIGN) $(MUSL_INC) -static -o $@ -Wl,--start-group $^ $(LIB_A) -Wl,--end-group
FUZZ = $(patsubst tests/fuzz/%.c,%,$(wildcard tests/fuzz/fuzz_*.c))
REPLAY = $(FUZZ:%=$(O)/tests/replay/%)
$(O)/tests/replay/%: tests/fuzz/%.c tests/fuzz/replay.c $(SAN_A)
	$(call say,REPLAY,$@)
	$(Q)mkdir -p $(@D)
	$(Q)$(CC) $(STD) $(SAN) -I. -I$(O) $(FOREIGN) -o $@ $< tests/fuzz/replay.c \
		-Wl,--start-group $(SAN_A) -Wl,--end-group $(LIB_A) $(LIBJQ)
# Fuzz targets: clang's libFuzzer over all rooms at once.
FUZZ_FLAGS = -w $(STD) -O1 -g -fno-sanitize-recover=all -I. -I$(O) -I$(O)/gen $(FOREIGN)
FUZZ_OBJ = $(patsubst %.c,$(O)/fuzz/%.o,$(call src,proto) $(call src,firewall) \
	$(filter-out guest/main.c guest/fortify.c,$(call src,guest)) $(filter-out host/main.c,$(call src,host))) \
	$(FOREIGN_SRC:%=$(O)/fuzz/foreign/%.o)
$(O)/fuzz/%.o: %.c | $(D)/info.txt
	$(Q)mkdir -p $(@D)
	$(Q)$(CLANG) $(FUZZ_FLAGS) -fsanitize=fuzzer-no-link,address,undefined $(DEPFLAGS) -c -o $@ $<
$(O)/fuzz/foreign/%.o: $(D)/info.txt
	$(Q)mkdir -p $(@D)
	$(Q)$(CLANG) $(FUZZ_FLAGS) -fsanitize=fuzzer-no-link,address,undefined -c -o $@ $(D)/src/$*.c
$(O)/fuzz/all.a: $(FUZZ_OBJ)
$(O)/tests/fuzz/%: tests/fuzz/%.c $(O)/fuzz/all.a
	$(call say,FUZZ,$@)
	$(Q)mkdir -p $(@D)
	$(Q)$(CLANG) $(FUZZ_FLAGS) -fsanitize=fuzzer,address,undefined -o $@ $< $(O)/fuzz/all.a $(LIB_A) $(LIBJQ)

# The packages of folder $1, from its lock file, for stamp $2.  Tests that run side by side may ask at once: one installs.
npm_ci = $(Q)flock '$(@D)/npm.lock' sh -c 'if [ ! -e "$$2" ] || [ "$$1/package-lock.json" -nt "$$2" ] || [ "$$1/package.json" -nt "$$2" ]; then \
	(cd "$$1" && npm ci --ignore-scripts --no-audit --no-fund --loglevel=error) && touch "$$2"; fi' sh $1 $2
# The packages of an example world, from its lock file, without install scripts; never committed.
$(O)/%.npm.stamp: templates/worlds/%/package.json templates/worlds/%/package-lock.json
	$(call say,NPM,templates/worlds/$*)
	$(Q)mkdir -p $(@D)
	$(call npm_ci,templates/worlds/$*,$@)
EXAMPLES = $(patsubst templates/worlds/%/package-lock.json,$(O)/%.npm.stamp,$(wildcard templates/worlds/*/package-lock.json))
examples: $(EXAMPLES)

# The clients of tests/integration/clients.t, likewise.
CLIENTS = tests/integration/clients
$(O)/clients.stamp: $(CLIENTS)/package.json $(CLIENTS)/package-lock.json
	$(call say,NPM,$(CLIENTS))
	$(Q)mkdir -p $(@D)
	$(call npm_ci,$(CLIENTS),$@)

# The SDKs of tests/integration/hooks.t, likewise.
HOOKS = tests/integration/hooks
$(O)/hooks.stamp: $(HOOKS)/package.json $(HOOKS)/package-lock.json
	$(call say,NPM,$(HOOKS))
	$(Q)mkdir -p $(@D)
	$(call npm_ci,$(HOOKS),$@)

# ajv, which judges what was written by docs/schema, likewise.
JUDGE = tests/integration/judge
$(O)/judge.stamp: $(JUDGE)/package.json $(JUDGE)/package-lock.json
	$(call say,NPM,$(JUDGE))
	$(Q)mkdir -p $(@D)
	$(call npm_ci,$(JUDGE),$@)

# The packages of the compatibility table, likewise.
COMPAT = tests/compat/packages
$(O)/compat.stamp: $(COMPAT)/package.json $(COMPAT)/package-lock.json
	$(call say,NPM,$(COMPAT))
	$(Q)mkdir -p $(@D)
	$(call npm_ci,$(COMPAT),$@)

# The packages come first, so what is built from them is made by a second make; it builds in parallel unless told how.
JOBS ?= $(shell nproc 2>/dev/null || echo 1)
sub_make = $(MAKE) --no-print-directory $(if $(findstring -j,$(MAKEFLAGS)),,-j$(JOBS))
.SECONDARY:

# What looks at nothing but its own processes, files and receipts may run beside others; the rest runs alone.
ABREAST = $(UNIT) tests/fuzz/replay.t $(patsubst %,tests/integration/%.t,clients build check test_command ci_templates examples seeds worlds llm hooks events deliveries faults doors one_key \
	services semantics checks https https_clients https_ends schema twin no_services npm no_unix redaction verify html receipts node_features docs outcomes \
	doctor refused host dns output boundary_fails run firewall watch no_boundary)
# Judges the receipts that all others made, so it comes last.
MADE = tests/integration/made.t
tests: all $(UNIT) $(REPLAY) $(O)/tests/twinrun $(O)/tests/fwtool $(O)/tests/nsrun $(O)/tests/fakehost $(O)/tests/agenttwin-host-faulty
test:
	$(Q)sh .ci/packages test
	+$(Q)$(sub_make) tests
	$(Q)perl tests/run -j $$(($(JOBS) + 1)) $(ABREAST) -- $(filter-out $(ABREAST) $(MADE),$(wildcard tests/integration/*.t tests/escape/*.t)) $(MADE)
escape:
	$(Q)sh .ci/packages test
	+$(Q)$(sub_make) all $(O)/tests/fakehost
	$(Q)ESCAPE_TABLE='$(O)/escape.txt' perl tests/run $(wildcard tests/escape/*.t); status=$$?; cat '$(O)/escape.txt' '$(O)/escape-sandbox.txt'; exit $$status
# The long forms: each test sees AGENTTWIN_LONG=1 and then takes its full sizes; fuzzing for 60 s a target.
test-long:
	$(Q)sh .ci/packages test
	+$(Q)$(sub_make) tests
	$(Q)AGENTTWIN_LONG=1 AGENTTWIN_TEST_TIMEOUT=1800 perl tests/run $(UNIT) tests/fuzz/replay.t \
		-- $(filter-out $(MADE),$(wildcard tests/integration/*.t tests/escape/*.t)) $(MADE)
	+$(Q)$(MAKE) --no-print-directory fuzz check
fuzz:
	$(Q)sh .ci/packages test
	+$(Q)if sh .ci/fuzz --can; then $(sub_make) $(FUZZ:%=$(O)/tests/fuzz/%) && sh .ci/fuzz $(T) $(FUZZ); fi
# The parsers that stand between root and bytes of others, each ten million times.
FUZZ_LONG = $(filter fuzz_readback fuzz_nflog fuzz_relay fuzz_dns,$(FUZZ))
RUNS ?= 10000000
fuzz-long:
	$(Q)sh .ci/packages test
	+$(Q)if sh .ci/fuzz --can; then $(sub_make) $(FUZZ_LONG:%=$(O)/tests/fuzz/%) && sh tests/fuzz/long.sh $(RUNS) 3600 $(FUZZ_LONG); fi
check:
	$(Q)sh .ci/packages test
	+$(Q)$(sub_make) all
	$(Q)AGENTTWIN_TEST_TIMEOUT=3600 perl tests/run -v -- .ci/check
compat:
	$(Q)sh .ci/packages test
	+$(Q)$(sub_make) all $(O)/compat.stamp
	$(Q)bash tests/compat/run.sh
bench:
	+$(Q)$(sub_make) all $(O)/tests/fwbench $(O)/tests/rows $(O)/tests/twinbench
	$(Q)for script in tests/bench/*.sh; do [ $$script != tests/bench/http.sh ] || continue; [ -e "$$script" ] || continue; echo "== $$script"; if [ -x "$$script" ]; then "$$script"; else sh "$$script"; fi || exit 1; done
# Our HTTP twin against its peers of npm and a bare responder; about three minutes.
$(O)/peers.stamp: tests/bench/peers/package.json tests/bench/peers/package-lock.json
	$(call say,NPM,tests/bench/peers)
	$(Q)mkdir -p $(@D)
	$(call npm_ci,tests/bench/peers,$@)
bench-http:
	$(Q)sh .ci/packages bench
	+$(Q)$(sub_make) all $(O)/tests/twinbench $(O)/peers.stamp
	$(Q)tests/bench/http.sh
demo:
	$(Q)sh .ci/packages demo
	+$(Q)$(sub_make) all
	$(Q)sh .ci/demo templates/worlds/refund-agent
format:
	clang-format -i $(wildcard proto/*.[ch] firewall/*.[ch] guest/*.[ch] host/*.[ch] tests/*/*.[ch])
# reproduce: two builds of the guest in two folders, compared with each other and with the one in $(O).  hardening: how both
# programs are hardened, as a table.  sbom: CycloneDX lists of what is linked in.
.PHONY: reproduce hardening sbom
reproduce: $(O)/agenttwin-guest
	+$(Q)MAKE='$(MAKE)' sh .ci/reproduce
hardening: all
	$(Q)sh .ci/hardening
# What the linker put into each program, from its map; the guest is inside the host.
sbom: $(O)/agenttwin-guest.cdx.json $(O)/agenttwin-host.cdx.json
$(O)/agenttwin-guest.cdx.json: $(O)/agenttwin-guest .ci/sbom
	$(call say,SBOM,$@)
	$(Q)perl .ci/sbom agenttwin-guest $(VERSION) $(O)/agenttwin-guest $(O)/agenttwin-guest.debug.map >$@
$(O)/agenttwin-host.cdx.json: $(O)/agenttwin-host .ci/sbom
	$(call say,SBOM,$@)
	$(Q)perl .ci/sbom agenttwin-host $(VERSION) $(O)/agenttwin-host $(O)/agenttwin-host.map agenttwin-guest $(O)/agenttwin-guest >$@

# ---- installing -------------------------------------------------------------------------------------------------------
INSTALL = install
MAN = $(wildcard docs/man/*.[1-9])
SCHEMA = $(wildcard docs/schema/*.json)
APPARMOR = $(wildcard templates/apparmor/agenttwin-host)
to = $(DESTDIR)$(PREFIX)
install: all
	$(INSTALL) -d -m 0755 '$(to)/bin'
	$(INSTALL) -m 0755 $(O)/agenttwin-host $(O)/agenttwin-guest '$(to)/bin/'
	$(foreach m,$(MAN),$(INSTALL) -D -m 0644 $m '$(to)/share/man/man$(subst .,,$(suffix $m))/$(notdir $m)' && )true
	$(foreach f,$(SCHEMA),$(INSTALL) -D -m 0644 $f '$(to)/share/agenttwin/schema/$(notdir $f)' && )true
	@# Below /etc whatever PREFIX is, so an ordinary user who installs into a home goes without.
	if [ -n '$(DESTDIR)' ] || [ "$$(id -u)" -eq 0 ]; then \
		$(foreach f,$(APPARMOR),$(INSTALL) -D -m 0644 $f '$(DESTDIR)/etc/apparmor.d/$(notdir $f)' && )true; \
	else echo 'not root: /etc/apparmor.d/agenttwin-host (needed on Ubuntu alone) is left out'; fi
uninstall:
	rm -f '$(to)/bin/agenttwin-host' '$(to)/bin/agenttwin-guest'
	$(foreach m,$(MAN),rm -f '$(to)/share/man/man$(subst .,,$(suffix $m))/$(notdir $m)' && )true
	rm -rf '$(to)/share/agenttwin'
	if [ -n '$(DESTDIR)' ] || [ "$$(id -u)" -eq 0 ]; then \
		$(foreach f,$(APPARMOR),rm -f '$(DESTDIR)/etc/apparmor.d/$(notdir $f)' && )true; fi

-include $(shell find $(O)/guest $(O)/host $(O)/san $(O)/fuzz $(O)/tests -name '*.d' 2>/dev/null)
clean:
	rm -rf $(O)
