"""Tables of docs/performance.md and of README.md, out of results of benchmarks."""

import statistics

import many_gpus as many
from markdown_parts import image, listed, temporary, ratio, table

# In the order of the chart and the table; (key of cpu.json, what it is called)
WAYS = [("floor", "floor"), ("torch_alone", "torch's products and attention alone"), ("ropewalk_without_moments", "Ropewalk, nothing kept"), ("ropewalk", "Ropewalk, moments of every token"),
        ("ropewalk_all", "Ropewalk, all that a capture keeps"),
        ("transformers", "transformers, nothing kept"), ("transformers_keeping", "transformers, every q and k kept"),
        ("nnsight", "nnsight, every q and k saved"), ("transformer_lens", "TransformerLens, every q and k cached")]  # fmt: skip
NAMES = {"transformer_lens": "TransformerLens", "nnsight": "nnsight"}
AXES = {"tokens": "tokens per document", "layers": "layers", "heads": "query heads measured", "threads": "threads"}


def gpu(r: dict) -> str:
    rows = []
    for row in r["lengths"]:
        ms = {name: times["median"] for name, times in row["milliseconds"].items()}
        memory = row["every_token_kept_or_measured"]["peak_gpu_bytes"]
        rows.append([f"{row['tokens']:,}", f"{ms['ropewalk']:,.1f}", f"{ms['floor']:,.1f}", f"{row['times_the_floor']:.2f}", f"{row['moments_share']:.1%}".replace("%", " %"), f"{row['others_share']:.1%}".replace("%", " %"),
                     f"{ms['transformers']:,.1f}", f"{row['faster_than_transformers']:.2f}", f"{ms['transformers_sampling_16_tokens']:,.1f}",
                     f"{memory['ropewalk'] / 1e9:.1f} of {memory['transformers'] / 1e9:.1f}"])  # fmt: skip
    needed = listed([f"{row['times_the_floor_of_what_is_needed']:.2f}" for row in r["lengths"]])
    documents = listed([str(row["every_token_kept_or_measured"]["documents"]) for row in r["lengths"]])
    header = ["tokens", "Ropewalk", "floor", "times the floor", "moments add", "the rest adds", "transformers", "times faster", "with 16 tokens sampled", "memory, GB"]
    return f"""{r['model']}, {r['dtype']}; milliseconds per document ({temporary(r)}):

{table(header, rows)}

- The *floor* is the matrix products and attention of the backbone alone, on the same weights, by the same libraries. (The
  last layer's attention and MLP are not needed for its queries and keys; against the floor without them the ratios are
  {needed}.)
- *Moments add* and *the rest adds* are shares of the pass without any capture. The rest is what else a capture keeps: sums before RoPE, and logits by
  distance.
- *transformers* is the plain forward pass with `sdpa`, without any capture; the column after it samples 16 tokens per document.
- *Memory* is the peak on the GPU: Ropewalk's, of what transformers takes when it keeps queries and keys of every token of
  the same {documents} documents.

{streaming(r['streaming'])}"""


def streaming(r: dict) -> str:
    s = r["seconds_a_group"]
    return f"""With `--memory {r['memory']}`, less than the weights ({r['weights_bytes'] / 1e9:.1f} GB), layers come and go. {r['documents_at_a_time']} documents of {r['tokens']:,} tokens take
{s['streamed']:.3f} s, with all weights kept {s['kept']:.3f} s; to copy the weights takes {s['bus']:.3f} s. That is {r['times_the_limit']:.2f} times the larger of the two."""


def gpu_end_to_end(r: dict) -> str:
    ours, peer = (f"{r[name]['median_seconds']:.1f} s" for name in ("ropewalk", "peer"))
    used = r["tokens_used_a_document"]
    if not isinstance(r["times_faster"], dict):
        return ""  # of two rounds, from before five were asked for
    return f"""From a checkpoint on disk, the file cache cold, to the table of heads, {r['documents']} documents of {r['tokens']:,} tokens: {ours} with
every token; {peer} for a script with transformers, hooks and scikit-learn that keeps {used['peer']} tokens per document,
{ratio(r['times_faster'], 1)} times as long ({temporary(r)})."""


