# Builds and installs the whole model as a library for C hosts (include/runloopkit). The Makefile includes this file.
#   make install-model PREFIX=/usr/local [LIBDIR=...] [DESTDIR=...] [MODEL_RUNTIME=system]
# MODEL_RUNTIME: contained (the library contains the Swift runtime), or system (it needs the runtime of the toolchain
# that built it). Both libraries have the same name: install only one of them.
MODEL_RUNTIME ?= contained
MODEL_BUILD := build/model/$(MODEL_RUNTIME)
MODEL_SONAME := librunloopkit.so.0
MODEL_LIBRARY := librunloopkit.so.$(CORE_VERSION)
MODEL_HEADERS := $(wildcard include/runloopkit/*.h)
MODEL_MODULES := RunLoopKitC RunLoopKit RunLoopEvents RunLoopPorts RunLoopLibc
MODEL_SOURCES := $(foreach module,$(MODEL_MODULES),$(shell find Sources/$(module) -name '*.swift'))

# These options make the library start quickly (docs/PERFORMANCE.md). A library that contains Swift's runtime also
# contains the C++ library: for a shared C++ library the dynamic linker would look up some 5,000 names. The library's
# relocations are packed, if the C library of this machine supports that (glibc 2.36).
MODEL_CXX_LIBRARY = $(shell g++ -print-file-name=libstdc++.a)
MODEL_PACKED := $(shell getconf GNU_LIBC_VERSION 2>/dev/null | \
	awk '{ split($$2, v, "."); if (v[1] > 2 || v[2] >= 36) print "-Xlinker -z -Xlinker pack-relative-relocs" }')

# Makes the self-contained library serve the main queue of the process's own libdispatch.
MODEL_MAIN_QUEUE := $(if $(filter contained,$(MODEL_RUNTIME)),$(MODEL_BUILD)/process_main_queue.o \
	-Xlinker --wrap=_dispatch_get_main_queue_handle_4CF -Xlinker --wrap=_dispatch_main_queue_callback_4CF)

.PHONY: model model-descriptions install-model uninstall-model model-test

# Lists the objects by the names of the sources, because SwiftPM does not remove objects of files that are gone. Of the
# toolchain's linkers only lld applies `local: *` to Swift's protected symbols, too. The library stays loaded
# (nodelete), because it contains the destructor of a thread's key and the Swift runtime.
model: core-install-paths
	@case $(MODEL_RUNTIME) in contained|system) ;; *) echo "MODEL_RUNTIME is contained or system" >&2; exit 2 ;; esac
	RLK_NO_BENCHMARKS=1 RLK_TRAITS=MainExecutor swift build -c release --target RunLoopKitC
	@mkdir -p $(MODEL_BUILD)/cxx
	@rm -f $(MODEL_BUILD)/cxx/libstdc++.a
	@$(if $(filter contained,$(MODEL_RUNTIME)),[ ! -e "$(MODEL_CXX_LIBRARY)" ] || ln -s "$(MODEL_CXX_LIBRARY)" $(MODEL_BUILD)/cxx/libstdc++.a)
	$(if $(filter contained,$(MODEL_RUNTIME)),$(CC) $(CORE_STRICT) $(CFLAGS) -fPIC -fvisibility=hidden -c packaging/process_main_queue.c -o $(MODEL_BUILD)/process_main_queue.o)
	built=$$(RLK_NO_BENCHMARKS=1 RLK_TRAITS=MainExecutor swift build -c release --show-bin-path) && \
	swiftc -emit-library $(if $(filter contained,$(MODEL_RUNTIME)),-static-stdlib) -use-ld=lld -L$(MODEL_BUILD)/cxx -o $(MODEL_BUILD)/$(MODEL_LIBRARY) \
		$$(for source in $(patsubst Sources/%,%,$(MODEL_SOURCES)); do \
			echo $$built/$${source%%/*}.build/$$(basename $$source).o; done) \
		$(PART_SOURCES:%=$$built/CRunLoopCore.build/%.o) $(MODEL_MAIN_QUEUE) \
		-Xlinker --version-script=packaging/librunloopkit.map -Xlinker -soname=$(MODEL_SONAME) -Xlinker --gc-sections \
		-Xlinker -z -Xlinker defs -Xlinker -z -Xlinker nodelete -Xlinker --strip-all $(MODEL_PACKED)

# runloopkit uses the core's file of versions for CMake: the same versions are compatible.
model-descriptions: core-install-paths
	@$(call describe,$(MODEL_BUILD),runloopkit.pc runloopkit-config.cmake crunloop-config-version.cmake)

install-model: model model-descriptions manual
	$(INSTALL) -d $(STAGED_INCLUDE)/runloopkit $(STAGED_LIB)/pkgconfig $(STAGED_LIB)/cmake/runloopkit $(STAGED_MAN)/man3
	$(INSTALL) -m 644 $(MODEL_HEADERS) $(STAGED_INCLUDE)/runloopkit/
	$(INSTALL) -m 755 $(MODEL_BUILD)/$(MODEL_LIBRARY) $(STAGED_LIB)/
	ln -sf $(MODEL_LIBRARY) $(STAGED_LIB)/$(MODEL_SONAME)
	ln -sf $(MODEL_SONAME) $(STAGED_LIB)/librunloopkit.so
	$(INSTALL) -m 644 $(MODEL_BUILD)/runloopkit.pc $(STAGED_LIB)/pkgconfig/
	$(INSTALL) -m 644 $(MODEL_BUILD)/runloopkit-config.cmake $(STAGED_LIB)/cmake/runloopkit/
	$(INSTALL) -m 644 $(MODEL_BUILD)/crunloop-config-version.cmake $(STAGED_LIB)/cmake/runloopkit/runloopkit-config-version.cmake
	@$(call install_pages,$(MANUAL)/runloopkit.3 $(MANUAL)/rlk_*.3)

# Uninstalls the model as core-uninstall does the core.
uninstall-model: core-install-paths
	@if [ "$$(readlink $(STAGED_LIB)/$(MODEL_SONAME))" = $(MODEL_LIBRARY) ]; then \
		rm -f $(STAGED_LIB)/librunloopkit.so $(STAGED_LIB)/$(MODEL_SONAME); \
	fi
	@$(call uninstall_pages,runloopkit,rlk_)
	rm -f $(foreach name,$(notdir $(MODEL_HEADERS)),$(STAGED_INCLUDE)/runloopkit/$(name)) \
		$(foreach name,$(MODEL_LIBRARY) pkgconfig/runloopkit.pc cmake/runloopkit/runloopkit-config.cmake \
			cmake/runloopkit/runloopkit-config-version.cmake,$(STAGED_LIB)/$(name))
	rmdir --ignore-fail-on-non-empty $(STAGED_INCLUDE)/runloopkit $(STAGED_LIB)/cmake/runloopkit 2>/dev/null || true

model-test:
	@VERSION=$(CORE_VERSION) sh Tests/LibraryTests/model.sh
	@sh Tests/LibraryTests/tool.sh
