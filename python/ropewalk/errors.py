"""The errors of this package. Every message is one line: the file, tensor or key, what was found, what was expected, what to do."""


class Error(Exception):
    """Base of the errors of this package."""


class UsageError(Error, ValueError):
    """The caller asked for something impossible."""


class InputError(Error, ValueError):
    """A checkpoint, tokenizer, corpus, capture or table is invalid."""


class SystemError(Error, OSError):  # noqa: A001: the name that the program and its documents use
    """The system refused: a file cannot be opened, the disk is full, memory or a device is missing."""
