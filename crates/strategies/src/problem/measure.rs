//! Measures of a unit's work and of a member's strength: [`Weight`] and [`Capacity`].
//!
//! Both are fixed-point numbers, so that sums and comparisons are exact and the same on every
//! machine, in whatever order they are made.

const SCALE: u32 = 1_000;

/// The work that a unit takes, in any measure that all units share, such as records a second.
///
/// Kept in thousandths. Less than a thousandth counts as a thousandth: even an idle partition
/// costs its owner something. The weights of [`Problem::MAX_UNITS`](crate::Problem::MAX_UNITS)
/// units add up within 64 bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Weight(u64);

impl Weight {
    /// The weight of a unit of which nothing is said.
    pub const ONE: Self = Self(SCALE as u64);
    /// The largest weight there is.
    pub const MAX: f64 = 1e9;

    /// The weight `value`; `None` unless it is from zero to [`MAX`](Self::MAX).
    pub fn new(value: f64) -> Option<Self> {
        let thousandths = value * f64::from(SCALE);
        (0.0..=Self::MAX).contains(&value).then(|| Self((thousandths.round() as u64).max(1)))
    }

    /// The weight of units that are placed as one.
    pub fn plus(self, other: Self) -> Self {
        Self(self.0.saturating_add(other.0))
    }

    /// The weight in thousandths; never zero.
    pub fn thousandths(self) -> u64 {
        self.0
    }
}

/// The strength of a member compared with the others, such as its number of threads.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Capacity(u32);

impl Capacity {
    /// The capacity of a member of which nothing is said.
    pub const ONE: Self = Self(SCALE);
    /// The smallest capacity there is; who can do nothing says `max_partitions = 0`.
    pub const MIN: f64 = 1e-3;
    /// The largest capacity there is.
    pub const MAX: f64 = 1e6;

    /// The capacity `value`; `None` unless it is from [`MIN`](Self::MIN) to [`MAX`](Self::MAX).
    #[inline]
    pub fn new(value: f64) -> Option<Self> {
        // Every member is asked: adding a half and truncating needs no call into the C library, which `round` does.
        let thousandths = value * f64::from(SCALE) + 0.5;
        (Self::MIN..=Self::MAX).contains(&value).then_some(Self(thousandths as u32))
    }

    /// The capacity in thousandths; never zero.
    pub fn thousandths(self) -> u32 {
        self.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_no_amount_of_work_is_no_weight() {
        for value in [-1.0, -f64::MIN_POSITIVE, f64::NAN, f64::INFINITY, 1.1e9] {
            assert_eq!(Weight::new(value), None, "{value}");
        }
        assert_eq!(Weight::new(0.0).unwrap().thousandths(), 1);
        assert_eq!(Weight::new(1.0), Some(Weight::ONE));
        assert_eq!(Weight::new(2.5).unwrap().thousandths(), 2_500);
    }

    #[test]
    fn the_heaviest_units_add_up() {
        let heaviest = Weight::new(Weight::MAX).unwrap().thousandths();
        assert!(heaviest.checked_mul(crate::Problem::MAX_UNITS as u64).is_some());
    }

    #[test]
    fn a_capacity_is_finite_and_above_zero() {
        for value in [-1.0, 0.0, 1e-4, f64::NAN, f64::INFINITY, 1.1e6] {
            assert_eq!(Capacity::new(value), None, "{value}");
        }
        assert_eq!(Capacity::new(1.0), Some(Capacity::ONE));
        assert_eq!(Capacity::new(Capacity::MIN).unwrap().thousandths(), 1);
    }
}
