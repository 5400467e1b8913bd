//! Equal to Kafka, member by member and in the order of each member's list.

use std::io::Write as _;

use super::vector::Vector;

const VECTORS: &str = include_str!("../../golden/kafka-client-assignors.jsonl");

pub(crate) fn vectors() -> impl Iterator<Item = Vector> {
    VECTORS.lines().map(|line| serde_json::from_str(line).unwrap())
}

#[test]
fn every_golden_vector_comes_out_as_in_kafka() {
    let mut checked = 0;
    for vector in vectors() {
        assert_eq!(vector.outcome(), vector.expect, "vector {} of {}", vector.n, vector.assignor);
        checked += 1;
    }
    // Past the capture of tests that pass, so that it is seen in every run.
    writeln!(std::io::stdout(), "{checked} golden vectors checked").unwrap();
    assert_eq!(checked, 264);
}
