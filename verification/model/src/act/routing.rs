//! The steps of routers.

use kafka_assigner_core::ack::{Ack, MemberAck, Verdict, judge};
use kafka_assigner_core::key::Key;
use kafka_assigner_core::record::Phase;
use kafka_assigner_core::record::{Router as Registration, encode};
use kafka_assigner_core::route::{Route, route as routed};
use kafka_assigner_types::id::{Incarnation, Member, TopicPartition};
use kafka_assigner_types::kv::{Op, Txn};
use kafka_assigner_types::moment::WallMillis;

use crate::router::{Request, Router};
use crate::step::{Protocol, Step};
use crate::variant::Variant;
use crate::world::{World, lease};

pub(super) fn route(protocol: &Protocol, world: &mut World, step: Step) -> Option<()> {
    match step {
        Step::TellRouter(router) => tell(world, router),
        Step::SayRouter(router, at) => say(protocol, world, router, &at),
        Step::JoinRouter(number) => {
            world.left.router_joins -= 1;
            let is_mute = world.left.mute;
            // A freeze that began before may not wait for it.
            let freezes = |at| {
                let handoff = world.now.state.handoff_of(&at);
                handoff.is_some_and(|handoff| handoff.phase == Phase::Freezing)
            };
            (!is_mute || world.partitions().any(freezes)).then_some(())?;
            world.register_router(number, false);
            world.routers.last_mut()?.is_mute = is_mute;
            Some(())
        }
        Step::WakeRouter(router) => {
            world.left.wakes -= 1;
            world.routers[router].is_stuck = false;
            Some(())
        }
        Step::CrashRouter(router) => {
            world.left.router_crashes -= 1;
            world.routers[router].alive = false;
            world.routers[router].table.clear();
            let had = |request: &mut Request| request.router == router;
            drop(world.request.take_if(had));
            Some(())
        }
        Step::ExpireRouter(router) => {
            world.end_lease(world.routers[router].lease);
            Some(())
        }
        Step::Request(router, at) => {
            world.request.is_none().then_some(())?;
            world.left.requests -= 1;
            world.request = Some(Request { at, router, sent: None });
            Some(())
        }
        Step::Send => send(world),
        _ => None,
    }
}

impl World {
    /// A process of the router `number` registers, in the place of whoever is registered under the name.
    pub(crate) fn register_router(&mut self, number: u8, is_stuck: bool) {
        let serial = self.routers.len();
        let name = format!("r{number}");
        let incarnation = Incarnation::new(&format!("{name}-{serial}")).expect("a valid incarnation");
        let member = Member { name: name.parse().expect("a valid name"), incarnation: incarnation.clone() };
        // Leases of consumers count from 1.
        let lease = lease(1_000 + serial).id;
        let key = self.now.state.layout().encode(&Key::Router(member.name.clone()));
        let value = encode(&Registration::new(incarnation, 30_000, WallMillis(0)));
        self.apply(&Txn::guarded(Vec::new(), vec![Op::put_leased(key, value, lease)]));
        self.routers.iter_mut().filter(|router| router.member.name == member.name).for_each(|router| {
            router.alive = false;
            router.table.clear();
        });
        self.routers.push(Router {
            member,
            lease,
            alive: true,
            is_mute: false,
            is_stuck,
            instance: usize::from(number) % self.views.len(),
            seen: self.now.revision(),
            table: std::collections::BTreeMap::new(),
        });
    }
}

/// A router takes over a table that is not older than its registration and than what it has seen.
fn tell(world: &mut World, number: usize) -> Option<()> {
    let router = &world.routers[number];
    let view = &world.views[router.instance];
    // At the start it has a table, and stands still from then on.
    (!router.is_stuck || router.table.is_empty()).then_some(())?;
    (view.revision() >= router.seen && view.state.is_routing(&router.member)).then_some(())?;
    let mut table = router.table.clone();
    for at in world.partitions() {
        table.extend(routed(&view.state, &at).map(|route| (at.clone(), route)));
    }
    (table != router.table).then_some(())?;
    let revision = view.revision();
    let router = &mut world.routers[number];
    router.table = table;
    router.seen = revision;
    Some(())
}

/// It says that it freezes the partition once nothing of it is on its way.
fn say(protocol: &Protocol, world: &mut World, number: usize, at: &TopicPartition) -> Option<()> {
    let router = &world.routers[number];
    let id = router.stashes(at).filter(|_| !router.is_mute && !router.is_stuck)?;
    let is_on_its_way =
        |request: &Request| request.router == number && request.at == *at && request.sent.is_some();
    (!world.request.as_ref().is_some_and(is_on_its_way)).then_some(())?;
    let view = &world.views[router.instance];
    let ack = MemberAck { at: at.clone(), handoff: Some(id), ack: Ack::Frozen };
    let Verdict::Record { mut write, .. } = judge(&view.state, &router.member, &ack, WallMillis(0)) else {
        return None;
    };
    let others = |name: &kafka_assigner_types::name::MemberName| {
        *name != router.member.name
            && view.state.router_acks().get(at).is_none_or(|acks| !acks.contains_key(name))
    };
    if protocol.variant == Variant::LateJoinerAwaited && view.state.routers().keys().any(others) {
        let key = view.state.layout().encode(&Key::Handoff(at.clone()));
        write.ops.retain(|op| !matches!(op, Op::Put { key: of, .. } if *of == key));
    }
    world.apply(&write.unfenced()).then_some(())
}

/// A request goes where the table says, or waits.
fn send(world: &mut World) -> Option<()> {
    let request = world.request.as_mut().filter(|request| request.sent.is_none())?;
    let Route::Open { owner, epoch, .. } = world.routers[request.router].table.get(&request.at)? else {
        return None;
    };
    request.sent = Some((owner.clone(), *epoch));
    Some(())
}
