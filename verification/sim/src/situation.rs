//! The situations that a world meets apart from its kinds of fault. They are drawn from a stream of their own, so that a world
//! without any of them is what it was before.

use std::time::Duration;

use kafka_assigner_store::faulty::Outage;
use kafka_assigner_types::mode::Mode;
use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};

/// The share of worlds with a store that goes back; each of them is busy with that for a third of its time.
const RESTORED: f64 = 0.12;

/// The share of those in which it goes back twice.
const TWICE: f64 = 0.25;

/// The share of the worlds in `overlap` throughout that have consumers whose sessions the instances renew.
const MINIMAL: f64 = 0.3;

/// The share of the worlds in `overlap` throughout that have a store whose leaders change again and again.
const REVIVED: f64 = 0.3;

/// The longest that an operator takes to start an instance.
pub(crate) const MOST_STARTING: Duration = Duration::from_secs(2);

/// The situations of one world.
#[derive(Debug, Clone, Default)]
pub(crate) struct Situations {
    /// The backups that are put back, by the time at which they are made.
    pub(crate) restores: Vec<StoreRestore>,
    /// The consumers whose sessions the instances renew.
    pub(crate) minimal: usize,
    /// The times at which one of them dies.
    pub(crate) minimal_deaths: Vec<Duration>,
    /// A store that changes its leader again and again, with whatever leases have left.
    pub(crate) revival: Option<StoreRevival>,
}

/// A store whose leaders change, each of which gives every lease its whole time again.
#[derive(Debug, Clone, Copy)]
pub(crate) struct StoreRevival {
    /// The time of the first try; it begins once nothing else is wrong.
    pub(crate) from: Duration,
    /// The time between two changes, as a share of a session's time to live: no lease runs out meanwhile.
    share: f64,
}

impl StoreRevival {
    /// The time between two changes, with sessions that live for `ttl`.
    pub(crate) fn every(self, ttl: Duration) -> Duration {
        ttl.mul_f64(self.share)
    }
}

/// A backup of the store that is put back.
#[derive(Debug, Clone)]
pub(crate) struct StoreRestore {
    /// The time of the backup.
    pub(crate) backed_up: Duration,
    /// The time after it of which all is lost.
    pub(crate) age: Duration,
    /// The time for which the store is away meanwhile, and the way.
    pub(crate) away: (Duration, Outage),
    /// True if all instances are down meanwhile, and an operator says that the store was put back before they start.
    pub(crate) is_announced: bool,
    /// True if its revision is raised above the lost ones and its past is forgotten, as `etcdutl` does where it is told to:
    /// then somebody has to say so.
    pub(crate) is_raised: bool,
    /// True if a consumer reaches nobody in that moment: it works on for as long as its claim lasts.
    pub(crate) cuts_off: bool,
}

impl Situations {
    /// The situations of the world `seed`.
    ///
    /// `mode` is the only one that its group has; `None` where that changes.
    pub(crate) fn draw(seed: u64, mode: Option<Mode>) -> Self {
        let mut dice = StdRng::seed_from_u64(seed ^ 0x0517_0a7e);
        let is_restored = dice.random_bool(RESTORED);
        let times = if dice.random_bool(TWICE) { 2 } else { 1 };
        let spans: &[(u64, u64)] = if times == 1 { &[(15, 220)] } else { &[(15, 80), (150, 220)] };
        let restores = spans.iter().map(|span| StoreRestore::draw(&mut dice, *span)).collect();
        let restores = if is_restored { restores } else { Vec::new() };
        let (minimal, minimal_deaths) = minimal(&mut dice, mode);
        // Of those that a lost history has left behind nobody has heard, so that nobody marks them.
        let has_revival = mode == Some(Mode::Overlap) && restores.is_empty();
        let revival = StoreRevival::draw(&mut dice).filter(|_| has_revival);
        Self { restores, minimal, minimal_deaths, revival }
    }
}

/// Sessions that instances renew are for `overlap` only.
fn minimal(dice: &mut StdRng, mode: Option<Mode>) -> (usize, Vec<Duration>) {
    let (count, deaths) = (dice.random_range(1..=3), dice.random_range(1..=4));
    let deaths = (0..deaths).map(|_| Duration::from_millis(dice.random_range(10_000..=280_000))).collect();
    let has_some = dice.random_bool(MINIMAL) && mode == Some(Mode::Overlap);
    if has_some { (count, deaths) } else { (0, Vec::new()) }
}

impl StoreRevival {
    /// In the strict modes the lease alone decides, and the dead one keeps what it has.
    fn draw(dice: &mut StdRng) -> Option<Self> {
        let from = Duration::from_secs(dice.random_range(20..=150));
        let share = dice.random_range(0.7..=0.95);
        dice.random_bool(REVIVED).then_some(Self { from, share })
    }
}

impl StoreRestore {
    fn draw(dice: &mut StdRng, (first_s, last_s): (u64, u64)) -> Self {
        let outages = [Outage::Refusing, Outage::Silent, Outage::Deaf];
        let is_announced = dice.random_bool(0.4);
        Self {
            backed_up: Duration::from_millis(dice.random_range(first_s * 1_000..=last_s * 1_000)),
            age: Duration::from_millis(dice.random_range(500..=40_000)),
            away: (
                Duration::from_millis(dice.random_range(0..=6_000)),
                outages[dice.random_range(0..outages.len())],
            ),
            is_announced,
            is_raised: is_announced && dice.random_bool(0.5),
            cuts_off: dice.random_bool(0.4),
        }
    }
}
