"""What tables and sentences of documents are made of."""

from machine import ROUNDS


def table(header: list[str], rows: list[list]) -> str:
    lines = [f"| {' | '.join(map(str, row))} |" for row in (header, *rows)]
    return "\n".join([lines[0], "|" + "---|" * len(header), *lines[1:]])


def temporary(result: dict) -> str:
    """The machine a result is from."""
    gpu, cpu = result.get("gpu"), result["machine"]
    where = gpu["name"] if gpu else f"{cpu['cores']} cores ({cpu['cpu']})"
    return f"{where}, torch {result['versions']['torch']}, transformers {result['versions']['transformers']}, {result['date']}"


def image(name: str, text: str) -> str:
    return f"![{text}](images/performance-{name}.svg)"


def listed(values) -> str:
    *first, last = values
    return f"{', '.join(first)} and {last}" if first else last


def ratio(found: dict, decimals=2) -> str:
    """With its interval; of too few rounds there is none."""
    if found["rounds"] < ROUNDS:
        raise SystemExit(f"{found['rounds']} rounds; expected {ROUNDS} at least")
    return f"{found['median']:.{decimals}f} ({found['low']:.{decimals}f} – {found['high']:.{decimals}f})"
