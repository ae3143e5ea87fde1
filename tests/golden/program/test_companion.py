"""The companion: whatever happens to it, the program reports it in one line, leaves nothing half written, and no process behind."""

import json
import os
import re
import signal
import subprocess
import time
from pathlib import Path

import engine
import plain_models
import pytest
import tiny_models
from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, processors

TINY = tiny_models.MODELS["llama_gqa"]
WORDS = "abcdefghij"

# Found before the real library; TROUBLE says what happens.
FAKE = """
import os, sys, time, ctypes
{load}
class Encoding:
    def __init__(self, text):
        self.ids = [1 + b % 90 for b in text.encode()]
        self.special_tokens_mask = [0] * len(self.ids)
class Tokenizer:
    model = None
    from_buffer = staticmethod(lambda data: Tokenizer())
    def no_truncation(self): pass
    no_padding = no_truncation
    def encode_batch_fast(self, texts, add_special_tokens):
        if texts != ["a"]:
            {trouble}
        return [Encoding(text) for text in texts]
"""


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    return plain_models.write(TINY, tmp_path_factory.mktemp("companion") / "model")


class Capture:
    """A capture of text with a library of our own."""

    def __init__(self, model, folder, trouble="pass", load="pass"):
        self.folder, self.out, self.note = folder, folder / "out", folder / "note"
        (folder / "library").mkdir()
        (folder / "library" / "tokenizers.py").write_text(FAKE.format(trouble=trouble, load=load))
        (folder / "tokenizer.json").write_text("{}")
        with (folder / "corpus.jsonl").open("w") as lines:
            lines.writelines(json.dumps({"text": WORDS * 5}) + "\n" for _ in range(12))
        self.command = ["capture", model, "--corpus", folder / "corpus.jsonl", "--tokenizer", folder / "tokenizer.json",
                        "--out", self.out, "--context", 40, "--quiet"]  # fmt: skip
        self.environment = {"PYTHONPATH": str(folder / "library"), "NOTE": str(self.note)}

    def run(self, **environment):
        return engine.run(*self.command, environment={**self.environment, **environment})

    def start(self, *before, **options):
        words = [*before, engine.program(), *map(str, self.command)]
        return subprocess.Popen(words, env={**os.environ, **self.environment}, stdin=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, **options)

    def companion(self):
        """Its process, once it has got text."""
        for _ in range(6000):
            if self.note.exists() and self.note.read_text():
                return int(self.note.read_text())
            time.sleep(0.01)
        raise AssertionError("no companion")

    def leaves_nothing(self):
        assert not self.out.exists() and {one.name for one in self.folder.iterdir()} <= {"library", "tokenizer.json", "corpus.jsonl", "note"}


NOTE = "open(os.environ['NOTE'], 'w').write(str(os.getpid())); "
WAIT = NOTE + "time.sleep(600)"


def is_there(process):
    try:
        return Path(f"/proc/{process}/stat").read_text().rsplit(")", 1)[1].split()[0] != "Z"
    except OSError:
        return False


def ends(process, seconds=30):
    for _ in range(100 * seconds):
        if not is_there(process):
            return True
        time.sleep(0.01)
    return False


def one_line(result, code, pattern):
    assert result.code == code, result.stderr
    assert result.stderr.count("\n") == 1 and result.stderr.startswith("error: ") and re.search(pattern, result.stderr), result.stderr


def test_what_is_printed(model, tmp_path):
    """By Python, C libraries and children: none of it is an answer, none of it is seen."""
    noise = "print('in the way'); ctypes.CDLL(None).puts(b'x'); ctypes.CDLL(None).fflush(None); os.system('echo y; echo z >&2')"
    done = Capture(model, tmp_path, noise, load=noise).run()
    assert (done.code, done.stdout, done.stderr) == (0, "", "")


FAULTS = {
    "killed": ("os.kill(os.getpid(), 9)", r"text cannot be tokenized: .*python.*: ended by signal 9$"),
    "gone": ("sys.stderr.write('why\\n'); sys.stderr.flush(); os._exit(3)", r"ended with exit code 3: why$"),
    "rubbish": ("os.write(3, b'rubbish\\n')", r"invalid answer: 'rubbish"),
    "closed": ("os.close(3); time.sleep(600)", r"ended (by signal 9|with exit code 1)$"),
}


@pytest.mark.parametrize("case", FAULTS)
def test_fault(model, tmp_path, case):
    trouble, pattern = FAULTS[case]
    capture = Capture(model, tmp_path, trouble)
    one_line(capture.run(), 4, pattern)
    capture.leaves_nothing()


def test_no_library(model, tmp_path):
    one_line(Capture(model, tmp_path, load="raise ImportError('none here')").run(), 4, "none here; install it with `python -m pip install tokenizers`")


def test_no_python(model, tmp_path):
    capture = Capture(model, tmp_path)
    one_line(capture.run(ROPEWALK_PYTHON="/no/such/python"), 4, "/no/such/python: cannot run: .*; text needs a Python with the package tokenizers")
    old = tmp_path / "library" / "python"
    old.write_text("#!/bin/sh\necho 'Unknown option: -P' >&2\nexit 2\n")
    old.chmod(0o755)
    one_line(capture.run(ROPEWALK_PYTHON=str(old)), 4, "is older than Python 3.11; text needs")
    capture.leaves_nothing()


