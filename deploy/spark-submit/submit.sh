#!/usr/bin/env bash
# Runs Tidemark on a Spark cluster, as docs/deploying.md describes.
#
#   MASTER=spark://HOST:7077 submit.sh [spark-submit options] -- run [tidemark options]
#
# MASTER  spark://HOST:PORT, yarn or k8s://https://HOST:PORT
# PYTHON  the driver's Python, with tidemark installed        (default python3)
# JARS    sets of jars.lock: "spark s3" if executors write to a warehouse in S3,
#         "delta" for `verify --on-spark`                     (default spark)
# CORES   cores of all executors: number of reduce tasks      (default 4)
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

# The Spark of the cluster's distribution, or else the Spark that pip installed with Tidemark.
SPARK_HOME=${SPARK_HOME:-$("$python" -c 'import pathlib, pyspark; print(pathlib.Path(pyspark.__file__).parent)')}
export SPARK_HOME
# The driver runs Python, and executors for `verify --on-spark` only.
export PYSPARK_DRIVER_PYTHON=$python PYSPARK_PYTHON=$python

# shellcheck disable=SC2086 # one or several sets
jars=$("$python" -m tidemark.pipeline.runtime.jars ${JARS:-spark} --print comma),$("$python" -m tidemark.pipeline.runtime.connector)
jvm=$("$python" -c 'from tidemark.pipeline.runtime.spark import JVM_OPTIONS; print(JVM_OPTIONS)')
# Heap that fits into the driver's container; Spark's default is 1 GB.
heap=$("$python" -c 'from tidemark.pipeline.runtime.limits import heap; print(heap())')

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
# On SIGTERM the JVM would end at once, in the middle of a batch. So the signal goes to its child only, the driver's
# Python, which finishes the batch; then the JVM ends.
signals=0
trap 'signals=$((signals + 1)); pkill -TERM -P "$submit" || kill "$submit"' TERM INT
while :; do
    seen=$signals code=0
    wait "$submit" || code=$?
    # A signal interrupts `wait`, not the job.
    [ "$seen" = "$signals" ] && break
done
exit "$code"
