//! Equal to Kafka, member by member and in the order of each member's list.

use super::vector::Vector;

const VECTORS: &str = include_str!("../../golden/kafka-client-assignors.jsonl");

#[test]
fn every_golden_vector_comes_out_as_in_kafka() {
    let mut checked = 0;
    for line in VECTORS.lines() {
        let vector: Vector = serde_json::from_str(line).unwrap();
        assert_eq!(vector.outcome(), vector.expect, "vector {} of {}", vector.n, vector.assignor);
        checked += 1;
    }
    println!("{checked} golden vectors checked");
    assert_eq!(checked, 264);
}
