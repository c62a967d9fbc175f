package tidemark;

/**
 * Where the partitions of a topic end.
 *
 * @param stable the offset after the last record that can be read: the start of the first open transaction, if one is open
 * @param high the offset after the last record, asked before {@code stable}: it is above only if a transaction is open
 */
public record LogEnds(PlannedOffsets stable, PlannedOffsets high) { }