def test_ids_need_none(model, tmp_path):
    capture = Capture(model, tmp_path)
    with (tmp_path / "corpus.jsonl").open("w") as lines:
        lines.writelines(json.dumps({"tokens": list(range(1, 50))}) + "\n" for _ in range(12))
    result = capture.run(ROPEWALK_PYTHON="/no/such/python")
    assert (result.code, result.stderr) == (0, "")


@pytest.mark.parametrize("folder", ["tokenizers.py", "json.py"])
def test_the_working_folder_is_not_imported(model, tmp_path, folder):
    capture = Capture(model, tmp_path)
    (tmp_path / folder).write_text("raise SystemExit(9)")
    here = os.getcwd()
    try:
        os.chdir(tmp_path)
        assert capture.run().code == 0
    finally:
        os.chdir(here)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_interrupt(model, tmp_path, number):
    """Ctrl-C goes to all processes of a terminal, the companion too."""
    capture = Capture(model, tmp_path, WAIT)
    program = capture.start(start_new_session=True)
    companion = capture.companion()
    os.killpg(program.pid, number)
    _, said = program.communicate(timeout=60)
    assert program.returncode == 128 + number and said == f"error: interrupted by signal {int(number)}\n"
    assert ends(companion)
    capture.leaves_nothing()


@pytest.mark.parametrize("busy", ["time.sleep(600)", "ctypes.CDLL(None).usleep(2000000000)", "exec('while True: pass')"])
def test_killed_program_leaves_no_orphan(model, tmp_path, busy):
    capture = Capture(model, tmp_path, NOTE + busy)
    program = capture.start()
    companion = capture.companion()
    program.kill()
    program.communicate()
    assert ends(companion)


def test_killed_companion_between(model, tmp_path):
    """From outside, at any moment."""
    capture = Capture(model, tmp_path, WAIT)
    program = capture.start()
    os.kill(capture.companion(), signal.SIGTERM)  # the companion ignores it
    time.sleep(0.5)
    assert program.poll() is None
    os.kill(capture.companion(), signal.SIGKILL)
    _, said = program.communicate(timeout=60)
    assert program.returncode == 4 and said.count("\n") == 1 and "ended by signal 9" in said
    capture.leaves_nothing()


def test_several_processes_have_one(model, tmp_path):
    mpirun = os.environ.get("ROPEWALK_MPIRUN")
    if not mpirun:
        pytest.skip("built without MPI")
    note = "open(os.environ['NOTE'], 'a').write(str(os.getpid()) + ' ')"
    capture = Capture(model, tmp_path, note)
    words = [mpirun, "-n", "2", "--allow-run-as-root", "--oversubscribe"]
    program = capture.start(*words)
    _, said = program.communicate(timeout=120)
    assert program.returncode == 0, said
    assert len(set(capture.note.read_text().split())) == 1
    assert (capture.out / "capture.json").exists()


# What the library reads


KINDS = {
    "byte-level BPE": (models.BPE({letter: i for i, letter in enumerate([*WORDS, "Ġ", "ab"])}, [("a", "b")]), pre_tokenizers.ByteLevel(add_prefix_space=False)),
    "Metaspace": (models.BPE({letter: i for i, letter in enumerate([*WORDS, "▁", "▁a", "<unk>"])}, [("▁", "a")], unk_token="<unk>"), pre_tokenizers.Metaspace()),
    "WordPiece": (models.WordPiece({"[UNK]": 0, "ab": 1, "##c": 2, "d": 3, "##e": 4, "##f": 5, "##g": 6, "##h": 7}, unk_token="[UNK]"), pre_tokenizers.BertPreTokenizer()),
    "Unigram": (models.Unigram([("<unk>", 0.0), *((letter, -3.0 - i / 10) for i, letter in enumerate([*WORDS, "▁", "ab", "▁ab", "fgh"]))], 0), pre_tokenizers.Metaspace()),
}  # fmt: skip


@pytest.mark.parametrize("kind", KINDS)
def test_from_text_to_vectors(model, tmp_path, kind):
    """The documents are the library's ids, cut to the context, with what the post-processor adds."""
    tokenizer = Tokenizer(KINDS[kind][0])
    tokenizer.pre_tokenizer = KINDS[kind][1]
    if kind == "WordPiece":
        tokenizer.normalizer = normalizers.BertNormalizer()
    tokenizer.post_processor = processors.TemplateProcessing(single="<s> $A </s>", special_tokens=[("<s>", 90), ("</s>", 91)])
    tokenizer.add_special_tokens([])
    tokenizer.save(str(tmp_path / "tokenizer.json"))
    lines = [" ".join(["abcde", "fgh", "ab", "défg", "ABC", WORDS][: 1 + i % 6]) * (1 + i % 3) for i in range(12)]
    for name, rows in (("text", [{"text": text} for text in lines]), ("ids", [{"tokens": cut(tokenizer.encode(text).ids)} for text in lines])):
        (tmp_path / f"{name}.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
        made = engine.capture(model, tmp_path / f"{name}.jsonl", tmp_path / name, "--tokenizer", tmp_path / "tokenizer.json", context=24)
        assert json.loads((made / "capture.json").read_text())["documents"] == len(lines)
    text, ids = (engine.read_streams(tmp_path / name) for name in ("text", "ids"))
    assert text.keys() == ids.keys()
    for stream, documents in ids.items():
        for document, vectors in documents.items():
            assert vectors.tobytes() == text[stream][document].tobytes()


def cut(ids):
    """To 24: what is added behind is there where the text ends and it fits."""
    return ids if len(ids) <= 24 else ids[:-1][:24]
