package tidemark;

import java.util.Iterator;
import org.apache.spark.api.java.function.FlatMapFunction;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.classic.Dataset;
import org.apache.spark.sql.types.StructType;

/**
 * Groups judged records by several sets of keys, in one pass and without a shuffle.
 *
 * <p>Spark would copy each record once per set, hash each copy's texts, and shuffle the groups. Here a task numbers each
 * text once, and groups are found by numbers. All records of a partition of the topic are in one task, and groups have
 * the number of the partition; so a group is one row, or several if the task has no memory for all groups at once.
 */
public final class FoldRecords {
    private FoldRecords() { }

    /**
     * Returns the folded rows of judged records, whose columns are those of {@link FoldSpec}. Rejected records are counted
     * like others, if their check counts, and their fields are rows of their own; all records are in the statistics.
     */
    public static Dataset<?> apply(Dataset<?> judged, String json) {
        FoldSpec spec = FoldSpec.of(json);
        StructType records = judged.schema();
        StructType folded = spec.schema(records);
        FlatMapFunction<Iterator<InternalRow>, InternalRow> fold = rows -> new FoldedRows(spec, records, folded, rows);
        return judged.sparkSession().internalCreateDataFrame(judged.queryExecution().toRdd().toJavaRDD().mapPartitions(fold).rdd(), folded, false);
    }
}