def weak_scaling(r: dict) -> str:
    rows = [[row["processes"], row["documents"], f"{row['median_seconds']:.1f}", f"{row['seconds_with_perfect_scaling']:.1f}", f"{row['efficiency']:.0%}".replace("%", " %")]
            for row in r["weak_scaling"]]  # fmt: skip
    return f"""SmolLM2-135M, {r['dtype']}, documents of {r['tokens_a_document']:,} tokens, {r['mpi']} ({temporary(r)}):

{table(["processes", "documents", "seconds", "perfect", "efficiency"], rows)}"""


def many_gpus(gpu: dict, study: dict, processes: dict) -> str:
    part = many.parts(gpu, study, processes)
    parts = [[f"a document of {tokens:,} tokens", f"{part['document'][tokens]:.3f}"] for tokens in many.LENGTHS]
    parts += [["a capture beside its documents", f"{part['beside']:.1f}"],
              [f"joining {processes['join']['bytes_a_process'] / 1e9:.2f} GB of moments of each of two processes", f"{part['join']:.1f}"],
              [f"analysis, {study['machine']['cores']} cores", f"{part['analysis']:.1f}"]]  # fmt: skip
    header, rows = ["GPUs"], []
    for tokens in many.LENGTHS:
        header += [f"{tokens:,} tokens: seconds", "times faster", "checkpoints an hour", f"in jobs of {many.JOB}"]
    for gpus in many.GPUS:
        row = [f"{gpus:,}"]
        for tokens in many.LENGTHS:
            time = many.seconds(part, tokens, gpus)
            jobs = f"{gpus / many.JOB * 3600 / many.seconds(part, tokens, many.JOB):,.0f}" if gpus >= many.JOB else ""
            row += [f"{time:,.0f}", f"{many.seconds(part, tokens, 1) / time:.1f}", f"{3600 / time:,.0f}", jobs]
        rows.append(row)
    halves = listed([f"{many.half_efficient(part, tokens):,} with {tokens:,} tokens" for tokens in many.LENGTHS])
    return f"""{table(["part", "seconds"], parts)}

{table(header, rows)}

GPUs at which the speed-up falls to half their number: {halves}."""


def by_threads(rows: list[dict]) -> str:
    header = ["dtype", "threads", "Ropewalk, moments: seconds", "all that a capture keeps", "transformers", "times faster, moments", "times faster, all", "times the floor"]
    return table(header, [[row["dtype"], row["threads"], *(f"{row['median'][key]:.2f}" for key in ("ropewalk", "ropewalk_all", "transformers")),
                           ratio(row["times_faster"]), ratio(row["times_faster_all"]), f"{row['median']['ropewalk'] / row['floor']['seconds']:.2f}" if row["floor"] else ""]
                          for row in rows])  # fmt: skip


def cpu_threads(r: dict) -> str:
    return f"""{r['model']}, one document of {r['tokens']:,} tokens ({temporary(r)}); times faster than transformers' plain pass with as many threads, with
the interval of {r['rows'][0]['times_faster']['rounds']} rounds in turn:

{by_threads(r['rows'])}"""


