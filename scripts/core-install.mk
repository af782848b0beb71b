# Installs and uninstalls the C core. PREFIX, LIBDIR, INCLUDEDIR, MANDIR: absolute paths, as programs will see them.
# LIBDIR may be a folder of the architecture (/usr/lib/x86_64-linux-gnu). DESTDIR: a staging folder, which is put before
# all these paths; no installed file contains it.
INSTALL ?= install
DESTDIR ?=
PREFIX ?= /usr/local
LIBDIR ?= $(PREFIX)/lib
INCLUDEDIR ?= $(PREFIX)/include
MANDIR ?= $(PREFIX)/share/man

.PHONY: core-install core-uninstall core-install-paths core-descriptions manual

STAGED_LIB = "$(DESTDIR)$(LIBDIR)"
STAGED_INCLUDE = "$(DESTDIR)$(INCLUDEDIR)"
STAGED_MAN = "$(DESTDIR)$(MANDIR)"

# scripts/manual makes the pages of the headers from their comments. Without python3 there are none.
PYTHON ?= python3
MANUAL := build/manual

manual:
	@if command -v $(PYTHON) >/dev/null; then $(PYTHON) scripts/manual $(MANUAL); else \
		rm -rf $(MANUAL); echo "there is no $(PYTHON) here: the manual pages of the headers are left out" >&2; fi

# PAGE...: installs these pages, and for each function in a page's NAME section a link to the page: `man rlc_loop_run`
# shows rlc_loop(3).
PAGE_NAMES := awk '$$1 == ".Sh" { inside = $$2 == "NAME"; page = "" } \
	inside && $$1 == ".Nm" { if (page == "") page = $$2; else print $$2, page }'
install_pages = for page in $(1); do \
		[ -e "$$page" ] || continue; \
		$(INSTALL) -m 644 "$$page" $(STAGED_MAN)/man3/ && $(PAGE_NAMES) "$$page" | while read -r name page; do \
			rm -f $(STAGED_MAN)/man3/$$name.3 && echo ".so man3/$$page.3" >$(STAGED_MAN)/man3/$$name.3 && \
			chmod 644 $(STAGED_MAN)/man3/$$name.3 || exit 1; \
		done || exit 1; \
	done
# NAME, PREFIX: removes the page of that name. Of the pages whose names begin with the prefix, removes those that
# scripts/manual has made, and those that are links to such a page.
uninstall_pages = rm -f $(STAGED_MAN)/man3/$(1).3 && \
	grep -lsZE '^(\.\\" Made from .* by scripts/manual\.|\.so man3/$(2)[a-z0-9_]*\.3)$$' $(STAGED_MAN)/man3/$(2)*.3 | xargs -0r rm -f

