"""Draws docs/images/performance-*.svg from results/*.json. Usage: plot.py"""

import hashlib
import json
from pathlib import Path

import performance_tables
import tables

IMAGES = tables.ROOT / "docs" / "images"
OURS, OTHERS, FLOOR, INK, GRID = "#c2410c", "#64748b", "#cbd5e1", "#1e293b", "#e2e8f0"
# A white page of its own, so that it reads on dark ones too.
CONFIG = {
    "background": "white", "padding": 14, "font": "Helvetica, Arial, sans-serif", "view": {"stroke": None}, "concat": {"spacing": 36},
    "axis": {"gridColor": GRID, "domainColor": OTHERS, "tickColor": OTHERS, "labelColor": INK, "titleColor": INK, "labelFontSize": 12,
             "titleFontSize": 12, "titleFontWeight": "normal", "titlePadding": 8},
    "title": {"color": INK, "fontSize": 13, "anchor": "start", "offset": 12},
}  # fmt: skip


def page(title: str, body: dict) -> dict:
    return {"$schema": "https://vega.github.io/schema/vega-lite/v6.json", "title": title, "config": CONFIG, **body}


def cpu(r: dict) -> dict:
    """A bar a way to do it, with its range."""
    rows = [{"way": name, "seconds": r["median"][key], "from": r["spread"][key][0], "to": r["spread"][key][1],
             "kind": "ours" if key.startswith("ropewalk") else "floor" if key == "floor" else "others",
             "label": f"{r['median'][key]:.1f}"} for key, name in performance_tables.WAYS if r["median"].get(key)]  # fmt: skip
    y = {"field": "way", "type": "nominal", "sort": None, "axis": {"title": None, "ticks": False, "domain": False, "labelLimit": 300, "labelPadding": 8}}
    color = {"field": "kind", "type": "nominal", "legend": None, "scale": {"domain": ["ours", "floor", "others"], "range": [OURS, FLOOR, OTHERS]}}
    x = {"field": "seconds", "type": "quantitative", "axis": {"title": "seconds, and from the fastest to the slowest", "tickCount": 6}}
    return page(f"One document of {r['tokens']:,} tokens, SmolLM2-135M, {r['threads']} threads", {
        "width": 420, "height": {"step": 30}, "data": {"values": rows},
        "layer": [
            {"mark": {"type": "bar", "height": 18}, "encoding": {"y": y, "x": x, "color": color}},
            {"mark": {"type": "rule", "color": INK, "strokeWidth": 1.5},
             "encoding": {"y": y, "x": {"field": "from", "type": "quantitative"}, "x2": {"field": "to"}}},
            {"mark": {"type": "text", "align": "left", "dx": 8, "fontSize": 12, "color": INK},
             "encoding": {"y": y, "x": {"field": "to", "type": "quantitative"}, "text": {"field": "label"}}},
        ]})  # fmt: skip


def line(rows: list[dict], axis: str, name: str, field: str, unit: str, doubling: bool, width=250) -> dict:
    """A line with points over a range; the scale of costs starts at zero, so that flat looks flat."""
    values = [row[axis] for row in rows]
    data = [{"x": row[axis], "y": row["peak_memory_bytes"] / 1e6 if field == "memory" else row["milliseconds_a_token"],
             "from": row["spread"][0], "to": row["spread"][1]} for row in rows]  # fmt: skip
    scale = {"type": "log", "base": 2} if doubling else {"zero": True}
    x = {"field": "x", "type": "quantitative", "scale": scale,
         "axis": {"title": name, "grid": False, "values": values, "format": ",d", "labelOverlap": "greedy", "labelFlush": False}}  # fmt: skip
    y = {"type": "quantitative", "scale": {"zero": True, "nice": True}, "axis": {"title": unit, "tickCount": 5}}
    marks = [{"mark": {"type": "line", "color": OURS, "strokeWidth": 2, "point": {"color": OURS, "size": 45}}, "encoding": {"x": x, "y": {"field": "y", **y}}}]
    if field != "memory":
        marks.insert(0, {"mark": {"type": "rule", "color": OTHERS, "strokeWidth": 1.5},
                         "encoding": {"x": x, "y": {"field": "from", **y}, "y2": {"field": "to"}}})  # fmt: skip
    return {"width": width, "height": 170, "data": {"values": data}, "layer": marks}


def documents(r: dict) -> dict:
    return page(f"Against the number of documents, {r['document_tokens']} tokens each", {"hconcat": [
        line(r["documents"], "documents", "documents", "cost", "milliseconds a token", True),
        line(r["documents"], "documents", "documents", "memory", "peak memory, MB", True),
    ]})  # fmt: skip


def scaling(r: dict) -> dict:
    doubling = {"tokens": True, "layers": False, "heads": False, "threads": True}
    panels = [line(r[axis], axis, name, "cost", "milliseconds a token", doubling[axis], 200) for axis, name in performance_tables.AXES.items()]
    panels.insert(1, line(r["tokens"], "tokens", performance_tables.AXES["tokens"], "memory", "peak memory, MB", True, 200))
    return page("Cost a token, and memory, as one thing grows", {"concat": panels, "columns": 3})


# Name of the image: (its results, what draws it)
PLOTS = {"cpu": ("cpu", cpu), "documents": ("scaling", documents), "scaling": ("scaling", scaling)}


def mark(path: Path) -> str:
    """Says which results an image shows; a test compares."""
    return f"<!-- {path.name} {hashlib.sha256(path.read_bytes()).hexdigest()[:16]} -->"


def main(results=tables.RESULTS, images=IMAGES):
    import vl_convert

    for name, (source, draw) in PLOTS.items():
        path = results / f"{source}.json"
        if path.exists():
            svg = vl_convert.vegalite_to_svg(draw(json.loads(path.read_text())), allowed_base_urls=[])
            (images / f"performance-{name}.svg").write_text(f"{svg.strip()}\n{mark(path)}\n")


if __name__ == "__main__":
    main()
