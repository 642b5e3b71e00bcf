# SPDX-License-Identifier: Apache-2.0
# A thin front door over meson. `./demo` and `./test` also install what is missing.
BUILD ?= build
PREFIX ?= /usr/local
.PHONY: all test demo bench install clean format
all: $(BUILD)/build.ninja
	@ninja -C $(BUILD)
$(BUILD)/build.ninja:
	@meson setup $(BUILD) --prefix=$(PREFIX)
test:
	@./test
demo:
	@./demo
bench: all
	@tests/bench/run --build $(BUILD) $(BENCH)
install: all
	@meson configure $(BUILD) -Dprefix=$(PREFIX)
	@meson install -C $(BUILD)
format:
	@git ls-files '*.c' '*.h' | xargs clang-format -i
clean:
	@rm -rf $(BUILD)
