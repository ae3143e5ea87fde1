"""Writes the results folders that the report's tests open, with a report of each: make_reports.py OUT."""

import json
import math
import os
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests" / "golden"))

import edited_run  # noqa: E402
import synthetic_run as synthetic  # noqa: E402

HOSTILE = "</script><script>alert('label')</script><img src=x onerror=alert(1)>"
ASKED = {"statistics": ["bias_context", "of another version"], "portraits": [["r2cv_q", "logit_pos_share"]]}
AXES = {"pythia": "log-steps", "constructor": "log-steps", "contexts": "tokens", "models": "of another version"}  # the second has no numbers for it
STATISTICS = ("mean_r_q", "mean_r_k", "mean_abs_r_k", "sd_r_q", "sd_r_k", "pc0_explained_variance")


def with_errors(table: pandas.DataFrame, seed=5) -> pandas.DataFrame:
    """Standard errors and stabilities that vary like real ones, because they decide the file's size."""
    rng = np.random.default_rng(seed)
    for column, scale in (("r_q_se", 0.01), ("r_k_se", 0.02), ("explained_variance_se", 0.004)):
        table[column] = scale * rng.gamma(3, 0.3, len(table))
    stability = 1 - 0.05 * rng.gamma(1, 0.4, len(table)).clip(0, 10)
    table["pc0_stability"] = np.where(table.pc == 0, stability, np.nan)
    table["pc0_stability"] = table.pc0_stability.ffill()  # one per head
    return table


def with_time(table: pandas.DataFrame) -> pandas.DataFrame:
    """Steps and tokens of checkpoints whose labels state them."""
    steps = pandas.to_numeric(table.checkpoint.str.extract(r"^s(?:tep)?(\d+)$")[0]).astype("Int64")
    table.insert(4, "step", steps)
    table.insert(5, "tokens", steps * 4096)
    return table


def smollm3_size() -> pandas.DataFrame:
    """36 layers of 16 heads, ten checkpoints, ten components, nine digits of everything."""
    heads = [(layer, head) for layer in range(36) for head in range(16)]
    rng = np.random.default_rng(4)
    warmth, coupling = rng.random(len(heads)), rng.random(len(heads))
    rows = []
    for order, checkpoint in enumerate(synthetic.REFERENCE["checkpoints"]):
        learnt = 1 - math.exp(-(order + 0.5) / 2)
        r_q = np.clip(learnt * (0.55 + 0.45 * warmth) + rng.normal(0, 0.06, len(heads)), 0.001, 0.99)
        r_k = np.clip((1.7 * coupling - 0.6) * learnt + rng.normal(0, 0.08, len(heads)), -0.98, 0.98)
        first = np.clip(0.15 + 0.2 * learnt * warmth + rng.normal(0, 0.04, len(heads)), 0.05, 0.8)
        rows += synthetic.table_rows("SmolLM3-3B", checkpoint, order, heads, r_q, r_k, first, rng, every_nope=4, group=4)
    return with_errors(pandas.DataFrame(rows, columns=synthetic.COLUMNS))


