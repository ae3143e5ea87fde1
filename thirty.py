"""Runs each test 30 times, one at a time, through the slot; notes counts and the load."""
import json, os, subprocess, sys, time
ROOT = "/tmp/r35/frozen"
B = f"{ROOT}/build"
ENV = {**os.environ, "ROPEWALK": f"{B}/ropewalk", "ROPEWALK_BUILD": B, "PYTHONDONTWRITEBYTECODE": "1", "GOMP_SPINCOUNT": "1000", "HF_HUB_OFFLINE": "1", "OMP_NUM_THREADS": "1",
       "ROPEWALK_FORK_SERVER": f"{B}/tests/golden/libfork_server.so", "ROPEWALK_MPIRUN": "/usr/bin/mpiexec", "OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}
PY = [".venv/bin/python", "-m", "pytest", "-q", "-p", "no:cacheprovider", "-p", "thirtyfold", "--tb=short"]
G = lambda f, k="": (f"golden {f} {k}", [*PY, f"tests/golden/{f}", *(["-k", k] if k else [])], {"PYTHONPATH": "/tmp/r35"})
P = lambda f, k="": (f"python {f} {k}", [*PY, f"tests/python/{f}", *(["-k", k] if k else [])], {"PYTHONPATH": f"{B}/python:/tmp/r35"})
C = lambda k: (f"gtest {k}", [f"{B}/tests/ropewalk_tests", "--gtest_brief=1", "--gtest_repeat=30", f"--gtest_filter={k}"], {})
ALL = [
    C("Interrupt.*:Parallel.*:Worker.*:ReadAhead.*:Communicator*:JoinBatches.*:JointFields*:SharedMoments.*"),
    ("gtest threads under TSan", [f"{B}/tests/sanitize/sanitize_threads", "--gtest_brief=1", "--gtest_repeat=30"], {}),
    C("Companion.*:Tokenizer.ACompanion*:Tokenizer.IsLoadedAgain*"),
    C("*SameBitsForAnyNumberOfThreads:Linear.ThreadsChangeNothing:EditedPassTest.IsInterrupted*:EditedLossTest.WhatWas*:Soak.*"),
    P("test_moments.py", "threads or thread_per_layer or forked"),
    P("test_watch_loop.py", "forked or closed or close"),
    P("test_watch_processes.py"),
    P("test_watch_harmless.py", "two_processes"),
    P("test_verbs.py", "ctrl_c or daemon or waiting or companion or thread or interrupt"),
    G("program/test_companion.py", "interrupt or orphan or killed or several_processes or printed"),
    G("program/test_faults.py", "signal_to_the_demo or gone or while_read"),
    G("program/test_faults.py", "test_signals_while"),
    G("checkpoint/test_hub_faults.py", "nobody or never_whole or interrupted or two_at_once or with_python or stall or parallel"),
    G("checkpoint/test_hub.py", "meanwhile"),
    G("study/test_bad_input.py", "interrupted or empty_text"),
    G("study/test_ablate.py", "ctrl_c"),
    G("study/test_keeping.py", "interrupt_says or experiment_that_was_run or kill_while"),
    G("study/test_hostile.py", "interrupt or at_once"),
    G("study/test_several_models.py", "interrupted"),
    G("study/test_study.py", "threads or interrupted or two_at_once"),
    G("study/test_trust.py", "goes_on"),
    G("capture/test_processes.py", "dies or one_job"),
    G("tables/test_published.py", "interrupted"),
    G("capture/test_plasticity.py", "killed"),
    G("study/test_pipeline.py", "killed"),
    G("study/test_study.py", "killed"),
    G("checkpoint/test_hub_faults.py", "killed"),
    P("test_watch_folder.py", "two_thousand"),
    G("model/test_memory.py"),
    G("program/test_faults.py", "test_signals and not while"),
    G("study/test_keeping.py", "sixty"),
]
import fcntl
only = sys.argv[1:]
log = "/tmp/r35/thirty.json"
done = json.load(open(log)) if os.path.exists(log) else {}
for name, command, more in ALL:
    if name in done or only and not any(word in name for word in only): continue
    began, load = time.time(), os.getloadavg()[0]
    run = subprocess.Popen(["/tmp/bin/slot", *command], cwd=ROOT, env={**ENV, **more}, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, start_new_session=True)
    try:
        out, code = run.communicate(timeout=5400)[0], run.returncode
    except subprocess.TimeoutExpired:
        os.killpg(run.pid, 9)
        out, code = run.communicate()[0], "timeout"
    passes = out.count("[  PASSED  ]") if name.startswith("gtest") else None
    done[name] = {"code": code, "seconds": round(time.time() - began), "load": [round(load, 1), round(os.getloadavg()[0], 1)], "passes": passes, "last": (out.strip().splitlines() or [""])[-1], "said": out[-8000:] if code else ""}
    json.dump(done, open(log, "w"), indent=1)
    print(name, {key: value for key, value in done[name].items() if key != "said"}, flush=True)
print("done", flush=True)
