"""What can go wrong. Every message is one line: the file, tensor or key, what was found, what was expected, what to do."""


class Error(Exception):
    """Base of the errors of this package."""


class UsageError(Error, ValueError):
    """The caller asked for something that cannot be."""


class InputError(Error, ValueError):
    """A checkpoint, tokenizer, corpus, capture or table is not what it should be."""


class SystemError(Error, OSError):  # noqa: A001: the name that the program and its documents use
    """The machine refused: a file cannot be opened, the disk is full, memory or a device is missing."""