def differences(summary: dict, table: pandas.DataFrame, whole=False) -> list[dict]:
    """Differences between consecutive checkpoints, as analyze writes them; `whole`: between the first and the last."""
    flagged = set(table[table.flag.str.contains("random_weights")].checkpoint)
    labels = [entry["label"] for entry in summary["checkpoints"] if entry["label"] not in flagged]
    pc0 = table[table.pc == 0]
    out = []
    for before, after in [(labels[0], labels[-1])] if whole else zip(labels, labels[1:]):

        def change(leaves):
            value = leaves[after]["value"] - leaves[before]["value"]
            se = math.hypot(leaves[after]["se"], leaves[before]["se"])
            return {"value": value, "se": se, "real": abs(value) > 2.131 * se}

        entry = {"from": before, "to": after, "paired": 1, "few_blocks": False}
        entry |= {key: change(summary[key]) for key in STATISTICS}
        for key in ("mean_r_q", "mean_r_k"):  # of all heads, and of those whose axis stayed
            heads = int((pc0.checkpoint == after).sum())
            entry[key] |= {"heads": heads, "stayed": entry[key] | {"value": entry[key]["value"] + 0.004, "heads": heads - 3, "real": False}}
        if after == labels[-1]:  # the signs of the two differ, so neither is real
            entry["mean_r_q"]["stayed"]["value"] = -entry["mean_r_q"]["value"] / 2
            entry["mean_r_q"]["real"] = entry["mean_r_q"]["stayed"]["real"] = False
            nothing = {"value": None, "se": None, "real": False, "heads": 0}
            entry["mean_r_k"] |= {"real": False, "stayed": nothing}
        entry["axes"] = [{"layer": int(layer), "q_head": int(head)} for layer, head in pc0[pc0.checkpoint == after][["layer", "q_head"]].to_numpy()[:3]]
        entry["taxonomy"] = {name: change({label: summary["taxonomy"][label][name] for label in (before, after)})
                             for name in synthetic.CLASSES}  # fmt: skip
        for column in ("r_q", "r_k"):
            a, b = (pc0[pc0.checkpoint == label].set_index(["layer", "q_head"])[column] for label in (before, after))
            moved = (b - a).dropna()
            moved = moved[moved.abs() > 0.2].sort_values(key=abs, ascending=False)
            entry[f"heads_{column}"] = [{"layer": int(layer), "q_head": int(head), "value": float(value), "se": 0.02}
                                        for (layer, head), value in moved.items()]  # fmt: skip
        out.append(entry)
    return out


def manifest(name: str, table: pandas.DataFrame) -> dict:
    text = f"name: {json.dumps(name)}\ncorpus: {{path: corpus.jsonl, documents: 500}}\n"
    captures = [{"label": label, "phase": rows.phase.iloc[0], "model": name, "context": 4096, "documents": 500, "tokens": 2048000,
                 "dtype": "bfloat16", "device": "cpu", "weights": f"{i:064x}"}
                for i, (label, rows) in enumerate(table.groupby("checkpoint", sort=False))]  # fmt: skip
    return {
        "format": 1, "ropewalk": "0.1.0 (torch 2.13.0, arrow 26.0.1)", "name": name,
        "experiment": {"file": "smollm3.yaml", "sha256": "ab" * 32, "text": text},
        "corpus": {"path": "corpus.jsonl", "documents": 500, "tokens": 2048000, "skipped_short": 12, "tokenizer": "cd" * 32},
        "settings": {"axis": AXES.get(name, "labels"), "blocks": 16, "components": 10, "heads": "all", "heads_seed": 0, "sliding": False,
                     "figures": ASKED if name == "many" else None},
        "checkpoints": captures,
    }  # fmt: skip


def write(folder: Path, table: pandas.DataFrame, name: str | None, summary=True) -> None:
    path = synthetic.write(table, folder, summary=summary)
    if summary:
        read = pandas.read_csv(path, keep_default_na=False, na_values={"r_q": "", "r_k": ""})
        stated = json.loads((folder / "summary.json").read_text())
        stated["differences"] = [] if (read.order == 0).all() else differences(stated, read)
        if len(stated["differences"]) > 1:
            stated["whole_run"] = differences(stated, read, whole=True)[0]
        for entry in stated["checkpoints"]:
            entry["context"] = CONTEXTS.get(entry["label"])
            entry["random"] = bool(read[read.checkpoint == entry["label"]].flag.str.contains("random_weights").any())
        (folder / "summary.json").write_text(json.dumps(stated))
    if name is not None:
        (folder / "manifest.json").write_text(json.dumps(manifest(name, table), indent=1))
    command = [os.environ["ROPEWALK"], "report", folder, "--quiet"]
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)


