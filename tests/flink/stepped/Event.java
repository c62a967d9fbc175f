package stepped;

/** A record on the topic. Times are UTC milliseconds; the Kafka timestamp travels beside it, as Kafka's does. */
public record Event(int partition, String user, long eventTime, String act, long kafkaTimestamp, String page) {
    /** A field by its name in the schema. */
    public String value(String field) {
        return switch (field) {
            case "user_id" -> user;
            case "page_url" -> page;
            case "event_type" -> act;
            default -> throw new IllegalArgumentException(field);
        };
    }
}
