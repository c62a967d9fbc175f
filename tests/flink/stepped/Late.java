package stepped;

/** An event that came when every window of a report that it belongs to was closed. */
public record Late(String report, Event event) {
}
