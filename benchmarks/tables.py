"""Writes the numbers of documents from results/*.json: what stands between `<!-- table:NAME -->` and `<!-- end -->` in
docs/performance.md, docs/method.md and README.md. A block whose results are not there yet stays empty. Usage: tables.py"""

import json
import math
import re
import statistics
from pathlib import Path

import many_gpus as many
from machine import ROUNDS

ROOT = Path(__file__).resolve().parent.parent
RESULTS = ROOT / "benchmarks" / "results"
DOCUMENTS = ("README.md", "docs/method.md", "docs/performance.md")
# In the order of the chart and the table; (key of cpu.json, what it is called)
WAYS = [("floor", "floor"), ("torch_alone", "torch's products and attention alone"), ("ropewalk_without_moments", "Ropewalk, nothing kept"), ("ropewalk", "Ropewalk, moments of every token"),
        ("ropewalk_all", "Ropewalk, all that a capture keeps"),
        ("transformers", "transformers, nothing kept"), ("transformers_keeping", "transformers, every q and k kept"),
        ("nnsight", "nnsight, every q and k saved"), ("transformer_lens", "TransformerLens, every q and k cached")]  # fmt: skip
NAMES = {"transformer_lens": "TransformerLens", "nnsight": "nnsight"}
AXES = {"tokens": "tokens per document", "layers": "layers", "heads": "query heads measured", "threads": "threads"}


def table(header: list[str], rows: list[list]) -> str:
    lines = [f"| {' | '.join(map(str, row))} |" for row in (header, *rows)]
    return "\n".join([lines[0], "|" + "---|" * len(header), *lines[1:]])


def machine_of(result: dict) -> str:
    """The machine a result is from."""
    gpu, cpu = result.get("gpu"), result["machine"]
    where = gpu["name"] if gpu else f"{cpu['cores']} cores ({cpu['cpu']})"
    return f"{where}, torch {result['versions']['torch']}, transformers {result['versions']['transformers']}, {result['date']}"


def image(name: str, text: str) -> str:
    return f"![{text}](images/performance-{name}.svg)"


def listed(values) -> str:
    *first, last = values
    return f"{', '.join(first)} and {last}" if first else last


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
    return f"""{r['model']}, {r['dtype']}; milliseconds per document ({machine_of(r)}):

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
{ratio(r['times_faster'], 1)} times as long ({machine_of(r)})."""


def weak_scaling(r: dict) -> str:
    rows = [[row["processes"], row["documents"], f"{row['median_seconds']:.1f}", f"{row['seconds_with_perfect_scaling']:.1f}", f"{row['efficiency']:.0%}".replace("%", " %")]
            for row in r["weak_scaling"]]  # fmt: skip
    return f"""SmolLM2-135M, {r['dtype']}, documents of {r['tokens_a_document']:,} tokens, {r['mpi']} ({machine_of(r)}):

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
    return f"""{r['model']}, one document of {r['tokens']:,} tokens ({machine_of(r)}); times faster than transformers' plain pass with as many threads, with
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
    text = f"""SmolLM2-135M, float32, one document of {r['tokens']:,} tokens, {r['threads']} threads ({machine_of(r)}{', ' if versions else ''}{versions}):

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
{r['heads']} heads ({machine_of(r)}):

{table(["", "seconds", "from – to", "peak memory, GB"], rows)}

Ropewalk is {ratio(r['times_faster'], 1)} times faster and takes {r['times_less_memory']:.1f} times less memory."""


def moments_cost(r: dict) -> str:
    few, many = r["peak_memory_bytes"].items()
    return f"""Moments add {r['ratio_median'] - 1:.1%} to the forward pass of documents of {r['tokens']:,} tokens (median of {len(r['ratios'])} pairs), and memory stays the same
from {few[0]} documents to {many[0]}: {few[1] / 1e6:.0f} and {many[1] / 1e6:.0f} MB (`moments_cost.json`).""".replace("% to", " % to")


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
run ({machine_of(r)}).

