//! Failures that repeat, in the log.

/// True for the failures in a row that are told: the first, the second, the fourth, and so on. One that lasts stays seen,
/// and fills no log.
pub(super) const fn is_told(failures: u32) -> bool {
    failures.is_power_of_two()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_failure_that_lasts_is_told_ever_more_seldom() {
        let told: Vec<u32> = (0..20).filter(|failures| is_told(*failures)).collect();
        assert_eq!(told, [1, 2, 4, 8, 16]);
    }
}
