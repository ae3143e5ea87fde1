"""What all processes conclude from what each reports about a measurement."""

import pytest
from ropewalk._agreement import Problem, Reported, agreement

FULL = Reported(4, True, None, stops=False, closes=False)
PART = FULL._replace(batches=2, full=False)
NONE = FULL._replace(batches=0, full=False)
STOPS = NONE._replace(stops=True)
SPOILED = PART._replace(problem=("InputError", "is wrong"))


def closing(*said):
    return [one._replace(closes=True) for one in said]


# Reports of processes; whether measuring is over for all, who has gone, and whether the measurement is ready.
CASES = {
    "all have their batches": ([FULL, FULL], False, [], True),
    "one lacks some": ([FULL, PART], False, [], False),
    "all close, with what they have": (closing(FULL, PART), False, [], True),
    "all close, and one saw nothing": (closing(FULL, NONE), False, [], False),
    "one closes alone": ([FULL, *closing(PART)], True, [1], False),
    "one stops": ([STOPS, FULL, FULL], True, [0], False),
    "one stops while the others close": ([*closing(FULL), STOPS], True, [0, 1], False),
    "one is spoiled": ([FULL, SPOILED, SPOILED], False, [], False),
    "one is spoiled and one stops": ([STOPS, SPOILED], True, [0], False),
}


@pytest.mark.parametrize("case", CASES)
def test_what_follows(case):
    said, over, gone, ready = CASES[case]
    found = agreement(said)
    assert (found.over, found.gone, found.ready) == (over, gone, ready)
    spoiled = [process for process, one in enumerate(said) if one.problem]
    assert found.problem == (Problem(spoiled[0], "InputError", "is wrong") if spoiled else None)
