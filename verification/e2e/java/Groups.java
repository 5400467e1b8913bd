import java.time.Duration;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Properties;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.ConsumerRecords;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.consumer.KafkaShareConsumer;
import org.apache.kafka.clients.consumer.OffsetAndMetadata;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.serialization.Serdes;
import org.apache.kafka.common.serialization.StringDeserializer;
import org.apache.kafka.streams.KafkaStreams;
import org.apache.kafka.streams.StreamsBuilder;

/**
 * Members of one group of each type, until the process is killed. The topic of each group has its name.
 *
 * <p>Argument: a broker. The members of the classic and of the consumer group commit no further than offset 3, so that they
 * stay behind.
 */
final class Groups {
    private static final long LAST_COMMITTED = 3;

    private Groups() {}

    public static void main(String[] arguments) {
        String broker = arguments[0];
        consume(broker, "classic", "groups-classic", Map.of("client.id", "classic-1", "group.instance.id", "one"));
        consume(broker, "classic", "groups-classic", Map.of("client.id", "classic-2"));
        consume(broker, "consumer", "groups-consumer", Map.of("client.id", "consumer-1"));
        consume(broker, "consumer", "groups-consumer", Map.of("client.id", "consumer-2"));
        start("share", () -> share(broker));
        stream(broker);
    }

    private static void start(String name, Runnable work) {
        Thread thread = new Thread(work, name);
        thread.setUncaughtExceptionHandler((any, error) -> {
            error.printStackTrace();
            System.exit(1);
        });
        thread.start();
    }

    private static Properties common(String broker) {
        Properties properties = new Properties();
        properties.put("bootstrap.servers", broker);
        return properties;
    }

    private static void consume(String broker, String protocol, String group, Map<String, String> more) {
        Properties properties = common(broker);
        properties.put("group.protocol", protocol);
        properties.put("group.id", group);
        properties.put("enable.auto.commit", "false");
        properties.put("auto.offset.reset", "earliest");
        properties.putAll(more);
        start(more.get("client.id"), () -> {
            try (var consumer = new KafkaConsumer<>(properties, new StringDeserializer(), new StringDeserializer())) {
                consumer.subscribe(List.of(group));
                while (true) {
                    Map<TopicPartition, OffsetAndMetadata> done = done(consumer.poll(Duration.ofMillis(200)));
                    if (!done.isEmpty()) consumer.commitSync(done);
                }
            }
        });
    }

    private static Map<TopicPartition, OffsetAndMetadata> done(ConsumerRecords<String, String> records) {
        Map<TopicPartition, OffsetAndMetadata> done = new HashMap<>();
        for (ConsumerRecord<String, String> record : records) {
            if (record.offset() >= LAST_COMMITTED) continue;
            Optional<Integer> epoch = record.leaderEpoch();
            TopicPartition partition = new TopicPartition(record.topic(), record.partition());
            done.put(partition, new OffsetAndMetadata(record.offset() + 1, epoch, ""));
        }
        return done;
    }

    private static void share(String broker) {
        Properties properties = common(broker);
        properties.put("group.id", "groups-share");
        properties.put("client.id", "share-1");
        try (var consumer = new KafkaShareConsumer<>(properties, new StringDeserializer(), new StringDeserializer())) {
            consumer.subscribe(List.of("groups-share"));
            while (true) consumer.poll(Duration.ofMillis(200));
        }
    }

    private static void stream(String broker) {
        Properties properties = common(broker);
        properties.put("application.id", "groups-streams");
        properties.put("group.protocol", "streams");
        properties.put("client.id", "streams-1");
        properties.put("commit.interval.ms", "500");
        properties.put("default.key.serde", Serdes.String().getClass().getName());
        properties.put("default.value.serde", Serdes.String().getClass().getName());
        properties.put("auto.offset.reset", "earliest");
        StreamsBuilder builder = new StreamsBuilder();
        builder.stream("groups-streams").foreach((key, value) -> { });
        new KafkaStreams(builder.build(), properties).start();
    }
}
