//! A group under load: its members, and what they handle.

use std::collections::VecDeque;
use std::time::Duration;

use anyhow::{Context as _, Result, ensure};
use kafka_assigner_audit::Micros;
use kafka_assigner_rig::clock::wall;
use kafka_assigner_rig::instances::{Instances, Service, seconds};
use kafka_assigner_rig::producer::{Content, Load, Production};
use kafka_assigner_rig::round_trip::{Probe, RoundTrip};
use kafka_assigner_rig::{topics, within};
use tokio::time::{Instant, sleep};

use crate::arguments::Measure;
use crate::check::{Audit, Handled, Step, Who};
use crate::history::Line;
use crate::member::{Member, Membership};
use crate::stage::{Size, Stage};
use crate::system::{Kind, SESSION_TIMEOUT, System};
use crate::watch::{Owners, Watch, is_even};

/// The time between two looks at the histories, which are many.
const LOOK: Duration = Duration::from_millis(20);

/// The time for which Kafka's own producer waits for more since 4.0 (KIP-1030): all records of a tick go out in few
/// requests.
const LINGER: Duration = Duration::from_millis(5);

/// A Java machine starts in a second, several at once on a busy machine take some.
const START: Duration = Duration::from_secs(30);

/// The longest time for a group to settle: several times the session timeout, and what a rebuild adds.
const SETTLE: Duration = Duration::from_secs(60);

/// Equal shares that nobody changed for so long are final.
const STILL: Duration = Duration::from_secs(1);

/// The same for shares that are not equal: Kafka's members hear of changes every 5 s, one after the other.
const STILL_IF_UNEVEN: Duration = Duration::from_secs(7);

/// The time for which everybody works in peace before anything is done: the Java consumer commits every 5 s, and what
/// is not committed at all yet is lost by its defaults when it moves. Machine code of all Java machines is made
/// meanwhile.
const PEACE: Duration = Duration::from_secs(8);

/// The longest time for which the last records may stand still: without any progress for so long, nobody will handle
/// them.
const STANDSTILL: Duration = Duration::from_secs(20);

/// The time for which partitions are kept for a name that is about to come back.
const KEPT: [&str; 2] = ["--rejoin-grace", "30s"];

/// A group under load.
#[derive(Debug)]
pub(crate) struct Group<'a> {
    arguments: &'a Measure,
    size: Size,
    membership: Membership,
    /// Whatever serves it, for as long as it lives.
    _instances: Option<Instances>,
    production: Production,
    probe: Probe,
    /// The oldest first.
    members: VecDeque<Member>,
    started: usize,
    version: u32,
    handled: Vec<Handled>,
    watch: Watch,
}

/// The departure of a member.
#[derive(Debug)]
pub(crate) struct Departure {
    /// The number of its name.
    pub(crate) name: usize,
    /// The time at which it was asked to leave.
    pub(crate) at: Micros,
    /// The time that it took.
    pub(crate) lasted: Duration,
}

impl<'a> Group<'a> {
    /// Forms the group of a stage, and waits until everybody has their share.
    pub(crate) async fn form(system: &System, stage: &Stage, arguments: &'a Measure) -> Result<Self> {
        let group = format!("{}-{}", system.name, stage.name);
        topics::create(&arguments.kafka, &group, stage.size.partitions).await?;
        let instances = serve(system, stage, &group, arguments).await?;
        let membership = Membership {
            kind: system.kind,
            endpoint: instances.as_ref().map_or_else(String::new, Instances::endpoints),
            rebuild: stage.rebuild,
            keeps_names: stage.keeps_names,
            group,
        };
        let mut group = Self {
            arguments,
            size: stage.size,
            production: produce(&arguments.kafka, &membership.group, stage.size)?,
            probe: Probe::start(&arguments.etcd, &arguments.kafka, &membership.group)?,
            membership,
            _instances: instances,
            members: VecDeque::new(),
            started: 0,
            version: 1,
            handled: Vec::new(),
            watch: Watch::new(stage.size.interval),
        };
        for name in 0..stage.size.members {
            group.start(name)?;
        }
        ensure!(group.settle().await?, "the group does not form within {SETTLE:?}");
        Ok(group)
    }

    /// The number of its members.
    pub(crate) fn member_count(&self) -> usize {
        self.members.len()
    }

    /// Everybody works in peace for a while. Returns when that was.
    pub(crate) async fn rest(&mut self) -> Step {
        let at = wall();
        sleep(PEACE).await;
        Step { at, until: wall() }
    }

    /// From now on another version of the program is started.
    pub(crate) const fn deploy(&mut self) {
        self.version += 1;
    }