Documents of {r['document_tokens']} tokens, `{' '.join(map(str, r['options_of_documents']))}`:

{table(["documents", "milliseconds per token", "from – to", "peak memory, MB"], documents)}

From {first['documents']} documents to {last['documents']}, cost a token is multiplied by {cost:.2f} and memory by {memory:.2f}.

{image('documents', 'Milliseconds per token and peak memory against documents')}

In the other directions, `--memory {r['memory_budget']}`; where tokens do not vary, documents have {r['other_tokens']:,}:

{table(["what varies", "values", "milliseconds per token", "peak memory, MB"], others)}

{image('scaling', 'Milliseconds per token against tokens per document, layers, heads measured and threads')}"""


def contexts(r: dict) -> str:
    first, last = "S3-6.608K", "LC2-500"
    labels = [first, *(label for label in r["checkpoints"] if label.startswith(f"{last}@"))]
    keys = {"bias_strength": 5, "bias_context": 3, "r2cv_q": 4, "logit_pos_share": 4}  # and decimals
    rows = []
    for label in labels:
        name, _, context = label.partition("@")
        means = [(r["checkpoints"][label][f"mean_{key}"], decimals) for key, decimals in keys.items()]
        rows.append([name, f"{int(context or 512):,}", *(f"{mean['value']:.{decimals}f} ± {mean['se']:.{decimals}f}" for mean, decimals in means)])
    value = {key: [r["checkpoints"][label][f"mean_{key}"]["value"] for label in labels] for key in keys}
    bias, over, fit = value["bias_strength"], value["bias_context"], value["r2cv_q"][1:]
    percent = lambda share: f"{100 * abs(share):.0f} %"
    alone = math.log(bias[-1] / bias[1]) / math.log(bias[-1] / bias[0])
    change = {(one["from"], one["to"]): one["mean_bias_context"] for one in r["differences"]}
    steps = listed([f"{change[a, b]['value']:+.3f} ± {change[a, b]['se']:.3f}" for a, b in zip(labels[1:], labels[2:])])
    header = ["checkpoint", "context", *(f"`{key}`" for key in keys)]
    return f"""{table(header, rows)}

Means over {r['heads']} heads and {r['documents']} documents of the demo; ± is one standard error over documents.

- *Per token*: from {first} to {last}, each at the context it was trained at, `bias_strength` falls by {percent(bias[-1] / bias[0] - 1)}. The same weights at 512 and at
  2,048 tokens differ by {percent(bias[-1] / bias[1] - 1)}: on a logarithmic scale {percent(alone)} of the fall is there without any training. The rest is the model: at
  512 tokens both, the later checkpoint has {percent(bias[1] / bias[0] - 1)} less.
- *Over the context*: `bias_context` is {over[0]:.2f} logits before and {over[-1]:.2f} after. Of the same weights it changes by {steps}
  from each context to the next (paired): the slope over a long context need not be that over its first part.
- *Without any axis or unit*: `r2cv_q` of the same weights is {min(fit):.2f} to {max(fit):.2f} at all three."""


def readme(r: dict) -> str:
    rows = [["tokens used", "all", "a sample that fits in memory"],
            ["standard errors", "of numbers, means and changes; a flag says where there is none", "none"],
            ["time, checkpoint to table", 1, ratio(r["times_faster"], 1)],
            ["peak memory", 1, f"{r['times_less_memory']:.1f}"]]  # fmt: skip
    return f"""{table(["", "Ropewalk", "transformers with hooks, scikit-learn"], rows)}

