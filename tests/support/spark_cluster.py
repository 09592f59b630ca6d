"""A small cluster of Spark for the tests: two executors, quick to warm up. The fixture ``spark`` is in conftest.py."""

import shutil
from collections.abc import Iterator
from contextlib import closing, contextmanager
from typing import Any

import pytest

QUICK = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC -XX:-UsePerfData"
SETTINGS = {
    "spark.driver.memory": "1g",
    "spark.driver.extraJavaOptions": QUICK,
    "spark.executor.extraJavaOptions": QUICK,
    "spark.sql.codegen.wholeStage": "false",  # compiling a statement costs more than reading some hundred rows
    "spark.sql.codegen.factoryMode": "NO_CODEGEN",
    "spark.sql.shuffle.partitions": "2",
    "spark.sql.adaptive.enabled": "false",
}


@contextmanager
def cluster() -> Iterator[Any]:
    """An engine on a local cluster of two executors; skips without PySpark or Java."""
    module = pytest.importorskip("sqlanon.core.engines.spark.engine", reason="PySpark is not installed")
    if shutil.which("java") is None:
        pytest.skip("Java is not installed")
    with closing(module.SparkEngine(master="local-cluster[2,1,1024]", settings=SETTINGS)) as engine:
        yield engine
