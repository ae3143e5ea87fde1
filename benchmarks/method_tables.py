"""Tables of docs/method.md, docs/forecast.md and docs/demo.md, and the first number of README.md, out of results of benchmarks."""

import math

from markdown_parts import listed, ratio, table


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


def needs(r: dict) -> str:
    first = r["rows"][0]
    return f"""Every head of SmolLM2-135M prefers some distances, whatever the tokens are. Take this preference from the {first['heads']} of its 270 heads where it is strongest, and the loss rises by
{first['dloss']:.2f} ± {first['dloss_se']:.2f} nats per token, from {first['loss']:.2f}. Take it from as many other heads, drawn at random in the same layers, and it rises by {first['control']:.2f} (mean of {first['controls']} draws, SD {first['control_sd']:.2f}): the
model needs it in a tenth of its heads, and far less in the others. [docs/method.md](docs/method.md#does-it-matter) says how this was measured, and what it does not show."""


def forecast(r: dict) -> str:
    contexts = list(r["contexts"].items())
    first = contexts[0][1]["settings"]

    def numbers(name: str) -> list[str]:
        cells = []
        for _, one in contexts:
            row = next(row for row in one["settings"] if row["setting"] == name)
            cells += [f"{row['score']:.3f} ± {row['score_se']:.3f}", f"{row['loss']:.3f} ± {row['loss_se']:.3f}"]
        return cells

    def ranks(one: dict, positions: str, by: str) -> str:
        check = next(row for row in one["checks"] if row["positions"] == positions and row["ranked_by"] == by)
        return f"{check['rho']:.2f} ({check['rho_low']:.2f} – {check['rho_high']:.2f})"

    ordered = sorted(first, key=lambda row: row["score"])
    header = ["setting", *(part for context, _ in contexts for part in (f"score, {int(context):,} tokens", "loss"))]
    where = {"all": "all positions", "trained": "known positions", "beyond": "positions beyond training"}
    by = {"score": "score", "disturbance": "disturbance", "sum": "disturbance + excursion"}
    lines = [[f"{words}, by {by[ranked]}", *(ranks(one, positions, ranked) for _, one in contexts)] for positions, words in where.items() for ranked in by]
    choices = []
    for context, one in contexts:
        check = next(row for row in one["checks"] if row["positions"] == "beyond" and row["ranked_by"] == "score")
        excess = 100 * check["excess"] / check["best_loss"]
        choices.append(f"`{check['first']}` at {int(context):,} tokens, {excess:.1f} % above the best's loss (`{check['best']}`, {check['best_loss']:.2f} nats)")
    documents = contexts[0][1]["documents"]
    return f"""{table(header, [[f"`{row['setting']}`", *numbers(row["setting"])] for row in ordered])}

| rank correlation with the loss | {" | ".join(f"{int(context):,} tokens" for context, _ in contexts)} |
|---|{"---|" * len(contexts)}
{chr(10).join("| " + " | ".join(line) + " |" for line in lines)}

At positions beyond training the score ranks first {listed(choices)}.

Checkpoint {r['checkpoint']} of the demo, trained at {r['trained']} tokens, of whose layers every fourth has no RoPE; nats per token over all positions of {documents} tales that the capture did not read, ± one standard error; in brackets 95 % of resamples of the tales. At four times its length no setting saves
this model: guessing costs ln 768 = 6.64 nats. The form of the score was chosen on checkpoints of this demo ([decisions.md](decisions.md)). (`benchmarks/forecast.py`, {r['date']})"""


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
            # Results of 0.2.0 and earlier have none.
            *([["how far the means alone look, octaves (`dist_reach`)", *mean("dist_reach")]] if "dist_reach" in trained["means"] else []),
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
