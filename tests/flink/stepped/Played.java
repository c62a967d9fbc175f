package stepped;

import java.util.List;

/** What came of a step: Flink's watermark after it, and what fired and what was late, in the order they came. */
public record Played(Long watermark, List<Row> fired, List<Late> late) {
}
