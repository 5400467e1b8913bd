//! The changes that are made to the run, and their times.

use std::time::Duration;

use anyhow::{Result, bail};
use kafka_assigner_strategies::Registry;
use tokio::time::sleep;

use crate::world::World;

/// One turn of the story.
#[derive(Debug, Clone, Copy)]
enum Turn {
    /// A consumer joins.
    Join,
    /// A consumer leaves in good order.
    Leave,
    /// A consumer joins, and the leader dies while partitions move to it.
    KillLeader,
    /// A consumer dies.
    Kill,
    /// A consumer is frozen for longer than its session lives, and comes back.
    Freeze,
    /// Another strategy decides, under which much must move, and then the first one again.
    SwitchStrategy,
    /// One by one, each consumer is replaced by a new one.
    Roll,
    /// A router joins.
    RouterJoin,
    /// A router leaves in good order, and comes back.
    RouterRestart,
    /// A router leaves in good order.
    RouterLeave,
}

/// A round begins and ends with the same number of consumers.
const ROUND: &[Turn] = &[
    Turn::Join,
    Turn::Join,
    Turn::SwitchStrategy,
    Turn::Leave,
    Turn::KillLeader,
    Turn::Kill,
    Turn::Freeze,
    Turn::Leave,
];

/// The same, and what may befall routers beside.
const ROUTED_ROUND: &[Turn] = &[
    Turn::Join,
    Turn::RouterJoin,
    Turn::Join,
    Turn::SwitchStrategy,
    Turn::RouterRestart,
    Turn::Leave,
    Turn::KillLeader,
    Turn::Roll,
    Turn::Kill,
    Turn::RouterLeave,
    Turn::Freeze,
    Turn::Leave,
];

/// Shares out contiguous ranges, whoever had what before; as even as the default one.
const OTHER_STRATEGY: &str = "range";

/// How long everybody works in peace after each turn, so that each new owner has handled records.
const PEACE: Duration = Duration::from_secs(1);

/// Plays rounds until enough has happened, and then until everything is handled.
pub(crate) async fn play(world: &mut World) -> Result<()> {
    let mut rounds = 0;
    while !world.has_seen_enough() {
        rounds += 1;
        if rounds > world.scale().rounds {
            bail!("{} rounds were not enough", world.scale().rounds);
        }
        let round = if world.is_routed() { ROUTED_ROUND } else { ROUND };
        for turn in round {
            take(world, *turn).await?;
            world.settle().await?;
            sleep(PEACE).await;
            world.calm();
        }
    }
    Ok(())
}

async fn take(world: &mut World, turn: Turn) -> Result<()> {
    match turn {
        Turn::Join => world.join(),
        Turn::Leave => world.let_one_leave().await,
        Turn::KillLeader => {
            world.join()?;
            world.wait_for_a_move().await?;
            world.kill_leader().await
        }
        Turn::Kill => {
            world.kill_a_consumer();
            Ok(())
        }
        Turn::Freeze => world.freeze_a_consumer().await,
        Turn::SwitchStrategy => {
            world.decide_by(OTHER_STRATEGY)?;
            world.wait_for_a_move().await?;
            world.settle().await?;
            world.decide_by(Registry::DEFAULT)
        }
        Turn::Roll => world.roll().await,
        Turn::RouterJoin => world.join_router().await,
        Turn::RouterRestart => world.restart_a_router().await,
        Turn::RouterLeave => world.let_a_router_leave().await,
    }
}