Time and memory were measured with SmolLM2-135M on a CPU of {r['machine']['cores']} cores, {r['documents']} documents of {r['tokens']:,} tokens and all {r['heads']} heads, where
both take every token: `benchmarks/results/end_to_end.json`; `make bench` repeats it."""


def demo(r: dict) -> str:
    fresh, first, *_, last = r["checkpoints"]
    shown = (fresh, first, last)

    def row(title: str, key: str, digits=3) -> list[str]:
        return [title, *(f"{one['means'][key]['value']:.{digits}f} ± {one['means'][key]['se']:.{digits}f}" for one in shown)]

    def mean(one: dict, key: str) -> str:
        return f"{one['means'][key]['value']:.2f}"

    heads, high = r["heads"], r["high"]
    rows = [[f"heads with r_q > {high} on PC0, of {heads}", *(one["high_r_q"] for one in shown)],
            row("R² of position with queries, cross-validated", "r2cv_q"),
            row("the same with keys", "r2cv_k"),
            row("share of position in logits", "logit_pos_share", 4)]  # fmt: skip
    return f"""{table(["demo, means over heads", "fresh weights", f"{first['label']}, the first", f"{last['label']}, the last"], rows)}

Fresh weights are no blank page: RoPE turns whatever mean a head has, and {fresh['high_r_q']} of {heads} heads have r_q > {high} before any training. Training first takes position
away and then builds another kind of it. Queries end below fresh weights (R² {mean(fresh, 'r2cv_q')} → {mean(last, 'r2cv_q')}), keys above ({mean(fresh, 'r2cv_k')} →
{mean(last, 'r2cv_k')}), and attention uses more of it: the share of position in logits rises from {mean(fresh, 'logit_pos_share')} to {mean(last, 'logit_pos_share')}. So hold a run against
fresh weights of its shape, and r on PC0 against R², which needs no axis."""


def analysis(r: dict) -> str:
    def times(ratio: dict) -> str:
        return f"{ratio['median']:.2f} times ({ratio['low']:.2f} to {ratio['high']:.2f})"

    seconds, processor = r["median_seconds"], r["median_processor_seconds"]
    return f"""`ropewalk analyze` of a capture with {r['heads']} query heads of {r['dimensions']} dimensions and {r['blocks']} blocks, as SmolLM3-3B's has: {processor['ropewalk']:.1f} s of processor
time for all tables, with all standard errors. The program before took {processor['other']:.1f} s: {times(r['processor_ratio'])} as much. In time that passed it is {times(r['ratio'])},
where the program had {processor['ropewalk'] / seconds['ropewalk']:.1f} cores to itself ({r['ratio']['rounds']} rounds in turn; {machine_of(r)})."""


def ratio(found: dict, decimals=2) -> str:
    """With its interval; of too few rounds there is none."""
    if found["rounds"] < ROUNDS:
        raise SystemExit(f"{found['rounds']} rounds; expected {ROUNDS} at least")
    return f"{found['median']:.{decimals}f} ({found['low']:.{decimals}f} – {found['high']:.{decimals}f})"


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

({machine_of(results[0])}; ratios are medians of {results[0]['times_the_limit']['rounds']} rounds, with an interval.)"""


def smollm2(r: dict) -> str:
    def mean(key: str) -> list[str]:
        leaves = [checkpoint["means"][key] for checkpoint in r["checkpoints"].values()]
        return [f"{leaf['value']:.3f} ± {leaf['se']:.3f}" for leaf in leaves]

    def number(key: str) -> list[float]:
        return [checkpoint[key] for checkpoint in r["checkpoints"].values()]

    heads = number("heads")[0]
    rows = [["cross-validated R² of position, queries (`r2cv_q`)", *mean("r2cv_q")],
            ["the same of keys (`r2cv_k`)", *mean("r2cv_k")],
            ["share of position in logits (`logit_pos_share`)", *mean("logit_pos_share")],
            ["bias over the context, logits (`bias_context`)", *mean("bias_context")],
            ["share of offset in PC0 (`pc0_offset`)", *mean("pc0_offset")],
            [f"position-dominated heads on PC0, of {heads}", *number("position_dominated")],
            ["of these, heads whose PC0 is more than half offset", *number("mostly_offset")],
            [f"content-focused heads on PC0, of {heads}", *number("content_focused")],
            ["least `r2cv_k` of any of these", *(f"{value:.2f}" for value in number("least_r2cv_k_of_content_focused"))]]  # fmt: skip
    return f"""{table(["SmolLM2-135M, " + str(r["documents"]) + " manuals", "fresh weights", "trained"], rows)}

(`benchmarks/smollm2.py`, {r['date']}; `make smollm2` repeats the study.)"""


