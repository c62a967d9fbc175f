package stepped;

/** What a window of a report said of a key when it fired. */
public record Row(String report, String key, long start, long end, long pageViews, long clicks) {
}
