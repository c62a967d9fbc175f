package drains;

import java.util.Set;

import org.apache.flink.api.common.serialization.DeserializationSchema;
import org.apache.flink.configuration.ConfigOption;
import org.apache.flink.configuration.ConfigOptions;
import org.apache.flink.configuration.ReadableConfig;
import org.apache.flink.formats.avro.AvroRowDataDeserializationSchema;
import org.apache.flink.formats.avro.AvroToRowDataConverters;
import org.apache.flink.table.connector.ChangelogMode;
import org.apache.flink.table.connector.format.DecodingFormat;
import org.apache.flink.table.connector.source.DynamicTableSource;
import org.apache.flink.table.data.RowData;
import org.apache.flink.table.factories.DeserializationFormatFactory;
import org.apache.flink.table.factories.DynamicTableFactory;
import org.apache.flink.table.types.DataType;
import org.apache.flink.table.types.logical.RowType;

/** The SQL format `framed-avro`: Flink's `avro` after a frame, with a writer's and a reader's schema. */
public final class FramedAvroFormat implements DeserializationFormatFactory {
    private static final ConfigOption<String> WRITER =
            ConfigOptions.key("writer-schema").stringType().noDefaultValue();
    private static final ConfigOption<String> READER =
            ConfigOptions.key("reader-schema").stringType().noDefaultValue();
    /** As of Flink's JSON format; its Avro format has no such option. */
    private static final ConfigOption<Boolean> IGNORE =
            ConfigOptions.key("ignore-parse-errors").booleanType().defaultValue(false);

    @Override
    public String factoryIdentifier() {
        return "framed-avro";
    }

    @Override
    public Set<ConfigOption<?>> requiredOptions() {
        return Set.of(WRITER, READER);
    }

    @Override
    public Set<ConfigOption<?>> optionalOptions() {
        return Set.of(IGNORE);
    }

    @Override
    public DecodingFormat<DeserializationSchema<RowData>> createDecodingFormat(
            DynamicTableFactory.Context context, ReadableConfig options) {
        FramedAvro avro = new FramedAvro(options.get(WRITER), options.get(READER), options.get(IGNORE));
        return new DecodingFormat<>() {
            @Override
            public DeserializationSchema<RowData> createRuntimeDecoder(
                    DynamicTableSource.Context source, DataType produced) {
                AvroToRowDataConverters.AvroToRowDataConverter row =
                        AvroToRowDataConverters.createRowConverter((RowType) produced.getLogicalType(), false);
                return new AvroRowDataDeserializationSchema(
                        avro,
                        record -> record == null ? null : row.convert(record),
                        source.createTypeInformation(produced));
            }

            @Override
            public ChangelogMode getChangelogMode() {
                return ChangelogMode.insertOnly();
            }
        };
    }
}
