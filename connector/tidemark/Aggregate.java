package tidemark;

import java.io.Serializable;

/**
 * A number or a text that is computed of the records of a group.
 *
 * @param input the column of the records' values, counted from the first after the keys
 */
record Aggregate(String name, Join join, int input) implements Serializable {
    /** How values are joined; a null does not count. */
    enum Join {
        /** The sum, 0 without a value. */
        SUM(0),
        /** The least value, null without one. */
        MIN(Long.MAX_VALUE),
        /** The greatest value, null without one. */
        MAX(Long.MIN_VALUE),
        /** The text of the earliest record that has one, after its time: at the same time the lowest. */
        FIRST(0),
        /** The text of the latest record that has one, after its time: at the same time the highest. */
        LAST(0);

        /** The value that changes no other. It must not be a value of {@code MIN} and {@code MAX}. */
        final long neutral;

        Join(long neutral) {
            this.neutral = neutral;
        }

        boolean isOfText() {
            return this == FIRST || this == LAST;
        }

        /** Joins two numbers. */
        long of(long value, long other) {
            return switch (this) {
                case SUM -> value + other;
                case MIN -> Math.min(value, other);
                case MAX -> Math.max(value, other);
                default -> throw new IllegalStateException();
            };
        }

        /** Whether a text and its time take the place of others; texts have numbers, 0 for none. */
        boolean replaces(long text, long time, long otherText, long otherTime, TextNumbers texts) {
            if (text == 0 || text == otherText && time == otherTime) {
                return false;
            }
            int sign = this == FIRST ? 1 : -1;
            int order = otherText == 0 ? -sign : Long.compare(time, otherTime);
            if (order == 0) {
                order = texts.text((int) text).compareTo(texts.text((int) otherText));
            }
            return sign * order < 0;
        }

        /** Whether a joined number stands for null. */
        boolean isNull(long value) {
            return this != SUM && value == neutral;
        }
    }
}
