import java.io.BufferedWriter;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.time.Instant;
import java.time.temporal.ChronoUnit;
import java.util.Collection;
import java.util.HashSet;
import java.util.List;
import java.util.Properties;
import java.util.Set;
import org.apache.kafka.clients.consumer.ConsumerRebalanceListener;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.errors.WakeupException;
import org.apache.kafka.common.serialization.ByteArrayDeserializer;

/**
 * A member of an ordinary consumer group: {@code TOPIC HISTORY REBUILD_MS NAME=VALUE...}, the latter being properties
 * of the consumer, which has its defaults for all others.
 *
 * <p>Writes what it handles into the history, in the form that {@code src/history.rs} describes. SIGTERM has it leave.
 */
public final class Member {
    private static final Duration POLL = Duration.ofMillis(100);

    private final BufferedWriter history;

    private Member(BufferedWriter history) {
        this.history = history;
    }

    public static void main(String[] told) throws IOException {
        Properties properties = new Properties();
        for (String property : List.of(told).subList(3, told.length)) {
            String[] parts = property.split("=", 2);
            properties.put(parts[0], parts[1]);
        }
        ByteArrayDeserializer bytes = new ByteArrayDeserializer();
        try (BufferedWriter history = Files.newBufferedWriter(Path.of(told[1]));
                KafkaConsumer<byte[], byte[]> consumer = new KafkaConsumer<>(properties, bytes, bytes)) {
            leaveOnSignal(consumer);
            new Member(history).run(consumer, told[0], new States(Long.parseLong(told[2])));
        }
    }

    private void run(KafkaConsumer<byte[], byte[]> consumer, String topic, States states) throws IOException {
        history.write("joining " + now() + "\n");
        history.flush();
        consumer.subscribe(List.of(topic), states);
        try {
            while (true) {
                for (ConsumerRecord<byte[], byte[]> record : consumer.poll(POLL)) {
                    history.write(record.partition() + " " + record.offset() + " " + now() + "\n");
                }
                history.flush();
            }
        } catch (WakeupException told) {
            // Closing is the farewell: it commits, and leaves the group.
        }
    }

    /** The machine ends when the hook has, so it waits for the farewell. */
    private static void leaveOnSignal(KafkaConsumer<byte[], byte[]> consumer) {
        Thread main = Thread.currentThread();
        Thread hook = new Thread(() -> {
            consumer.wakeup();
            try {
                main.join();
            } catch (InterruptedException impatient) {
                Thread.currentThread().interrupt();
            }
        });
        Runtime.getRuntime().addShutdownHook(hook);
    }

    private static long now() {
        return ChronoUnit.MICROS.between(Instant.EPOCH, Instant.now());
    }

    /**
     * The state of each owned partition, which takes time to rebuild. All that are new are rebuilt side by side, and
     * what a rebalance takes and gives back at once is still there.
     */
    private static final class States implements ConsumerRebalanceListener {
        private final long rebuildMillis;
        private final Set<TopicPartition> built = new HashSet<>();
        private final Set<TopicPartition> revoked = new HashSet<>();

        States(long rebuildMillis) {
            this.rebuildMillis = rebuildMillis;
        }

        @Override
        public void onPartitionsAssigned(Collection<TopicPartition> assigned) {
            revoked.removeAll(assigned);
            built.removeAll(revoked);
            revoked.clear();
            if (built.addAll(assigned)) {
                rebuild();
            }
        }

        @Override
        public void onPartitionsRevoked(Collection<TopicPartition> gone) {
            revoked.addAll(gone);
        }

        private void rebuild() {
            try {
                Thread.sleep(rebuildMillis);
            } catch (InterruptedException impatient) {
                throw new UncheckedIOException(new IOException(impatient));
            }
        }
    }
}
