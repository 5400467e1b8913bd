import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HexFormat;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import org.apache.kafka.clients.consumer.ConsumerPartitionAssignor;
import org.apache.kafka.clients.consumer.ConsumerPartitionAssignor.GroupSubscription;
import org.apache.kafka.clients.consumer.ConsumerPartitionAssignor.Subscription;
import org.apache.kafka.clients.consumer.CooperativeStickyAssignor;
import org.apache.kafka.clients.consumer.RangeAssignor;
import org.apache.kafka.clients.consumer.RoundRobinAssignor;
import org.apache.kafka.clients.consumer.StickyAssignor;
import org.apache.kafka.clients.consumer.internals.ConsumerProtocol;
import org.apache.kafka.common.Cluster;
import org.apache.kafka.common.Node;
import org.apache.kafka.common.PartitionInfo;

/**
 * The plan of Kafka's own assignor for the members of a group, from their subscriptions as they sent them.
 *
 * <p>Argument: the assignor's name. Lines of the standard input, with tabs: "topic NAME PARTITIONS" and
 * "member ID INSTANCE SUBSCRIPTION", where the instance may be empty and the subscription is in hexadecimal digits. Lines
 * of the standard output: "ID TOPIC PARTITION".
 */
final class Planned {
    private Planned() {}

    public static void main(String[] arguments) throws IOException {
        List<PartitionInfo> partitions = new ArrayList<>();
        Map<String, Subscription> members = new HashMap<>();
        BufferedReader lines = new BufferedReader(new InputStreamReader(System.in));
        for (String line = lines.readLine(); line != null; line = lines.readLine()) {
            String[] words = line.split("\t", -1);
            switch (words[0]) {
                case "topic" -> addPartitions(partitions, words[1], Integer.parseInt(words[2]));
                case "member" -> members.put(words[1], subscription(words[2], words[3]));
                default -> throw new IllegalArgumentException(line);
            }
        }
        print(assignor(arguments[0]).assign(cluster(partitions), new GroupSubscription(members)).groupAssignment());
    }

    private static void addPartitions(List<PartitionInfo> partitions, String topic, int count) {
        Node[] none = {};
        for (int number = 0; number < count; number++) {
            partitions.add(new PartitionInfo(topic, number, Node.noNode(), none, none));
        }
    }

    private static Cluster cluster(List<PartitionInfo> partitions) {
        return new Cluster("planned", List.of(), partitions, Set.of(), Set.of());
    }

    private static Subscription subscription(String instance, String hex) {
        Subscription subscription = ConsumerProtocol.deserializeSubscription(ByteBuffer.wrap(HexFormat.of().parseHex(hex)));
        subscription.setGroupInstanceId(Optional.of(instance).filter(id -> !id.isEmpty()));
        return subscription;
    }

    private static ConsumerPartitionAssignor assignor(String name) {
        return switch (name) {
            case "range" -> new RangeAssignor();
            case "roundrobin" -> new RoundRobinAssignor();
            case "sticky" -> new StickyAssignor();
            case "cooperative-sticky" -> new CooperativeStickyAssignor();
            default -> throw new IllegalArgumentException("Kafka has no assignor " + name);
        };
    }

    private static void print(Map<String, ConsumerPartitionAssignor.Assignment> plan) {
        plan.forEach((member, part) -> part.partitions().forEach(partition ->
            System.out.println(member + "\t" + partition.topic() + "\t" + partition.partition())));
    }
}
