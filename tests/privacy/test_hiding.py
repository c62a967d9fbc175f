"""Pseudonyms are equal in Python and in Spark, and no plan has the key."""

import hmac
import json

import pyarrow as pa
import pytest
from pyspark.sql import SparkSession
from pyspark.sql import functions as F

from tests.broker.test_foreign_schema import ID, MAPPING, NOW, SHOP, action, written
from tests.support.brief_java import BRIEF_DRIVER
from tests.support.folded import as_read
from tests.support.policies import policy_of
from tidemark.pipeline.event_time.reports import Report
from tidemark.pipeline.event_time.windows.grid import Grid
from tidemark.pipeline.fold.dead_letter_reader import late_events
from tidemark.pipeline.fold.fold_plan import FoldPlan
from tidemark.pipeline.fold.outputs import dead_letters
from tidemark.pipeline.fold.pseudonym_columns import pseudonymizer
from tidemark.pipeline.fold.record_columns import BatchContext
from tidemark.pipeline.pseudonyms import Pseudonyms
from tidemark.pipeline.runtime.spark import spark_session
from tidemark.pipeline.settings.model import SparkSettings
from tidemark.pipeline.settings.schema_settings import SchemasSettings
from tidemark.pipeline.tables.schemas import DEAD_LETTERS
from tidemark.schemas.fields import EventSchemas

pytestmark = pytest.mark.jvm
KEYS = [b"k" * 32, b"0123456789abcdef" * 4, b"longer than a block of the hash " * 3]
USERS = ["ann", "böb", "", "x" * 200, "a\0b"]


@pytest.fixture(scope="module")
def session() -> SparkSession:
    return spark_session(SparkSettings(conf=BRIEF_DRIVER), "console")


@pytest.mark.parametrize("key", KEYS)
def test_a_pseudonym_is_the_hmac_of_python(session: SparkSession, key: bytes) -> None:
    to_pseudonym = pseudonymizer(session, Pseudonyms(key))
    users = session.createDataFrame(pa.table({"user": [*USERS, None]}))
    pseudonyms = [row[0] for row in users.select(to_pseudonym(F.col("user"))).collect()]
    assert pseudonyms == [*(hmac.new(key, user.encode(), "sha256").hexdigest()[:32] for user in USERS), None]
    assert pseudonyms[:-1] == list(map(Pseudonyms(key).of, USERS))


@pytest.mark.parametrize("key", KEYS)
def test_no_plan_and_no_generated_code_has_the_key(session: SparkSession, key: bytes) -> None:
    pseudonyms = Pseudonyms(key)
    to_pseudonym = pseudonymizer(session, pseudonyms)
    counted = session.range(10).select(to_pseudonym(F.col("id").cast("string")).alias("user")).groupBy("user").count()
    counted.collect()
    plan = counted._jdf.queryExecution()
    assert session._jvm is not None
    debug = session._jvm.org.apache.spark.sql.execution.debug.__getattr__("package")
    text = f"{plan.toString()} {debug.codegenString(plan.executedPlan())}".lower()
    assert "subquery" in text
    for secret in (key, *pseudonyms.pads):
        assert secret.hex() not in text
        assert str(secret)[2:-1].lower() not in text


FIELDS = SchemasSettings.model_validate({"mapping": {**MAPPING, "time_unit": "us"}}).mapping.fields()
EVENT = action(4711, NOW, "tap")


@pytest.mark.parametrize(
    ("schemas", "value"),
    [
        (EventSchemas({ID: json.dumps(SHOP)}, FIELDS), written(EVENT)),
        (EventSchemas({}, FIELDS, format="json"), json.dumps(EVENT).encode()),
    ],
    ids=["Avro", "JSON"],
)
def test_a_late_event_of_a_mapped_schema_is_stored_without_its_user_and_read_again(
    schemas: EventSchemas, value: bytes, session: SparkSession
) -> None:
    pseudonyms = Pseudonyms(KEYS[0])
    size = 60_000
    policy = policy_of(Report("dutch", Grid(size, size), 0, where="country = 'NL'"))
    record = {"key": b"4711", "value": value, "topic": "t", "partition": 0, "offset": 5, "timestamp": NOW * 1000}
    kafka = pa.schema(
        [
            *(pa.field(name, kind) for name, kind in (("key", pa.binary()), ("value", pa.binary()))),
            *(pa.field(name, kind) for name, kind in (("topic", pa.string()), ("partition", pa.int32()))),
            *(
                pa.field(name, kind)
                for name, kind in (("offset", pa.int64()), ("timestamp", pa.timestamp("us", "UTC")))
            ),
        ]
    )
    records = session.createDataFrame(pa.Table.from_pylist([record], schema=kafka))
    fold = FoldPlan(schemas, policy, 1, pseudonymizer(session, pseudonyms))
    folded = fold.fold(as_read(records, fold), BatchContext(NOW + 2 * size, NOW)).toArrow()
    letters = dead_letters(folded, "t", 1, NOW + 2 * size, {})
    (letter,) = letters.to_pylist()
    assert (letter["reason"], letter["user_id"], letter["key"]) == ("too_late", pseudonyms.of("4711"), None)
    assert b"4711" not in letter["value"].replace(pseudonyms.of("4711").encode(), b"")
    letters = letters.select(DEAD_LETTERS.schema.names).cast(DEAD_LETTERS.schema)
    (again,) = late_events(session.createDataFrame(letters), schemas, policy, NOW, hidden=True).toArrow().to_pylist()
    assert (again["user_id"], again["page_url"], again["event_type"], again["time"], again["belongs_to_dutch"]) == (
        pseudonyms.of("4711"),
        "/a",
        "click",
        NOW,
        True,
    )
