package stepped;

import java.util.ArrayList;
import java.util.Collection;
import java.util.List;

import org.apache.flink.api.common.ExecutionConfig;
import org.apache.flink.api.common.typeutils.TypeSerializer;
import org.apache.flink.streaming.api.windowing.assigners.WindowAssigner;
import org.apache.flink.streaming.api.windowing.triggers.EventTimeTrigger;
import org.apache.flink.streaming.api.windowing.triggers.Trigger;
import org.apache.flink.streaming.api.windowing.windows.TimeWindow;

/** Windows that grow by a step up to a size, which Flink has in its SQL (CUMULATE) and not for a DataStream. */
final class Growing extends WindowAssigner<Object, TimeWindow> {
    private static final long serialVersionUID = 1;
    private final long size;
    private final long step;
    private final long offset;

    Growing(long size, long step, long offset) {
        this.size = size;
        this.step = step;
        this.offset = offset;
    }

    @Override
    public Collection<TimeWindow> assignWindows(Object event, long time, WindowAssignerContext context) {
        long start = TimeWindow.getWindowStartWithOffset(time, offset, size);
        List<TimeWindow> windows = new ArrayList<>();
        for (long end = start + size; end > time; end -= step) {
            windows.add(new TimeWindow(start, end));
        }
        return windows;
    }

    @Override
    public Trigger<Object, TimeWindow> getDefaultTrigger() {
        return EventTimeTrigger.create();
    }

    @Override
    public TypeSerializer<TimeWindow> getWindowSerializer(ExecutionConfig config) {
        return new TimeWindow.Serializer();
    }

    @Override
    public boolean isEventTime() {
        return true;
    }
}
