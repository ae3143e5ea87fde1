"""pytorch_model.bin gives the same numbers as safetensors; pickles that ask for anything else run nothing."""

import collections
import json
import os
import pickle
import re
import zipfile

import engine
import pytest
import tiny_models
import torch
from safetensors.torch import load_file
from tiny_models import CONTEXT, MODELS

INPUT = 3


@pytest.fixture(scope="module")
def setup(tmp_path_factory):
    root = tmp_path_factory.mktemp("bin")
    tiny_models.write_corpus(root / "tokens.jsonl", tiny_models.documents())
    return root


def weights_of(folder):
    return {name: tensor for file in sorted(folder.glob("*.safetensors")) for name, tensor in load_file(file).items()}


def write_bin(folder, twin, shards=1, change=None):
    """The same checkpoint, written by torch.save, in a folder with the same name, which tables show."""
    twin = twin / folder.name
    twin.mkdir(parents=True)
    (twin / "config.json").write_text((folder / "config.json").read_text())
    tensors = {name: change(tensor) if change else tensor for name, tensor in weights_of(folder).items()}
    if shards == 1:
        torch.save(tensors, twin / "pytorch_model.bin")
        return twin
    names = list(tensors)
    weight_map = {name: f"pytorch_model-{i % shards + 1:05}-of-{shards:05}.bin" for i, name in enumerate(names)}
    for file in set(weight_map.values()):
        torch.save(collections.OrderedDict((n, tensors[n]) for n in names if weight_map[n] == file), twin / file)
    (twin / "pytorch_model.bin.index.json").write_text(json.dumps(dict(metadata={}, weight_map=weight_map)))
    return twin


def table(setup, folder, out):
    result = engine.run("capture", folder, "--corpus", setup / "tokens.jsonl", "--context", CONTEXT, "--min-tokens", 1,
                        "--device", "cpu", "--sliding", "--label", "same", "--quiet", "--out", out)  # fmt: skip
    assert result.code == 0, result.stderr
    result = engine.run("analyze", out, "--out", out / "tables", "--quiet")
    assert result.code == 0, result.stderr
    return (out / "tables" / "qk.csv").read_bytes()


def turned(tensor):
    """The same numbers, stored column by column."""
    return tensor.t().contiguous().t() if tensor.ndim == 2 else tensor


def inside(tensor):
    """The same numbers, as a view of a larger tensor."""
    return torch.cat([tensor.flatten(), torch.ones(7, dtype=tensor.dtype)]).as_strided(tensor.shape, tensor.stride())


# float32, bfloat16, float16, columns, experts by themselves and in stacks
@pytest.mark.parametrize("name", ["llama_gqa", "llama_linear_mqa", "gpt_neox_parallel", "gpt2", "mixtral", "gpt_oss"])
def test_the_same_bytes_from_every_container(setup, tmp_path, name):
    folder = tiny_models.write(MODELS[name], tmp_path / "model")
    expected = table(setup, folder, tmp_path / "expected")
    for kind, options in dict(single={}, sharded=dict(shards=3), columns=dict(change=turned), views=dict(change=inside)).items():
        twin = write_bin(folder, tmp_path / kind, **options)
        assert table(setup, twin, tmp_path / f"{kind}-out") == expected, kind


def test_state_dicts_and_shared_tensors(setup, tmp_path):
    """In the form in which training loops save them: parameters, tied weights, the versions of modules."""
    model = MODELS["llama_llama3_mha"]  # tied
    folder = tiny_models.write(model, tmp_path / "model")
    network = getattr(tiny_models.quiet_transformers(), model.architecture).from_pretrained(folder)
    twin = write_bin(folder, tmp_path / "twin")
    torch.save(network.state_dict(), twin / "pytorch_model.bin")
    expected = table(setup, folder, tmp_path / "expected")
    assert table(setup, twin, tmp_path / "state") == expected
    torch.save(dict(network.named_parameters()), twin / "pytorch_model.bin")
    assert table(setup, twin, tmp_path / "parameters") == expected


class Evil:
    def __init__(self, function, *arguments):
        self.call = function, arguments

    def __reduce__(self):
        return self.call


def refused(folder):
    result = engine.run("inspect", folder)
    assert result.code == INPUT, result.stderr
    assert result.stderr.count("\n") == 1 and "Traceback" not in result.stderr
    return result.stderr


