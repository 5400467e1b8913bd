//! The changes that are made to a group.

use std::time::Duration;

use anyhow::Result;
use kafka_assigner_audit::Micros;
use kafka_assigner_rig::clock::wall;

use crate::check::Step;
use crate::group::Group;

/// One event.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Event {
    /// Somebody joins.
    Join,
    /// Somebody is asked to leave, and does.
    Leave,
    /// Somebody is killed.
    Kill,
    /// One after the other leaves, and comes back under the same name.
    RollSameNames,
    /// One after the other is replaced: another one joins, and then it leaves.
    RollNewNames,
}

/// The steps of an event, with their times.
#[derive(Debug, Default)]
pub(crate) struct Done {
    pub(crate) steps: Vec<Step>,
    /// The times that those who left took for it, from the signal to their end.
    pub(crate) departures: Vec<Duration>,
    /// Steps after which the group had not settled within its time.
    pub(crate) unsettled: usize,
}

impl Event {
    /// The name of the event in rows.
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Join => "join",
            Self::Leave => "leave",
            Self::Kill => "kill",
            Self::RollSameNames => "rolling-same-names",
            Self::RollNewNames => "rolling-new-names",
        }
    }

    /// True if all that moves is handed over by an owner that lives, to one that has it from then on.
    pub(crate) const fn is_planned(self) -> bool {
        matches!(self, Self::Join | Self::Leave | Self::RollNewNames)
    }

    /// Does it, and waits until the group has settled after each of its steps.
    pub(crate) async fn play(self, group: &mut Group<'_>) -> Result<Done> {
        let mut done = Done::default();
        match self {
            Self::Join => join(group, &mut done).await?,
            Self::Leave => leave(group, &mut done).await?,
            Self::Kill => {
                let at = group.kill_oldest()?;
                done.step(at, group).await?;
            }
            Self::RollSameNames => {
                for _ in 0..group.member_count() {
                    let departure = group.let_oldest_leave().await?;
                    group.restart(departure.name).await?;
                    done.departures.push(departure.lasted);
                    done.step(departure.at, group).await?;
                }
            }
            Self::RollNewNames => {
                group.deploy();
                for _ in 0..group.member_count() {
                    join(group, &mut done).await?;
                    leave(group, &mut done).await?;
                }
            }
        }
        Ok(done)
    }
}

impl Done {
    /// Adds what was done when the event was played again.
    pub(crate) fn add(&mut self, again: Self) {
        self.steps.extend(again.steps);
        self.departures.extend(again.departures);
        self.unsettled += again.unsettled;
    }

    async fn step(&mut self, at: Micros, group: &mut Group<'_>) -> Result<()> {
        self.unsettled += usize::from(!group.settle().await?);
        self.steps.push(Step { at, until: wall() });
        Ok(())
    }
}

async fn join(group: &mut Group<'_>, done: &mut Done) -> Result<()> {
    let at = group.add().await?;
    done.step(at, group).await
}

async fn leave(group: &mut Group<'_>, done: &mut Done) -> Result<()> {
    let departure = group.let_oldest_leave().await?;
    done.departures.push(departure.lasted);
    done.step(departure.at, group).await
}