    fn start(&mut self, name: usize) -> Result<()> {
        let who = Who { name, process: self.started };
        let member = Member::start(who, self.version, &self.membership, self.arguments)?;
        self.members.push_back(member);
        self.started += 1;
        Ok(())
    }

    /// A new member joins. Returns when it was ready and began to.
    pub(crate) async fn add(&mut self) -> Result<Micros> {
        self.restart(self.started).await
    }

    /// Another process under this name joins.
    pub(crate) async fn restart(&mut self, name: usize) -> Result<Micros> {
        self.start(name)?;
        within(START, LOOK, || self.collect()).await?.context("the new member does not join")
    }

    /// The oldest member is asked to leave, and does.
    pub(crate) async fn let_oldest_leave(&mut self) -> Result<Departure> {
        self.collect()?;
        let member = self.members.pop_front().context("nobody is left")?;
        let (who, at, begun) = (member.who, wall(), Instant::now());
        let rest = member.leave().await?;
        let lasted = begun.elapsed();
        self.take(who, &rest);
        Ok(Departure { name: who.name, at, lasted })
    }

    /// The oldest member is killed. Returns when.
    pub(crate) fn kill_oldest(&mut self) -> Result<Micros> {
        let member = self.members.pop_front().context("nobody is left")?;
        let (who, at) = (member.who, wall());
        let rest = member.kill()?;
        self.take(who, &rest);
        Ok(at)
    }

    /// Waits until everybody has their share. Returns whether it came to that in time.
    pub(crate) async fn settle(&mut self) -> Result<bool> {
        let (mut owners, mut since): (Option<Owners>, _) = (None, Instant::now());
        let settled = within(SETTLE, LOOK, || {
            self.collect()?;
            let seen = self.watch.owners(self.size.partitions.unsigned_abs() as usize, wall());
            if seen != owners {
                (owners, since) = (seen, Instant::now());
            }
            let still =
                |owners: &Owners| if is_even(owners, self.members.len()) { STILL } else { STILL_IF_UNEVEN };
            Ok(owners.as_ref().is_some_and(|owners| since.elapsed() >= still(owners)).then_some(()))
        });
        Ok(settled.await?.is_some())
    }

    /// Takes in what members have written meanwhile. Returns when one of them began to join.
    fn collect(&mut self) -> Result<Option<Micros>> {
        let mut joining = None;
        for at in 0..self.members.len() {
            let lines = self.members[at].read()?;
            joining = joining.max(self.take(self.members[at].who, &lines));
        }
        Ok(joining)
    }

    fn take(&mut self, by: Who, lines: &[Line]) -> Option<Micros> {
        let mut joining = None;
        for line in lines {
            match *line {
                Line::Joining(at) => joining = Some(at),
                Line::Handled { partition, offset, at } => {
                    let handled = Handled { at, partition, offset, by };
                    self.watch.take(&handled);
                    self.handled.push(handled);
                }
            }
        }
        joining
    }

    /// Waits until everything is handled, kills everybody, and audits what they did. Tells beside it what etcd and
    /// Kafka took for an answer.
    pub(crate) async fn end(mut self) -> Result<(Audit, RoundTrip)> {
        let ends = self.production.stop().await?.ends();
        while !self.watch.has_reached(&ends) {
            let before = self.handled.len();
            let more = within(STANDSTILL, LOOK, || {
                self.collect()?;
                Ok((self.handled.len() > before).then_some(()))
            });
            if more.await?.is_none() {
                break;
            }
        }
        Ok((Audit::of(self.handled, &ends), self.probe.stop().await?))
    }
}

/// Starts an instance for a group of this project's, and sets the group as the system and the stage want it.
async fn serve(
    system: &System,
    stage: &Stage,
    group: &str,
    arguments: &Measure,
) -> Result<Option<Instances>> {
    let Kind::Ours { settings } = system.kind else { return Ok(None) };
    let service = Service::new(arguments.server.clone(), &arguments.kafka, &arguments.folder)
        .with("--group-session-timeout", seconds(SESSION_TIMEOUT));
    let mut instances = Instances::new(service);
    instances.add("gap", &arguments.etcd).await?;
    let kept = if stage.keeps_names { &KEPT[..] } else { &[] };
    instances.set_group(group, &[settings, kept].concat())?;
    Ok(Some(instances))
}

/// Starts to produce numbered records.
fn produce(kafka: &str, topic: &str, size: Size) -> Result<Production> {
    let Size { partitions, interval, .. } = size;
    let load = Load { topic: topic.to_owned(), partitions, interval, linger: LINGER };
    Production::start(kafka, load, |round, _| Content { key: None, value: round.to_string() })
}
