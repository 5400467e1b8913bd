//! The network between members, instances and owners: late, lossy, and cut where somebody says so.

mod relay;
mod requests;
mod routing;
mod transport;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

use kafka_assigner_server::grpc::{Consumers, Routers};
use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;
use tonic::Status;

use crate::history::History;
use crate::hole::Hole;
pub(crate) use requests::Carrier;
pub(crate) use transport::{SILENCE, Wire};

/// The state of the network, beyond its latency.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Weather {
    /// Calls that get lost on their way.
    pub(crate) lose_request: f64,
    /// Answers that get lost.
    pub(crate) lose_answer: f64,
    /// Acks that arrive once more, seconds later.
    pub(crate) repeat: f64,
}

/// The part of a member's calls and streams that gets lost while it is cut off.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Cut {
    /// Everything, and its streams break.
    Both,
    /// Its calls; messages to it arrive.
    Calls,
    /// Answers and messages to it; its calls are carried out.
    Answers,
}

/// Counters of what really happened.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Counts {
    pub(crate) lost: u64,
    pub(crate) repeated: u64,
}

/// One world's network.
#[derive(Debug)]
pub(crate) struct Network {
    history: History,
    latency: Duration,
    hole: Option<Hole>,
    state: Mutex<State>,
}

#[derive(Debug)]
struct State {
    dice: StdRng,
    weather: Weather,
    counts: Counts,
    servers: BTreeMap<String, Server>,
    cut_off: BTreeMap<Arc<str>, Cut>,
    /// Members, each with the address of an instance that it does not reach.
    cut_ways: BTreeSet<(Arc<str>, String)>,
    /// The time at which the last request arrived over each connection, of a router's process to a consumer's.
    arrivals: BTreeMap<(u32, u32), Instant>,
    streams: BTreeMap<u64, Stream>,
    /// The last time that a stream of each member ended.
    ended: BTreeMap<Arc<str>, Instant>,
    next_stream: u64,
}

/// An instance that can be reached.
#[derive(Debug, Clone)]
struct Server {
    consumers: Arc<Consumers>,
    routers: Arc<Routers>,
    down: CancellationToken,
}

/// A stream that is open.
#[derive(Debug, Clone)]
struct Stream {
    member: Arc<str>,
    endpoint: String,
    cut: CancellationToken,
    deaf_until: Instant,
}

/// The fate of one call.
#[derive(Debug, Clone, Copy)]
struct Fate {
    there: Duration,
    back: Duration,
    loses_request: bool,
    loses_answer: bool,
    /// True if the caller hears of a loss, by a broken connection, or nothing at all.
    breaks: bool,
    /// The time after which the call arrives once more.
    again_after: Option<Duration>,
}

impl Network {
    pub(crate) fn new(seed: u64, latency: Duration, history: History, hole: Option<Hole>) -> Arc<Self> {
        let state = State {
            dice: StdRng::seed_from_u64(seed),
            weather: Weather::default(),
            counts: Counts::default(),
            servers: BTreeMap::new(),
            cut_off: BTreeMap::new(),
            cut_ways: BTreeSet::new(),
            arrivals: BTreeMap::new(),
            streams: BTreeMap::new(),
            ended: BTreeMap::new(),
            next_stream: 0,
        };
        Arc::new(Self { history, latency, hole, state: Mutex::new(state) })
    }

    /// An instance answers at `endpoint` from now on.
    pub(crate) fn open(&self, endpoint: &str, consumers: Consumers, routers: Routers) {
        let (consumers, routers) = (Arc::new(consumers), Arc::new(routers));
        let server = Server { consumers, routers, down: CancellationToken::new() };
        self.state().servers.insert(endpoint.to_owned(), server);
    }

    /// Nobody answers at `endpoint` any more; what is under way there is cut.
    pub(crate) fn close(&self, endpoint: &str) {
        if let Some(server) = self.state().servers.remove(endpoint) {
            server.down.cancel();
        }
    }

    pub(crate) fn set_weather(&self, weather: Weather) {
        self.state().weather = weather;
    }

    /// Cuts `member` off from all instances.
    pub(crate) fn cut_off(&self, member: &Arc<str>, cut: Cut) {
        let mut state = self.state();
        state.cut_off.insert(Arc::clone(member), cut);
        if cut == Cut::Both {
            state.streams.values().filter(|s| s.member == *member).for_each(|s| s.cut.cancel());
        }
    }

    /// `member` reaches instances again. What it was not told meanwhile is lost with the connection.
    pub(crate) fn reconnect(&self, member: &Arc<str>) {
        let mut state = self.state();
        if state.cut_off.remove(member) == Some(Cut::Answers) {
            state.streams.values().filter(|s| s.member == *member).for_each(|s| s.cut.cancel());
        }
    }

    /// Cuts `member` off from the instance at `endpoint`: nothing arrives, and nobody is told.
    pub(crate) fn cut_way(&self, member: &Arc<str>, endpoint: &str) {
        self.state().cut_ways.insert((Arc::clone(member), endpoint.to_owned()));
    }

