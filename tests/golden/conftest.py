"""Where every test of a file was skipped, pytest ends with a code of its own, and CTest reports the file as skipped."""

import gc

# A tenth of the time of a test was the search for cycles among the objects of torch and transformers.
gc.disable()


def pytest_collection_finish():
    gc.freeze()
    gc.enable()


SKIPPED = 77


def pytest_sessionfinish(session, exitstatus):
    reporter = session.config.pluginmanager.get_plugin("terminalreporter")
    outcomes = reporter.stats if reporter else {}  # one of several processes reports nothing
    if exitstatus == 0 and outcomes.get("skipped") and not outcomes.get("passed"):
        session.exitstatus = SKIPPED
