"""A cluster of Spark that is started on this machine and stopped again, with its folder on the disk."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

import pyspark
from pyspark import SparkConf, SparkContext
from pyspark.sql import SparkSession

from sqlanon.core.disk.folders import PrivateFolder, spill_folder
from sqlanon.core.engines.spark.errors import quiet
from sqlanon.core.engines.spark.facts import DRIVER, LOGGING, STARTED


class StartedCluster:
    """A cluster that is ours to stop.

    Attributes:
        session: its session, while it runs.
    """

    def __init__(self) -> None:
        self.session: SparkSession | None = None
        self._scratch: PrivateFolder | None = None

    def start(self, master: str, settings: Mapping[str, str]) -> SparkSession:
        """Start a cluster of our own and return its session."""
        self._scratch = spill_folder(Path(tempfile.gettempdir()))
        scratch = self._scratch.path
        (scratch / "log4j2.properties").write_text(LOGGING)
        chosen = {
            **STARTED,
            "spark.driver.extraJavaOptions": f"{DRIVER} -Dlog4j.configurationFile={scratch}/log4j2.properties",
            "spark.sql.warehouse.dir": f"{scratch}/warehouse",
            "spark.local.dir": str(scratch),
            **settings,
        }
        conf = SparkConf().setMaster(master).setAppName("sqlanon").setAll(list(chosen.items()))
        with quiet():
            self.session = SparkSession.builder.config(conf=conf).getOrCreate()
        return self.session

    def stop(self) -> None:
        """Stop the cluster, if one was started, and remove its folders."""
        if self.session is not None:
            application = self.session.sparkContext.applicationId
            self.session.stop()
            self.session = None
            with suppress(OSError):  # a local cluster keeps the folders of its executors
                work = Path(pyspark.__file__).parent / "work"
                shutil.rmtree(work / application)
                work.rmdir()
        if self._scratch is not None:
            self._scratch.remove()
            self._scratch = None


def running_session() -> SparkSession | None:
    """Return a session of the cluster that runs in this process already, which is not ours to stop."""
    context = SparkContext._active_spark_context
    return None if context is None else SparkSession.getActiveSession() or SparkSession(context)
