//! What is done to the run, and when: somebody joins, leaves, is killed; the leader is killed; somebody joins again.

use std::time::Duration;

use tokio::time::{Instant, sleep, sleep_until, timeout};

use crate::error::Error;
use crate::world::World;

/// One turn of the story.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Turn {
    Join,
    Leave,
    KillConsumer,
    KillLeader,
    JoinAgain,
}

/// The turns, each at its part of a round.
const TURNS: [(f64, Turn); 5] = [
    (0.12, Turn::Join),
    (0.27, Turn::Leave),
    (0.42, Turn::KillConsumer),
    (0.66, Turn::KillLeader),
    (0.84, Turn::JoinAgain),
];

/// One round where the run does not end by itself.
const ROUND: Duration = Duration::from_secs(40);

/// How long the group may take to settle after a turn before the story goes on regardless: longer than a dead
/// consumer and a dead leader together are waited for.
const SETTLE: Duration = Duration::from_secs(10);

/// How often the records are looked at while something is waited for.
const LOOK: Duration = Duration::from_millis(10);

/// Plays the story once over `round`, or again and again where there is no end.
pub(crate) async fn play(world: &mut World, round: Option<Duration>) -> Result<(), Error> {
    match round {
        Some(round) => play_round(world, round).await,
        None => loop {
            play_round(world, ROUND).await?;
            world.replace_killed_instance().await?;
        },
    }
}

async fn play_round(world: &mut World, round: Duration) -> Result<(), Error> {
    let begin = Instant::now();
    for (part, turn) in TURNS {
        sleep_until(begin + round.mul_f64(part)).await;
        take(world, turn).await?;
        settle(world).await;
    }
    sleep_until(begin + round).await;
    Ok(())
}

async fn take(world: &mut World, turn: Turn) -> Result<(), Error> {
    match turn {
        Turn::Join | Turn::JoinAgain => world.join(),
        Turn::Leave => world.let_one_leave().await,
        Turn::KillConsumer => {
            world.kill_a_consumer();
            Ok(())
        }
        Turn::KillLeader => kill_leader(world).await,
    }
}

/// Kills the leading instance, and waits until the other one leads.
async fn kill_leader(world: &mut World) -> Result<(), Error> {
    let Some(killed) = world.kill_leader() else { return Ok(()) };
    let led_again = async {
        while world.observer.look().leader().is_none_or(|leader| leader == killed.id) {
            sleep(LOOK).await;
        }
    };
    timeout(SETTLE, led_again).await.map_err(|_| Error::NobodyLeads)?;
    world.note_leader(&killed);
    Ok(())
}

/// Waits until everybody has their share, and says so.
pub(crate) async fn settle(world: &mut World) {
    let settled = async {
        while !world.is_settled() {
            sleep(LOOK).await;
        }
    };
    if timeout(SETTLE, settled).await.is_ok() {
        world.note_settled();
    }
}
