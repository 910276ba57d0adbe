"""A real Spark cluster on this machine for the tests: a master and workers, each a process of its own."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.services.spark import SETTINGS

HERE = "127.0.0.1"
QUICK_JAVA = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"
MASTER, WORKER = "org.apache.spark.deploy.master.Master", "org.apache.spark.deploy.worker.Worker"


class Cluster:
    """A master, and the workers that were started so far, each with one core."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._processes: list[subprocess.Popen[bytes]] = []
        port = str(_free_port())
        self.url = f"spark://{HERE}:{port}"
        self._start(MASTER, "--host", HERE, "--port", port, "--webui-port", "0")

    def start_worker(self) -> subprocess.Popen[bytes]:
        """Start a worker; it finds the master as soon as both are up."""
        work = self._folder / f"worker-{len(self._processes)}"
        amount = ("--cores", "1", "--memory", "600m", "--work-dir", str(work))
        return self._start(WORKER, "--host", HERE, "--port", "0", "--webui-port", "0", *amount, self.url)

    def kill(self, process: subprocess.Popen[bytes]) -> None:
        """End a worker and the executors that it started, as a power cut would."""
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()

    def stop(self) -> None:
        """End all that is left."""
        for process in reversed(self._processes):
            self.kill(process)

    def _start(self, role: str, *words: str) -> subprocess.Popen[bytes]:
        import pyspark

        program = Path(pyspark.__file__).parent / "bin" / "spark-class"
        settings = {
            "SPARK_LOCAL_IP": HERE,
            "SPARK_DAEMON_MEMORY": "200m",
            "SPARK_DAEMON_JAVA_OPTS": QUICK_JAVA,
            "SPARK_LOCAL_DIRS": str(self._folder),
        }
        log = (self._folder / f"process-{len(self._processes)}.log").open("wb")
        with log:
            # A session of its own, so that what a worker starts can be ended with it.
            process = subprocess.Popen(
                [str(program), role, *words],
                stdout=log,
                stderr=subprocess.STDOUT,
                env={**os.environ, **settings},
                start_new_session=True,
            )
        self._processes.append(process)
        return process


@contextmanager
def running_cluster(folder: Path) -> Iterator[Cluster]:
    """Start a master with its files in `folder`, and end it with all its workers."""
    cluster = Cluster(folder)
    try:
        yield cluster
    finally:
        cluster.stop()


def session_settings(cluster: Cluster, workers: int) -> dict[str, str]:
    """Return the settings of a session on a cluster that waits for so many workers before the first query."""
    return {
        **SETTINGS,
        "spark.master": cluster.url,
        "spark.executor.memory": "500m",
        "spark.executor.extraJavaOptions": QUICK_JAVA,
        "spark.scheduler.minRegisteredResourcesRatio": "1.0",
        # In milliseconds, how long a worker goes on believing that it has no peers to copy to: else a minute.
        "spark.storage.cachedPeersTtl": "100",
        "spark.cores.max": str(workers),
        "spark.sql.shuffle.partitions": "4",
    }


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind((HERE, 0))
        port: int = probe.getsockname()[1]
        return port