def smollm2_ablate(r: dict) -> str:
    def row(one: dict) -> list[str]:
        controls = f"{one['control']:+.3f} (SD {one['control_sd']:.3f})"
        ratio = "" if one["of_removal"] is None else f"{one['of_removal']:.2f} ± {one['of_removal_se']:.2f}"
        ratios = f"{one['of_removal_control']:.2f} ({one['of_removal_control_low']:.2f} – {one['of_removal_control_high']:.2f})"
        return [f"`{one['set']}`", f"`{one['edit']}`", f"{one['dloss']:+.3f} ± {one['dloss_se']:.3f}", controls, {1: "yes", 0: "no"}[one["real"]],
                f"{one['removal']:+.3f} ± {one['removal_se']:.3f}", ratio, ratios, f"{one['overlap']:.2f} ({one['overlap_chance']:.2f})"]  # fmt: skip

    rows = r["rows"]
    header = ["set", "edit", "change of the loss", f"{rows[0]['controls']} random sets", "real", "removal", "of removal", "the same of random sets (range)", "overlap (chance)"]
    first = rows[0]
    within = first["of_removal_control_low"] <= first["of_removal"] <= first["of_removal_control_high"]
    return f"""{table(header, [row(one) for one in rows])}

The {first['heads']} heads that prefer distances most are needed for that: without it the model loses {first['dloss'] / first['control']:.0f} times what it loses when random sets of as many heads in the same layers lose theirs. Beside
removal the two {"look alike, which is why the ratio is no headline" if within else "differ too"}.

Nats per token; without edits {rows[0]['loss']:.3f}. {rows[0]['heads']} of the 270 heads, {rows[0]['documents']} manuals of {rows[0]['tokens'] // rows[0]['documents'] + 1:,} tokens, ± one standard error over them.
(`benchmarks/smollm2_ablate.py`, {r['date']}; `make smollm2` repeats the study.)"""


def frequencies(r: dict) -> str:
    fresh, trained = r["smollm2"].values()
    demo = r["demo"]
    last = list(demo.values())[-1]

    def mean(key: str) -> list[str]:
        leaves = [checkpoint["means"][key] for checkpoint in (fresh, trained, last)]
        return [f"{leaf['value']:.3f} ± {leaf['se']:.3f}" for leaf in leaves]

    rows = [["energy of queries in pairs that turn less than once (`low_share_q`)", *mean("low_share_q")],
            ["the same of keys (`low_share_k`)", *mean("low_share_k")],
            ["variance that turning makes, queries (`rope_var_share_q`)", *mean("rope_var_share_q")],
            ["the same of keys (`rope_var_share_k`)", *mean("rope_var_share_k")],
            ["drift against that of the turning mean, queries (`drift_rope_cos_q`)", *mean("drift_rope_cos_q")],
            ["the same of keys (`drift_rope_cos_k`)", *mean("drift_rope_cos_k")],
            ["how much of the drift of keys it is (`drift_rope_share_k`)", *mean("drift_rope_share_k")],
            ["concentration of keys (`mrl_k`)", *mean("mrl_k")],
            ["near less far, logits (`dist_near`)", *mean("dist_near")],
            ["predicted and actual logit by distance (`dist_r`)", *mean("dist_r")],
            ["what content adds, logits (`dist_content`)", *mean("dist_content")]]  # fmt: skip
    header = ["means over heads with RoPE", "SmolLM2-135M, fresh", "trained", "demo, last"]
    moved = listed([f"{row['strongest']['k']['wavelength']:,.0f} tokens at a context of {row['context']:,}" for row in demo.values()])
    ratios = [row["strongest"]["k"]["wavelength"] / row["context"] for row in demo.values()]
    span = " to ".join(sorted({f"{min(ratios):.1f}", f"{max(ratios):.1f}"}))
    q, k = trained["strongest"]["q"], trained["strongest"]["k"]
    return f"""{table(header, rows)}

- *Which frequencies.* In SmolLM2-135M one pair, with a wavelength of {k['wavelength']:,.0f} tokens, has {q['share']:.0%} of the energy of queries and {k['share']:.0%} of that of
  keys; fresh weights have {1 / 32:.0%} in each of 32. In the demo the strongest pair of keys has a wavelength of
  {moved}: {span} times the context, as theta was raised with it.
- *Which distance.* {trained['near_preferred']} of {trained['heads']} heads of SmolLM2-135M prefer near tokens whatever they are, and {trained['argmax_within_16']} prefer a distance of 16 tokens or fewer; the mean
  alone says most of it.
- *How much of drift is the turning mean.* Nearly all, in queries and keys of both models. The {last['nope']['heads']} heads of the demo's layers
  without RoPE have none of it by definition (`drift_rope_share_k` = {last['nope']['drift_rope_share_k']['value']:.0f}), and still an R² of keys of {last['nope']['r2cv_k']['value']:.2f} ± {last['nope']['r2cv_k']['se']:.2f}: what they know of position
  came with the residual stream.

(`benchmarks/frequencies.py`, {r['date']}; ± is one standard error over documents.)""".replace("%", " %")


