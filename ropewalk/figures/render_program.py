# Renders Vega-Lite specifications; ropewalk carries this text and runs it with `python -c`.
#
# Standard input: {"figures": {name: spec}, "formats": ["png", "svg", "pdf"], "vega_lite": "6"}.
# Standard output: for each file a line {"figure": name, "format": format, "bytes": n} and n bytes.
# Exit code 3: vl-convert is not installed.
import sys

sys.path = [folder for folder in sys.path if folder]  # never import from the working folder
import concurrent.futures
import json
import struct
import zlib

try:
    import vl_convert
except ImportError as error:
    sys.stderr.write(f"{sys.executable}: {error}\n")
    sys.exit(3)


def newest(major):
    versions = [tuple(map(int, v.lstrip("v").split("."))) for v in vl_convert.get_vegalite_versions()]
    fitting = [version for version in versions if str(version[0]) == major]
    if not fitting:
        sys.exit(f"vl-convert {vl_convert.__version__} has no Vega-Lite {major}; it has {versions}")
    return ".".join(map(str, max(fitting)))


def compressed(png):
    """The same picture in about a third of the bytes: vl-convert compresses in haste."""
    chunks, place = [], 8
    while place < len(png):
        (size,) = struct.unpack(">I", png[place : place + 4])
        chunks.append((png[place + 4 : place + 8], png[place + 8 : place + 8 + size]))
        place += size + 12
    pixels = zlib.decompress(b"".join(data for kind, data in chunks if kind == b"IDAT"))
    written = png[:8]
    for kind, data in [*(c for c in chunks if c[0] not in (b"IDAT", b"IEND")), (b"IDAT", zlib.compress(pixels, 6)), (b"IEND", b"")]:
        written += struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
    return written


# Every format comes from one conversion to SVG, which takes longer than all the rest.
CONVERT = {
    "svg": lambda svg: svg.encode(),
    "png": lambda svg: compressed(vl_convert.svg_to_png(svg, scale=2, ppi=72)),
    "pdf": lambda svg: vl_convert.svg_to_pdf(svg),
}

job = json.loads(sys.stdin.buffer.read())
version = newest(job["vega_lite"])
files = []
with concurrent.futures.ThreadPoolExecutor() as threads:
    for name, spec in job["figures"].items():
        try:
            svg = vl_convert.vegalite_to_svg(spec, vl_version=version, allowed_base_urls=[])
        except Exception as error:
            sys.exit(f"{name}: {error}")
        files += [(name, form, threads.submit(CONVERT[form], svg)) for form in job["formats"]]
for name, form, made in files:
    try:
        data = made.result()
    except Exception as error:
        sys.exit(f"{name}.{form}: {error}")
    header = json.dumps({"figure": name, "format": form, "bytes": len(data)})
    sys.stdout.buffer.write(header.encode() + b"\n" + data)
sys.stdout.buffer.flush()