def cpu(r: dict) -> str:
    rows, missing = [], []
    for key, name in WAYS:
        median, spread = r["median"].get(key), r["spread"].get(key)
        if median is None:
            if key in NAMES:
                missing.append(f"- {NAMES[key]} was not measured: `{r['peers'][key]['reason']}`")
            continue
        times = {"ropewalk": "1", "floor": f"{median / r['median']['ropewalk']:.2f}"}.get(key) or ratio(r["times_ropewalk"][key])
        rows.append([name, f"{median:.2f}", f"{spread[0]:.2f} – {spread[1]:.2f}", times])
    versions = ", ".join(f"{NAMES[name]} {facts['version']}" for name, facts in r["peers"].items() if facts.get("version"))
    header = ["", "seconds", "from – to", "times Ropewalk's"]
    text = f"""SmolLM2-135M, float32, one document of {r['tokens']:,} tokens, {r['threads']} threads ({temporary(r)}{', ' if versions else ''}{versions}):

{table(header, rows)}

{image('cpu', f"Seconds a document of {r['tokens']:,} tokens")}

Before anything was timed, Ropewalk's r_q and r_k of all {r['equality']['heads']} heads were those of transformers' queries and keys and
scikit-learn's PCA (largest difference {r['equality']['difference_r_q']:.0e}), and each peer's queries and keys were transformers'."""
    if floor := r.get("floor"):
        text += f"""

The *floor* is arithmetic: {floor['operations'] / 1e12:.2f}e12 multiplications and additions at the {floor['operations_per_second'] / 1e9:.0f}e9 per second that this processor does when
nothing else is to be done. Ropewalk takes {r['times_the_floor']:.2f} times the floor, moments included: {1 / r['times_the_floor']:.0%} of the rate."""
    text = text.replace("% of the rate", " % of the rate")
    return "\n".join([text, "", *missing]) if missing else text


def end_to_end(r: dict) -> str:
    rows = [[name, f"{r[key]['median_seconds']:.1f}", f"{min(r[key]['seconds']):.1f} – {max(r[key]['seconds']):.1f}", f"{r[key]['peak_memory_bytes'] / 1e9:.2f}"]
            for key, name in (("ropewalk", "Ropewalk"), ("peer", "transformers with hooks, scikit-learn"))]  # fmt: skip
    return f"""From a checkpoint on disk to the table of heads, SmolLM2-135M, {r['documents']} documents of {r['tokens']:,} tokens, every token of all
{r['heads']} heads ({temporary(r)}):

{table(["", "seconds", "from – to", "peak memory, GB"], rows)}

Ropewalk is {ratio(r['times_faster'], 1)} times faster and takes {r['times_less_memory']:.1f} times less memory."""


def moments_cost(r: dict) -> str:
    few, many = r["peak_memory_bytes"].items()
    return f"""Moments add {r['ratio_median'] - 1:.1%} to the forward pass of documents of {r['tokens']:,} tokens (median of {len(r['ratios'])} pairs), and memory stays the same
from {few[0]} documents to {many[0]}: {few[1] / 1e6:.0f} and {many[1] / 1e6:.0f} MB (`moments_cost.json`).""".replace("% to", " % to")


def rows_cost(r: dict) -> str:
    rows = []
    for tokens, found in r["contexts"].items():
        seconds = {kind: statistics.median(times) for kind, times in found["seconds"].items() if isinstance(times, list)}
        rows.append([f"{int(tokens):,}", *(f"{1000 * seconds[kind]:,.1f}" for kind in ("without", "with_all_but_rows", "with_all")), f"{found['share_median']:.1%}".replace("%", " %")])
    return f"""32 rows of attention of every document, one document at a time, {r['model']}, {r['dtype']}; milliseconds per document ({temporary(r)}):

{table(["tokens", "nothing kept", "all but rows", "all", "rows add"], rows)}

`--rows 0` does without."""


rows_cost_gpu = rows_cost


def scaling(r: dict) -> str:
    documents = [[row["documents"], f"{row['milliseconds_a_token']:.2f}", f"{row['spread'][0]:.2f} – {row['spread'][1]:.2f}", f"{row['peak_memory_bytes'] / 1e6:.0f}"]
                 for row in r["documents"]]  # fmt: skip
    first, last = r["documents"][0], r["documents"][-1]
    cost, memory = (last[key] / first[key] for key in ("milliseconds_a_token", "peak_memory_bytes"))
    others = []
    for axis, name in AXES.items():
        rows = r[axis]
        others.append([name, *(" · ".join(values) for values in (
            [f"{row[axis]:,}" for row in rows], [f"{row['milliseconds_a_token']:.2f}" for row in rows],
            [f"{row['peak_memory_bytes'] / 1e6:,.0f}" for row in rows]))])  # fmt: skip
    return f"""`ropewalk capture` of every token in float32, SmolLM2-135M (for layers, models of its shapes with random weights): median
milliseconds per token of whole processes, less the {r['start_seconds']:.1f} s that a capture of one token takes; the most memory of any
run ({temporary(r)}).

Documents of {r['document_tokens']} tokens, `{' '.join(map(str, r['options_of_documents']))}`:

{table(["documents", "milliseconds per token", "from – to", "peak memory, MB"], documents)}

From {first['documents']} documents to {last['documents']}, cost a token is multiplied by {cost:.2f} and memory by {memory:.2f}.

{image('documents', 'Milliseconds per token and peak memory against documents')}

In the other directions, `--memory {r['memory_budget']}`; where tokens do not vary, documents have {r['other_tokens']:,}:

{table(["what varies", "values", "milliseconds per token", "peak memory, MB"], others)}

{image('scaling', 'Milliseconds per token against tokens per document, layers, heads measured and threads')}"""


