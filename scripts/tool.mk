# Installs the command runloop and its manual page, runloop(1). The Makefile includes this file.
#   make install-tool PREFIX=/usr/local [BINDIR=...] [MANDIR=...] [DESTDIR=...]
# The command needs the Swift runtime of the toolchain that built it.
BINDIR ?= $(PREFIX)/bin

STAGED_BIN = "$(DESTDIR)$(BINDIR)"

.PHONY: tool install-tool uninstall-tool

tool:
	RLK_NO_BENCHMARKS=1 RLK_TRAITS=MainExecutor swift build -c release --product runloop

install-tool: core-install-paths tool
	$(INSTALL) -d $(STAGED_BIN) $(STAGED_MAN)/man1
	$(INSTALL) -m 755 "$$(RLK_NO_BENCHMARKS=1 RLK_TRAITS=MainExecutor swift build -c release --show-bin-path)/runloop" $(STAGED_BIN)/
	$(INSTALL) -m 644 docs/man/runloop.1 $(STAGED_MAN)/man1/

uninstall-tool: core-install-paths
	rm -f $(STAGED_BIN)/runloop $(STAGED_MAN)/man1/runloop.1
