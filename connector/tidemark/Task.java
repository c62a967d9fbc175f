package tidemark;

import java.util.ArrayList;
import java.util.List;
import java.util.TreeMap;
import org.apache.spark.sql.connector.read.InputPartition;

/**
 * The ranges that one of Spark's tasks reads.
 *
 * @param number the number of the task, of {@code tasks}; a partition is always of the same, which keeps its consumer
 */
record Task(int number, int tasks, ArrayList<Range> ranges) implements InputPartition {
    /** Divides ranges among at most {@code most} tasks. */
    static Task[] plan(List<Range> ranges, int most) {
        TreeMap<Integer, Task> planned = new TreeMap<>();
        for (Range range : ranges) {
            int number = range.partition() % most;
            planned.computeIfAbsent(number, each -> new Task(each, most, new ArrayList<>())).ranges().add(range);
        }
        return planned.values().toArray(Task[]::new);
    }
}
