# Task `figures` of the companion: renders Vega-Lite specifications with vl-convert.
#
# Request: {"figures": {name: spec}, "formats": ["png", "svg", "pdf"], "vega_lite": "6"}. Answer: an array per file,
# named FIGURE.FORMAT.
import concurrent.futures
import struct
import sys
import zlib

try:
    import vl_convert
except ImportError as error:
    raise Refused(f"{sys.executable}: {error}", "missing") from None


def newest(major):
    versions = [tuple(map(int, v.lstrip("v").split("."))) for v in vl_convert.get_vegalite_versions()]
    fitting = [version for version in versions if str(version[0]) == major]
    if not fitting:
        raise Refused(f"vl-convert {vl_convert.__version__} has no Vega-Lite {major}; it has {versions}")
    return ".".join(map(str, max(fitting)))


def compressed(png):
    """The same picture in about a third of the bytes, because vl-convert compresses fast rather than well."""
    chunks, index = [], 8
    while index < len(png):
        (size,) = struct.unpack(">I", png[index : index + 4])
        chunks.append((png[index + 4 : index + 8], png[index + 8 : index + 8 + size]))
        index += size + 12
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


def answer(words, _):
    version = newest(words["vega_lite"])
    made, files = [], {}
    with concurrent.futures.ThreadPoolExecutor() as threads:
        for name, spec in words["figures"].items():
            try:
                svg = vl_convert.vegalite_to_svg(spec, vl_version=version, allowed_base_urls=[])
            except Exception as error:
                raise Refused(f"{name}: {error}") from None
            made += [(name, form, threads.submit(CONVERT[form], svg)) for form in words["formats"]]
    for name, form, data in made:
        try:
            files[f"{name}.{form}"] = ("u1", data.result())
        except Exception as error:
            raise Refused(f"{name}.{form}: {error}") from None
    return {}, files
