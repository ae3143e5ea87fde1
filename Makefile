# Every target sets up and builds what it needs; run any of them on a fresh clone.
.PHONY: setup build all python wheel demo smollm2 test test-real test-kvpress sanitize fuzz bench bench-gpu format clean
.DEFAULT_GOAL := build

JOBS := $(shell nproc)
# A third of these are the processes of golden.files.
TEST_JOBS := $(shell expr 3 '*' $(JOBS))
FUZZ_TARGETS := safetensors pytorch config experiment dataset_card moments parquet jsonl tables
SOURCES = $$(git ls-files --cached --others --exclude-standard '*.h' '*.cpp' '*.cu' '*.cuh')

setup:
	@tools/setup.sh

build/build.ninja: | setup
	@cmake --preset release

# The program alone; what tests need, `test` builds.
build: setup build/build.ninja
	@cmake --build build --target ropewalk_cli

all: setup build/build.ninja
	@cmake --build build

# The Python package, in build/python.
python: setup build/build.ninja
	@cmake --preset release -DROPEWALK_BINDINGS=ON >/dev/null
	@cmake --build build --target ropewalk_python

# The package with the program, for other machines, in dist.
wheel: setup build/build.ninja
	@tools/make_wheel.sh

demo: build
	@build/ropewalk demo --out out/demo

smollm2: build
	@tools/setup.sh real
	@.venv/bin/python tools/make_smollm2.py
	@build/ropewalk run experiments/smollm2-135m.yaml --out out/smollm2-135m
	@build/ropewalk run experiments/smollm2-135m-ablate.yaml --out out/smollm2-135m-ablate

# All is built then: without CTest's own builds before tests, the longest test can begin first.
test: all wheel
	@ctest --test-dir build --output-on-failure --no-tests=error -j $(TEST_JOBS) -FS '^build\.' -L '^(unit|golden|hygiene|sanitize-smoke)$$'

test-real: all
	@tools/setup.sh real
	@ctest --test-dir build --output-on-failure --no-tests=error -L '^real$$'

test-kvpress: build
	@tools/setup.sh kvpress
	@ctest --test-dir build --output-on-failure --no-tests=error -L '^kvpress$$'

sanitize: setup
	@cmake --preset sanitize
	@cmake --build build/sanitize --target ropewalk_tests
	@ctest --test-dir build/sanitize --output-on-failure --no-tests=error -j $(JOBS) -L '^unit$$'

fuzz: setup
	@tools/setup.sh fuzz
	@cmake --preset fuzz
	@cmake --build build/fuzz --target $(FUZZ_TARGETS:%=fuzz_%)
	@.venv/bin/python tests/fuzz/run.py build/fuzz $(FUZZ_TARGETS)

bench: build
	@tools/setup.sh real
	@tools/setup.sh peers || echo "bench: not every peer could be installed; cpu.json says which did not run" >&2
	@cmake --preset release -DROPEWALK_BENCHMARKS=ON
	@cmake --build build --target coverage edits forward peak
	@.venv/bin/python tools/make_smollm2.py
	@.venv/bin/python benchmarks/cpu.py threads
	@for script in cpu loss demo_loss ablate study scaling end_to_end moments_cost rows_cost sampling_noise scaling_processes coverage contexts smollm2 smollm2_ablate forecast frequencies report plot tables; do .venv/bin/python benchmarks/$$script.py || exit 1; done

bench-gpu: all
	@cmake --preset release -DROPEWALK_BENCHMARKS=ON
	@cmake --build build --target forward logits
	@ctest --test-dir build --output-on-failure --no-tests=error -R '^golden\.gpu$$'
	@for script in gpu loss gpu_end_to_end study weights_hash watch plot tables; do .venv/bin/python benchmarks/$$script.py || exit 1; done

format: setup
	@clang-format -i $(SOURCES)

clean:
	@rm -rf build
