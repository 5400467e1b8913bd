import java.util.ArrayList;
import java.util.List;

/** What happened since members last got partitions. */
enum Event {
    FRESH, JOIN, LEAVE, UNCHANGED;

    /** The members before it, by number; nobody if nobody ever got anything. */
    List<Integer> before(int members) {
        return switch (this) {
            case FRESH -> List.of();
            case JOIN -> numbers(members - 1);
            case LEAVE, UNCHANGED -> numbers(members);
        };
    }

    /** The members after it, by number. */
    List<Integer> after(int members) {
        List<Integer> numbers = numbers(members);
        if (this == LEAVE) numbers.remove(members / 2);
        return numbers;
    }

    private static List<Integer> numbers(int end) {
        List<Integer> numbers = new ArrayList<>(end);
        for (int number = 0; number < end; number++) numbers.add(number);
        return numbers;
    }
}
