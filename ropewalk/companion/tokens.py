# Task `tokens` of the companion: turns texts into token ids with the library `tokenizers`.
#
# {"do": "load", "tokenizer": key, "threads": n} with the array `file`, a tokenizer.json, or with "folder", for transformers to
# find a tokenizer in. {"do": "encode", "tokenizer": key} with `sizes` (i8) and `text`, the texts' bytes one after another;
# the answer has `ids` (i4), and for each text in `counts`, `prefix` and `suffix` (i4) how many ids it has, and how many of
# them the post-processor added in front and behind. {"do": "texts", "tokenizer": key} with `ids` (i4), and for each run of them in
# `counts` and `own` (i4) how many they are and which of them is meant; the answer has `text`, the bytes of what is before it, of
# itself and of what is after it, and `sizes` (i8), three for each. {"do": "words", "tokenizer": key} is answered by `ids` (i4), all
# but those of special tokens, ascending, and `prefix` (i4), those that the post-processor puts in front of a text.
import array
import contextlib
import hashlib
import os
import resource
import sys

loaded = {}
MOST_LOADED = 4  # older ones are loaded again when they are needed
OLDEST = "0.20"  # the first version with encode_batch_fast
INSTALL = "install it with `python -m pip install tokenizers`, or name a Python that has it in ROPEWALK_PYTHON"


def library():
    try:
        import tokenizers
    except ImportError as error:
        raise Refused(f"{sys.executable}: {error}; {INSTALL}", "missing") from None
    if not hasattr(tokenizers.Tokenizer, "encode_batch_fast"):
        raise Refused(f"{sys.executable}: tokenizers {tokenizers.__version__} is older than {OLDEST}; {INSTALL}", "missing")
    return tokenizers


class Fast:
    """A tokenizer of the library `tokenizers`. Truncation and padding that its file asks for are turned off."""

    def __init__(self, tokenizer):
        tokenizer.no_truncation()
        tokenizer.no_padding()
        self.tokenizer = tokenizer
        self.dropout = getattr(tokenizer.model, "dropout", None) or 0

    def encode(self, texts):
        return [(one.ids, one.special_tokens_mask) for one in self.tokenizer.encode_batch_fast(texts, add_special_tokens=True)]

    def decode(self, runs):
        return self.tokenizer.decode_batch(runs, skip_special_tokens=False)

    def words(self):
        special = {number for number, token in self.tokenizer.get_added_tokens_decoder().items() if token.special}
        return set(self.tokenizer.get_vocab(with_added_tokens=True).values()) - special


class Slow:
    """A tokenizer of transformers that is written in Python."""

    dropout = 0

    def __init__(self, tokenizer):
        self.tokenizer = tokenizer

    def encode(self, texts):
        for text in texts:
            made = self.tokenizer(
                text, add_special_tokens=True, truncation=False, padding=False, return_special_tokens_mask=True, verbose=False
            )
            yield made["input_ids"], made["special_tokens_mask"]

    def decode(self, runs):
        return [self.tokenizer.decode(run, skip_special_tokens=False) for run in runs]

    def words(self):
        return set(self.tokenizer.get_vocab().values()) - set(self.tokenizer.all_special_ids)


def from_folder(folder):
    """Loads a tokenizer with transformers, without running code of the folder and without the network; returns its digest too."""
    os.environ["HF_HUB_OFFLINE"] = "1"
    try:
        import transformers
    except ImportError as error:
        raise Refused(f"{sys.executable}: {error}", "missing") from None
    library()
    made = transformers.AutoTokenizer.from_pretrained(folder, local_files_only=True, trust_remote_code=False)
    backend = getattr(made, "backend_tokenizer", None)
    if backend is not None:
        digest = hashlib.sha256(backend.to_str().encode()).hexdigest()
        return Fast(backend), digest
    whole = hashlib.sha256(f"{type(made).__name__}\n{transformers.__version__}\n".encode())
    for name in sorted(set(made.vocab_files_names.values())):
        with contextlib.suppress(FileNotFoundError), open(os.path.join(folder, name), "rb") as file:
            whole.update(f"{name} {hashlib.file_digest(file, 'sha256').hexdigest()}\n".encode())
    return Slow(made), whole.hexdigest()