# Typical sizes of numbers per head that are not shares or correlations.
SIZES = {"bias_strength": 1e-3, "alpha_k": 3e-4, "rank90_q": 40, "logit_const": -20}


def made_up_flags(rope: np.ndarray, rng) -> list[str]:
    """Of heads, with one that no page knows; those without RoPE prefer no distance."""
    count = len(rope)
    names = {"axis_changed": 0.1, "sign_uncertain": 0.07, "near_tie": 0.1, "near_tie_b": 0.2, "of_another_version": 0.03}
    drawn = {name: rng.random(count) < part for name, part in names.items()}
    drawn["no_distance"] = rope == 0
    return [";".join(name for name in drawn if drawn[name][i]) for i in range(count)]


def with_numbers_of_heads(folder: Path, empty: str | None = None) -> None:
    """Writes a heads.csv with made-up numbers for every statistic of the page in the folder, and the page again. `empty`: a column without
    numbers.
    """
    rng = np.random.default_rng(9)
    page = (folder / "report.html").read_text()
    start = page.index('id="data">') + len('id="data">')
    data = json.loads(page[start : page.index("</script>", start)])
    labels, heads = [c["label"] for c in data["table"]["checkpoints"]], data["table"]["heads"]
    count = len(labels) * len(heads["layer"])
    out = {"checkpoint": np.repeat(labels, len(heads["layer"]))} | {k: np.tile(heads[k], len(labels)) for k in ("layer", "q_head")}
    parts = dict(zip(("pc0_offset", "pc0_pos_q", "pc0_pos_k", "pc0_content"), rng.dirichlet([1, 2, 2, 1], count).T))
    for index, statistic in enumerate(one for one in data["statistics"] if one["table"] == "heads"):
        key, low, high = (statistic[k] for k in ("key", "low", "high"))
        size = SIZES.get(key, 0.5)
        values = parts.get(key, np.clip(size * rng.normal(1, 0.4, count), low, high))
        if key not in parts:
            values[index * 7 :: 101] = np.nan
        if key == empty:
            values = np.full(count, np.nan)
        out[key] = values.astype("<f4")
        if statistic["error"]:
            errors = np.where(np.isnan(values), np.nan, abs(size) * rng.gamma(3, 0.01, count)).astype("<f4")
            out[statistic["error"]] = (errors.view("<u4") & 0xFFFF0000).view("<f4")  # what a page keeps of it
    out["flag"] = made_up_flags(np.tile(np.array(heads["rope"], dtype=float), len(labels)), rng)
    table = pandas.DataFrame(out)
    table.to_csv(folder / "heads.csv", index=False)
    stated = json.loads((folder / "summary.json").read_text())
    first, last = (table[table.checkpoint == labels[index]].set_index(["layer", "q_head"]) for index in (1, -1))
    moved = (last.r2cv_q - first.r2cv_q).dropna().sort_values(key=abs, ascending=False)
    stated["top_heads"] = [
        {"layer": int(layer), "q_head": int(head), "q_heads": [int(head)], "score": max(0, abs(change) / 0.2 - 0.1), "statistic": "r2cv_q", "from": labels[1], "to": labels[-1],
         "before": float(first.r2cv_q[layer, head]), "after": float(last.r2cv_q[layer, head]), "change": float(change), "se": 0.02 if index else 0.0002, "effect": change / 0.2,
         "effect_se": 0.1, "changed": abs(change) > 0.1, "axis_changed": index % 4 == 0, "sentence": f"R² of queries moved by {change:.2f} from {labels[1]} to {labels[-1]}."}
        for index, ((layer, head), change) in enumerate(moved.items())]  # fmt: skip
    (folder / "summary.json").write_text(json.dumps(stated))
    subprocess.run([os.environ["ROPEWALK"], "report", folder, "--quiet"], check=True, stdout=subprocess.DEVNULL)


