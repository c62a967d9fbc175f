package stepped;

import java.util.List;

/** What a window of a report said of a key when it fired: its measures, in the order in which the report names them. */
public record Row(String report, String key, long start, long end, List<Long> measures) {
}