    /// `member` gives up the connection to the instance at `endpoint`, if nothing arrives over it.
    pub(crate) fn give_way_up(&self, member: &Arc<str>, endpoint: &str) {
        let state = self.state();
        if state.is_cut(member, endpoint) {
            let streams = state.streams.values();
            let on_it = streams.filter(|stream| stream.member == *member && stream.endpoint == endpoint);
            on_it.for_each(|stream| stream.cut.cancel());
        }
    }

    /// `member` reaches the instance at `endpoint` again.
    pub(crate) fn mend_way(&self, member: &Arc<str>, endpoint: &str) {
        self.state().cut_ways.remove(&(Arc::clone(member), endpoint.to_owned()));
    }

    /// True if some member is cut off from a single instance.
    pub(crate) fn has_cut_ways(&self) -> bool {
        !self.state().cut_ways.is_empty()
    }

    /// The members that reach none of the instances at `endpoints`, though they are cut off from single ones only.
    pub(crate) fn stranded(&self, endpoints: &[&str]) -> Vec<Arc<str>> {
        let state = self.state();
        let members: BTreeSet<&Arc<str>> = state.cut_ways.iter().map(|(member, _)| member).collect();
        let is_stranded = |member: &&Arc<str>| endpoints.iter().all(|at| state.is_cut(member, at));
        members.into_iter().filter(is_stranded).cloned().collect()
    }

    /// Cuts some open stream; returns whose.
    pub(crate) fn cut_a_stream(&self) -> Option<Arc<str>> {
        let mut state = self.state();
        let stream = state.any_stream(|_| true)?;
        state.streams[&stream].cut.cancel();
        Some(Arc::clone(&state.streams[&stream].member))
    }

    /// Makes nobody read some open stream of a member that fits, for `span`; returns whose.
    pub(crate) fn deafen_a_stream(&self, span: Duration, fits: impl Fn(&str) -> bool) -> Option<Arc<str>> {
        let mut state = self.state();
        let stream = state.any_stream(|stream| fits(&stream.member))?;
        let stream = state.streams.get_mut(&stream)?;
        stream.deaf_until = Instant::now() + span;
        Some(Arc::clone(&stream.member))
    }

    /// For how long `member` has been without a stream: no time while it has one, for ever if it never had one.
    pub(crate) fn without_stream(&self, member: &str) -> Duration {
        let state = self.state();
        if state.streams.values().any(|stream| *stream.member == *member) {
            return Duration::ZERO;
        }
        state.ended.get(member).map_or(Duration::MAX, Instant::elapsed)
    }

    /// From now on the network is as good as its latency.
    pub(crate) fn heal(&self) {
        let mut state = self.state();
        state.weather = Weather::default();
        state.cut_off.clear();
        state.cut_ways.clear();
        let now = Instant::now();
        state.streams.values_mut().for_each(|stream| stream.deaf_until = now);
    }

    pub(crate) fn counts(&self) -> Counts {
        self.state().counts
    }

    /// The fate of a call of `member` to an instance.
    fn throw(&self, member: &Arc<str>) -> Fate {
        let longest = self.latency;
        let mut state = self.state();
        let cut = state.cut_off.get(member).copied();
        let fate = state.throw(longest, cut);
        state.counts.lost += u64::from(fate.loses_request || fate.loses_answer);
        state.counts.repeated += u64::from(fate.again_after.is_some());
        fate
    }

    /// True if nothing gets from `member` to the instance at `endpoint`, nor back.
    fn is_way_cut(&self, member: &Arc<str>, endpoint: &str) -> bool {
        self.state().is_cut(member, endpoint)
    }

    fn server(&self, endpoint: &str) -> Result<Server, Status> {
        let refused = || Status::unavailable(format!("nobody answers at {endpoint}"));
        self.state().servers.get(endpoint).cloned().ok_or_else(refused)
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().expect("nothing panics while it holds the network")
    }
}

impl State {
    fn is_cut(&self, member: &Arc<str>, endpoint: &str) -> bool {
        !self.cut_ways.is_empty() && self.cut_ways.contains(&(Arc::clone(member), endpoint.to_owned()))
    }

    fn throw(&mut self, longest: Duration, cut: Option<Cut>) -> Fate {
        let weather = self.weather;
        let (deaf, mute) = (cut == Some(Cut::Answers), matches!(cut, Some(Cut::Both | Cut::Calls)));
        Fate {
            there: longest.mul_f64(self.dice.random_range(0.1..=1.0)),
            back: longest.mul_f64(self.dice.random_range(0.1..=1.0)),
            loses_request: self.dice.random_bool(weather.lose_request) || mute,
            loses_answer: self.dice.random_bool(weather.lose_answer) || deaf,
            breaks: self.dice.random_bool(0.5),
            again_after: self.repeat(weather.repeat),
        }
    }

    fn repeat(&mut self, chance: f64) -> Option<Duration> {
        let after = Duration::from_millis(self.dice.random_range(50..=12_000));
        self.dice.random_bool(chance).then_some(after)
    }

    fn any_stream(&mut self, fits: impl Fn(&Stream) -> bool) -> Option<u64> {
        let open: Vec<u64> =
            self.streams.iter().filter(|(_, stream)| fits(stream)).map(|(number, _)| *number).collect();
        let chosen = self.dice.random_range(0..open.len().max(1));
        open.get(chosen).copied()
    }
}
