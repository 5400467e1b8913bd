//! The repair of a world after its faults.

use std::sync::Arc;

use kafka_assigner_core::topics::TopicLook;
use kafka_assigner_store::faulty::{FaultyStore, Rates};
use kafka_assigner_types::id::Member;
use kafka_assigner_types::mode::Mode;
use tokio::time::Duration;

use super::restored::Restoring;
use super::revival::Reviving;
use super::{Act, Driver, SUSPECT_AFTER};
use crate::network::Weather;
use crate::world::Spoiled;

/// One thing that was wrong and is put right.
#[derive(Debug)]
pub(super) enum Restore {
    /// A process comes up under this name.
    Spawn(Arc<str>),
    /// A new consumer takes the place of one that is gone.
    Join,
    /// A session of a process that is dead is marked.
    Suspected(Member),
    /// A session that was marked is heard.
    Heard(Member),
    /// A frozen process goes on.
    Thaw(u32),
    /// So many routers join.
    Routers(usize),
    /// A router's process comes up under this name.
    SpawnRouter(Arc<str>),
    /// A frozen router goes on.
    ThawRouter(u32),
    /// A member can be reached again.
    Reconnect(Arc<str>),
    /// The network is as on other days.
    CalmNetwork,
    /// An instance starts at a free slot.
    StartInstance(usize),
    /// The store is back.
    EndOutage,
    /// An instance reaches the store again.
    EndLinkOutage(usize),
    /// An instance that was cut off for minutes reaches the store again.
    EndCutOff(usize),
    /// A link loses nothing any more.
    CalmLink(usize),
    /// Views catch up.
    ReleaseWatches(usize),
    /// A record can be read again.
    Mend(Spoiled),
    /// A topic is there again.
    Topic(&'static str, TopicLook),
    /// Another topic of that name, with so many partitions.
    AnotherTopic(&'static str, u32),
    /// A member gives up its connection to the instance at an address.
    GiveWayUp(Arc<str>, String),
    /// A member reaches the instance at an address again.
    MendWay(Arc<str>, String),
    /// The group is deleted, where nobody is left.
    DeleteGroup,
    /// The group gets another mode.
    SwitchMode(Mode),
    /// A leaving consumer has handed over for as long as it would.
    Overdue(u32),
    /// The store goes back to a backup.
    Store(Restoring),
    /// The store gives all leases their whole time again.
    Leases(Reviving),
    /// A process of a consumer comes up whose sessions the instances renew.
    SpawnMinimal(Arc<str>),
    /// The process of such a consumer dies.
    KillMinimal,
}

impl Restore {
    const fn lets_somebody_come(&self) -> bool {
        matches!(
            self,
            Self::Spawn(_)
                | Self::Join
                | Self::Routers(_)
                | Self::SpawnRouter(_)
                | Self::SpawnMinimal(_)
                | Self::MendWay(..)
        )
    }
}

/// The time for which whoever starts an instance waits where the store did not let it.
const START_AGAIN: Duration = Duration::from_secs(1);

impl Driver {
    pub(super) async fn restore(&mut self, restore: Restore) {
        if self.world.is_closed && restore.lets_somebody_come() {
            return self.later(START_AGAIN, restore);
        }
        match restore {
            Restore::Spawn(consumer) => drop(self.world.spawn(&consumer)),
            Restore::Join => drop(self.world.join()),
            Restore::Suspected(session) => self.suspect_once_detached(session).await,
            Restore::Heard(session) => self.world.hear(&session).await,
            Restore::Thaw(process) => self.world.thaw(process),
            Restore::Routers(count) => (0..count).for_each(|_| drop(self.world.join_router())),
            Restore::SpawnRouter(name) => drop(self.world.spawn_router(&name)),
            Restore::ThawRouter(router) => self.world.thaw_router(router),
            Restore::Reconnect(member) => self.world.network.reconnect(&member),
            Restore::CalmNetwork => self.world.network.set_weather(Weather::default()),
            Restore::StartInstance(slot) => self.start_instance(slot).await,
            Restore::EndOutage => self.end_outage(),
            Restore::EndLinkOutage(slot) => self.end_link_outage(slot),
            Restore::EndCutOff(slot) => {
                self.cut_off = None;
                self.end_link_outage(slot);
            }
            Restore::CalmLink(slot) => self.world.set_losses(slot, Rates::default()),
            Restore::ReleaseWatches(slot) => self.release_watches(slot),
            Restore::Mend(spoiled) => self.world.mend(&spoiled).await,
            Restore::Topic(name, look) => self.world.kafka.restore(name, look),
            Restore::AnotherTopic(name, partitions) => self.create_another(name, partitions),
            Restore::GiveWayUp(member, endpoint) => self.world.network.give_way_up(&member, &endpoint),
            Restore::MendWay(member, endpoint) => self.world.network.mend_way(&member, &endpoint),
            Restore::DeleteGroup => self.delete_group().await,
            Restore::SwitchMode(mode) => self.switch_mode_to(mode).await,
            Restore::Leases(step) => self.revive(step).await,
            Restore::Overdue(process) => self.overdue(process),
            Restore::Store(step) => self.step_restore(step).await,
            Restore::SpawnMinimal(consumer) => self.world.spawn_minimal(&consumer),
            Restore::KillMinimal => self.kill_minimal(),
        }
    }

    /// Marks the session as its instance does: only once the end of its last stream was seen for long enough there.
    async fn suspect_once_detached(&mut self, session: Member) {
        let detached = self.world.network.without_stream(session.name.as_str());
        let rest = SUSPECT_AFTER.saturating_sub(detached);
        if rest.is_zero() {
            let _is_marked = self.world.suspect(&session).await;
        } else if self.world.session_of(session.name.as_str()).is_some_and(|registered| registered == session)
        {
            self.later(rest, Restore::Suspected(session));
        }
    }

    /// Nothing else happens while an instance starts, so it must not wait for a store that is away.
    async fn start_instance(&mut self, slot: usize) {
        if self.world.outage.is_some() || !self.world.start_instance(slot).await {
            self.later(START_AGAIN, Restore::StartInstance(slot));
        }
    }

    pub(super) fn end_outage(&mut self) {
        self.world.outage = None;
        self.world.links().for_each(FaultyStore::end_outage);
    }

    fn end_link_outage(&self, slot: usize) {
        if let (None, Some(running)) = (self.world.outage, &self.world.slots[slot].running) {
            running.link.end_outage();
        }
    }

    fn release_watches(&self, slot: usize) {
        if let Some(running) = &self.world.slots[slot].running {
            running.link.release_watches();
        }
    }

    /// It leaves without handing the rest over: that counts as a death.
    fn overdue(&self, process: u32) {
        if let Some(process) = self.world.processes.get(&process) {
            process.temper.leave_alone();
            self.world.history.excuse(&process.consumer, Duration::from_secs(5));
        }
    }

    /// Puts everything right at once: from here on only what the faults left behind is to be dealt with.
    pub(super) async fn heal(&mut self) {
        self.world.observer.arm(None);
        self.world.network.heal();
        self.end_outage();
        for act in std::mem::take(&mut self.agenda).into_values() {
            if let Act::Restore(restore) = act {
                self.heal_one(restore).await;
            }
        }
        self.world.links().for_each(FaultyStore::release_watches);
        (0..self.world.slots.len()).for_each(|slot| self.world.set_losses(slot, Rates::default()));
        self.world.processes.values().for_each(|process| process.temper.calm());
        self.world.history.note(crate::history::What::Healed);
    }

    async fn heal_one(&mut self, restore: Restore) {
        match restore {
            // It still has its time to hand over.
            Restore::Overdue(process) => self.later(super::FIRST_FAULT, Restore::Overdue(process)),
            Restore::DeleteGroup => self.open_group(),
            Restore::Store(step) => self.heal_restore(step).await,
            // Nothing more goes wrong, and a mode that nobody has asked for yet is not asked for.
            Restore::KillMinimal | Restore::SwitchMode(_) | Restore::Leases(Reviving::Begin { .. }) => {}
            Restore::Leases(Reviving::Again { still, .. }) => self.world.thaw(still),
            other => self.restore(other).await,
        }
    }
}
