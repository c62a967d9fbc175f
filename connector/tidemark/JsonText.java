package tidemark;

import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
import java.nio.ByteOrder;
import org.apache.spark.unsafe.types.UTF8String;

/** Finds the JSON in a value. */
final class JsonText {
    private static final VarHandle LONGS = MethodHandles.byteArrayViewVarHandle(long[].class, ByteOrder.nativeOrder());
    private static final long NOT_ASCII = 0x8080808080808080L;
    private static final int OF_ENCODING = 4;

    private JsonText() { }

    /** Returns where an object or array in UTF-8 begins; a negative number if there is none. */
    static int start(byte[] array, int from, int to) {
        int frame = Frame.end(array, from, to, true);
        int start = afterMark(array, frame < 0 ? from : frame, to);
        return isValue(array, start, to) && isUtf8(array, start, to) ? start : -1;
    }

    /** Returns whether bytes may be an object or array in UTF-8. */
    static boolean isValue(byte[] array, int start, int to) {
        int first = start;
        while (first < to && isSpace(array[first])) {
            first++;
        }
        boolean isOpen = first < to && (array[first] == '{' || array[first] == '[');
        return isOpen && !hasZero(array, start, Math.min(start + OF_ENCODING, to));
    }

    /** Passes a byte order mark. */
    private static int afterMark(byte[] array, int from, int to) {
        boolean isMark = to - from >= 3 && array[from] == (byte) 0xef && array[from + 1] == (byte) 0xbb && array[from + 2] == (byte) 0xbf;
        return isMark ? from + 3 : from;
    }

    private static boolean isSpace(byte each) {
        return each == ' ' || each == '\t' || each == '\n' || each == '\r';
    }

    /** The parser would take zeros at the start for another encoding. */
    private static boolean hasZero(byte[] array, int from, int to) {
        boolean has = false;
        for (int at = from; at < to; at++) {
            has |= array[at] == 0;
        }
        return has;
    }

    private static boolean isUtf8(byte[] array, int from, int to) {
        int at = from;
        while (at + Long.BYTES <= to && ((long) LONGS.get(array, at) & NOT_ASCII) == 0) {
            at += Long.BYTES;
        }
        return UTF8String.fromBytes(array, at, to - at).isValid();
    }
}
