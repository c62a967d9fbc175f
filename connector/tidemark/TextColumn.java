package tidemark;

import java.util.Arrays;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.Decimal;
import org.apache.spark.sql.vectorized.ColumnVector;
import org.apache.spark.sql.vectorized.ColumnarArray;
import org.apache.spark.sql.vectorized.ColumnarMap;
import org.apache.spark.unsafe.types.UTF8String;

/** A column of texts or bytes, each a part of an array that is not copied. A row without a part is null. */
final class TextColumn extends ColumnVector {
    private final byte[][] arrays;
    private final int[] starts;
    private final int[] lengths;
    private int nulls;

    TextColumn(DataType type, int rows) {
        super(type);
        arrays = new byte[rows][];
        starts = new int[rows];
        lengths = new int[rows];
    }

    void put(int row, byte[] array, int start, int length) {
        arrays[row] = array;
        starts[row] = start;
        lengths[row] = length;
    }

    void putNull(int row) {
        arrays[row] = null;
        nulls++;
    }

    /** Forgets that there were nulls; all rows must be put again. */
    void reset() {
        nulls = 0;
    }

    @Override
    public void close() {
        Arrays.fill(arrays, null);
    }

    @Override
    public boolean hasNull() {
        return nulls > 0;
    }

    @Override
    public int numNulls() {
        return nulls;
    }

    @Override
    public boolean isNullAt(int row) {
        return arrays[row] == null;
    }

    @Override
    public UTF8String getUTF8String(int row) {
        return arrays[row] == null ? null : UTF8String.fromBytes(arrays[row], starts[row], lengths[row]);
    }

    @Override
    public byte[] getBinary(int row) {
        return arrays[row] == null ? null : Arrays.copyOfRange(arrays[row], starts[row], starts[row] + lengths[row]);
    }

    @Override
    public boolean getBoolean(int row) {
        throw new UnsupportedOperationException();
    }

    @Override
    public byte getByte(int row) {
        throw new UnsupportedOperationException();
    }

    @Override
    public short getShort(int row) {
        throw new UnsupportedOperationException();
    }

    @Override
    public int getInt(int row) {
        throw new UnsupportedOperationException();
    }

    @Override
    public long getLong(int row) {
        throw new UnsupportedOperationException();
    }

    @Override
    public float getFloat(int row) {
        throw new UnsupportedOperationException();
    }

    @Override
    public double getDouble(int row) {
        throw new UnsupportedOperationException();
    }

    @Override
    public ColumnarArray getArray(int row) {
        throw new UnsupportedOperationException();
    }

    @Override
    public ColumnarMap getMap(int row) {
        throw new UnsupportedOperationException();
    }

    @Override
    public Decimal getDecimal(int row, int precision, int scale) {
        throw new UnsupportedOperationException();
    }

    @Override
    public ColumnVector getChild(int ordinal) {
        throw new UnsupportedOperationException();
    }
}
