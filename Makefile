# The two commands: `make demo` and `make test`. Each does all set-up; both may be run again at any time.
#
#   make demo     set-up, release build, then the main job on a real trace
#   make test     set-up, release build, every test and check
#   make check    layers, formatting (part of `make test`)
#   make tidy     clang-tidy, all findings are errors; SINCE=COMMIT: only sources that changed since then
#   make sanitize the tests under asan+ubsan, then under tsan
#   make bench    the benchmarks (see docs/performance.md)
#   make wheel    build/dist/: the sdist and the wheel; make test-wheel installs it into fresh environments
#   make docs     build/docs/python: the reference of the Python package
#   make clean    removes build/
#
# JOBS=N limits the compile jobs (default: all cores).
JOBS ?= $(shell nproc)
CMAKE_BUILD = cmake --build --preset
WITH_PYTHON = -DSTEPSCOPE_BUILD_PYTHON=ON -DPython_EXECUTABLE=$(CURDIR)/build/venv/bin/python
EXAMPLE = examples/data-loader-stall.pt.trace.json.gz

.PHONY: demo test setup-cupti setup-test setup-web check tidy sanitize asan tsan bench wheel test-wheel docs setup setup-python build clean

demo: setup
	@cmake --preset release -DSTEPSCOPE_BUILD_PYTHON=OFF > build/configure.log || { cat build/configure.log; exit 1; }
	@$(CMAKE_BUILD) release -j $(JOBS) --target stepscope
	@echo
	@echo '$$ build/release/stepscope report $(EXAMPLE)'
	@build/release/stepscope report $(EXAMPLE)

setup:
	@mkdir -p build
	@tools/setup.sh

# CUPTI's headers, for the test that compares ours with them.
setup-cupti: setup
	@tools/cupti_headers.sh

# The tools whose reading of our files is tested.
setup-python: setup
	@tools/setup_python.sh

# The tools of the page's tests, and everything from Debian that `make test` needs, so that one line installs it.
setup-web: setup-test
	@tools/setup_web.sh

setup-test:
	@mkdir -p build
	@tools/setup.sh tools/packages-web.txt

build: setup
	@cmake --preset release -DSTEPSCOPE_BUILD_PYTHON=OFF > build/configure.log || { cat build/configure.log; exit 1; }
	@$(CMAKE_BUILD) release -j $(JOBS)

# With the Python module, which needs nanobind of the environment that setup-python makes.
test: setup-test setup-cupti check setup-python setup-web
	@cmake --preset release $(WITH_PYTHON) > build/configure.log || { cat build/configure.log; exit 1; }
	@$(CMAKE_BUILD) release -j $(JOBS)
	@$(CMAKE_BUILD) release -j $(JOBS) --target stepscope_headers
	@ctest --preset release -j $(JOBS)

check: setup
	@python3 tools/check_layers.py
	@python3 tools/check_layers_test.py
	@tools/check_format.sh

tidy: build
	@tools/tidy.sh build/release $(JOBS) $(SINCE)

# tsan leaves out what runs in one thread for minutes (the sweep over every prefix of a file, snapshots compared with
# Python's pickle, the thousands of made samples that count false alarms) and the tests of the whole program.
TSAN_LEAVES_OUT = EveryPrefix|BootstrapCoverage|CompareFalseAlarms|cli\.|readers\.|memory\.test

asan: setup
	@cmake --preset asan > build/configure-asan.log || { cat build/configure-asan.log; exit 1; }
	@$(CMAKE_BUILD) asan -j $(JOBS)
	@ctest --preset asan -j $(JOBS)

tsan: setup
	@cmake --preset tsan > build/configure-tsan.log || { cat build/configure-tsan.log; exit 1; }
	@$(CMAKE_BUILD) tsan -j $(JOBS)
	@ctest --preset tsan -j $(JOBS) -E '$(TSAN_LEAVES_OUT)'

sanitize: asan tsan

bench: setup
	@cmake --preset bench > build/configure-bench.log || { cat build/configure-bench.log; exit 1; }
	@$(CMAKE_BUILD) bench -j $(JOBS)
	@bench/run.sh

# pdoc, from the docstrings and type hints (docs/decisions/python-package.md).
docs: setup setup-python
	@cmake --preset release $(WITH_PYTHON) > build/configure.log || { cat build/configure.log; exit 1; }
	@$(CMAKE_BUILD) release -j $(JOBS) --target stepscope_python
	@PYTHONPATH=build/release/python build/venv/bin/python -B -m pdoc --docformat markdown --output-directory build/docs/python \
	  stepscope stepscope.fleet stepscope.torch stepscope.integrations.lightning stepscope.integrations.huggingface
	@echo build/docs/python/index.html

# Minutes, and from the network: not part of `make test`, which looks at the sdist alone.
wheel: setup
	@JOBS=$(JOBS) tools/build_wheel.sh

test-wheel: wheel setup-python
	@build/venv/bin/python -B tests/wheel/test_wheel.py

clean:
	rm -rf build
