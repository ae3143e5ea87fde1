"""Changed configs and weights are measured again where results would differ, and nowhere else."""

import json
import mmap
import os
import shutil
import tempfile
import time

import pytest

import engine
import tiny_models
from trust_checks import check_against_fresh
from trust_study import LENGTH, YARN, Study, good, inodes, numbers, pristine, study, tables, write_model  # noqa: F401 (fixtures)

CONFIG_EDITS = [
    dict(rms_norm_eps=1e-2), dict(hidden_act="gelu"), dict(initializer_range=0.3), dict(max_position_embeddings=256),
    dict(rope_parameters__beta_fast=4.0), dict(rope_parameters__beta_slow=0.5), dict(rope_parameters__attention_factor=1.3),
    dict(rope_parameters__attention_factor=None), dict(rope_parameters__truncate=False), dict(rope_parameters__factor=2.0),
    dict(rope_parameters__rope_theta=5000.0), dict(rope_parameters__original_max_position_embeddings=8),
    dict(rope_parameters__rope_type="linear"), dict(rope_parameters__rope_type="default"),
    dict(rope_parameters__mscale=1.0, rope_parameters__mscale_all_dim=0.5, rope_parameters__attention_factor=None),
    dict(rope_parameters={**YARN, "rope_type": "llama3", "low_freq_factor": 1.0, "high_freq_factor": 4.0}),
    dict(bos_token_id=5), dict(torch_dtype="bfloat16"), dict(transformers_version="0"), dict(num_attention_heads=2, head_dim=24),
]  # fmt: skip


@pytest.mark.parametrize("edit", CONFIG_EDITS, ids=lambda edit: ",".join(edit))
def test_an_edit_of_the_config(study, tmp_path, edit):
    try:
        study.edit_config(**edit)
        fits = engine.run("inspect", study.root / "A", "--context", LENGTH).code == 0
    except KeyError:
        fits = False
    if not fits:
        assert study.run(study.root / "out").code == 3
        return
    check_against_fresh(study, tmp_path, exactly=not any("rope_parameters" in key for key in edit))


FAMILY_EDITS = [
    ("gemma3_text", dict(query_pre_attn_scalar=7)),
    ("gpt_neox", dict(use_parallel_residual=False)),
    ("ministral3", dict(rope_parameters__llama_4_scaling_beta=0.9)),
    ("granite", dict(residual_multiplier=0.3)),
    ("gemma2", dict(attn_logit_softcapping=0.5)),
    ("olmo", dict(clip_qkv=0.01)),
    ("mixtral", dict(num_experts_per_tok=1)),
    ("smollm3", dict(no_rope_layers=[0, 1, 1, 1, 0])),
]


@pytest.mark.parametrize("family, edit", FAMILY_EDITS, ids=[family for family, _ in FAMILY_EDITS])
def test_an_edit_that_only_one_family_knows(tmp_path, family, edit):
    study = Study(tmp_path / "study")
    shutil.rmtree(study.root / "A")
    base = next(name for name, model in tiny_models.MODELS.items() if model.model_type == family)
    write_model(study.root / "A", 0, base, num_hidden_layers=tiny_models.MODELS[base].config["num_hidden_layers"])
    study.write(sliding=True)
    good(study.run(study.root / "out"))
    study.edit_config(**edit)
    before = numbers(study.root / "out")
    check_against_fresh(study, tmp_path)
    assert numbers(study.root / "out") != before


def test_a_byte_in_the_middle_of_every_tensor(study, tmp_path):
    path = study.root / "A" / "model.safetensors"
    whole = path.read_bytes()
    header = int.from_bytes(whole[:8], "little")
    indexes = json.loads(whole[8 : 8 + header])
    out = study.root / "out"
    changed = {}
    for name, tensor in indexes.items():
        if name == "__metadata__":
            continue
        begin, end = tensor["data_offsets"]
        middle = 8 + header + (begin + end) // 2 // 4 * 4 + 2
        with open(path, "r+b") as file:  # in place: same size, same inode; on top of the changes before
            file.seek(middle)
            file.write(bytes([whole[middle] ^ 0x20]))
        old = inodes(out)
        result = good(study.run(out))
        changed[name] = old["A"] != inodes(out)["A"]
        assert old["init"] == inodes(out)["init"]
        assert changed[name] == ("A: measured again: the weights changed" in result.stderr)
    # Everything on which the measured heads depend, and nothing else: what follows the last queries and keys is never used.
    unused = {name for name in indexes if "layers.1." in name and any(x in name for x in ("v_proj", "o_proj", "mlp", "post_att"))}
    unused |= {"model.norm.weight", "lm_head.weight"} & indexes.keys()
    assert {name for name, hit in changed.items() if not hit} == unused
    good(study.run(out))
    good(study.run(tmp_path / "fresh"))
    assert tables(out) == tables(tmp_path / "fresh")


def test_hashes_are_remembered_until_the_file_is_written_to(study, tmp_path):
    """Old enough to be remembered; then a byte is changed and the modification time set back, which leaves the change time."""
    path = study.root / "A" / "model.safetensors"
    environment = {"ROPEWALK_CACHE": str(tmp_path / "cache")}
    time.sleep(max(0, path.stat().st_ctime + 3.1 - time.time()))
    good(study.run(study.root / "out", environment=environment))
    remembered = list((tmp_path / "cache" / "weights").glob("*.json"))
    assert len(remembered) == 1 and "tensors" in json.loads(remembered[0].read_text())
    status = path.stat()
    with open(path, "r+b") as file:
        file.seek(status.st_size // 2)
        byte = file.read(1)[0]
        file.seek(status.st_size // 2)
        file.write(bytes([byte ^ 0x20]))
    os.utime(path, ns=(status.st_atime_ns, status.st_mtime_ns))
    result = good(study.run(study.root / "out", environment=environment))
    assert "A: measured again: the weights changed" in result.stderr
    remembered[0].write_text("{")
    good(study.run(study.root / "out", environment=environment))


def test_weights_in_memory_are_read_each_time(study, tmp_path):
    """On tmpfs, writing through a mapping changes none of a file's times."""
    path = study.root / "A" / "model.safetensors"
    environment = {"ROPEWALK_CACHE": str(tmp_path / "cache")}
    with tempfile.TemporaryDirectory(dir="/dev/shm") as folder:
        kept = shutil.copy(path, folder)
        path.unlink()
        path.symlink_to(kept)
        time.sleep(3.1)
        good(study.run(study.root / "out", environment=environment))
        with open(kept, "r+b") as file, mmap.mmap(file.fileno(), 0) as mapped:
            mapped[len(mapped) // 2] ^= 0x20
        result = good(study.run(study.root / "out", environment=environment))
    assert "A: measured again: the weights changed" in result.stderr
    assert not (tmp_path / "cache" / "weights").exists()
