//! The use that callers make of this instance, held against their limits.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use kafka_assigner_access::{CallBucket, CallerName, Limits};
use kafka_assigner_types::moment::Moment;

/// The most callers that are remembered. Those that use nothing are forgotten first; names in certificates have no end.
const MOST_CALLERS: usize = 10_000;

/// The use of each caller. Clones share it.
#[derive(Debug, Clone, Default)]
pub(super) struct Usage(Arc<Mutex<HashMap<CallerName, CallerUse>>>);

#[derive(Debug, Clone, Copy, Default)]
struct CallerUse {
    calls: Option<CallBucket>,
    streams: u32,
    watches: u32,
}

/// A kind of stream that is counted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum StreamKind {
    /// Of a consumer or router.
    Member,
    /// Of `watch`.
    Watch,
}

/// A limit that is reached.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct LimitReached {
    /// The limit's name in the access file.
    pub(crate) limit: &'static str,
    /// Its value.
    pub(crate) most: u32,
    /// The time after which it is worth another try; `None`: that is open.
    pub(crate) wait: Option<Duration>,
}

/// One open stream; dropping it gives its place back.
#[derive(Debug)]
pub(crate) struct StreamPlace {
    usage: Usage,
    caller: CallerName,
    kind: StreamKind,
}

impl Usage {
    /// Counts a call of `caller` at `now`.
    pub(super) fn call(&self, caller: &CallerName, limits: Limits, now: Moment) -> Result<(), LimitReached> {
        let Some(most) = limits.calls_per_second else { return Ok(()) };
        self.with(caller, now, most, |used| {
            let bucket = used.calls.get_or_insert_with(|| CallBucket::full(most, now));
            let late = |wait| LimitReached { limit: "calls_per_second", most, wait: Some(wait) };
            bucket.take(most, now).map_err(late)
        })
    }

    /// Takes a place for a stream of `caller`.
    pub(super) fn stream(
        &self,
        caller: &CallerName,
        limits: Limits,
        kind: StreamKind,
    ) -> Result<StreamPlace, LimitReached> {
        let (limit, most) = match kind {
            StreamKind::Member => ("streams", limits.streams),
            StreamKind::Watch => ("watches", limits.watches),
        };
        self.with(caller, Moment::default(), 0, |used| {
            let open = used.open(kind);
            match most.filter(|most| *open >= *most) {
                Some(most) => Err(LimitReached { limit, most, wait: None }),
                None => {
                    *open += 1;
                    Ok(())
                }
            }
        })?;
        Ok(StreamPlace { usage: self.clone(), caller: caller.clone(), kind })
    }

    fn with<R>(
        &self,
        caller: &CallerName,
        now: Moment,
        rate: u32,
        change: impl FnOnce(&mut CallerUse) -> R,
    ) -> R {
        let mut callers = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if callers.len() >= MOST_CALLERS && !callers.contains_key(caller) {
            callers.retain(|_, used| !used.is_nothing(rate, now));
        }
        change(callers.entry(caller.clone()).or_default())
    }
}

impl CallerUse {
    const fn open(&mut self, kind: StreamKind) -> &mut u32 {
        match kind {
            StreamKind::Member => &mut self.streams,
            StreamKind::Watch => &mut self.watches,
        }
    }

    fn is_nothing(&self, rate: u32, now: Moment) -> bool {
        self.streams == 0 && self.watches == 0 && self.calls.is_none_or(|calls| calls.is_full(rate, now))
    }
}

impl Drop for StreamPlace {
    fn drop(&mut self) {
        let mut callers = self.usage.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(used) = callers.get_mut(&self.caller) {
            let open = used.open(self.kind);
            *open = open.saturating_sub(1);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn caller(name: &str) -> CallerName {
        CallerName::new(name).unwrap()
    }

    #[test]
    fn streams_are_counted_by_caller_and_kind_and_given_back() {
        let (usage, one, other) = (Usage::default(), caller("one"), caller("other"));
        let limits = Limits { streams: Some(1), watches: Some(1), ..Limits::default() };
        let place = usage.stream(&one, limits, StreamKind::Member).unwrap();
        let refused = usage.stream(&one, limits, StreamKind::Member).unwrap_err();
        assert_eq!((refused.limit, refused.most), ("streams", 1));
        let _watch = usage.stream(&one, limits, StreamKind::Watch).unwrap();
        let _others = usage.stream(&other, limits, StreamKind::Member).unwrap();
        drop(place);
        usage.stream(&one, limits, StreamKind::Member).unwrap();
    }

    #[test]
    fn callers_that_use_nothing_are_forgotten() {
        let (usage, limits) = (Usage::default(), Limits { calls_per_second: Some(1), ..Limits::default() });
        let busy = caller("busy");
        let _stream = usage.stream(&busy, limits, StreamKind::Member).unwrap();
        for number in 0..3 * MOST_CALLERS {
            let now = Moment(Duration::from_secs(u64::try_from(number).unwrap()));
            usage.call(&caller(&format!("caller-{number}")), limits, now).unwrap();
        }
        let callers = usage.0.lock().unwrap();
        assert!(callers.len() <= MOST_CALLERS && callers.contains_key(&busy), "{}", callers.len());
    }
}
