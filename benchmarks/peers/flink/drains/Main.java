package drains;

import java.io.BufferedReader;
import java.io.File;
import java.io.InputStreamReader;
import java.time.Duration;

import org.apache.flink.api.common.JobID;
import org.apache.flink.configuration.CheckpointingOptions;
import org.apache.flink.configuration.Configuration;
import org.apache.flink.configuration.CoreOptions;
import org.apache.flink.configuration.MemorySize;
import org.apache.flink.configuration.PipelineOptions;
import org.apache.flink.configuration.RestartStrategyOptions;
import org.apache.flink.configuration.StateBackendOptions;
import org.apache.flink.configuration.TaskManagerOptions;
import org.apache.flink.core.execution.CheckpointingMode;
import org.apache.flink.runtime.jobgraph.JobGraph;
import org.apache.flink.runtime.minicluster.MiniCluster;
import org.apache.flink.runtime.minicluster.MiniClusterConfiguration;
import org.apache.flink.shaded.jackson2.com.fasterxml.jackson.databind.ObjectMapper;
import org.apache.flink.streaming.api.environment.StreamExecutionEnvironment;

/** Drains a topic on a mini-cluster: `Main settings.json`, then a folder per line; prints the late rows of each drain. */
public final class Main {
    static final String WINDOWS = "page_views";
    static final String LATE = "late";
    static final String COMPRESSION = "SNAPPY";
    private static final String READY = "READY";
    private static final String DONE = "DONE ";
    private static final MemorySize MANAGED = MemorySize.ofMebiBytes(512);

    private Main() {
    }

    public static void main(String[] files) throws Exception {
        DrainSettings settings = new ObjectMapper().readValue(new File(files[0]), DrainSettings.class);
        BufferedReader folders = new BufferedReader(new InputStreamReader(System.in));
        try (MiniCluster cluster = cluster(settings)) {
            cluster.start();
            System.out.println(READY);
            for (String folder = folders.readLine(); folder != null; folder = folders.readLine()) {
                drain(cluster, settings, folder);
                System.out.println(DONE + Metrics.late());
            }
        }
    }

    static MiniCluster cluster(DrainSettings settings) {
        Configuration configuration = new Configuration()
                .set(CoreOptions.TMP_DIRS, settings.scratch())
                .set(TaskManagerOptions.MANAGED_MEMORY_SIZE, MANAGED);
        configuration.setString("metrics.reporter.late.factory.class", Metrics.class.getName());
        return new MiniCluster(new MiniClusterConfiguration.Builder()
                .setConfiguration(configuration)
                .setNumSlotsPerTaskManager(settings.cores())
                .withRandomPorts()
                .build());
    }

    /** Returns the graph of a job that writes below `folder`. */
    static JobGraph graph(DrainSettings settings, String folder) {
        StreamExecutionEnvironment flink = StreamExecutionEnvironment.getExecutionEnvironment(job(settings, folder));
        switch (settings.job()) {
            case "sql" -> SqlJob.define(settings, folder, flink);
            case "datastream" -> DataStreamJob.define(settings, folder, flink);
            default -> throw new IllegalArgumentException(settings.job());
        }
        return flink.getStreamGraph().getJobGraph();
    }

    private static void drain(MiniCluster cluster, DrainSettings settings, String folder) throws Exception {
        JobID job = cluster.submitJob(graph(settings, folder)).get().getJobID();
        cluster.requestJobResult(job).get().toJobExecutionResult(Main.class.getClassLoader());
    }

    private static Configuration job(DrainSettings settings, String folder) {
        return new Configuration()
                .set(CoreOptions.DEFAULT_PARALLELISM, settings.cores())
                .set(PipelineOptions.OBJECT_REUSE, true)
                .set(PipelineOptions.GENERIC_TYPES, false)
                .set(RestartStrategyOptions.RESTART_STRATEGY, settings.tolerant() ? "exponential-delay" : "none")
                .set(StateBackendOptions.STATE_BACKEND, "hashmap")
                .set(CheckpointingOptions.CHECKPOINTING_INTERVAL, Duration.ofMillis(settings.checkpointInterval()))
                .set(CheckpointingOptions.CHECKPOINTING_CONSISTENCY_MODE, CheckpointingMode.EXACTLY_ONCE)
                .set(CheckpointingOptions.CHECKPOINTS_DIRECTORY, folder + "/checkpoints");
    }
}
