//! The liveness of an instance, and its readiness to serve.

use std::fmt;
use std::time::Duration;

use kafka_assigner_core::history::StoreHistory;
use kafka_assigner_store::shared::WatchHealth;
use kafka_assigner_store::view::ViewHealth;
use kafka_assigner_types::kv::Revision;
use tokio::time::timeout;

use crate::instance::Instance;
use crate::refusal::describe;

/// The longest time for the store to answer a probe: kubelet's probes give up after a second by default, and an answer
/// that says what is wrong is worth more than none.
const STORE_PATIENCE: Duration = Duration::from_millis(800);

/// The most groups that are named where they can't be served: a probe's answer is short.
const MOST_NAMED: usize = 10;

/// One thing that was looked at.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Finding {
    grade: Grade,
    what: String,
    /// Its state, for people.
    how: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Grade {
    Ok,
    /// Somebody has to act, and the instance still serves.
    Warning,
    Failed,
}

impl Finding {
    fn new(grade: Grade, what: impl Into<String>, how: impl Into<String>) -> Self {
        Self { grade, what: what.into(), how: how.into() }
    }

    fn fine(what: impl Into<String>, how: impl Into<String>) -> Self {
        Self::new(Grade::Ok, what, how)
    }

    fn bad(what: impl Into<String>, how: impl Into<String>) -> Self {
        Self::new(Grade::Failed, what, how)
    }

    /// True if the instance can do without it.
    pub(super) fn is_bearable(&self) -> bool {
        self.grade != Grade::Failed
    }
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let grade = match self.grade {
            Grade::Ok => "ok",
            Grade::Warning => "warning",
            Grade::Failed => "failed",
        };
        write!(f, "{grade} {}: {}", self.what, self.how)
    }
}

/// True if every loop of the instance moves; where one does not, only a restart helps.
pub(super) fn alive(instance: &Instance) -> Vec<Finding> {
    let stuck = instance.pulses().stuck();
    if stuck.is_empty() {
        return vec![Finding::fine("loops", "all move")];
    }
    let how = |since: Duration| format!("has not moved for {} s", since.as_secs());
    let stuck = stuck.into_iter();
    stuck.map(|(group, since)| Finding::bad(format!("leader of {group}"), how(since))).collect()
}

/// True if the instance can serve: it does not stop, and its views are loaded. What is wrong with the store, or with one
/// group, is a warning: an instance that can't reach the store still tells its clients so, and an outage of the store would
/// take all instances away at once.
pub(super) async fn ready(instance: &Instance) -> Vec<Finding> {
    let mut findings = vec![standing(instance)];
    findings.extend(views(instance));
    findings.extend(store(instance).await);
    findings.extend(watch(instance));
    findings.extend(ahead(instance.members_ahead()));
    findings
}

/// While it is broken no view learns of anything. A store that is away may have broken it, or may not.
fn watch(instance: &Instance) -> Option<Finding> {
    let WatchHealth { broken_since, last_error } = instance.watch_health();
    let since = broken_since?.elapsed().as_secs();
    let error = last_error.unwrap_or_default();
    let how = format!("broken, or not proved to be whole, for {since} s: {error}");
    Some(Finding::new(Grade::Warning, "watch", how))
}

/// One member may err; two that have seen more than there is have seen a history that is lost.
fn ahead(members: usize) -> Option<Finding> {
    let how = format!(
        "{members} members have seen a later revision than it has: was it put back? Then run `kafka-assigner store \
         restored`"
    );
    (members > 1).then(|| Finding::new(Grade::Warning, "store", how))
}

fn standing(instance: &Instance) -> Finding {
    if instance.leaving().is_cancelled() {
        return Finding::bad("instance", "stopping");
    }
    Finding::fine("instance", instance.options().id.clone())
}

fn views(instance: &Instance) -> Vec<Finding> {
    if instance.directory().revision() == Revision::default() {
        return vec![Finding::bad("views", "the list of groups is not loaded")];
    }
    let groups = instance.groups();
    let troubled: Vec<_> =
        groups.iter().filter_map(|group| Some((group, trouble(&group.view().health())?))).collect();
    let missing = groups.iter().find(|group| is_on_its_way(&group.view().health()));
    let loaded = match missing {
        None if !groups.is_empty() && troubled.len() == groups.len() => {
            Finding::bad("views", "no group is loaded")
        }
        Some(group) => Finding::bad("views", format!("group {} is not loaded", group.name())),
        None => Finding::fine("views", format!("{} groups loaded", groups.len() - troubled.len())),
    };
    let more = troubled.len().saturating_sub(MOST_NAMED);
    let named = troubled.iter().take(MOST_NAMED);
    let named =
        named.map(|(group, how)| Finding::new(Grade::Warning, format!("group {}", group.name()), how));
    let more =
        (more > 0).then(|| Finding::new(Grade::Warning, "groups", format!("{more} more can't be served")));
    [loaded].into_iter().chain(named).chain(more).collect()
}

/// True if nothing keeps a view from being loaded, and it is not yet.
fn is_on_its_way(health: &ViewHealth) -> bool {
    health.revision == Revision::default() && trouble(health).is_none()
}

/// The reason why a group is not served here, where it has something to do with that group alone.
fn trouble(health: &ViewHealth) -> Option<String> {
    if health.stopped {
        return Some("one of its tasks panicked, and it will be served anew".to_owned());
    }
    let error = health.last_error.as_ref().filter(|_| health.revision == Revision::default())?;
    Some(format!("it can't be loaded: {error}"))
}

fn standing_of(history: StoreHistory, revision: Revision) -> Finding {
    match history {
        StoreHistory::Continues => Finding::fine("store", format!("at revision {revision}")),
        StoreHistory::WentBack | StoreHistory::Another => {
            let how = format!("it was put back, and is at revision {revision}: everything is loaded anew");
            Finding::bad("store", how)
        }
        StoreHistory::Unidentified => Finding::bad(
            "store",
            "its cluster id is gone: was it wiped? Put a backup back and run `kafka-assigner store restored`, or \
             restart all instances to begin with nothing",
        ),
    }
}

async fn store(instance: &Instance) -> Vec<Finding> {
    let asked = async { (instance.judge_history().await, instance.store().alarms().await) };
    let Ok((read, alarms)) = timeout(STORE_PATIENCE, asked).await else {
        return vec![Finding::new(Grade::Warning, "store", format!("no answer within {STORE_PATIENCE:?}"))];
    };
    let reached = match read {
        Ok((history, revision)) => standing_of(history, revision),
        Err(error) => return vec![Finding::new(Grade::Warning, "store", describe(&error))],
    };
    let alarms = match alarms {
        Ok(alarms) => alarms.into_iter().map(|alarm| Finding::new(Grade::Warning, "store", alarm)).collect(),
        // Not everybody may ask for alarms.
        Err(error) => {
            let how = format!("its alarms can't be read: {}", describe(&error));
            vec![Finding::new(Grade::Warning, "store", how)]
        }
    };
    [vec![reached], alarms].concat()
}
