# The commands of the repository. Each does its own set-up.
.DEFAULT_GOAL := help
.PHONY: help demo test bench check docs servers install uninstall clean setup

help:
	@echo "make demo      stories about run loops, told by a program that checks what it says"
	@echo "make test      the tests of the core and of the kit, and the scenarios"
	@echo "make bench     RunLoopKit against the floor and other event loops: BENCH='--quick --workloads post'"
	@echo "make check     formatting, sizes, headers, counts, deliberate faults, and the tests under sanitizers"
	@echo "make docs      the reference as a site, in build/docs/site: DOCS='--base-path /RunLoopKit'"
	@echo "make servers   FlyingFox on a run loop, and SwiftNIO beside one: brings large packages"
	@echo "make install   the C core without SwiftPM: PREFIX=/usr/local LIBDIR=PREFIX/lib DESTDIR="
	@echo "make install-model   the whole model for C hosts, with the same paths; MODEL_RUNTIME=system: on the system's Swift runtime"
	@echo "make install-tool    the command runloop with its manual page, with the same paths"
	@echo "make uninstall, make uninstall-model, make uninstall-tool take that away again, with the same paths"
	@echo "make clean     removes what was built"

setup:
	@scripts/setup

# The tests share this build of RunLoopKit. Without the cached plan, which may be that of RunLoopKit's own package.
demo: setup
	RLK_NO_BENCHMARKS=1 RLK_TRAITS=MainExecutor swift run -c release --disable-build-manifest-caching --package-path Examples --scratch-path .build demo

test: setup
	@scripts/test

bench:
	@scripts/bench $(BENCH)

check: setup
	@scripts/check

docs: setup
	@scripts/docs $(DOCS)

servers: setup
	@scripts/packages servers

install: core-install

uninstall: core-uninstall

clean:
	rm -rf .build .build-address .build-thread build Examples/.build Examples/window/.build Examples/recipes/.build Benchmarks/nio/.build Integrations/.build Integrations/.build-release Integrations/Servers/.build

include scripts/core.mk
include scripts/model.mk
include scripts/tool.mk