@pytest.fixture()
def twin(tmp_path):
    folder = tiny_models.write(MODELS["llama_gqa"], tmp_path / "model")
    return write_bin(folder, tmp_path / "twin")


@pytest.mark.parametrize("function", [os.system, eval, exec, __import__, getattr, torch.load])
def test_hostile_pickles_run_nothing(twin, tmp_path, function):
    note = tmp_path / "ran"
    arguments = [f"touch {note}"] if function is os.system else [f"open({str(note)!r}, 'w')"]
    for content in (Evil(function, *arguments), {"w": Evil(function, *arguments)}, [Evil(function, *arguments)]):
        torch.save(content, twin / "pytorch_model.bin")
        assert "refused" in refused(twin)
        assert not note.exists()


def test_older_formats_say_what_to_do(twin):
    weights = torch.load(twin / "pytorch_model.bin")
    torch.save(weights, twin / "pytorch_model.bin", _use_new_zipfile_serialization=False)
    assert "if torch before version 1.6 wrote it" in refused(twin)
    (twin / "pytorch_model.bin").write_bytes(pickle.dumps(weights))
    assert "is not a zip archive" in refused(twin)


def test_compressed_archives(twin):
    file = twin / "pytorch_model.bin"
    with zipfile.ZipFile(file) as archive:
        content = {name: archive.read(name) for name in archive.namelist()}
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in content.items():
            archive.writestr(name, data)
    assert "is compressed" in refused(twin)


def test_expanded_tensors_ask_for_no_memory(twin):
    torch.save({"model.embed_tokens.weight": torch.ones(1).expand(1 << 40)}, twin / "pytorch_model.bin")
    assert "but its storage has 1" in refused(twin)


def test_cut_off(twin):
    file = twin / "pytorch_model.bin"
    content = file.read_bytes()
    for size in (0, 3, 100, len(content) // 2, len(content) - 1):
        file.write_bytes(content[:size])
        refused(twin)


def capture(setup, folder, out):
    return engine.run("capture", folder, "--corpus", setup / "tokens.jsonl", "--context", CONTEXT, "--min-tokens", 1, "--quiet", "--out", out)


def damage(file, name):
    """One bit of a member's last byte."""
    with zipfile.ZipFile(file) as archive:
        member = next(member for member in archive.infolist() if member.filename.endswith(name))
    content = bytearray(file.read_bytes())
    length = int.from_bytes(content[member.header_offset + 26 : member.header_offset + 28], "little")
    extra = int.from_bytes(content[member.header_offset + 28 : member.header_offset + 30], "little")
    content[member.header_offset + 30 + length + extra + member.file_size - 1] ^= 1
    file.write_bytes(content)


def test_bytes_that_are_not_those_that_were_written(setup, twin, tmp_path):
    file = twin / "pytorch_model.bin"
    whole = file.read_bytes()
    names = list(torch.load(file))
    for name in ("model.embed_tokens.weight", "model.layers.0.self_attn.k_proj.weight"):
        damage(file, f"/data/{names.index(name)}")
        damaged = capture(setup, twin, tmp_path / "out")
        assert damaged.code == INPUT and damaged.stderr.count("\n") == 1, damaged.stderr
        assert re.search(rf"pytorch_model.bin: tensor '{name}' is damaged: its bytes have the CRC-32 [0-9a-f]{{8}}, expected [0-9a-f]{{8}}; download", damaged.stderr)
        assert not (tmp_path / "out").exists()
        file.write_bytes(whole)
    damage(file, "/data.pkl")
    assert "pytorch_model/data.pkl is damaged: its bytes have the CRC-32" in refused(twin)
    file.write_bytes(whole)
    assert capture(setup, twin, tmp_path / "out").code == 0


def test_an_archive_without_sums(setup, twin, tmp_path):
    """Written by torch with an option."""
    file = twin / "pytorch_model.bin"
    torch.serialization.set_crc32_options(False)
    try:
        torch.save(torch.load(file), file)
    finally:
        torch.serialization.set_crc32_options(True)
    assert capture(setup, twin, tmp_path / "out").code == 0


def test_a_missing_shard(setup, tmp_path):
    folder = tiny_models.write(MODELS["llama_gqa"], tmp_path / "model")
    twin = write_bin(folder, tmp_path / "twin", shards=2)
    (twin / "pytorch_model-00002-of-00002.bin").unlink()
    assert "shard pytorch_model-00002-of-00002.bin is missing" in refused(twin)