def distance_windows(context: int) -> np.ndarray:
    """Where each begins, ends and is drawn."""
    begins = [0, 1, 2, 3, *(begin for begin in sorted({*(2**i for i in range(2, 20)), *(3 * 2**i for i in range(1, 20))}) if 1.25 * begin < context)]
    ends = [begin + 1 if begin < 4 else min(2 * begin, context) for begin in begins]
    return np.array([(begin, end, begin if end == begin + 1 else 0.6 * begin + 0.4 * end) for begin, end in zip(begins, ends)])


def with_series(folder: Path, pairs: int, contexts: dict[str, int], holes=False) -> None:
    """Writes a bands.csv and a curves.csv with made-up numbers, and the page again. theta changes with the context. `holes`: some are missing."""
    rng = np.random.default_rng(13)
    table = pandas.read_csv(folder / "qk.csv", keep_default_na=False)
    heads = table[table.pc == 0][["checkpoint", "layer", "q_head", "kv_head", "rope"]].reset_index(drop=True)
    heads["order"] = heads.index
    windows = distance_windows(max(contexts.values()))
    lags = windows[:, 0]
    contexts = heads.checkpoint.map(contexts).to_numpy()
    pair = np.arange(pairs)
    theta = np.where(contexts > min(contexts), 1e6, 1e4)[:, None] ** (-pair / pairs) * heads.rope.to_numpy(int)[:, None]
    size = (len(heads), pairs)
    keys = heads.groupby(["checkpoint", "layer", "kv_head"], sort=False).order.transform("first").to_numpy()  # query heads share them
    numbers = {f"{key}_{kind}": made for key, make in dict(
        energy=lambda: np.exp(rng.normal(0, 1.5, size)), rope_var=lambda: rng.beta(1, 2, size) - 0.01, mrl=lambda: rng.beta(2, 1, size)).items()
        for kind, made in (("q", make()), ("k", make()[keys]))}  # fmt: skip
    bands = heads.drop(columns=["kv_head", "rope"]).loc[heads.index.repeat(pairs)].assign(pair=np.tile(pair, len(heads)), theta=theta.ravel())
    for key, values in numbers.items():
        errors = np.abs(values) * rng.gamma(3, 0.01, size)
        bands[key], bands[f"{key}_se"] = values.ravel(), (errors[keys] if key.endswith("k") else errors).ravel()
    curves = []
    for curve in ("dist_pred", "dist_actual"):
        rows = heads.drop(columns=["kv_head", "rope"]).loc[heads.index.repeat(len(lags))].assign(curve=curve, **dict(zip(("x", "x_end", "x_mean"), np.tile(windows, (len(heads), 1)).T)))
        start, slope = rng.normal(0, 3, (2, len(heads)))
        rows["value"] = (start[:, None] + slope[:, None] * np.log1p(lags) / 5 + rng.normal(0, 0.1, (len(heads), len(lags)))).ravel()
        rows["value_se"] = rng.gamma(3, 0.03, len(rows))
        curves.append(rows[rows.x < np.repeat(contexts, len(lags)) - 4])
    curves = pandas.concat(curves).sort_values(["order", "curve"], kind="stable")
    if holes:
        unmeasured = lambda rows: (rows.layer == 5) & (rows.q_head == 5)
        bands, curves = bands[~unmeasured(bands)], curves[~unmeasured(curves) & (curves.checkpoint != "s2000")]
        curves.loc[(curves.x == 3) & (curves.curve == "dist_actual"), ["value", "value_se"]] = np.nan
    for name, rows in dict(bands=bands, curves=curves).items():
        rows.drop(columns="order").to_csv(folder / f"{name}.csv", index=False, float_format="%.6g")
    stated = json.loads((folder / "summary.json").read_text())
    for entry in stated["checkpoints"]:
        entry["context"] = int(contexts[heads.checkpoint == entry["label"]][0])
    (folder / "summary.json").write_text(json.dumps(stated))
    subprocess.run([os.environ["ROPEWALK"], "report", folder, "--quiet"], check=True, stdout=subprocess.DEVNULL)


