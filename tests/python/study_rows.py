"""A study as the package opens it, and rows of its files."""

import csv

import pytest
import ropewalk


@pytest.fixture(scope="module")
def study(folder):
    return ropewalk.open(folder)


def rows(path):
    with path.open(newline="") as file:
        return list(csv.DictReader(file))
