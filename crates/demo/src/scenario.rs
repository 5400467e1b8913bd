//! The steps of a run and their times: a consumer joins, one leaves, one is killed; the leader is killed while
//! partitions move; a consumer joins again.

use std::time::Duration;

use tokio::time::{Instant, sleep, sleep_until, timeout};

use crate::error::Error;
use crate::world::World;

/// One step of the scenario.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ScenarioStep {
    Join,
    Leave,
    KillConsumer,
    /// A consumer joins, and the leader is killed while partitions move to it.
    KillLeader,
    JoinAgain,
}

/// The steps, each at its part of a round.
const STEPS: [(f64, ScenarioStep); 5] = [
    (0.12, ScenarioStep::Join),
    (0.27, ScenarioStep::Leave),
    (0.42, ScenarioStep::KillConsumer),
    (0.66, ScenarioStep::KillLeader),
    (0.84, ScenarioStep::JoinAgain),
];

/// One round where the run does not end by itself.
const ROUND: Duration = Duration::from_secs(40);

/// The longest time for the group to settle after a step before the scenario goes on regardless: longer than a dead
/// consumer and a dead leader together are waited for.
const SETTLE: Duration = Duration::from_secs(15);

/// The interval at which the records are checked during a wait.
const LOOK: Duration = Duration::from_millis(10);

/// Runs the scenario once over `round`, or again and again where there is no end. One consumer more than there were is
/// left of a round; it leaves, so that rounds without end stay within what the machine can do.
pub(crate) async fn play(world: &mut World, round: Option<Duration>) -> Result<(), Error> {
    match round {
        Some(round) => play_round(world, round).await,
        None => loop {
            play_round(world, ROUND).await?;
            world.replace_killed_instance().await?;
            world.let_one_leave().await?;
        },
    }
}

async fn play_round(world: &mut World, round: Duration) -> Result<(), Error> {
    let begin = Instant::now();
    for (part, step) in STEPS {
        sleep_until(begin + round.mul_f64(part)).await;
        take(world, step).await?;
        settle(world).await;
    }
    sleep_until(begin + round).await;
    Ok(())
}

async fn take(world: &mut World, step: ScenarioStep) -> Result<(), Error> {
    match step {
        ScenarioStep::Join | ScenarioStep::JoinAgain => world.join(),
        ScenarioStep::Leave => world.let_one_leave().await,
        ScenarioStep::KillConsumer => {
            kill_consumer(world).await;
            Ok(())
        }
        ScenarioStep::KillLeader => kill_leader(world).await,
    }
}

/// Kills a consumer, and tells how soon that is noticed, and how soon its session is over.
async fn kill_consumer(world: &mut World) {
    let killed = world.kill_a_consumer();
    if comes(|| world.is_suspected(&killed)).await {
        world.note_suspected(&killed);
    }
    if comes(|| world.is_session_over(&killed)).await {
        world.note_session_over(&killed);
    }
}

/// Starts moves by a new consumer, kills the leader during them, and waits until the other instance leads.
async fn kill_leader(world: &mut World) -> Result<(), Error> {
    world.join()?;
    wait_for_moves(world).await;
    let Some(killed) = world.kill_leader() else { return Ok(()) };
    if !comes(|| world.observer.look().leader().is_some_and(|leader| leader != killed.id)).await {
        return Err(Error::NobodyLeads);
    }
    world.note_leader(&killed);
    Ok(())
}

/// Waits until partitions move. Without any within [`SETTLE`] the scenario goes on; the counts then show zero.
async fn wait_for_moves(world: &World) {
    let _some_move = comes(|| world.moving() > 0).await;
}

/// Waits until everybody has their share, and says so.
pub(crate) async fn settle(world: &mut World) {
    if comes(|| world.is_settled()).await {
        world.note_settled();
    }
}

/// Waits until something holds; false where it does not within [`SETTLE`].
async fn comes(holds: impl Fn() -> bool) -> bool {
    let looking = async {
        while !holds() {
            sleep(LOOK).await;
        }
    };
    timeout(SETTLE, looking).await.is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_consumer_more_is_left_of_a_round() {
        let count = |wanted: &[ScenarioStep]| STEPS.iter().filter(|(_, step)| wanted.contains(step)).count();
        let joins = count(&[ScenarioStep::Join, ScenarioStep::KillLeader, ScenarioStep::JoinAgain]);
        let departures = count(&[ScenarioStep::Leave, ScenarioStep::KillConsumer]);
        assert_eq!(joins, departures + 1);
    }
}
