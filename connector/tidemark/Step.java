package tidemark;

/** Reads one value of a writer's schema into a row of a column, or passes it. */
@FunctionalInterface
interface Step {
    /** Raises {@link Malformed} if the bytes are not such a value; the row may then have any value. */
    void run(Input in, int row);
}
