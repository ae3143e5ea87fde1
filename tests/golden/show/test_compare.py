"""`ropewalk compare` with published numbers."""

import json

import numpy as np
import pandas
import pytest

import engine
import synthetic_run as synthetic

PUBLISHED = synthetic.REFERENCE


def test_compare(tmp_path):
    path = synthetic.write(synthetic.smollm3_like(), tmp_path)
    reference = tmp_path / "reference.json"
    shorter = {key: dict(value) if isinstance(value, dict) else value for key, value in PUBLISHED.items()}
    shorter["mean_r_q"]["elsewhere"] = 0.5
    reference.write_text(json.dumps(shorter))
    result = engine.run("compare", path, "--reference", reference)
    assert result.code == 0, result.stderr
    text = result.stdout
    pc0 = pandas.read_csv(path)
    pc0 = pc0[pc0.pc == 0]
    summary = json.loads((tmp_path / "summary.json").read_text())
    section = text.split("mean_r_q\n")[1].split("\n\n")[0].splitlines()[1:]
    assert len(section) == 4 + 2
    for line in section[:4]:
        label, value, se, published, difference, in_se = line.split()
        mean = pc0[pc0.checkpoint == label].r_q.mean()
        error = summary["mean_r_q"][label]["se"]
        assert float(value) == pytest.approx(mean, abs=5.1e-4) and float(se) == pytest.approx(error, abs=5.1e-4)
        assert float(published) == PUBLISHED["mean_r_q"][label]
        assert float(difference) == pytest.approx(mean - PUBLISHED["mean_r_q"][label], abs=5.1e-4)
        assert float(in_se) == pytest.approx((mean - PUBLISHED["mean_r_q"][label]) / error, abs=0.051)
    assert "  only in the reference: elsewhere\n" in text
    assert "  only in the run: S1-2.4M, S1-3.4M, S2-4.2M, LC1-4K, LC1-20K, LC2-4K\n" in text
    assert "-0.00 " not in text
    assert text.count("over 100 cells") == 2
    assert "position-dominated" in text and "depth_r_k" in text
    # Another run's summary can be a reference: compared with its own, nothing differs.
    own = engine.run("compare", path, "--reference", tmp_path / "summary.json").stdout
    assert own.count("largest 0.000") == 3 and "only in" not in own


def test_compare_with_the_published_drift_plane(tmp_path):
    path = synthetic.write(synthetic.smollm3_like(), tmp_path)
    published = PUBLISHED["mean_abs_alpha_k"]
    heads = pandas.read_csv(path).query("pc == 0")[["checkpoint", "layer", "q_head"]]
    drawn_numbers = np.random.default_rng(4).normal(0, 0.002, len(heads))
    heads = heads.assign(alpha_k=drawn_numbers, bias_strength=drawn_numbers**2, r_k_a=np.tanh(900 * drawn_numbers))
    heads.to_csv(tmp_path / "heads.csv", index=False)
    reference = synthetic.REFERENCE_PATH
    text = engine.run("compare", path, "--reference", reference).stdout
    lines = text.split("mean_abs_alpha_k\n")[1].split("\n\n")[0].splitlines()[1:]
    assert len(lines) == len(published) == 10
    for line in lines:
        label, value, _, stated, difference, _ = line.split()
        mean = heads[heads.checkpoint == label].alpha_k.abs().mean()
        assert float(value) == pytest.approx(mean, abs=5.1e-6) and float(stated) == pytest.approx(published[label], abs=5.1e-6)
        assert float(difference) == pytest.approx(mean - published[label], abs=5.1e-6)
    table = text.split("other models, at a context of 131072 tokens\n")[1].splitlines()
    assert sorted(table[0].split()) == sorted(["context", *PUBLISHED["other_models"]["models"]["qwen3-8b"]])
    shown = dict(zip(table[0].split(), next(line for line in table if line.startswith("  qwen3-8b")).split()[1:]))
    assert {key: float(value) for key, value in shown.items()} == {"context": 131072, **PUBLISHED["other_models"]["models"]["qwen3-8b"]}
    own = dict(zip(table[0].split(), next(line for line in table if line.startswith("  LC2-20K")).split()[1:]))
    assert float(own["mean_abs_r_k_a"]) == pytest.approx(heads[heads.checkpoint == "LC2-20K"].r_k_a.abs().mean(), abs=5.1e-4)
    assert own["mean_plane_var_fraction"] == "–", "the table does not have this column"
    # Without heads.csv, nothing can be compared with these.
    (tmp_path / "heads.csv").unlink()
    text = engine.run("compare", path, "--reference", reference).stdout
    assert "mean_r_q\n" in text and "mean_abs_alpha_k\n" not in text and "other models" not in text
    said = next(line for line in text.splitlines() if line.startswith("not compared: "))
    assert "mean_abs_alpha_k" in said and f"{tmp_path / 'heads.csv'} is missing" in said