def coverage(r: dict) -> str:
    names = [("r_q", "r_q"), ("r_k", "r_k"), ("r2cv_q", "`r2cv_q`"), ("pc0_offset", "`pc0_offset`"), ("bias_context", "`bias_context`"), ("logit_pos_share", "`logit_pos_share`")]

    def span(population: str, documents: int, key: str) -> str:
        found = [row[key] for row in r["coverage"] if row["population"] == population and row["documents"] == documents]
        low, high = (f"{100 * value:.1f}" for value in (min(found), max(found)))
        return low if low == high else f"{low} – {high}"

    cases = [("main", 8), ("main", 16), ("main", 40), ("hard", 8), ("hard", 16), ("hard", 40)]
    rows = [[f"{title}, {what}", *(span(*case, f"{prefix}_{key}") for case in cases)] for key, title in names for prefix, what in (("head", "one head"), ("mean", "mean over heads"))]
    rows += [[title, *(span(*case, key) for case in cases)] for key, title in
             (("class_fraction", "share of a class"), ("paired_head", "paired change of r_q, one head"), ("paired_difference", "paired change of mean r_q"))]  # fmt: skip
    return table(["per cent that contain the truth", *(f"{documents} documents{', hard' if population == 'hard' else ''}" for population, documents in cases)], rows)


# Name of the block: (its results, what writes it)
BLOCKS = {"readme": (["end_to_end"], readme), "weak_scaling": (["processes"], weak_scaling),
          "studies_gpu": (["study_smollm3", "study_pythia"], studies), "studies_cpu": (["study_smollm2"], studies),
          "many_gpus": (["gpu", "gpu_end_to_end", "processes"], many_gpus),
          **{name: ([name], globals()[name]) for name in ("gpu", "gpu_end_to_end", "cpu", "cpu_threads", "end_to_end", "moments_cost", "scaling", "analysis", "smollm2", "smollm2_ablate", "frequencies", "coverage", "contexts", "demo")}}  # fmt: skip


def written(text: str, results: Path = RESULTS) -> str:
    """The document with its blocks as the results have them."""

    def block(found: re.Match) -> str:
        sources, write = BLOCKS[found[1]]
        paths = [results / f"{source}.json" for source in sources]
        inside = f"\n{write(*(json.loads(path.read_text()) for path in paths))}\n" if all(path.exists() for path in paths) else ""
        return f"<!-- table:{found[1]} -->\n{inside}\n<!-- end -->"

    return re.sub(r"<!-- table:(\w+) -->\n.*?<!-- end -->", block, text, flags=re.S)


def main():
    for name in DOCUMENTS:
        path = ROOT / name
        path.write_text(written(path.read_text()))


if __name__ == "__main__":
    main()
