#!/usr/bin/env bash
# Runs Tidemark on a Spark cluster; README.md beside this file explains each part.
#
#   MASTER=spark://HOST:7077 submit.sh [spark-submit options] -- run [tidemark options]
#
# MASTER  spark://HOST:PORT, yarn or k8s://https://HOST:PORT
# PYTHON  the driver's Python, with tidemark installed        (default python3)
# CORES   cores of all executors together: reduce tasks each  (default 4)
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
python=${PYTHON:-python3}
options=()
while [ $# -gt 0 ] && [ "$1" != -- ]; do
    options+=("$1")
    shift
done
if [ -z "${MASTER:-}" ] || [ $# -lt 2 ]; then
    echo "usage: MASTER=spark://HOST:7077 $0 [spark-submit options] -- run [tidemark options]" >&2
    exit 2
fi
shift

# A Spark of the cluster's own distribution, or the one that came with Tidemark from pip.
SPARK_HOME=${SPARK_HOME:-$("$python" -c 'import pathlib, pyspark; print(pathlib.Path(pyspark.__file__).parent)')}
export SPARK_HOME
# Only the driver runs Python. Executors are never told of one.
export PYSPARK_DRIVER_PYTHON=$python PYSPARK_PYTHON=$python

jars=$("$python" -m pipeline.runtime.jars spark --print comma)
# A record that claims a huge string must not make a JVM allocate it, neither here nor on an executor.
jvm=$("$python" -c 'from pipeline.runtime.spark import JVM_OPTIONS; print(JVM_OPTIONS)')
# What the driver's container has room for; Spark's own default is 1 GB.
heap=$("$python" -c 'from pipeline.runtime.limits import heap; print(heap())')

"$SPARK_HOME/bin/spark-submit" \
    --master "$MASTER" \
    --deploy-mode client \
    --name tidemark \
    --jars "$jars" \
    --driver-memory "$heap" \
    --driver-java-options "$jvm" \
    --conf "spark.executor.extraJavaOptions=$jvm" \
    --conf "spark.sql.shuffle.partitions=${CORES:-4}" \
    ${options[@]+"${options[@]}"} \
    "$here/tidemark_job.py" "$@" &
submit=$!
# The JVM would end at once and take the batch in hand with it. So only its child is asked to stop, the driver's Python:
# that finishes the batch, and the JVM ends behind it.
signals=0
trap 'signals=$((signals + 1)); pkill -TERM -P "$submit" || kill "$submit"' TERM INT
while :; do
    seen=$signals code=0
    wait "$submit" || code=$?
    # A signal ends the waiting, not the job.
    [ "$seen" = "$signals" ] && break
done
exit "$code"
