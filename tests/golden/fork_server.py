"""The program under test, loaded once: see fork_server.cpp."""

import atexit
import os
import shutil
import signal
import socket
import struct
import subprocess
import tempfile
from pathlib import Path

# Libraries read these while they are loaded: a command that needs other values needs a process of its own.
_AT_LOAD = ("OMP_", "GOMP_", "KMP_", "MKL_", "LD_", "MALLOC_", "GLIBC_", "TORCH_", "ATEN_", "DNNL_", "ONEDNN_", "CUDA_", "NVIDIA_", "GCOV_", "LLVM_", "ASAN_", "UBSAN_")
_SECONDS = 60  # for the start

_server = None


def _at_load(environment: dict) -> dict:
    return {name: value for name, value in environment.items() if name.startswith(_AT_LOAD)}


class _Server:
    def __init__(self, library: str, program: Path):
        self._folder = tempfile.mkdtemp(prefix="ropewalk-server-")
        self._address = f"{self._folder}/socket"
        self.environment = _at_load(os.environ)
        environment = {**os.environ, "LD_PRELOAD": library, "ROPEWALK_FORK_SOCKET": self._address}
        if "OMP_WAIT_POLICY" not in environment:  # as set by the launcher
            environment.setdefault("GOMP_SPINCOUNT", "1000")
        self._process = subprocess.Popen([program], env=environment, stdin=subprocess.PIPE)
        atexit.register(self.close)

    def _connect(self) -> socket.socket:
        connection = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        connection.settimeout(_SECONDS)
        while True:
            try:
                connection.connect(self._address)
                return connection
            except (FileNotFoundError, ConnectionRefusedError):
                if self._process.poll() is not None:
                    raise RuntimeError(f"the server ended with {self._process.returncode}") from None
                os.sched_yield()

    def run(self, command: list[str], environment: dict, timeout: float) -> tuple[int, bytes, bytes]:
        texts = [os.getcwd(), str(len(command)), *command, *(f"{name}={value}" for name, value in environment.items())]
        request = b"".join(os.fsencode(text) + b"\0" for text in texts)
        with self._connect() as connection, tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as error:
            socket.send_fds(connection, [struct.pack("=I", len(request))], [out.fileno(), error.fileno()])
            connection.sendall(request)
            (child,) = struct.unpack("=i", _read(connection))
            connection.settimeout(timeout)
            try:
                (status,) = struct.unpack("=i", _read(connection))
            except TimeoutError:
                os.kill(child, signal.SIGKILL)
                raise subprocess.TimeoutExpired(command, timeout) from None
            out.seek(0), error.seek(0)
            return os.waitstatus_to_exitcode(status), out.read(), error.read()

    def close(self) -> None:
        self._process.stdin.close()
        self._process.wait()
        shutil.rmtree(self._folder, ignore_errors=True)


def _read(connection: socket.socket) -> bytes:
    answer = connection.recv(4, socket.MSG_WAITALL)
    if len(answer) != 4:
        raise RuntimeError("the server ended")
    return answer


def run(command: list[str], environment: dict, timeout: float) -> tuple[int, bytes, bytes] | None:
    """The exit code and the output of the command; None where it needs a process of its own."""
    global _server
    library = os.environ.get("ROPEWALK_FORK_SERVER")
    program = Path(command[0]).parent / "libexec" / "ropewalk" / "ropewalk"
    if not library or not Path(library).exists() or not program.exists():
        return None  # one process per command is slower but tests the same
    if _server is None:
        _server = _Server(library, program)
    if _at_load(environment) != _server.environment:
        return None
    return _server.run(command, environment, timeout)
