"""A pseudonym is the same in Python and in Spark, and the key is in no plan."""

import hmac

import pyarrow as pa
import pytest
from pyspark.sql import SparkSession
from pyspark.sql import functions as F

from pipeline.fold.pseudonym import hiding
from pipeline.pseudonyms import Pseudonyms
from pipeline.runtime.session import spark_session
from pipeline.settings.model import SparkSettings
from tests.support.class_archive import BRIEF_DRIVER

pytestmark = pytest.mark.jvm
KEYS = [b"k" * 32, b"0123456789abcdef" * 4, b"longer than a block of the hash " * 3]
USERS = ["ann", "böb", "", "x" * 200, "a\0b"]


@pytest.fixture(scope="module")
def session() -> SparkSession:
    return spark_session(SparkSettings(conf=BRIEF_DRIVER), "console")


@pytest.mark.parametrize("key", KEYS)
def test_it_is_the_hmac_of_python(session: SparkSession, key: bytes) -> None:
    hide = hiding(session, Pseudonyms(key))
    users = session.createDataFrame(pa.table({"user": [*USERS, None]}))
    found = [row[0] for row in users.select(hide(F.col("user"))).collect()]
    assert found == [*(hmac.new(key, user.encode(), "sha256").hexdigest()[:32] for user in USERS), None]
    assert found[:-1] == list(map(Pseudonyms(key).of, USERS))


@pytest.mark.parametrize("key", KEYS)
def test_no_plan_and_no_generated_code_has_the_key(session: SparkSession, key: bytes) -> None:
    pseudonyms = Pseudonyms(key)
    hide = hiding(session, pseudonyms)
    counted = session.range(10).select(hide(F.col("id").cast("string")).alias("user")).groupBy("user").count()
    counted.collect()
    plan = counted._jdf.queryExecution()
    assert session._jvm is not None
    debug = session._jvm.org.apache.spark.sql.execution.debug.__getattr__("package")
    told = f"{plan.toString()} {debug.codegenString(plan.executedPlan())}".lower()
    assert "subquery" in told
    for secret in (key, *pseudonyms.pads):
        assert secret.hex() not in told
        assert str(secret)[2:-1].lower() not in told
