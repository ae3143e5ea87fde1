# Renders Vega-Lite specifications; ropewalk carries this text and runs it with `python -c`.
#
# Standard input: {"figures": {name: spec}, "formats": ["png", "svg", "pdf"], "vega_lite": "6"}.
# Standard output: for each file a line {"figure": name, "format": format, "bytes": n} and n bytes.
# Exit code 3: vl-convert is not installed.
import sys

sys.path = [folder for folder in sys.path if folder]  # never import from the working folder
import json

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


# Every format comes from one conversion, which takes longer than all the rest.
CONVERT = {
    "svg": lambda svg: svg.encode(),
    "png": lambda svg: vl_convert.svg_to_png(svg, scale=2, ppi=72),
    "pdf": lambda svg: vl_convert.svg_to_pdf(svg),
}

job = json.loads(sys.stdin.buffer.read())
version = newest(job["vega_lite"])
for name, spec in job["figures"].items():
    try:
        svg = vl_convert.vegalite_to_svg(spec, vl_version=version, allowed_base_urls=[])
        files = {form: CONVERT[form](svg) for form in job["formats"]}
    except Exception as error:
        sys.exit(f"{name}: {error}")
    for form, data in files.items():
        header = json.dumps({"figure": name, "format": form, "bytes": len(data)})
        sys.stdout.buffer.write(header.encode() + b"\n" + data)
sys.stdout.buffer.flush()
