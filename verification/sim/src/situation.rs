//! What a world meets apart from its kinds of fault. It is drawn from a stream of its own, so that a world without any of it
//! is what it was before.

use std::time::Duration;

use kafka_assigner_store::faulty::Outage;
use kafka_assigner_types::mode::Mode;
use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};

/// How many worlds have a store that goes back; each of them is busy with that for a third of its time.
const RESTORED: f64 = 0.12;

/// How many of those have one that goes back twice.
const TWICE: f64 = 0.25;

/// How many of the worlds that are in `overlap` throughout have consumers whose sessions the instances renew.
const MINIMAL: f64 = 0.3;

/// The longest that an operator takes to start an instance.
pub(crate) const MOST_STARTING: Duration = Duration::from_secs(2);

/// The situations of one world.
#[derive(Debug, Clone, Default)]
pub(crate) struct Situations {
    /// The backups that are put back, by the time at which they are made.
    pub(crate) restores: Vec<StoreRestore>,
    /// The consumers whose sessions the instances renew.
    pub(crate) minimal: usize,
    /// When one of them dies.
    pub(crate) minimal_deaths: Vec<Duration>,
}

/// A backup of the store that is put back.
#[derive(Debug, Clone)]
pub(crate) struct StoreRestore {
    /// The time of the backup.
    pub(crate) backed_up: Duration,
    /// How much is lost: what happens for that long after it.
    pub(crate) age: Duration,
    /// How long the store is away meanwhile, and how.
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
        Self { restores, minimal, minimal_deaths }
    }
}

/// Sessions that instances renew are for `overlap` only.
fn minimal(dice: &mut StdRng, mode: Option<Mode>) -> (usize, Vec<Duration>) {
    let (count, deaths) = (dice.random_range(1..=3), dice.random_range(1..=4));
    let deaths = (0..deaths).map(|_| Duration::from_millis(dice.random_range(10_000..=280_000))).collect();
    let has_some = dice.random_bool(MINIMAL) && mode == Some(Mode::Overlap);
    if has_some { (count, deaths) } else { (0, Vec::new()) }
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
