"""The demo's training text as tokens, and its tokenizer."""

import multiprocessing

import numpy as np
from tokenizers import Tokenizer, decoders, models, pre_tokenizers, processors, trainers

from demo_text import document

BEGIN = "<|begin|>"


def make_texts(job):
    first_seed, count, characters, mix = job
    return [document(seed, characters, mix) for seed in range(first_seed, first_seed + count)]


def token_rows(tokenizer, first_seed, count, length, mix):
    """Documents as int16 rows of their first `length` tokens."""
    jobs = [(first_seed + i, min(500, count - i), int(4.2 * length) + 400, mix) for i in range(0, count, 500)]
    rows = np.empty((count, length), np.int16)
    with multiprocessing.Pool() as pool:
        for job, texts in zip(jobs, pool.imap(make_texts, jobs)):
            start = job[0] - first_seed
            for i, encoding in enumerate(tokenizer.encode_batch(texts)):
                rows[start + i] = encoding.ids[:length]
    return rows


def train_tokenizer(texts, vocabulary):
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence(
        [pre_tokenizers.Digits(individual_digits=True), pre_tokenizers.ByteLevel(add_prefix_space=False)]
    )
    tokenizer.decoder = decoders.ByteLevel()
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    trainer = trainers.BpeTrainer(
        vocab_size=vocabulary, initial_alphabet=alphabet, special_tokens=[BEGIN], show_progress=False
    )
    tokenizer.train_from_iterator(texts, trainer)
    # As in most language models a document begins with a token of its own, which heads with nothing to do attend to.
    tokenizer.post_processor = processors.TemplateProcessing(single=f"{BEGIN} $A", special_tokens=[(BEGIN, 0)])
    return tokenizer
