import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.Collection;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.function.Supplier;
import org.apache.kafka.clients.consumer.ConsumerGroupMetadata;
import org.apache.kafka.clients.consumer.ConsumerPartitionAssignor;
import org.apache.kafka.clients.consumer.ConsumerPartitionAssignor.Assignment;
import org.apache.kafka.clients.consumer.ConsumerPartitionAssignor.GroupSubscription;
import org.apache.kafka.clients.consumer.ConsumerPartitionAssignor.Subscription;
import org.apache.kafka.clients.consumer.CooperativeStickyAssignor;
import org.apache.kafka.clients.consumer.RangeAssignor;
import org.apache.kafka.clients.consumer.RoundRobinAssignor;
import org.apache.kafka.clients.consumer.StickyAssignor;
import org.apache.kafka.common.Cluster;
import org.apache.kafka.common.Node;
import org.apache.kafka.common.PartitionInfo;
import org.apache.kafka.common.TopicPartition;

/** An assignor that the leading consumer of a group runs. */
final class Client implements Contestant {
    private static final int GENERATION = 1;

    private final String strategy;
    private final Shape shape;
    private final List<String> topics;
    private final Cluster cluster;

    Client(String strategy, Shape shape) {
        this.strategy = strategy;
        this.shape = shape;
        this.topics = shape.topicNames();
        this.cluster = cluster();
    }

    private Cluster cluster() {
        Node[] brokers = new Node[Shape.rackNames().length];
        for (int id = 0; id < brokers.length; id++) {
            brokers[id] = new Node(id, "broker", 9092, shape.racks() ? Shape.rackNames()[id] : null);
        }
        List<PartitionInfo> partitions = new ArrayList<>(shape.partitions());
        for (int topic = 0; topic < topics.size(); topic++) {
            for (int partition = 0; partition < shape.partitionsPerTopic(); partition++) {
                int[] ids = Shape.replicas(topic, partition);
                Node[] replicas = {brokers[ids[0]], brokers[ids[1]]};
                partitions.add(new PartitionInfo(topics.get(topic), partition, replicas[0], replicas, replicas));
            }
        }
        return new Cluster("compare", List.of(brokers), partitions, Set.of(), Set.of());
    }

    private ConsumerPartitionAssignor assignor() {
        return switch (strategy) {
            case "range" -> new RangeAssignor();
            case "roundrobin" -> new RoundRobinAssignor();
            case "sticky" -> new StickyAssignor();
            case "cooperative-sticky" -> new CooperativeStickyAssignor();
            default -> throw new IllegalArgumentException("Kafka has no " + strategy);
        };
    }

    /** An assignor keeps the newest generation that it saw, so each run has its own. */
    @Override
    public Supplier<Result> prepare(List<Integer> members, Result before) {
        Map<String, List<TopicPartition>> owned = new HashMap<>();
        before.each((member, topic, partition) ->
            owned.computeIfAbsent(member, any -> new ArrayList<>()).add(new TopicPartition(topic, partition)));
        Map<String, Subscription> subscriptions = new HashMap<>();
        for (int member : members) {
            String id = Shape.memberId(member);
            subscriptions.put(id, subscription(member, owned.get(id)));
        }
        GroupSubscription group = new GroupSubscription(subscriptions);
        ConsumerPartitionAssignor assignor = assignor();
        return () -> {
            rewind(subscriptions.values());
            return visiting(assignor.assign(cluster, group).groupAssignment());
        };
    }

    /** Reading user data uses it up. */
    private static void rewind(Collection<Subscription> subscriptions) {
        for (Subscription subscription : subscriptions) {
            if (subscription.userData() != null) subscription.userData().rewind();
        }
    }

    private Subscription subscription(int member, List<TopicPartition> owned) {
        int[] interest = shape.interest(member);
        List<String> names = new ArrayList<>(topics.subList(interest[0], interest[1]));
        Optional<String> rack = Optional.ofNullable(shape.rackOf(member));
        if (owned == null) return new Subscription(names, userData(null, names), List.of(), -1, rack);
        return new Subscription(names, userData(owned, names), owned, GENERATION, rack);
    }

    /** What the member's own assignor would send along. */
    private ByteBuffer userData(List<TopicPartition> owned, List<String> names) {
        ConsumerPartitionAssignor members = assignor();
        if (owned != null) {
            ConsumerGroupMetadata group = new ConsumerGroupMetadata("compare", GENERATION, "", Optional.empty());
            members.onAssignment(new Assignment(owned), group);
        }
        return members.subscriptionUserData(Set.copyOf(names));
    }

    private static Result visiting(Map<String, Assignment> assignment) {
        return visitor -> assignment.forEach((member, got) -> {
            for (TopicPartition partition : got.partitions()) {
                visitor.visit(member, partition.topic(), partition.partition());
            }
        });
    }
}
