/** A number that stands for who gets what, the same as in {@code digest.rs}. */
final class Digest {
    private Digest() {}

    /** The order in which partitions are told does not matter. */
    static long of(Contestant.Result result) {
        long[] sum = {0};
        result.each((member, topic, partition) ->
            sum[0] += mixed(mixed(fnv(member) + fnv(topic)) + partition));
        return sum[0];
    }

    /** FNV-1a. */
    private static long fnv(String text) {
        long hash = 0xcbf29ce484222325L;
        for (int at = 0; at < text.length(); at++) hash = (hash ^ text.charAt(at)) * 0x100000001b3L;
        return hash;
    }

    private static long mixed(long value) {
        long mixed = (value ^ (value >>> 32)) * 0x9e3779b97f4a7c15L;
        return mixed ^ (mixed >>> 29);
    }
}
