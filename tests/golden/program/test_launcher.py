"""The command `ropewalk` sets the environment and becomes the program in libexec, with the same arguments and process id."""

import os
import shutil
import subprocess

import pytest

import engine


@pytest.fixture(params=["bin/ropewalk", "ropewalk"], ids=["installed", "built"])
def launcher(request, tmp_path):
    """A copy of the launcher that finds a script instead of the program."""
    program = tmp_path / "libexec" / "ropewalk" / "ropewalk"
    program.parent.mkdir(parents=True)
    program.write_text('#!/bin/sh\necho "$$ $# $2 ${GOMP_SPINCOUNT-none}"\n')
    program.chmod(0o755)
    (tmp_path / "bin").mkdir()
    return shutil.copy(engine.program(), tmp_path / request.param)


def start(launcher, **environment):
    kept = {key: value for key, value in os.environ.items() if key not in ("GOMP_SPINCOUNT", "OMP_WAIT_POLICY")}
    job = subprocess.Popen([launcher, "run", "two words"], stdout=subprocess.PIPE, text=True, env={**kept, **environment})
    output, _ = job.communicate(timeout=60)
    assert job.returncode == 0
    return output.split(), job.pid


def test_the_program_gets_words_and_environment(launcher):
    words, pid = start(launcher)
    assert words == [str(pid), "2", "two", "words", "1000"]


@pytest.mark.parametrize("environment, expected", [({"GOMP_SPINCOUNT": "7"}, "7"), ({"OMP_WAIT_POLICY": "active"}, "none")])
def test_what_the_user_set_stays(launcher, environment, expected):
    assert start(launcher, **environment)[0][-1] == expected


def test_without_the_program(tmp_path):
    alone = shutil.copy(engine.program(), tmp_path / "ropewalk")
    done = subprocess.run([alone, "--version"], capture_output=True, text=True)
    assert done.returncode == 4 and "libexec/ropewalk/ropewalk: No such file" in done.stderr