def hostile() -> pandas.DataFrame:
    """Names that look like markup, heads without numbers, a head that one checkpoint lacks."""
    table = with_time(with_errors(synthetic.demo_like(baseline=False)))
    labels = list(dict.fromkeys(table.checkpoint))
    table = table.replace({"checkpoint": {labels[1]: HOSTILE, labels[2]: 'quote " comma, \u2028 & é'}})
    table["model"] = HOSTILE
    table["phase"] = table.phase.replace("Stage 1", "<b>Stage 1</b>")
    broken = (table.layer == 2) & (table.q_head == 3)
    table.loc[broken, ["r_q", "r_q_se", "r_k", "r_k_se"]] = np.nan
    table.loc[broken, "class"] = ""
    table.loc[broken, "flag"] = "no_position"
    table.loc[(table.layer == 4) & (table.q_head == 1), ["r_q_se", "r_k_se", "explained_variance_se"]] = np.nan
    return table[~((table.layer == 5) & (table.q_head == 5) & (table.order == 9))]


def with_losses(folder: Path) -> None:
    """Writes a loss.csv with made-up numbers, its entries in summary.json, and the page again."""
    rng = np.random.default_rng(17)
    stated = json.loads((folder / "summary.json").read_text())
    stated["loss"], rows = {}, []
    for order, entry in enumerate(stated["checkpoints"]):
        edges = [None, 0, 1, 2, 4, 8, 16] if entry["context"] in (None, 512) else [None, 0, 1, 2, 4, 8, 16, 32]
        for position in edges:
            loss, se = round(6.5 / (order + 1) + rng.uniform(0.5, 1), 6), "" if position == 0 else round(rng.gamma(3, 0.01), 6)
            rows.append({"model": "m", "checkpoint": entry["label"], "phase": "", "order": order, "position": "" if position is None else position,
                         "position_end": "" if position is None else max(1, 2 * position), "loss": loss, "loss_se": se, "documents": 32, "tokens": 320,
                         "flag": "no_se" if se == "" else ""})  # fmt: skip
            if position is None:
                stated["loss"][entry["label"]] = {"value": loss, "se": se, "documents": 32, "tokens": 320}
    for one in [*stated["differences"], *([stated["whole_run"]] if "whole_run" in stated else [])]:
        a, b = (stated["loss"][one[side]] for side in ("from", "to"))
        contexts = {entry["context"] for entry in stated["checkpoints"] if entry["label"] in (one["from"], one["to"])}
        one["loss"] = {"value": b["value"] - a["value"], "se": 0.02, "real": True if len(contexts) == 1 else None}
        one["loss"] |= {"flag": "other_context"} if len(contexts) > 1 else {}
    guarded = pandas.DataFrame(rows)
    guarded["checkpoint"] = guarded.checkpoint.map(lambda label: f"'{label}" if label[0] in "=+-@" else label)  # as the program writes names
    guarded.to_csv(folder / "loss.csv", index=False)
    (folder / "summary.json").write_text(json.dumps(stated))
    subprocess.run([os.environ["ROPEWALK"], "report", folder, "--quiet"], check=True, stdout=subprocess.DEVNULL)


