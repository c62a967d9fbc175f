package tidemark;

import org.apache.spark.sql.execution.vectorized.OnHeapColumnVector;
import org.apache.spark.sql.execution.vectorized.WritableColumnVector;
import org.apache.spark.sql.types.BinaryType;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.StringType;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.sql.vectorized.ColumnVector;

/**
 * A column that steps write: texts and bytes of records stay where they are, except inside of arrays, maps and structs.
 * Only this class makes vectors by Spark's private {@code execution.vectorized}: its public API has columns to read, and
 * none to write.
 */
final class ColumnWriter {
    private final TextColumn slices;
    private final WritableColumnVector values;

    private ColumnWriter(TextColumn slices, WritableColumnVector values) {
        this.slices = slices;
        this.values = values;
    }

    /** Returns a column of its own for a number of rows. */
    static ColumnWriter column(DataType type, int rows) {
        boolean isText = type instanceof StringType || type instanceof BinaryType;
        return isText ? new ColumnWriter(new TextColumn(type, rows), null) : new ColumnWriter(null, new OnHeapColumnVector(rows, type));
    }

    ColumnVector vector() {
        return slices == null ? values : slices;
    }

    WritableColumnVector values() {
        return values;
    }

    /** Returns the column of a field of this struct, or of the items of this array. */
    ColumnWriter child(int ordinal) {
        return new ColumnWriter(null, values.getChild(ordinal));
    }

    /** Makes room for an item of an array at this row. */
    void reserve(int rows) {
        values.reserve(rows);
    }

    /**
     * Takes a number of rows for the items of an array; returns the first of them. The vector counts them, because the
     * steps of several schemas write into it, and its reset reaches every vector inside of it.
     */
    int take(int count) {
        int first = values.getElementsAppended();
        values.addElementsAppended(count);
        return first;
    }

    void putText(int row, byte[] array, int start, int length) {
        if (slices == null) {
            values.putByteArray(row, array, start, length);
        } else {
            slices.put(row, array, start, length);
        }
    }

    void putNull(int row) {
        if (slices == null) {
            values.putNull(row);
        } else {
            slices.putNull(row);
        }
    }

    /** Empties the column. */
    void reset() {
        if (slices == null) {
            values.reset();
        } else {
            slices.reset();
        }
    }
}