def load(words, arrays):
    if words["threads"]:
        os.environ["RAYON_NUM_THREADS"] = str(words["threads"])
    os.environ["TOKENIZERS_PARALLELISM"] = "true"
    digest = None
    if "folder" in words:
        tokenizer, digest = from_folder(words["folder"])
    else:
        tokenizer = Fast(library().Tokenizer.from_buffer(arrays["file"]))
    loaded[words["tokenizer"]] = tokenizer
    for key in list(loaded)[:-MOST_LOADED]:
        del loaded[key]
    # The tokens that the post-processor adds: for a text without tokens of its own, no mask tells where they belong.
    ends = [ends_of(mask) for text in ("a", ".", "0") for _, mask in tokenizer.encode([text]) if 0 in mask]
    tokenizer.ends = ends[0] if ends else None
    return {"dropout": tokenizer.dropout, "digest": digest}, None


def ends_of(mask):
    """The numbers of special tokens in front and behind."""
    before = mask.index(0)
    behind = 0
    while mask[-1 - behind]:
        behind += 1
    return before, behind


@contextlib.contextmanager
def memory_for(size):
    """Limits memory to sixty-four times the size of the text, on top of what the library needs for an empty one."""
    spare = (1 << 30) + (os.cpu_count() or 1) * (8 << 20)
    with open("/proc/self/status") as status:
        (now,) = (int(line.split()[1]) << 10 for line in status if line.startswith("VmData:"))
    soft, hard = resource.getrlimit(resource.RLIMIT_DATA)
    most = now + spare + 64 * size
    if hard != resource.RLIM_INFINITY:
        most = min(most, hard)
    resource.setrlimit(resource.RLIMIT_DATA, (most, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_DATA, (soft, hard))


def known(words):
    tokenizer = loaded.get(words["tokenizer"])
    if tokenizer is None:  # an earlier companion had it
        raise Refused("not loaded", "dropped")
    return tokenizer


def encode(words, arrays):
    tokenizer = known(words)
    sizes = array.array("q", arrays["sizes"])
    text, offset, texts = memoryview(arrays["text"]), 0, []
    for size in sizes:
        texts.append(str(text[offset : offset + size], "utf-8"))
        offset += size
    ids, counts, prefix, suffix = (array.array("i") for _ in range(4))
    with memory_for(len(text)):
        for own, mask in tokenizer.encode(texts):
            if 0 in mask:
                before, behind = ends_of(mask)
            else:  # the text has no token of its own
                before, behind = tokenizer.ends if tokenizer.ends and sum(tokenizer.ends) == len(mask) else (len(mask), 0)
            ids.extend(own)
            counts.append(len(own))
            prefix.append(before)
            suffix.append(behind)
    return {}, {"ids": ("i4", ids), "counts": ("i4", counts), "prefix": ("i4", prefix), "suffix": ("i4", suffix)}


def texts(words, arrays):
    """A token's text is what it adds to the text before it: some tokenizers give another one to a text's first token."""
    tokenizer, offset, runs = known(words), 0, []
    ids = array.array("i", arrays["ids"]).tolist()
    for count, own in zip(array.array("i", arrays["counts"]), array.array("i", arrays["own"])):
        run = ids[offset : offset + count]
        runs += [run[:own], run[: own + 1], run, run[own : own + 1], run[own + 1 :]]
        offset += count
    made = iter(tokenizer.decode(runs))
    text, sizes = bytearray(), array.array("q")
    for before, with_it, whole, alone, after in zip(*[made] * 5):
        if with_it.startswith(before) and whole.startswith(with_it):
            alone, after = with_it[len(before) :], whole[len(with_it) :]
        for part in (before, alone, after):
            encoded = part.encode("utf-8", "replace")
            text += encoded
            sizes.append(len(encoded))
    return {}, {"text": ("u1", bytes(text)), "sizes": ("i8", sizes)}


def plain_words(words):
    tokenizer = known(words)
    texts = [(own, mask) for text in ("a", ".", "0") for own, mask in tokenizer.encode([text]) if 0 in mask]
    prefix = texts[0][0][: ends_of(texts[0][1])[0]] if texts else []
    return {}, {"ids": ("i4", array.array("i", sorted(tokenizer.words()))), "prefix": ("i4", array.array("i", prefix))}


def answer(words, arrays):
    if words["do"] == "load":
        return load(words, arrays)
    if words["do"] == "texts":
        return texts(words, arrays)
    if words["do"] == "words":
        return plain_words(words)
    return encode(words, arrays)