def with_effects(folder: Path) -> None:
    """Writes the tables of edits of heads with made-up numbers, and the page again: for the first head to look at alone, and for a set with the
    first two.
    """
    first, second = ((one["layer"], one["q_head"]) for one in json.loads((folder / "summary.json").read_text())["top_heads"][:2])
    last = list(dict.fromkeys(pandas.read_csv(folder / "qk.csv").checkpoint))[-1]
    name = lambda heads: ",".join(f"{layer}.{head}" for layer, head in heads)
    sets = {name([first]): [first], "top:r2cv_k:10%": [first, second, (9, 3)]}
    rows, members = [], []
    for index, (text, heads) in enumerate(sets.items()):
        for edit in ("distance", "window:128"):
            row = {"model": "many", "checkpoint": last, "set": text, "edit": edit}
            rows.append(row | {"heads": len(heads), "dloss": 0.0123 * (index + 1), "dloss_se": 0.0002 if index else 0.004, "control": -0.001})
            members += [row | {"draw": "", "members": name(heads)}, row | {"draw": 1, "members": name(heads[1:] + [(0, 0)])}]
    pandas.DataFrame(rows).to_csv(folder / "ablate.csv", index=False)
    pandas.DataFrame(members).to_csv(folder / "ablate_controls.csv", index=False)
    subprocess.run([os.environ["ROPEWALK"], "report", folder, "--quiet"], check=True, stdout=subprocess.DEVNULL)


# Words that a table or a page might take for something else.
WORDS = [HOSTILE, "=1+1", 'say "it"', "a,b", "new\nline", "\u202eturned", "&amp;", "1984", " the", ""]


def with_edges(folder: Path, texts: bool) -> None:
    """Writes an edges.csv with made-up edges of two heads, of which the first has more than are shown at first, and the page anew. `texts`: of documents with a tokenizer."""
    rng = np.random.default_rng(19)
    table = pandas.read_csv(folder / "qk.csv", keep_default_na=False)
    rows = []
    for checkpoint in dict.fromkeys(table.checkpoint):
        for head, count in ((0, 9), (1, 2)):
            for p in sorted(rng.random(count), reverse=True):
                key = int(rng.integers(4, 300))
                row = {"model": "m", "checkpoint": checkpoint, "layer": 0, "q_head": head, "document": int(rng.integers(0, 40)), "t": key + int(rng.integers(1, 200)), "key": key}
                row |= {"distance": row["t"] - key, "p": float(f"{p:.6g}"), "query_id": int(rng.integers(0, 5000)), "key_id": int(rng.integers(0, 5000))}
                for name in ("query_before", "query_text", "query_after", "key_before", "key_text", "key_after"):
                    word = str(rng.choice(WORDS)) if texts else ""
                    row[name] = f"'{word}" if word[:1] in ("=", "+", "-", "@") else word  # as the program writes names
                rows.append(row)
    pandas.DataFrame(rows).to_csv(folder / "edges.csv", index=False)
    subprocess.run([os.environ["ROPEWALK"], "report", folder, "--quiet"], check=True, stdout=subprocess.DEVNULL)


# By label, as in summary.json.
CONTEXTS = {"before": 512, "A@512": 512, "B@512": 512, "A@1024": 1024, "B@1024": 1024, "after": 1024}
AWKWARD = {"hasOwnProperty": 512, "constructor": 512, "__proto__": 512, "toString": 512, "valueOf": 2048, "=1+1": 2048}
CONTEXTS |= AWKWARD


def contexts() -> pandas.DataFrame:
    """Two checkpoints at each of two contexts, after one at the shorter and before one at the longer."""
    table = with_errors(synthetic.demo_like(baseline=False))
    labels = list(dict.fromkeys(table.checkpoint))[:6]
    table = table[table.checkpoint.isin(labels)]
    phases = ["Stage 1", *["Stage 2"] * 4, "Stage 3"]
    return table.assign(checkpoint=table.checkpoint.map(dict(zip(labels, CONTEXTS))), phase=table.checkpoint.map(dict(zip(labels, phases))))


