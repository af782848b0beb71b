# Builds the library and the tests of the C core without SwiftPM; core-install.mk installs the library. The Makefile
# includes this file, which also works alone:
#   make -f scripts/core.mk core core-test SAN=address,undefined

ifeq ($(origin CC),default)
CC := gcc
endif
AR ?= ar
CFLAGS ?= -O2 -g
SAN ?=
CLANG ?= $(or $(wildcard $(dir $(realpath $(shell command -v swiftc)))clang),clang)

CORE_VERSION := $(shell sed -n 's/^.define RLC_VERSION_[MP][A-Z]* //p' include/crunloop/version.h | paste -sd.)
# The number of the interface. A release that removes or changes something in the interface gets a new number.
CORE_SONAME := libcrunloop.so.0
CORE_BUILD := build/core
# Set CORE_WERROR empty for a compiler that the project does not test, such as a distribution's.
CORE_WERROR ?= -Werror
CORE_STRICT := -std=c11 -Wall -Wextra -Wpedantic $(CORE_WERROR)
# CORE_SHOWN: a folder of further system headers, for a compiler that does not search those of the system.
CORE_SHOWN ?=
CORE_INCLUDES := -Iinclude -ISources/CRunLoop/include
CORE_CPPFLAGS := -D_GNU_SOURCE $(CORE_INCLUDES) -ISources/CRunLoopCore/internal -ISources/CRunLoop/internal $(if $(CORE_SHOWN),-isystem $(CORE_SHOWN))
# The library consists of the parts, which the Swift modules use, too, and of rlc_loop, which is made of the parts.
PART_SOURCES := $(wildcard Sources/CRunLoopCore/*/*.c)
CORE_SOURCES := $(PART_SOURCES) $(wildcard Sources/CRunLoop/*.c)
CORE_HEADERS := $(wildcard include/crunloop/*.h Sources/CRunLoop/include/crunloop/*.h)
ADAPTER_HEADERS := $(wildcard Sources/CRunLoop/include/crunloop/adapters/*.h)
CORE_PRIVATE := $(wildcard Sources/CRunLoopCore/internal/*.h Sources/CRunLoop/internal/*.h include/crunloop_kit/*.h)
# Most passes of a loop run through these files, which are compiled for speed if CFLAGS ask for that. All other files
# are compiled for size, even those that each pass runs through, if their functions always make a system call.
CORE_HOT := deadline_heap loop_post loop_run loop_timer port_set_readiness timer_due
# Where the compiler has these options, they save the padding before functions, loops and jump targets: 2.2 kB of 54.
CORE_PACKED := -fno-align-functions -fno-align-loops -fno-align-jumps
CORE_DENSE := $(shell $(CC) -Werror $(CORE_PACKED) -x c -c /dev/null -o /dev/null 2>/dev/null && echo $(CORE_PACKED))
# Where the compiler has -Oz, it saves 0.7 kB against -Os.
CORE_SMALL := $(shell $(CC) -Oz -x c -c /dev/null -o /dev/null 2>/dev/null && echo -Oz || echo -Os)
CORE_OBJECTS := $(CORE_SOURCES:Sources/%.c=$(CORE_BUILD)/%.o)

.PHONY: core core-test adapter-test scheduled-test scheduled-kit-test fuzz-test header-test library-test debian-test c-embed-test core-clean

# ---- library ----

core: $(CORE_BUILD)/libcrunloop.a $(CORE_BUILD)/libcrunloop.so.$(CORE_VERSION)

# The compiler and the flags of the last build. The objects depend on this file. Each build compares it and writes it
# only if they have changed, so that other CFLAGS compile everything again, and the same CFLAGS nothing.
CORE_FLAGS := $(CC) $(CORE_STRICT) $(CORE_CPPFLAGS) $(CPPFLAGS) $(CFLAGS) $(LDFLAGS) $(CORE_DENSE) $(CORE_SMALL)

.PHONY: core-flags
$(CORE_BUILD)/flags: core-flags
	@mkdir -p $(@D)
	@flags='$(subst ','\'',$(CORE_FLAGS))'; [ "$$flags" = "$$(cat $@ 2>/dev/null)" ] || \
		{ printf '%s\n' "$$flags" >$@.$$$$ && mv -f $@.$$$$ $@; }

$(CORE_BUILD)/%.o: Sources/%.c $(CORE_HEADERS) $(CORE_PRIVATE) $(CORE_BUILD)/flags
	@mkdir -p $(@D)
	$(CC) $(CORE_STRICT) $(CORE_CPPFLAGS) $(CPPFLAGS) $(CFLAGS) $(if $(filter -O2 -O3,$(CFLAGS)),$(if $(filter $(notdir $*),$(CORE_HOT)),,$(CORE_SMALL))) \
		$(CORE_DENSE) -fPIC -fvisibility=hidden -ffunction-sections -c $< -o $@

$(CORE_BUILD)/libcrunloop.a: $(CORE_OBJECTS)
	@rm -f $@
	$(AR) rcs $@ $^

# The library exports only the names of the map. Its own calls of these functions do not go through the linker's
# procedure linkage table. Its read-only tables are in the pages of its code, which saves a mapping and up to two pages.
$(CORE_BUILD)/libcrunloop.so.$(CORE_VERSION): $(CORE_OBJECTS) packaging/libcrunloop.map
	$(CC) $(CFLAGS) $(LDFLAGS) -shared -Wl,-soname,$(CORE_SONAME) -Wl,-z,defs -Wl,-Bsymbolic-functions -Wl,-z,noseparate-code -Wl,--gc-sections \
		-Wl,--version-script=packaging/libcrunloop.map \
		-o $@ $(CORE_OBJECTS) -pthread

include scripts/core-install.mk

# ---- tests: one program per file, built with the internal checks ----

comma := ,
# STATIC=1: links the programs with a static C library.
STATIC ?=
TEST_BUILD := build/core-test/$(notdir $(CC))$(if $(SAN),-$(subst $(comma),-,$(SAN)))$(if $(STATIC),-static)
TEST_FOLDERS := Tests/CRunLoopCoreTests Tests/CRunLoopTests
TEST_FLAGS := $(CORE_STRICT) $(CORE_CPPFLAGS) -DRLC_INTERNAL_CHECKS $(TEST_FOLDERS:%=-I%) -g -O1 \
	$(if $(SAN),-fsanitize=$(SAN) -fno-sanitize-recover=all -fno-omit-frame-pointer)
# The thread sanitizer of Swift's clang needs libraries of the Swift toolchain.
TEST_SWIFT_LIB := $(wildcard $(dir $(CLANG))../lib/swift/linux)
TEST_WRAPS := --wrap=malloc --wrap=calloc --wrap=realloc --wrap=free
# The linker is bfd, because gold, clang's default here, warns about each symbol of the address sanitizer.
TEST_LDFLAGS := -pthread $(if $(findstring clang,$(CC)),-fuse-ld=bfd) $(TEST_WRAPS:%=-Wl$(comma)%) \
	$(if $(and $(findstring clang,$(CC)),$(findstring thread,$(SAN)),$(TEST_SWIFT_LIB)),-L$(TEST_SWIFT_LIB) -ldispatch -lBlocksRuntime -Wl$(comma)-rpath$(comma)$(TEST_SWIFT_LIB))
TEST_PROGRAMS := $(patsubst %.c,$(TEST_BUILD)/%,$(notdir $(wildcard $(TEST_FOLDERS:%=%/*_test.c))))
TEST_HEADERS := $(wildcard $(TEST_FOLDERS:%=%/*.h))
TEST_OBJECTS := $(CORE_SOURCES:Sources/%.c=$(TEST_BUILD)/core/%.o) $(TEST_BUILD)/harness.o

$(TEST_BUILD)/core/%.o: Sources/%.c $(CORE_HEADERS) $(CORE_PRIVATE)
	@mkdir -p $(@D)
	@$(CC) $(TEST_FLAGS) -c $< -o $@

$(TEST_BUILD)/harness.o: Tests/CRunLoopCoreTests/harness.c Tests/CRunLoopCoreTests/harness.h $(CORE_HEADERS) $(CORE_PRIVATE)
	@mkdir -p $(@D)
	@$(CC) $(TEST_FLAGS) -c $< -o $@

vpath %_test.c $(TEST_FOLDERS)
$(TEST_BUILD)/%_test: %_test.c $(TEST_OBJECTS) $(TEST_HEADERS)
ifneq ($(STATIC),)
	@# Links in two steps, so that the tests do not count allocations of the C library itself.
	@$(CC) $(TEST_FLAGS) -c $< -o $@.o && ld -r $(TEST_WRAPS) $@.o $(TEST_OBJECTS) -o $@.whole.o && $(CC) -static $@.whole.o -pthread -o $@
else
	@$(CC) $(TEST_FLAGS) $< $(TEST_OBJECTS) $(TEST_LDFLAGS) -o $@
endif

.SECONDARY: $(TEST_OBJECTS)

# The command that runs programs of another machine: RUN="qemu-aarch64 -L /usr/aarch64-linux-gnu".
RUN ?=

# The time limit of each program. Sanitizers make programs some ten times slower.
TEST_SECONDS ?= $(if $(SAN),600,120)

core-test: $(TEST_PROGRAMS) $(if $(findstring thread,$(SAN)),core-test-race)
	@passed=0; failed=0; for test in $(TEST_PROGRAMS); do \
		status=0; timeout -k 5 $(TEST_SECONDS) $(RUN) $$test </dev/null || status=$$?; \
		case $$status in \
			0) echo "ok   $$(basename $$test)"; passed=$$((passed + 1)); continue ;; \
			124|137) why="its $(TEST_SECONDS) s are over" ;; \
			*) why="status $$status" ;; \
		esac; \
		echo "FAIL $$(basename $$test): $$why"; failed=$$((failed + 1)); \
	done; echo "$$passed passed, $$failed failed"; [ $$failed = 0 ]

# ---- the adapters, in the hosts that are installed ----

adapter-test: $(TEST_OBJECTS)
	@CLANG="$(CLANG)" FLAGS="$(TEST_FLAGS)" OBJECTS="$(TEST_OBJECTS)" LDFLAGS="$(TEST_LDFLAGS)" BUILD="$(TEST_BUILD)/adapters" SWIFT_LIB="$(TEST_SWIFT_LIB)" \
		SECONDS_EACH=$(TEST_SECONDS) sh Tests/AdapterTests/run.sh

# Checks that the thread sanitizer finds races: it must report one if the queue of posts is built with relaxed atomics.
RACE_OBJECTS := $(filter-out %/post_queue.o,$(TEST_OBJECTS))
.PHONY: core-test-race
core-test-race: $(RACE_OBJECTS)
	@$(CC) $(filter-out -Werror,$(TEST_FLAGS)) -w -D__ATOMIC_SEQ_CST=0 Sources/CRunLoop/post_queue.c \
		Tests/CRunLoopTests/post_queue_test.c $(RACE_OBJECTS) $(TEST_LDFLAGS) -o $(TEST_BUILD)/race
	@TSAN_OPTIONS=halt_on_error=1 timeout -k 5 $(TEST_SECONDS) $(TEST_BUILD)/race </dev/null >$(TEST_BUILD)/race.log 2>&1; \
	grep -q 'ThreadSanitizer: data race' $(TEST_BUILD)/race.log && echo "ok   a planted race is found" || \
		{ cat $(TEST_BUILD)/race.log; echo "FAIL a planted race is not found"; exit 1; }

# ---- the core's atomics under a controlled scheduler, in place of the runtime of -fsanitize=thread (Tests/Scheduled) ----

SCHEDULED_BUILD := build/core-test/scheduled
SCHEDULED_FLAGS := $(CORE_STRICT) $(CORE_CPPFLAGS) -ITests/Scheduled -g -O1
SCHEDULED_OBJECTS := $(CORE_SOURCES:Sources/%.c=$(SCHEDULED_BUILD)/core/%.o) \
	$(patsubst Tests/Scheduled/%.c,$(SCHEDULED_BUILD)/%.o,$(wildcard Tests/Scheduled/*.c))

$(SCHEDULED_BUILD)/core/%.o: Sources/%.c $(CORE_HEADERS) $(CORE_PRIVATE)
	@mkdir -p $(@D)
	@gcc $(SCHEDULED_FLAGS) -fsanitize=thread -Wno-tsan -c $< -o $@

$(SCHEDULED_BUILD)/core_scheduled.o: Tests/Scheduled/core_scheduled.c Tests/Scheduled/scheduler.h $(CORE_HEADERS) $(CORE_PRIVATE)
	@mkdir -p $(@D)
	@gcc $(SCHEDULED_FLAGS) -fsanitize=thread -c $< -o $@

$(SCHEDULED_BUILD)/%.o: Tests/Scheduled/%.c Tests/Scheduled/scheduler.h Tests/Scheduled/fake_kernel.h $(CORE_HEADERS) $(CORE_PRIVATE)
	@mkdir -p $(@D)
	@gcc $(SCHEDULED_FLAGS) -c $< -o $@

$(SCHEDULED_BUILD)/core_scheduled: $(SCHEDULED_OBJECTS)
	@gcc $^ -pthread -Wl,--wrap=syscall -o $@

scheduled-test: $(SCHEDULED_BUILD)/core_scheduled
	timeout -k 5 300 $<

# The Swift module under the same scheduler. Its sources and the scenarios are one module, so that the scenarios can use
# internal declarations. Each file has its own object, so that only a changed file is compiled. The sources are sorted,
# because their order matters to swiftc.

KIT_BUILD := build/core-test/scheduled-kit
KIT_SOURCES := $(sort $(shell find Sources/RunLoopKit -name '*.swift')) Tests/Scheduled/kit/KitScheduled.swift
KIT_FLAGS := -Onone -parse-as-library -swift-version 6 -module-name RunLoopKit -package-name runloopkit \
	-sanitize=thread -enforce-exclusivity=unchecked -suppress-warnings -I include -I $(KIT_BUILD)
kit_object = $(KIT_BUILD)/objects/$(subst +,_,$(subst /,_,$(1)))
KIT_OBJECTS := $(PART_SOURCES:Sources/%.c=$(SCHEDULED_BUILD)/core/%.o) $(SCHEDULED_BUILD)/scheduler.o \
	$(SCHEDULED_BUILD)/memory.o $(KIT_BUILD)/kit_scheduled.o
KIT_MODULE := $(foreach source,$(KIT_SOURCES),$(call kit_object,$(source)).o)

# This module has no object to link.
$(KIT_BUILD)/RunLoopLibc.swiftmodule: Sources/RunLoopLibc/Libc.swift
	@mkdir -p $(@D) && swiftc -emit-module -parse-as-library -swift-version 6 -module-name RunLoopLibc -o $@ $<

$(KIT_BUILD)/objects.stamp: $(KIT_SOURCES) $(CORE_HEADERS) $(CORE_PRIVATE) $(KIT_BUILD)/RunLoopLibc.swiftmodule
	@mkdir -p $(KIT_BUILD)/objects
	@{ echo '{ "": { "swift-dependencies": "$(KIT_BUILD)/objects/all.swiftdeps" }'; \
		$(foreach source,$(KIT_SOURCES),echo ', "$(source)": { "object": "$(call kit_object,$(source)).o", "swift-dependencies": "$(call kit_object,$(source)).swiftdeps" }';) \
		echo '}'; } > $(KIT_BUILD)/map.json
	@swiftc $(KIT_FLAGS) -c -j 2 -incremental -enable-batch-mode -output-file-map $(KIT_BUILD)/map.json $(KIT_SOURCES)
	@touch $@

$(KIT_BUILD)/kit_scheduled.o: Tests/Scheduled/kit/kit_scheduled.c Tests/Scheduled/scheduler.h $(CORE_HEADERS)
	@mkdir -p $(@D)
	@gcc $(SCHEDULED_FLAGS) -c $< -o $@

$(KIT_BUILD)/kit_scheduled: $(KIT_OBJECTS) $(KIT_BUILD)/objects.stamp
	@swiftc $(KIT_OBJECTS) $(KIT_MODULE) -o $@ $(foreach name,syscall close pthread_create rlc_descriptor_write,-Xlinker --wrap=$(name))

scheduled-kit-test: $(KIT_BUILD)/kit_scheduled
	timeout -k 5 300 $<
	SCHEDULED_WITHOUT_BARRIER=1 timeout -k 5 300 $< removal_wait removal_final removal_noted removal_handed_over

FUZZ_SECONDS ?= 20

# ---- rlc_loop under random calls, for FUZZ_SECONDS ----

.PHONY: loop-fuzz
loop-fuzz: $(TEST_BUILD)/loop_fuzz_test
	$(TEST_BUILD)/loop_fuzz_test $(FUZZ_SECONDS)

# ---- the decoder under libFuzzer: FUZZ_SECONDS of it, beginning with the frames that are sent ----

FUZZ := build/fuzz
FUZZ_FLAGS := $(CORE_STRICT) $(CORE_CPPFLAGS) -g -O1 -fsanitize=address,undefined -fno-sanitize-recover=all

fuzz-test:
	@$(MAKE) --no-print-directory -f $(firstword $(MAKEFILE_LIST)) SAN=address,undefined loop-fuzz
	@rm -rf $(FUZZ)/seeds && mkdir -p $(FUZZ)/seeds $(FUZZ)/corpus
	@$(CLANG) $(FUZZ_FLAGS) -DSEEDS Tests/FuzzTests/frame_fuzz.c Sources/CRunLoopCore/wire/frame.c -fuse-ld=bfd -o $(FUZZ)/frame_seeds
	@$(FUZZ)/frame_seeds $(FUZZ)/seeds
	@$(CLANG) $(FUZZ_FLAGS) -fsanitize=fuzzer Tests/FuzzTests/frame_fuzz.c Sources/CRunLoopCore/wire/frame.c \
		-fuse-ld=bfd -o $(FUZZ)/frame_fuzz
	@for seed in $(FUZZ)/seeds/*; do $(FUZZ)/frame_fuzz -runs=1 $$seed 2>&1 | grep -q Executed || { echo "FAIL $$seed"; exit 1; }; done
	$(FUZZ)/frame_fuzz -max_total_time=$(FUZZ_SECONDS) -max_len=4096 -print_final_stats=1 -artifact_prefix=$(FUZZ)/ \
		$(FUZZ)/corpus $(FUZZ)/seeds

# ---- headers: each alone, as C11 and C++17; no global that a header does not show; the programs in their comments ----

HEADER_FLAGS := -Wall -Wextra -Wpedantic -Werror -fsyntax-only

header-test: $(CORE_OBJECTS)
	@CLANG="$(CLANG)" sh Tests/HeaderTests/compile.sh $(HEADER_FLAGS)
	@sh Tests/HeaderTests/model.sh
	@sh Tests/HeaderTests/globals.sh $(CORE_OBJECTS)
	@sh Tests/HeaderTests/samples.sh $(CORE_OBJECTS)

# ---- the library as a distribution takes it ----

library-test: core
	@CLANG="$(CLANG)" VERSION=$(CORE_VERSION) SONAME=$(CORE_SONAME) sh Tests/LibraryTests/symbols.sh
	@CLANG="$(CLANG)" VERSION=$(CORE_VERSION) SONAME=$(CORE_SONAME) sh Tests/LibraryTests/install.sh
	@VERSION=$(CORE_VERSION) SONAME=$(CORE_SONAME) sh Tests/LibraryTests/race.sh
	@VERSION=$(CORE_VERSION) sh Tests/LibraryTests/cmake.sh
	@sh Tests/LibraryTests/manual.sh $(CORE_BUILD)/libcrunloop.a

debian-test:
	@VERSION=$(CORE_VERSION) sh Tests/LibraryTests/debian.sh

# ---- a C host, built from an installed prefix through pkg-config ----

EMBED := build/c-embed

c-embed-test:
	@rm -rf $(EMBED)
	@$(MAKE) --no-print-directory -f $(firstword $(MAKEFILE_LIST)) core-install PREFIX=$(CURDIR)/$(EMBED)/prefix DESTDIR= >/dev/null
	PKG_CONFIG_PATH=$(EMBED)/prefix/lib/pkgconfig; export PKG_CONFIG_PATH; \
	gcc -std=c11 -Wall -Wextra -Werror -O2 Examples/c-embed/main.c $$(pkg-config --cflags --libs crunloop) -pthread \
		-Wl,-rpath,$(CURDIR)/$(EMBED)/prefix/lib -o $(EMBED)/host && timeout 10 $(EMBED)/host && \
	gcc -static -std=c11 -Wall -Wextra -Werror -O2 Examples/c-embed/main.c $$(pkg-config --static --cflags --libs crunloop) \
		-o $(EMBED)/host-static && timeout 10 $(EMBED)/host-static && \
	! timeout 10 $(EMBED)/host >/dev/full 2>$(EMBED)/complaint && grep -q 'standard output' $(EMBED)/complaint
	@PKG_CONFIG_PATH=$(EMBED)/prefix/lib/pkgconfig sh Tests/LibraryTests/embed.sh $(EMBED) $(CURDIR)/$(EMBED)/prefix/lib

core-clean:
	rm -rf $(CORE_BUILD) $(MANUAL) build/core-test build/library build/library-cmake build/debian $(EMBED) $(FUZZ)