core-install-paths:
	@for path in PREFIX="$(PREFIX)" LIBDIR="$(LIBDIR)" INCLUDEDIR="$(INCLUDEDIR)" MANDIR="$(MANDIR)"; do \
		case "$$path" in *[\ \|\&]*) echo "$$path: no spaces, no | and no &" >&2; exit 2 ;; *=/*) ;; \
			*) echo "$$path: an absolute path, please" >&2; exit 2 ;; esac; \
	done

# The paths may differ between two calls, so these files are written each time. A new file replaces the old one, which
# may belong to another user (after `sudo make install`). The .pc file writes paths below the prefix with ${prefix}.
core-descriptions: core-install-paths
	@$(call describe,$(CORE_BUILD),crunloop.pc crunloop-config.cmake crunloop-config-version.cmake)

# FOLDER, NAMES: writes each file into the folder, from packaging/NAME.in.
describe = mkdir -p $(1); \
	pointer=$$($(CC) $(CFLAGS) -dM -E -x c /dev/null | sed -n 's/^.define __SIZEOF_POINTER__ //p') && [ -n "$$pointer" ] || \
		{ echo "$(CC) does not tell the size of a pointer" >&2; exit 1; }; \
	here=$$(realpath -ms --relative-to="$(LIBDIR)/cmake/crunloop" "$(INCLUDEDIR)") && [ -n "$$here" ] || \
		{ echo "realpath of coreutils is needed: it takes -m, -s and --relative-to" >&2; exit 1; }; \
	for name in $(2); do \
		sed -e 's|@VERSION@|$(CORE_VERSION)|; s|@SONAME@|$(CORE_SONAME)|; s|@MODEL_SONAME@|$(MODEL_SONAME)|; s|@PREFIX@|$(PREFIX)|' \
			-e 's|@LIBDIR@|$(patsubst $(PREFIX)/%,$${prefix}/%,$(LIBDIR))|' \
			-e 's|@INCLUDEDIR@|$(patsubst $(PREFIX)/%,$${prefix}/%,$(INCLUDEDIR))|' \
			-e "s|@INCLUDE_FROM_HERE@|$$here|; s|@POINTER_SIZE@|$$pointer|" packaging/$$name.in >$(1)/$$name.$$$$ && \
		mv -f $(1)/$$name.$$$$ $(1)/$$name || exit 1; \
	done

core-install: core-descriptions core manual
	$(INSTALL) -d $(STAGED_INCLUDE)/crunloop/adapters $(STAGED_LIB)/pkgconfig $(STAGED_LIB)/cmake/crunloop $(STAGED_MAN)/man3
	$(INSTALL) -m 644 $(CORE_HEADERS) $(STAGED_INCLUDE)/crunloop/
	$(INSTALL) -m 644 $(ADAPTER_HEADERS) $(STAGED_INCLUDE)/crunloop/adapters/
	$(INSTALL) -m 644 $(CORE_BUILD)/libcrunloop.a $(STAGED_LIB)/
	$(INSTALL) -m 755 $(CORE_BUILD)/libcrunloop.so.$(CORE_VERSION) $(STAGED_LIB)/
	ln -sf libcrunloop.so.$(CORE_VERSION) $(STAGED_LIB)/$(CORE_SONAME)
	ln -sf $(CORE_SONAME) $(STAGED_LIB)/libcrunloop.so
	$(INSTALL) -m 644 $(CORE_BUILD)/crunloop.pc $(STAGED_LIB)/pkgconfig/
	$(INSTALL) -m 644 $(CORE_BUILD)/crunloop-config.cmake $(CORE_BUILD)/crunloop-config-version.cmake $(STAGED_LIB)/cmake/crunloop/
	@$(call install_pages,docs/man/crunloop.3 $(MANUAL)/rlc_*.3)

# Uninstalls. Call it with the paths and the sources of the installation. Removes what the installation put there, and
# its own folders if they are then empty. Removes a link only if it leads to this version, so that a newer version stays
# complete.
core-uninstall: core-install-paths
	@if [ "$$(readlink $(STAGED_LIB)/$(CORE_SONAME))" = libcrunloop.so.$(CORE_VERSION) ]; then \
		rm -f $(STAGED_LIB)/libcrunloop.so $(STAGED_LIB)/$(CORE_SONAME); \
	fi
	@$(call uninstall_pages,crunloop,rlc_)
	rm -f $(foreach name,$(notdir $(CORE_HEADERS)),$(STAGED_INCLUDE)/crunloop/$(name)) \
		$(foreach name,$(notdir $(ADAPTER_HEADERS)),$(STAGED_INCLUDE)/crunloop/adapters/$(name)) \
		$(foreach name,libcrunloop.a libcrunloop.so.$(CORE_VERSION) pkgconfig/crunloop.pc \
			cmake/crunloop/crunloop-config.cmake cmake/crunloop/crunloop-config-version.cmake,$(STAGED_LIB)/$(name))
	for folder in $(STAGED_INCLUDE)/crunloop/adapters $(STAGED_INCLUDE)/crunloop $(STAGED_LIB)/cmake/crunloop; do \
		[ ! -d "$$folder" ] || rmdir --ignore-fail-on-non-empty "$$folder" || exit 1; \
	done