def awkward() -> pandas.DataFrame:
    """Names that every JavaScript object has or that look like formulas, two contexts, steps that double, a random baseline, missing errors."""
    table = with_errors(synthetic.demo_like())
    labels = dict(zip(dict.fromkeys(table.checkpoint), AWKWARD))
    table = table[table.checkpoint.isin(labels)]
    table = table.assign(checkpoint=table.checkpoint.map(labels), phase=table.phase.replace({"Stage 1": "constructor", "Stage 2": "toString"}))
    table.insert(4, "step", table.checkpoint.map(dict(zip(list(AWKWARD)[1:], (1, 8, 64, 512, 4096)))).astype("Int64"))
    table.insert(5, "tokens", table.step * 512)
    table.loc[table.layer == 3, "explained_variance_se"] = np.nan
    return table


def models() -> pandas.DataFrame:
    """Three models to be compared: the second has a layer less, and another number of KV heads."""
    table = with_errors(synthetic.demo_like(baseline=False))
    labels = dict(zip(dict.fromkeys(table.checkpoint), ("large", "small", "other")))
    table = table[table.checkpoint.isin(labels)]
    table = table.assign(checkpoint=table.checkpoint.map(labels), order=0, phase="")
    table["model"] = table.checkpoint
    small = table.checkpoint == "small"
    table.loc[small, "kv_head"] = table.q_head[small]
    return table[~(small & (table.layer == table.layer.max()))]


def main() -> None:
    out = Path(sys.argv[1])
    wanted = sys.argv[2:]
    demo = lambda: with_time(with_errors(synthetic.demo_like()))
    one_checkpoint = lambda: (lambda t: t[t.checkpoint == "s10000"])(with_errors(synthetic.demo_like(baseline=False)))
    one_head = lambda: (lambda t: t[(t.layer == 0) & (t.q_head == 0)])(with_errors(synthetic.demo_like(baseline=False)))
    bare = lambda: demo()[["checkpoint", "layer", "q_head", "pc", "r_q", "r_k", "order", "phase", "flag"]]
    runs = {
        "many": (demo, "many", True),
        "large": (smollm3_size, "SmolLM3-3B", True),
        "full": (smollm3_size, "SmolLM3-3B", True),
        "demo": (demo, "demo", True),
        "hostile": (hostile, HOSTILE, True),
        "contexts": (contexts, "contexts", True),
        "models": (models, "models", True),
        "awkward": (awkward, "constructor", True),
        "pythia": (lambda: with_time(with_errors(synthetic.pythia_like())), "pythia", True),
        "one_checkpoint": (one_checkpoint, "one checkpoint", True),
        "one_head": (one_head, "one head", False),
        "bare": (bare, None, False),
    }
    if "shipped" in wanted or not wanted:  # the demo itself, as users have it
        shutil.rmtree(out / "shipped", ignore_errors=True)  # an existing folder would count as finished
        command = [os.environ["ROPEWALK"], "demo", "--out", out / "shipped", "--quiet"]
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    if "edited" in wanted or not wanted:
        edited_run.write(out / "edited")
    for name in [name for name in wanted if name in runs] or [name for name in runs if name != "full" and not wanted]:  # which benchmarks ask for
        make, title, summary = runs[name]
        write(out / name, make(), title, summary)
        if name in ("many", "large", "full", "awkward"):
            with_numbers_of_heads(out / name, empty="logit_pos_share" if name == "awkward" else None)
        if name in ("many", "awkward", "models"):
            with_losses(out / name)
        if name in ("hostile", "many"):
            with_edges(out / name, texts=name == "hostile")
        if name == "awkward":
            with_series(out / name, 16, AWKWARD)
        if name == "many":
            with_effects(out / name)
            lengths = {f"s{1000 * i}": 512 if i < 7 else 2048 for i in range(1, 11)}
            with_series(out / name, 16, lengths | {"init": 512}, holes=True)
        if name == "full":
            labels = [checkpoint["label"] for checkpoint in synthetic.REFERENCE["checkpoints"]]
            with_series(out / name, 64, {label: 4096 if i < 6 else 32768 for i, label in enumerate(labels)})


if __name__ == "__main__":
    main()
