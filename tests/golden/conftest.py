"""Where every test of a file was skipped, pytest ends with a special exit code, and CTest reports the file as skipped."""

import gc

# Searching for cycles among the objects of torch and transformers took a tenth of each test's time.
gc.disable()


def pytest_collection_finish():
    gc.freeze()
    gc.enable()


SKIPPED = 77


def pytest_sessionfinish(session, exitstatus):
    reporter = session.config.pluginmanager.get_plugin("terminalreporter")
    outcomes = reporter.stats if reporter else {}  # a worker process reports nothing
    if exitstatus == 0 and outcomes.get("skipped") and not outcomes.get("passed"):
        session.exitstatus = SKIPPED
