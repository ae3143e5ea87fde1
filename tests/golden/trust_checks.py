"""A study whose inputs were changed, compared with a study that never ran before."""

import tiny_models
from trust_study import good, inodes, numbers, pristine, study, tables  # noqa: F401 (fixtures)


def write_tokenizer(folder, **words):
    """One token per letter; `words`: names for some of the vocabulary's entries."""
    from tokenizers import Tokenizer, models, pre_tokenizers

    vocabulary = {f"w{i}": i for i in range(tiny_models.VOCAB)}
    for old, new in words.items():
        vocabulary[new] = vocabulary.pop(old)
    tokenizer = Tokenizer(models.BPE(vocab=vocabulary, merges=[], unk_token=None))
    tokenizer.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    tokenizer.save(str(folder / "tokenizer.json"))


def check_against_fresh(study, tmp_path, exactly=True):
    """Runs again after an edit, and from the beginning: the same numbers; changed checkpoints are measured again.

    `exactly`: only those. Some settings could change numbers, but do not for a model as small as this.
    """
    out, fresh = study.root / "out", tmp_path / "fresh"
    before, old = numbers(out), inodes(out)
    again = good(study.run(out))
    good(study.run(fresh))
    assert tables(out) == tables(fresh)
    now = inodes(out)
    for name, digest in numbers(fresh).items():
        changed = before.get(name) != digest
        measured = old.get(name) != now[name]
        assert measured == changed if exactly else measured >= changed, f"{name}: {again.stderr}"
        if changed and name in before:
            said = again.stderr
            assert f"{name}: measured again: " in said or "documents exist already" in said or "in addition to what exists" in said
    return again