def readme(r: dict) -> str:
    rows = [["tokens used", "all", "a sample that fits in memory"],
            ["standard errors", "of numbers, means and changes; a flag says where there is none", "none"],
            ["time, checkpoint to table", 1, ratio(r["times_faster"], 1)],
            ["peak memory", 1, f"{r['times_less_memory']:.1f}"]]  # fmt: skip
    return f"""{table(["", "Ropewalk", "transformers with hooks, scikit-learn"], rows)}

Time and memory were measured with SmolLM2-135M on a CPU of {r['machine']['cores']} cores, {r['documents']} documents of {r['tokens']:,} tokens and all {r['heads']} heads, where
both take every token: `benchmarks/results/end_to_end.json`; `make bench` repeats it."""


def analysis(r: dict) -> str:
    def times(ratio: dict) -> str:
        return f"{ratio['median']:.2f} times ({ratio['low']:.2f} to {ratio['high']:.2f})"

    seconds, processor = r["median_seconds"], r["median_processor_seconds"]
    return f"""`ropewalk analyze` of a capture with {r['heads']} query heads of {r['dimensions']} dimensions and {r['blocks']} blocks, as SmolLM3-3B's has: {processor['ropewalk']:.1f} s of processor
time for all tables, with all standard errors. The program before took {processor['other']:.1f} s: {times(r['processor_ratio'])} as much. In time that passed it is {times(r['ratio'])},
where the program had {processor['ropewalk'] / seconds['ropewalk']:.1f} cores to itself ({r['ratio']['rounds']} rounds in turn; {temporary(r)})."""


def study_rows(results: list[dict]) -> str:
    rows = []
    for r in results:
        seconds = {name: times if isinstance(times, float) else statistics.median(times) for name, times in r["seconds"].items() if times}
        faster = ratio(r["times_faster"], 1) if "times_faster" in r else "–"
        rows.append([f"{r['checkpoints']} × {r['model']}", f"{r['documents']} × {r['tokens']:,}", f"{seconds['ropewalk']:.1f}", f"{seconds['reading']:.1f}", f"{seconds['computing']:.1f}",
                     ratio(r["times_the_limit"]), faster, f"{r['gpu_busy']:.0%}".replace("%", " %") if "gpu_busy" in r else "–"])  # fmt: skip
    header = ["checkpoints", "documents × tokens", "seconds", "reading alone", "computing alone", "times the larger", "the script takes … times as long", "GPU busy"]
    return table(header, rows)


def studies(*results: dict) -> str:
    return f"""Whole studies, from process start to tables and the specifications of figures, the file cache cold, every token of every head (`study.py`). While a checkpoint
computes, the weights of the next one are read, and the one before is written and analysed. So a study cannot be faster than the larger of *reading alone*,
all weights once, through the system's cache of files or past it, whichever is faster, and *computing alone*, all documents with what a capture keeps of them. *The script* is the one that one would write with transformers,
hooks and scikit-learn on 16 sampled tokens per document (`script.py`); it takes some of the checkpoints, and its time is scaled to all.

{study_rows(list(results))}

({temporary(results[0])}; ratios are medians of {results[0]['times_the_limit']['rounds']} rounds, with an interval.)"""
