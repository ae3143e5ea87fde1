"""What edits of heads cost on the CPU, in float32: 21 sets of a tenth of SmolLM2-135M's heads (or of random weights of its shapes), of which 20 are random
ones matched to the first by layer, times three edits (distance, window:64, head), on 16 documents of 1,024 tokens. Processor time of an edit of a set
over that of one unedited pass with its loss: of heads of all layers, and of heads of the last third of them. Writes ablate.json.
Usage: ablate.py [TOKENS [DOCUMENTS [SETS]]]."""

import json
import os
import subprocess
import sys

os.environ.setdefault("GOMP_SPINCOUNT", "0")  # a thread that waits takes no processor time

import cpu_threads  # noqa: E402
import machine  # noqa: E402

FIRST_LAYERS = {"all_layers": 0, "last_third": 20}


def measured(folder, tokens, documents, sets, first_layer):
    command = [machine.BUILD / "benchmarks" / "edits", folder, tokens, documents, sets, first_layer]
    done = subprocess.run([str(word) for word in command], stdout=subprocess.PIPE, text=True, check=True)
    found = json.loads(done.stdout)
    one_pass = (found["before"] + found["after"]) / 2
    found["passes_per_edit"] = found["all"] / found["edits"] / one_pass
    found["planned_passes_per_edit"] = found["planned_passes"] / found["edits"]
    print(found, flush=True)
    return found


def main(tokens=1024, documents=16, sets=21):
    name, folder = cpu_threads.model()
    costs = {key: measured(folder, tokens, documents, sets, first) for key, first in FIRST_LAYERS.items()}
    machine.write("ablate", {"model": name, "tokens": tokens, "documents": documents, "sets": sets, "processor_seconds": costs})


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
